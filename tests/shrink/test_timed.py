"""Shrinking of scenarios: fewer events, and the same law is broken for the same cause."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.explain.signature import signature_of
from sim.rules import Rules
from sim.scenario.file.load import load_scenario
from sim.scenario.file.write import scenario_text
from sim.scenario.generate import Mix, generate
from sim.scenario.model import (
    Change,
    EndTransaction,
    Fault,
    FaultKind,
    Scenario,
    Send,
    SentHeader,
    Workload,
)
from sim.shrink.timed import ShrunkTimed, TimedProgress, shrink_timed
from sim.shrink.timed_parts import parts_of, with_parts, without_replica
from sim.timed_run import differences, run_scenario

SHORT = Mix(duration_ms=1500, sends=(15, 30), delete_share=(0.3, 0.4), tail_hunts=0.0)
FAILING = generate(30, SHORT).with_rules(Rules.of(tombstone_removal="immediate"))
INVARIANT = "tombstone-safety"


@cache
def shrunk() -> ShrunkTimed:
    return shrink_timed(FAILING, INVARIANT)


def test_a_random_scenario_becomes_one_of_few_events() -> None:
    small = shrunk()

    assert small.complete
    assert small.events_before > 150
    assert small.events <= 30
    assert small.violation.invariant == INVARIANT
    assert len(parts_of(small.scenario)) <= 4


def test_what_comes_out_is_a_file_that_expects_what_it_violates(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(scenario_text(shrunk().scenario))
    scenario = load_scenario(path)
    run = run_scenario(scenario)

    assert INVARIANT in scenario.expect.violated
    assert differences(scenario, run) == []
    assert next(v for v in run.violations if v.invariant == INVARIANT) == shrunk().violation


def test_a_shrink_that_was_cut_short_goes_on_as_if_it_had_not_been() -> None:
    seen: list[TimedProgress] = []
    first = shrink_timed(FAILING, INVARIANT, tries=60, progress=seen.append)
    best = next(news for news in reversed(seen) if news.improved)
    second = shrink_timed(FAILING, INVARIANT, start=(best.scenario, best.place))

    assert not first.complete
    assert second.scenario == shrunk().scenario


def test_another_cause_does_not_count() -> None:
    def cause_of(*given: object) -> object:
        events = given[0]
        assert isinstance(events, list)
        return len(events) > 50

    small = shrink_timed(FAILING, INVARIANT, tries=40, cause_of=cause_of)

    assert small.events > 50


@pytest.mark.parametrize(
    ("scenario", "sought", "named"),
    [
        (Scenario("calm"), None, "calm: breaks no law"),
        (FAILING, "election-safety", "election-safety is not broken; broken: "),
    ],
)
def test_what_is_not_broken_cannot_be_shrunk(
    scenario: Scenario, sought: str | None, named: str
) -> None:
    with pytest.raises(BadInput, match=named):
        shrink_timed(scenario, sought)


def test_what_belongs_to_something_that_is_gone_goes_with_it() -> None:
    scenario = Scenario(
        "x",
        workload=Workload(
            (Send(1, 1, "a", "x", 1, None, 1), Send(2, 2, "b", "y", 2, None, 1)),
            (EndTransaction(3, 1, 1, commit=True), EndTransaction(4, 2, 1, commit=True)),
        ),
        faults=(
            Fault(5, FaultKind.ADD_REPLICA, "r4"),
            Fault(6, FaultKind.CRASH, "r4", 10),
            Fault(7, FaultKind.PARTITION, "r1", 10, peers=("r3",)),
        ),
        changes=(Change(9, "r4", (("strategy", "header"),)),),
    )
    whole = parts_of(scenario)

    def left(*without: object) -> Scenario:
        return with_parts(scenario, [part for part in whole if part.value not in without])

    assert with_parts(scenario, whole) == scenario
    assert [end.producer for end in left(scenario.workload.sends[0]).workload.ends] == [2]
    alone = left(scenario.faults[0])
    assert (len(alone.faults), alone.changes) == (1, ())
    assert all(fault.peers == () for fault in without_replica(scenario, "r3").faults)
    assert with_parts(replace(scenario, duration_ms=3), whole).workload.ends == ()


def test_headers_stay_with_their_sends() -> None:
    scenario = generate(1, Mix(header_mistakes=1.0, transactional=0.0))
    odd = dict(scenario.applications.headers)
    whole = parts_of(scenario)
    later = with_parts(scenario, [part for part in whole if part.at_ms > 1000])
    gone = len(scenario.workload.sends) - len(later.workload.sends)

    expected = {index - gone: sent for index, sent in odd.items() if index >= gone}
    assert dict(later.applications.headers) == expected
    assert any(isinstance(one, SentHeader) for sent in expected.values() for one in sent)


def test_the_cause_is_told_by_the_signature() -> None:
    events: list = []  # type: ignore[type-arg]
    run = run_scenario(shrunk().scenario, trace=events)
    violation = next(v for v in run.violations if v.invariant == INVARIANT)
    before: list = []  # type: ignore[type-arg]
    original = run_scenario(FAILING, trace=before)
    first = next(v for v in original.violations if v.invariant == INVARIANT)

    assert signature_of(events, violation, shrunk().scenario.rules) == signature_of(
        before, first, FAILING.rules
    )
