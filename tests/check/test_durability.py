"""Which lost tails are outside the durability contract, told by stories and by hand-made events."""

from pathlib import Path

import pytest

from sim.check import Checker
from sim.rules import Rules
from sim.story import load_story, run_story
from sim.trace import (
    Appended,
    Copied,
    Event,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
)
from tests.check.events import batch, checked

FOLDER = Path(__file__).parents[2] / "scenarios"
ISR = Rules.of(commit="isr")
MAJORITY = Rules.of(commit="majority")
THREE = ("a", "b", "c")


def outside_by_step(name: str) -> tuple[int | None, str | None]:
    """The step in which a story leaves the contract, and how."""
    story = load_story(next(FOLDER.rglob(f"{name}.yaml")))
    checker = Checker(story.rules, [])
    for step, event in run_story(story).events:
        checker.on(step, event)
        if checker.contract.outside is not None:
            return step, checker.contract.outside
    return None, None


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("kip101_03_hw_truncation_forks_after_power_failure", 6),
        ("kip101_04_epoch_truncation_joins_the_lineages", 6),
        ("durability_01_power_failure_nothing_flushed", 6),
        ("durability_06_a_majority_no_longer_has_it", 5),
        ("durability_02_power_failure_every_append_flushed", None),
        ("durability_03_flushed_before_acknowledged", None),
        ("durability_04_acknowledged_records_survive", None),
        ("durability_05_one_of_the_in_sync_set_loses_its_tail", None),
        ("durability_07_a_majority_still_has_it", None),
        ("kip101_01_hw_truncation_loses_a_committed_record", None),
        ("finding_03_empty_batch_lost_tail", None),
    ],
)
def test_a_story_leaves_the_contract_where_the_last_keeper_loses_its_tail(
    name: str, step: int | None
) -> None:
    assert outside_by_step(name)[0] == step


def test_the_sentence_says_who_lost_what_and_how_many_keep_it() -> None:
    _, sentence = outside_by_step("durability_06_a_majority_no_longer_has_it")

    assert sentence is not None
    assert sentence.startswith("b lost committed offset 0 ")
    assert sentence.endswith("1 voters still have it, the contract needs 2.")


def committed(*holders: str, isr: tuple[str, ...] = THREE) -> list[Event]:
    """`a` leads and commits one record, which `holders` have, too."""
    one = batch(0, "k")
    return [
        *map(ReplicaAdded, THREE),
        LeaderElected("a", 1, 0, isr, THREE),
        Appended("a", one),
        *[Copied(name, "a", 0, (one,), 1) for name in holders],
        HighWatermarkMoved("a", 1, leading=True),
    ]


LOST_BY_A = ReplicaCrashed("a", 0, 0)


def is_outside(events: list[Event], rules: Rules) -> bool:
    return checked(events, rules=rules).contract.outside is not None


def test_in_sync_means_in_the_set_up_and_with_the_record() -> None:
    both = committed("b", "c")

    assert not is_outside([*both, LOST_BY_A], ISR)
    assert is_outside([*both, IsrChanged("a", ("a",), None), LOST_BY_A], ISR)
    down = [ReplicaCrashed("b", 1, 0), ReplicaCrashed("c", 1, 0)]
    assert is_outside([*both, *down, LOST_BY_A], ISR)
    assert not is_outside([*both, *down, ReplicaRestarted("c", 1, 0), LOST_BY_A], ISR)
    assert is_outside([*committed(), LOST_BY_A], ISR)


def test_a_majority_counts_those_that_are_down_too() -> None:
    down = [ReplicaCrashed("b", 1, 0), ReplicaCrashed("c", 1, 0)]

    assert not is_outside([*committed("b", "c"), *down, LOST_BY_A], MAJORITY)
    assert is_outside([*committed("b"), LOST_BY_A], MAJORITY)


def test_what_was_not_committed_may_be_lost_by_everybody() -> None:
    uncommitted = committed("b", "c")[:-1]

    assert not is_outside([*uncommitted, LOST_BY_A], ISR)
    assert not is_outside([*uncommitted, LOST_BY_A], MAJORITY)


def test_violations_after_the_loss_are_not_recorded_those_before_are() -> None:
    again = Appended("b", batch(0, "k", uid=900, epoch=2))
    start = [*committed(), LeaderElected("b", 2, 0, THREE, THREE)]

    def reuse(events: list[Event], *, within_contract: bool) -> int:
        checker = Checker(ISR, ["no-offset-reuse"], within_contract=within_contract)
        for at, event in enumerate(events):
            checker.on(at, event)
        return len(checker.violations)

    assert reuse([*start, again, LOST_BY_A], within_contract=True) == 1
    assert reuse([*start, LOST_BY_A, again], within_contract=True) == 0
    assert reuse([*start, LOST_BY_A, again], within_contract=False) == 1
