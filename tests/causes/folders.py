"""Small sweeps with real runs, made in this process."""

from pathlib import Path

from sim.sweeps.blocks import StagedWaves, Work, simulate_block
from sim.sweeps.counting import count_files
from sim.sweeps.layout import waves_of
from sim.sweeps.output import close_folder, prepare_folder
from sim.sweeps.plan import Plan, number_runs
from sim.sweeps.tally import write_tallies
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
    prepare_folder(out, sweep)
    work = Work(sweep, out, open_case, 100.0, 1)
    blocks = work.blocks(waves_of(sweep), cores=1)
    for block in blocks:
        simulate_block(work, block)
    StagedWaves(work, blocks).commit()
    close_folder(out)
    write_tallies(out, sweep, count_files(out, sweep))
    return out
