"""Which lost tails are outside the durability contract, told by stories and by hand-made events."""

from pathlib import Path

import pytest

from sim.check import Checker
from sim.protocol.events import Appended, Event, ReplicaCrashed
from sim.simulate.run.stories import run_story
from sim.simulate.story import load_story
from tests.check.events import RULES, batch
from tests.check.text import Case, cases_of

FOLDER = Path(__file__).parents[2] / "scenarios"
LEFT_AT = {
    "kip101_03_hw_truncation_forks_after_power_failure": 6,
    "kip101_04_epoch_truncation_joins_the_lineages": 6,
    "durability_01_power_failure_nothing_flushed": 6,
    "durability_06_a_majority_no_longer_has_it": 5,
    "durability_02_power_failure_every_append_flushed": None,
    "durability_03_flushed_before_acknowledged": None,
    "durability_04_acknowledged_records_survive": None,
    "durability_05_one_of_the_in_sync_set_loses_its_tail": None,
    "durability_07_a_majority_still_has_it": None,
    "kip101_01_hw_truncation_loses_a_committed_record": None,
    "finding_03_empty_batch_lost_tail": None,
}
SENTENCES = {
    "durability_06_a_majority_no_longer_has_it": (
        "b lost committed offset 0 ",
        "1 voters still have it, the contract needs 2.",
    )
}


@pytest.mark.parametrize("name", LEFT_AT)
def test_a_story_leaves_the_contract_where_the_last_keeper_loses_its_tail(name: str) -> None:
    story = load_story(next(FOLDER.rglob(f"{name}.yaml")))
    checker, left_at = Checker(story.rules, []), None
    for step, event in run_story(story).events:
        checker.on(step, event)
        if left_at is None and checker.contract.outside is not None:
            left_at = step

    assert left_at == LEFT_AT[name]
    begins, ends = SENTENCES.get(name, ("", ""))
    assert (checker.contract.outside or "").startswith(begins)
    assert (checker.contract.outside or "").endswith(ends)


@pytest.mark.parametrize("case", cases_of("cases/durability.txt"))
def test_the_loss_of_the_tail_of_a_is_outside(case: Case) -> None:
    assert (case.checked().contract.outside is not None) is case.head.startswith("outside")


[THREE_ELECT_B] = cases_of("cases/again.txt")
LOST_BY_A = ReplicaCrashed("a", 0, 0)
AGAIN = Appended("b", batch(0, "k", uid=900, epoch=2))


@pytest.mark.parametrize(
    ("events", "within", "found"),
    [([AGAIN, LOST_BY_A], True, 1), ([LOST_BY_A, AGAIN], True, 0), ([LOST_BY_A, AGAIN], False, 1)],
)
def test_violations_after_the_loss_are_not_recorded_those_before_are(
    events: list[Event], within: bool, found: int
) -> None:
    checker = Checker(RULES, ["no-offset-reuse"], within_contract=within)
    for at, event in [*THREE_ELECT_B.happened(), *enumerate(events)]:
        checker.on(at, event)

    assert len(checker.violations) == found
