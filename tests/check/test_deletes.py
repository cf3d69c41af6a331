"""Verdicts about deletes: whom a removed tombstone was needed by, and who shows a deleted key."""

import re

import pytest

from sim.check import Checker
from sim.check.folding import own_state
from sim.rules import Rules, rules_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.timed_run import run_scenario
from sim.trace import Event, HighWatermarkMoved, LeaderElected, ReplicaCrashed
from tests.check.events import (
    appended,
    at_rest,
    batch,
    cleaned,
    cluster,
    committed,
    copied,
    marker,
    removed,
    superseded,
    violations_of,
)

VALUE, DELETE = batch(0, "k"), batch(1, "k", None)
LAGS: list[Event] = [
    *cluster("r1", "r2", isr=("r1",)),
    *appended("r1", VALUE),
    copied("r2", "r1", 0, VALUE),
    *appended("r1", DELETE),
    committed("r1", 2),
]
"""r1 has the value and its tombstone, both committed; r2 has the value."""


def test_a_tombstone_that_is_needed_is_missed_whatever_the_cleaner_calls_its_removal() -> None:
    uncommitted = [*LAGS, *appended("r1", batch(2, "k", "new"))]
    gone = cleaned("r1", 2, superseded(1, "k", 2), end=3)

    assert (
        len(
            violations_of(
                "tombstone-safety", [*LAGS, cleaned("r1", 2, removed(1, "k", "tombstone"))]
            )
        )
        == 1
    )
    assert len(violations_of("tombstone-safety", [*uncommitted, gone])) == 1
    assert violations_of("tombstone-safety", [*uncommitted, committed("r1", 3), gone]) == []


def test_what_a_lagging_log_holds_uncommitted_saves_nobody() -> None:
    own, delete = batch(1, "k", None, uid=9), batch(2, "k", None, epoch=2)
    forked: list[Event] = [
        *cluster("r2", "r1"),
        *appended("r2", VALUE),
        copied("r1", "r2", 0, VALUE),
        committed("r2", 1),
        *appended("r2", own),
        LeaderElected("r1", 2, 1, ("r1",), ("r1", "r2")),
        *appended("r1", batch(1, "z", epoch=2), delete),
        committed("r1", 3),
    ]
    gone = cleaned("r1", 3, superseded(0, "k", 2), removed(2, "k", "tombstone"))

    assert len(violations_of("tombstone-safety", [*forked, gone])) == 1


def test_the_replica_that_removed_a_tombstone_is_not_the_one_that_needs_it() -> None:
    alone = [*cluster("r1"), *appended("r1", VALUE, DELETE), committed("r1", 2)]

    assert (
        violations_of("tombstone-safety", [*alone, cleaned("r1", 2, removed(1, "k", "tombstone"))])
        == []
    )


def test_a_replica_that_is_down_needs_the_tombstone_too() -> None:
    gone = cleaned("r1", 2, removed(1, "k", "tombstone"))
    down = ReplicaCrashed("r2", 1, 1)

    assert len(violations_of("tombstone-safety", [*LAGS, down, gone])) == 1


def test_the_letter_of_kip_630_is_counted_beside_the_law() -> None:
    own = batch(1, "k", None)
    saved = [
        *cluster("r1", "r2", isr=("r1",)),
        *appended("r1", VALUE, own),
        copied("r2", "r1", 0, VALUE, own),
        *appended("r1", batch(2, "k", None)),
        committed("r1", 3),
        cleaned(
            "r1", 3, superseded(0, "k", 2), superseded(1, "k", 2), removed(2, "k", "tombstone")
        ),
    ]
    checker = Checker(Rules(), ["tombstone-safety"])
    for number, event in enumerate(saved):
        checker.on(number, event)

    assert checker.violations == []
    assert checker.counters() == {"tombstones_removed_early": 1}
    assert len(violations_of("tombstone-until-log-end", saved)) == 1


SHOWN: list[Event] = [
    *LAGS,
    cleaned("r1", 2, superseded(0, "k", 1), removed(1, "k", "tombstone")),
    *appended("r1", batch(2, "z")),
    committed("r1", 3),
    copied("r2", "r1", 1, batch(2, "z")),
]
"""The tombstone is gone, and r2 has fetched what comes after it."""


