"""What the counters of a run mean, told on small cases."""

from collections import Counter

import pytest

from sim.check import Checker
from sim.check.counters import COUNTERS, RunCounters
from sim.protocol.rules import RULES as RULE_NAMES
from tests.check.events import RULES
from tests.check.text import Case, cases_of


def counted(case: Case, **rules: str) -> Counter[str]:
    """After the events of a case; faults end after 10,000 ms."""
    checker = Checker(
        RULES.with_values({"strategy": "offset", "fix": "persisted_leo", **rules}), []
    )
    counters = RunCounters(checker, faults_end_ms=10_000)
    for at_ms, event in case.happened():
        checker.on(at_ms, event)
    return Counter(counters.values({"messages": 5}))


START, *HAPPENED = cases_of("cases/counters.txt")


def shown(counts: Counter[str]) -> list[str]:
    return sorted(f"{name}={count:+d}" for name, count in counts.items() if count)


def test_this_much_is_counted_at_the_start() -> None:
    assert shown(counted(START)) == sorted(START.head.split())


@pytest.mark.parametrize("case", HAPPENED)
def test_an_event_changes_these_counters_alone(case: Case) -> None:
    found = counted(case)
    found.subtract(counted(START))

    assert shown(found) == sorted(case.head.split())


@pytest.mark.parametrize("case", cases_of("cases/waits.txt"))
def test_what_waits_to_be_removed(case: Case) -> None:
    waits = [f"{name}={n}" for name, n in counted(case).items() if n and "_wait" in name]

    assert sorted(waits) == sorted(case.head.partition(":")[0].split())


[READ, LEFT] = cases_of("cases/readers.txt")


@pytest.mark.parametrize("consumer_order", ["offset", "strategy"])
def test_a_reader_of_all_that_is_committed_ends_on_the_winner(consumer_order: str) -> None:
    assert counted(READ, consumer_order=consumer_order)["stale_reads_last"] == 0


def test_nobody_reads_a_leader_that_has_left_for_good() -> None:
    found = counted(LEFT)

    assert (found["committed"], found["stale_reads_last"], found["unmeant_keys"]) == (2, 0, 0)


def test_no_counter_is_called_like_a_rule() -> None:
    """A sweep that varies the rule has a column of either."""
    assert {*COUNTERS} & {*RULE_NAMES} == set()
