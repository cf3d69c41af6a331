"""`replog shrink`: what it writes, and what it says, of stories, scenarios and rows of sweeps."""

from pathlib import Path

import pytest

from sim.study.sweep.folder import write_plan
from sim.study.sweep.plan import number_runs
from tests.commands import SCENARIOS, replog
from tests.sweeps.fakes import plan

RED = SCENARIOS / "kip280/kip280_07_log_end_from_last_record.yaml"
OLD_CLIENT = SCENARIOS / "kip87/timed_unchanged_application.yaml"


def test_a_folder_gets_a_file_named_after_the_case(here: Path) -> None:
    (here / "regressions").mkdir()

    assert replog("shrink", RED, "-o", "regressions").status == 0

    name = "kip280_07_log_end_from_last_record_log_matching"
    found = sorted(path.name for path in (here / "regressions").iterdir())
    assert found == [f"{name}.yaml", f"{name}_near_miss.yaml"]
    assert replog("suite", "regressions").status == 0


@pytest.mark.parametrize(("path", "within"), [(RED, 0.01), (OLD_CLIENT, 0.1)])
def test_out_of_time_it_says_so_and_what_is_left_can_be_shrunk(
    here: Path, path: Path, within: float
) -> None:
    cut = replog("shrink", path, "-o", "out.yaml", "--within", within)
    assert f"out of time after {within} s" in cut.out
    assert "shrink this result to go on" in cut.out
    assert replog("run", "out.yaml").status == 0

    whole = replog("shrink", "out.yaml", "-o", "whole.yaml")
    assert whole.status == 0
    assert path != RED or "6 steps" in whole.out


def test_a_run_of_a_sweep_is_shrunk_by_its_number(here: Path) -> None:
    (here / "swept").mkdir()
    of_one = plan(
        count=1,
        seed=5,
        generate={"duration_ms": 2500, "sends": [20, 60], "delete_share": [0.3, 0.4]},
        rules={"tombstone_removal": "immediate"},
        rule_sets=[{"fix": "none"}],
    )
    write_plan(here / "swept", number_runs(of_one))

    answer = replog("shrink", "swept", 0, "-o", "out.yaml", terminal=True)

    assert answer.status == 0
    assert " steps of 298 events, " in answer.out
    assert " steps of 298 events, " in answer.err
    assert "as a story, made of the run" in answer.out
    assert replog("run", "out.yaml").status == 0


def test_an_interrupt_keeps_the_best(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sim.diagnose.shrink.target import Target

    shown_by, calls = Target.shown_by, iter(range(1000))

    def interrupted(self: Target, story: object) -> object:
        if next(calls) == 60:
            assert (here / "out.yaml").is_file(), "the best so far is there at any time"
            raise KeyboardInterrupt
        return shown_by(self, story)  # type: ignore[arg-type]

    monkeypatch.setattr(Target, "shown_by", interrupted)
    answer = replog("shrink", RED, "-o", "out.yaml")
    monkeypatch.undo()

    assert answer.status == 130
    assert "interrupted: it may get smaller" in answer.out
    assert replog("run", here / "out.yaml").status == 0