def test_a_deleted_key_is_shown_from_when_the_replica_is_caught_up() -> None:
    rewritten = [*appended("r1", batch(3, "k", "new")), committed("r1", 4)]
    told = HighWatermarkMoved("r2", 3, leading=False)

    [sentence] = violations_of("no-transient-resurrection", [*SHOWN, told, *rewritten])
    assert f"r2 gave k=v (offset 0) for 2 steps, from {len(SHOWN) + 1} on" in sentence
    assert violations_of("no-transient-resurrection", [*SHOWN, *rewritten]) == []


def test_what_is_still_shown_at_rest_is_lasting_and_not_transient() -> None:
    at_the_end = [*SHOWN, HighWatermarkMoved("r2", 3, leading=False), at_rest("r1")]

    assert violations_of("no-transient-resurrection", at_the_end) == []
    assert len(violations_of("no-resurrection", at_the_end)) == 1


def test_a_tombstone_whose_marker_is_gone_deletes_nothing() -> None:
    delete = batch(1, "k", None, pid=7)
    lost = [
        *cluster("r1"),
        *appended("r1", VALUE, delete, marker(2, 7, commit=True), batch(3, "z")),
        committed("r1", 4),
    ]
    gone = cleaned("r1", 4, removed(2, None, "marker"))

    assert violations_of("no-resurrection", [*lost, at_rest("r1")]) == []
    assert len(violations_of("no-resurrection", [*lost, gone, at_rest("r1")])) == 1


def test_settings_that_change_are_judged_at_rest_alone() -> None:
    rewritten = [*appended("r1", batch(3, "k", "new")), committed("r1", 4)]
    events = [*SHOWN, HighWatermarkMoved("r2", 3, leading=False), *rewritten]
    for earlier, expected in (((), 1), ((Rules.of(strategy="timestamp"),), 0)):
        checker = Checker(Rules(), ["no-transient-resurrection"], earlier=earlier)
        for number, event in enumerate(events):
            checker.on(number, event)

        assert len(checker.violations) == expected


SOURCES = {
    "kip-280": {"preset": "kip-280", "fix": "none", "delete_retention_ms": 200},
    "everything at once": {"preset": "kip-280", "tombstone_removal": "immediate"},
    "no epochs": {
        "strategy": "header",
        "preset": "kafka-2.8",
        "truncation": "high_watermark",
        "isr_join": "hw_only",
        "delete_retention_ms": 200,
    },
}


MIX = Mix(
    mix="reference",
    duration_ms=6000,
    transactional=0.7,
    delete_share=(0.2, 0.4),
    late_share=(0.3, 0.5),
    keys=(1, 4),
)


@pytest.mark.parametrize("rules", SOURCES)
def test_folding_every_log_after_every_event_finds_no_deleted_key_more(rules: str) -> None:
    values, found = rules_from(SOURCES[rules]), 0
    for seed in range(4):
        events: list[tuple[int, Event]] = []
        scenario = generate(seed, MIX)
        run_scenario(scenario.with_rules(values), trace=events)
        checker = Checker(values, ["no-transient-resurrection"], unit="ms")

        begun = intervals(checker, events)
        told = {
            (one.replica, one.key, int(re.search(r"from (\d+) on", one.sentence)[1]), one.at)
            for one in checker.violations
        }
        assert checker.counters()["resurrections"] == sum(map(len, begun.values()))
        assert told <= {
            (*who, since, until) for who, times in begun.items() for since, until in times
        }
        found += sum(map(len, begun.values()))
    assert found > 0


def intervals(
    checker: Checker, events: list[tuple[int, Event]]
) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """(replica, key) -> from when to when it is shown although deleted, by folding all the time."""
    history = checker.history
    begun: dict[tuple[str, str], int] = {}
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for at, event in events:
        checker.on(at, event)
        shown: set[tuple[str, str]] = set()
        for view in history.replicas.values():
            state, known = own_state(history, view), len(history.committed)
            for key, uid in history.deleted.items():
                delete = history.written[uid]
                if view.log_end_offset <= delete.record.offset or key not in state:
                    continue
                if delete.version > history.written[state[key]].version:
                    shown.add((view.name, key))
                    caught_up = min(view.high_watermark, view.log_end_offset) >= known
                    if view.up and caught_up and not history.committed_twice:
                        begun.setdefault((view.name, key), at)
        for who in [who for who in begun if who not in shown]:
            found.setdefault(who, []).append((begun.pop(who), at))
    for who, since in begun.items():
        found.setdefault(who, []).append((since, events[-1][0]))
    return found
