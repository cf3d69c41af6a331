"""Verdicts about deletes: whom a removed tombstone was needed by, and who shows a deleted key."""

import pytest

from sim.check import Checker
from sim.check.folding import own_state
from sim.protocol.events import Event
from sim.protocol.rules import rules_from
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix

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
        scenario = generate(seed, MIX)
        events = [*run_scenario(scenario.with_rules(values), keep_events=True).events]
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
