"""`replog explain`: why, and what if."""

from pathlib import Path

import pytest

from sim.story import Story
from tests.cli.conftest import Replog

ROOT = Path(__file__).resolve().parents[2]
LOST_TAIL = ROOT / "scenarios/kip280/timed_lost_tail.yaml"
STORY = ROOT / "scenarios/kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml"


def test_it_tells_any_violated_invariant_of_a_file(replog: Replog) -> None:
    answer = replog("explain", STORY, "leader-completeness")

    assert answer.status == 0
    assert "why leader-completeness was violated (times in steps, newest first)" in answer.out
    assert "decided by: r1 removed A=d@3 (version 1) at step 11" in answer.out
    assert "healed" not in answer.out


def test_what_if_says_when_it_was_sealed_and_what_heals(replog: Replog) -> None:
    asked = ("explain", LOST_TAIL, "no-offset-reuse", "--what-if", "--tries", "3")
    lines = replog(*asked).out.splitlines()

    assert any(
        line.startswith("  point of no return: 4,303 ms, r3 leads epoch 2 from 3") for line in lines
    )
    [fixes] = [line.split(": ")[1].split(", ") for line in lines if line.startswith("    fix: ")]
    assert {"leo_retention", "empty_batch", "empty_batch_at_hw", "gap_fetch"} <= {*fixes}
    assert not {"none", "persisted_leo"} & {*fixes}
    assert "    commit: majority (follower-position-sound)" in lines


def test_as_json_the_curve_and_the_changes_are_data(replog: Replog) -> None:
    document = replog("explain", STORY, "--what-if", "--json").document

    assert document["no_return"] is None
    assert document["complete"] is True
    assert {"kind": "rule", "change": "fix: empty_batch", "still": []} in document["heals"]
    assert document["explanation"][1] == f"decided by: {document['explained']['decided_by']}"


def test_a_change_that_ends_in_an_error_is_told_as_text_and_as_data(
    replog: Replog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(value: Story, invariant: str) -> list[str]:
        if value.rules.cleaner.fix == "empty_batch":
            raise IndexError("beyond\nthe log")
        return [invariant]

    monkeypatch.setattr("sim.what_if.heals.violated_by", failing)
    lines = replog("explain", STORY, "--what-if").out.splitlines()
    document = replog("explain", STORY, "--what-if", "--json").document

    told = lines.index("  not known, as the run ends in an error:")
    assert lines[told + 1] == "    fix: empty_batch (IndexError: beyond)"
    error = {"kind": "rule", "change": "fix: empty_batch", "error": "IndexError: beyond"}
    assert (document["heals"], document["failed"]) == ([], [error])
