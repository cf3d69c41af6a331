"""`replog shrink`: what it writes, and what it says."""

from pathlib import Path

import pytest

from tests.commands import replog

SCENARIOS = Path(__file__).parents[2] / "scenarios"
RED = SCENARIOS / "kip280/kip280_07_log_end_from_last_record.yaml"


def test_a_folder_gets_a_file_named_after_the_case(here: Path) -> None:
    (here / "regressions").mkdir()

    assert replog("shrink", RED, "-o", "regressions").status == 0

    name = "kip280_07_log_end_from_last_record_log_matching"
    found = sorted(path.name for path in (here / "regressions").iterdir())
    assert found == [f"{name}.yaml", f"{name}_near_miss.yaml"]
    assert replog("suite", "regressions").status == 0


def test_out_of_time_it_says_so_and_what_is_left_can_be_shrunk(here: Path) -> None:
    cut = replog("shrink", RED, "-o", "out.yaml", "--within", "0.01")
    assert "out of time after 0.01 s" in cut.out
    assert replog("run", "out.yaml").status == 0

    assert "6 steps" in replog("shrink", "out.yaml", "-o", "whole.yaml").out


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
