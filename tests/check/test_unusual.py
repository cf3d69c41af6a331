"""Invariants that no usual event can break are not asked about one: nothing is missed by that."""

from contextlib import suppress

import pytest

from sim.check import Checker
from sim.check.checker import known_invariants
from sim.check.violation import Violation
from sim.compaction.strategies import HEADER_FORMS
from sim.rules import rules_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.timed_run import run_scenario
from sim.trace import Appended, Consumed, Event, HighWatermarkMoved, LeaderElected, PositionRecorded
from tests.check.defects import PLANTED
from tests.check.events import (
    RULES,
    appended,
    batch,
    cleaned,
    cluster,
    committed,
    copied,
    record,
    superseded,
    violations_of,
)
from tests.check.planted import BY_HEADER, LATE, ORDERS
from tests.check.unusual import asking_always

SOURCES = {
    "kip-280": {"preset": "kip-280", "fix": "none", "delete_retention_ms": 500},
    "a majority": {
        "preset": "kip-280",
        "commit": "majority",
        "tombstone_removal": "immediate",
        "cleaner_bound": "leo",
    },
    "no epochs": {"preset": "kafka-2.8", "truncation": "high_watermark", "isr_join": "hw_only"},
}


def judged(events: list[tuple[int, Event]], checker: Checker) -> list[Violation]:
    for at, event in events:
        checker.on(at, event)
    return checker.violations


@pytest.mark.parametrize("rules", SOURCES)
def test_asking_every_invariant_about_every_event_finds_no_violation_more(rules: str) -> None:
    values = rules_from(SOURCES[rules])
    found = 0
    for seed in range(8):
        events: list[tuple[int, Event]] = []
        run_scenario(
            generate(seed, Mix.model_validate("reference")).with_rules(values), trace=events
        )
        every, some = (Checker(values, known_invariants()) for _ in range(2))

        assert judged(events, some) == judged(events, asking_always(every))
        found += len(some.violations)
    assert found > 0


@pytest.mark.parametrize("mistake", ORDERS)
def test_nothing_is_missed_either_of_what_a_cleaner_does_by_mistake(
    monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.setitem(HEADER_FORMS, "last_long", ORDERS[mistake])
    values = BY_HEADER.with_values({"cleaner_bound": "leo", "delete_retention_ms": 300})
    for seed in range(2):
        events: list[tuple[int, Event]] = []
        run_scenario(generate(seed, LATE).with_rules(values), trace=events)
        every, some = (Checker(values, known_invariants()) for _ in range(2))

        assert judged(events, some) == judged(events, asking_always(every)) != []


@pytest.mark.parametrize("name", PLANTED)
def test_asking_every_invariant_about_every_event_finds_no_more_of_a_planted_defect(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong, an invariant that no usual event can break is not asked about one."""
    planted = PLANTED[name]
    rules = rules_from({"preset": planted.preset, "delete_retention_ms": 500, **planted.rules})
    planted.plant(monkeypatch)
    found: set[str] = set()
    for seed in range(4):
        scenario = generate(seed, Mix.model_validate(planted.mix)).with_rules(rules)
        events: list[tuple[int, Event]] = []
        with suppress(ValueError):  # what the core may raise with a defect in it
            run_scenario(scenario, trace=events)
        every, some = (Checker(rules, known_invariants()) for _ in range(2))

        assert judged(events, some) == judged(events, asking_always(every))
        found |= {violation.invariant for violation in some.violations}
        if planted.found_by in found:
            return
    pytest.fail(f"{planted.found_by} does not find it: {found}")


FIRST, SECOND = batch(0, "k"), batch(1, "k")
TWO: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", FIRST, SECOND),
    copied("r2", "r1", 0, FIRST, SECOND),
    committed("r1", 2),
]


@pytest.mark.parametrize(
    ("event", "unusual"),
    [
        (Appended("r1", batch(2, "k")), False),
        (Appended("r1", batch(2, "k", epoch=0)), True),
        (Appended("r1", batch(1, "k", uid=9)), True),
        (PositionRecorded("r1", "r2", 2), False),
        (PositionRecorded("r1", "r2", 3), True),
        (HighWatermarkMoved("r2", 2, leading=False), False),
        (HighWatermarkMoved("r2", 3, leading=False), True),
        (HighWatermarkMoved("r1", 1, leading=True), True),
        (Consumed("r1", "c", 0, 2, (FIRST.records[0],), 5), False),
        (Consumed("r1", "c", 0, 2, (record(0, "k", "another"),), 5), True),
        (cleaned("r1", 2, superseded(0, "k", 1)), False),
        (cleaned("r1", 2, superseded(0, "k", 1), end=1), True),
        (cleaned("r1", 2, superseded(0, "k", 1), hw=1), True),
    ],
)
def test_what_is_unusual(event: Event, unusual: bool) -> None:
    checker = Checker(RULES, ())
    for before in TWO:
        checker.on(0, before)

    assert checker._keeper.apply(event) is not unusual


@pytest.mark.parametrize(("by", "unusual"), [(2, False), (3, True)])
def test_the_removal_of_a_tombstone_is_usual_only_when_a_committed_record_beats_it(
    by: int, unusual: bool
) -> None:
    batches = [FIRST, batch(1, "k", None), batch(2, "k" if by == 2 else "z"), batch(3, "k")]
    checker = Checker(RULES, ())
    for before in [*cluster("r1"), *appended("r1", *batches), committed("r1", 3)]:
        checker.on(0, before)

    gone = cleaned("r1", 2, superseded(1, "k", 2), end=4, hw=3)
    assert checker._keeper.apply(gone) is not unusual


def test_a_batch_that_is_not_the_one_that_was_appended_is_unusual() -> None:
    checker = Checker(RULES, ())
    for before in [*cluster("r1", "r2"), *appended("r1", FIRST)]:
        checker.on(0, before)

    assert not checker._keeper.apply(copied("r2", "r1", 0, batch(0, "k", "another")))


def test_while_two_logs_disagree_nothing_that_is_written_or_committed_is_usual() -> None:
    checker = Checker(RULES, ())
    other = batch(0, "k", "another", uid=9, epoch=2)
    leads = LeaderElected("r2", 2, 0, ("r1", "r2"), ("r1", "r2"))
    for before in [*cluster("r1", "r2"), *appended("r1", FIRST), leads, *appended("r2", other)]:
        checker.on(0, before)

    assert not checker._keeper.apply(Appended("r2", batch(1, "k", epoch=2)))
    assert not checker._keeper.apply(copied("r1", "r2", 1, batch(1, "k", epoch=2)))
    assert not checker._keeper.apply(HighWatermarkMoved("r1", 0, leading=False))


def test_a_record_that_is_written_over_another_is_unusual_and_takes_its_place() -> None:
    checker = Checker(RULES, ())
    for before in [*TWO, *appended("r1", batch(2, "k"), batch(3, "k"))]:
        checker.on(0, before)

    assert not checker._keeper.apply(Appended("r1", batch(2, "k", uid=9, epoch=2)))
    assert checker.history.replicas["r1"].slots == [100, 101, 9]


def test_an_equal_copy_that_was_written_to_a_disk_and_read_again_is_the_same() -> None:
    again = FIRST._replace(records=(FIRST.records[0]._replace(),))
    events = [*cluster("r1", "r2"), *appended("r1", FIRST), copied("r2", "r1", 0, again)]

    assert violations_of("record-immutable", events) == []
