"""What the counters of a run mean, told on small cases."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sim.check import Checker
from sim.check.counters import COUNTER, RunCounters
from sim.rules import RULES as RULE_NAMES
from sim.scenario.file.load import load_scenario
from sim.timed_run import run_scenario
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
    assert COUNTER.keys() & {*RULE_NAMES} == set()


LOST_TAIL = load_scenario(
    Path(__file__).resolve().parents[2] / "scenarios/kip280/timed_lost_tail.yaml"
)
RUNS: list[tuple[Mapping[str, str], bool, dict[str, int]]] = [
    # Offset 3 is committed twice, and given to two of the five records.
    ({}, True, {"records": 5, "committed": 4, "sends": 5, "messages_lost": 6}),
    ({"strategy": "offset"}, True, {"keys_won_earlier": 0}),
    # Nobody writes after the migration: A=d, which loses, came last. r2 has it in any case, in its
    # active segment. A loser that is retained is what a reader in offset order ends with.
    ({"fix": "none"}, False, {"stale_reads_last": 0, "records_retained": 10}),
    ({"fix": "leo_retention"}, False, {"stale_reads_last": 1, "records_retained": 12}),
    ({"fix": "leo_retention", "consumer_order": "strategy"}, False, {"stale_reads_last": 0}),
    ({"fix": "empty_batch"}, False, {"stale_reads_last": 0, "keys_won_earlier": 1, "keys": 3}),
]


@pytest.mark.parametrize(("rules", "last_write", "expected"), RUNS)
def test_each_fix_has_its_price(
    rules: Mapping[str, str], last_write: bool, expected: dict[str, int]
) -> None:
    sends = LOST_TAIL.workload.sends[: None if last_write else -1]
    scenario = replace(
        LOST_TAIL,
        workload=replace(LOST_TAIL.workload, sends=sends),
        faults=LOST_TAIL.faults[: None if last_write else 2],
    )
    found = run_scenario(scenario.with_rules(LOST_TAIL.rules.with_values(rules))).counters

    assert {name: found[name] for name in expected} == expected
    assert found["messages_lost"] < found["messages"] < found["simulator_events"]
