"""Small sweeps with real runs, made in this process."""

from pathlib import Path

from sim.sweeps.blocks import Block, Work, simulate_block
from sim.sweeps.counting import count_files
from sim.sweeps.layout import STAGING
from sim.sweeps.output import prepare_folder
from sim.sweeps.parts import parts_there, plan_content
from sim.sweeps.plan import Plan, number_runs
from sim.sweeps.storage import LocalStorage
from sim.sweeps.tally import write_tallies
from sim.sweeps.waves import WaveWriter
from sim.sweeps.whole import write_finished
from sim.sweeps.work import open_case

PLAN: dict[str, object] = {
    "format": "replog-sweep/1",
    "title": "tombstones go at once",
    "source": "none",
    "count": 3,
    "seed": 2,
    "generate": {"mix": "reference"},
    "rules": {"tombstone_removal": "immediate"},
    "rule_sets": [{"strategy": "offset"}, {"strategy": "header"}],
}
"""Of its six runs four fail, for two causes; of those of its first case one."""


def swept(out: Path, **changes: object) -> Path:
    """The folder of a finished sweep."""
    sweep = number_runs(Plan.model_validate(PLAN | changes))
    storage = LocalStorage(out)
    prepare_folder(storage, sweep)
    work = Work(sweep, open_case, 100.0)
    with WaveWriter(storage, sweep, plan_content(storage), []) as writer:
        writer.add(simulate_block(work, Block(0, sweep.count)))
    storage.remove(STAGING)
    write_tallies(storage, sweep, count_files(parts_there(storage), sweep))
    write_finished(storage)
    return out
