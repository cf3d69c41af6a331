"""Verdicts about deletes: whom a removed tombstone was needed by, and who shows a deleted key."""

import pytest

from sim.check import Checker
from sim.check.folding import own_state
from sim.rules import Rules, rules_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.timed_run import run_scenario
from sim.trace import Event, HighWatermarkMoved
from tests.check.events import (
    appended,
    batch,
    cleaned,
    cluster,
    committed,
    copied,
    removed,
    superseded,
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


def test_the_letter_of_kip_630_is_counted_beside_the_invariant() -> None:
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


SHOWN: list[Event] = [
    *LAGS,
    cleaned("r1", 2, superseded(0, "k", 1), removed(1, "k", "tombstone")),
    *appended("r1", batch(2, "z")),
    committed("r1", 3),
    copied("r2", "r1", 1, batch(2, "z")),
]
"""The tombstone is gone, and r2 has fetched what comes after it."""


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
        told = {(one.replica, one.key, one.began, one.at) for one in checker.violations}
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
