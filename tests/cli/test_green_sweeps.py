"""When a sweep is not green: by the command itself, on plans with plugins that break something."""

import re
from pathlib import Path

import pytest

from sim.simulate.cluster import simulation
from tests.commands import Ended
from tests.plugins.plugged import replog
from tests.sweeps.fakes import plan_text

RAISES = """
from sim.protocol.compaction import TombstoneRemoval
from sim.plugins import register_tombstone_removal

def may_remove(circumstances):
    if circumstances.offset > 10:
        raise RuntimeError(f"no rule at {circumstances.offset}")
    return False

register_tombstone_removal(TombstoneRemoval("raises", "a test", "never, or fails", may_remove))
"""
DARK = plan_text(
    count=12,
    seed=5,
    generate={
        "mix": "reference",
        "duration_ms": 4000,
        "sends": [30, 60],
        "power_failures": 1.0,
    },
    rules={"preset": "kafka-2.8"},
    rule_sets=[{"flush": "interval"}],
)
"""Runs that leave the durability contract."""


def keeping_or(removal: str) -> str:
    """Tombstones that are never removed, beside a rule that may remove them."""
    return plan_text(
        count=3,
        seed=5,
        generate={
            "mix": "quiet",
            "duration_ms": 3000,
            "sends": [60, 80],
            "delete_share": [0.5, 0.5],
        },
        rules={"preset": "kafka-4.0", "map_range": "full"},
        rule_sets=[{"tombstone_removal": "never"}, {"tombstone_removal": removal}],
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a plugin that raises."""
    (tmp_path / "raises.py").write_text(RAISES)
    return tmp_path


def swept(folder: Path, plan: str, *more: str) -> Ended:
    (folder / "plan.yaml").write_text(plan)
    return replog(folder, "sweep", "plan.yaml", "--out", "out", "--engine", "process", *more)


def test_an_exception_inside_a_run_makes_a_sweep_end_with_1_and_say_how_to_see_it(
    folder: Path,
) -> None:
    ended = swept(folder, keeping_or("raises"), "--plugin", "raises")
    *_, summary, why, reproduce = ended.out.splitlines()

    assert ended.status == 1
    assert summary.startswith("out: 6 runs of 3 seeds, ")
    said = re.fullmatch(
        r"not green: of 6 runs (\d) ended in an exception; see the columns .* out/runs", why
    )
    assert said is not None
    assert re.fullmatch(r"reproduce: replog run out [135] --plugin=raises", reproduce)
    again = replog(folder, *reproduce.split()[2:])
    assert (again.status, again.out) == (2, "")
    assert again.err.startswith("replog: plugin raises: tombstone removal raises: raises Run")

    told = f"Not green: of 6 runs {said[1]} ended in an exception."
    assert told in replog(folder, "report", "out", "--plugin", "raises").out
    assert told in (folder / "out/report.md").read_text()
    assert told in (folder / "out/report.html").read_text()


def test_a_run_that_hits_a_bound_makes_a_sweep_end_with_3(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "PATIENCE_MS", 0)
    ended = swept(folder, keeping_or("immediate"), "--json")
    document = ended.document
    why, reproduce = ended.err.splitlines()[-2:]

    assert ended.status == 3
    found = sum(verdicts["inconclusive"] for verdicts in document["verdicts"].values())
    assert (document["errors"], document["unfinished"]) == (0, found)
    assert why.startswith(f"replog: not green: of 6 runs {found} hit a bound; see the columns ")
    assert re.fullmatch(r"replog: reproduce: replog run out \d", reproduce)


def test_runs_that_leave_the_durability_contract_leave_a_sweep_green(folder: Path) -> None:
    ended = swept(folder, DARK, "--json")
    document = ended.document
    [verdicts] = document["verdicts"].values()

    assert verdicts["inconclusive"] > 0
    assert verdicts["violated"] > 0
    assert (ended.status, document["errors"], document["unfinished"]) == (0, 0, 0)
    assert "not green" not in ended.err
