"""The bugs at the end of a log, in pairs of stories that differ in the fix alone.

KIP-280's own hazard under old and new truncation, the same with Kafka's own strategy (KAFKA-17076),
the wrong answer for good of KIP-280's first option, and KAFKA-20452 with one unclean election.
"""

from pathlib import Path

import pytest

from sim.story import Story, load_story, run_story

FOLDER = Path(__file__).parents[2] / "scenarios/kip280"
PAIRS = (
    (
        "kip280_15_believed_position_hw_truncation_no_fix",
        "kip280_26_believed_position_hw_truncation_empty_batch",
        "slot-agreement",
    ),
    (
        "kip280_16_believed_position_epoch_truncation_no_fix",
        "kip280_17_believed_position_epoch_truncation_empty_batch",
        "consumer-no-skip",
    ),
    (
        "kip280_18_expired_last_tombstone",
        "kip280_19_expired_last_tombstone_empty_batch",
        "no-offset-reuse",
    ),
    (
        "kip280_72_retained_loser_misleads_readers_for_good",
        "kip280_73_empty_batch_misleads_no_reader",
        "consumer-ends-current",
    ),
    (
        "kip280_59_narrow_empty_batch_and_an_unclean_election",
        "kip280_60_empty_batch_and_an_unclean_election",
        "follower-position-sound",
    ),
)


def loaded(name: str) -> Story:
    return load_story(FOLDER / f"{name}.yaml")


@pytest.mark.parametrize(("bug", "cure", "invariant"), PAIRS, ids=[bug for bug, _, _ in PAIRS])
def test_one_switch_decides(bug: str, cure: str, invariant: str) -> None:
    violating, holding = loaded(bug), loaded(cure)

    assert violating.rules.differing_from(holding.rules).keys() == {"fix"}
    assert [(step.op, step.fields) for step in violating.steps] == [
        (step.op, step.fields) for step in holding.steps
    ]
    assert invariant in run_story(violating).violated
    assert invariant not in run_story(holding).violated
    assert holding.expect.violated == ()


def test_without_the_belief_in_its_own_end_the_leader_admits_nobody_too_early() -> None:
    """The piece that KIP-280 does not mention: what the leader writes down after an empty read."""
    believed = loaded("kip280_16_believed_position_epoch_truncation_no_fix")
    asked = loaded("kip280_37_believed_position_request")

    assert believed.rules.differing_from(asked.rules).keys() == {"follower_position"}
    assert "no-offset-reuse" in run_story(believed).violated
    assert "no-offset-reuse" not in run_story(asked).violated
