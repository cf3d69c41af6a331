"""Claims that something occurred: true when it did, and the random cases reach them all."""

from collections.abc import Iterable

import pytest

from sim import trace
from sim.check import Checker
from sim.check.counters import RunCounters
from sim.check.coverage import SITUATIONS, Coverage
from sim.log import data_batch
from sim.rules import Rules, rules_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.timed_run import run_scenario
from sim.trace import Event
from tests.check.events import (
    RULES,
    cleaned,
    cluster,
    committed,
    copied,
    marker,
    record,
    removed,
    superseded,
)

HAZARD = rules_from({"preset": "kip-280", "fix": "none", "delete_retention_ms": 500})
FIXED = rules_from({"preset": "kip-280", "fix": "empty_batch", "delete_retention_ms": 500})
KRAFT = rules_from({"preset": "kraft"})

BATCH = data_batch((record(0, "k"), record(1, "k")), epoch=1)
LOG = [*cluster("r1"), trace.Appended("r1", BATCH)]
"""r1 leads; one batch of the offsets 0 and 1 is all there is."""
ADDED = trace.ReplicaAdded("r2")
WRITTEN = trace.Appended("r1", data_batch((record(2, "z"),), epoch=1))
LAST_GONE = cleaned("r1", 2, superseded(1, "k", 0))
FIRST_GONE = cleaned("r1", 2, superseded(0, "k", 1))
BOTH = (superseded(0, "k", 1), superseded(1, "k", 0))
GONE = cleaned("r1", 2, *BOTH)
EMPTIED = cleaned("r1", 2, *BOTH, emptied=(1,))
TOMBSTONE_GONE = cleaned("r1", 2, removed(1, "k", "tombstone"))
REMOVED = {"record-removed", "earlier-record-won"}
TAIL = {*REMOVED, "tail-removed"}
MOVED = {*TAIL, "leader-migrated"}


SNAPSHOT = trace.SnapshotTaken("r1", 2, 1, BATCH.records)


def elected(name: str) -> Event:
    return trace.LeaderElected(name, 2, 2, ("r1", "r2"), ("r1", "r2"))


def reached(events: Iterable[Event], strategy: str = "offset") -> tuple[str, ...]:
    checker = Checker(RULES.with_values({"strategy": strategy, "strategy_header": "version"}), [])
    coverage = Coverage(checker, RunCounters(checker))
    for event in events:
        checker.on(0, event)
    return coverage.names


HAND_MADE: list[tuple[list[Event], set[str]]] = [
    # A batch that keeps a record still says where the log ends; a tail may go in two passes.
    ([LAST_GONE], REMOVED),
    ([LAST_GONE, FIRST_GONE], TAIL),
    # One that is kept empty is not removed before its header is dropped.
    ([EMPTIED], {*REMOVED, "tail-emptied"}),
    ([EMPTIED, cleaned("r1", 2, dropped=(1,))], {*TAIL, "tail-emptied"}),
    # A record below the last batch is no tail; what was copied is one.
    ([WRITTEN, GONE._replace(log_end_offset=3)], REMOVED),
    ([ADDED, copied("r2", "r1", 0, BATCH), GONE._replace(replica="r2")], TAIL),
    # Leadership moves while the tail is gone, after a new one, when its log is gone, or not at all.
    ([ADDED, GONE, elected("r2")], {*MOVED, "migrated-after-tail-removed"}),
    ([ADDED, GONE, WRITTEN, elected("r2")], MOVED),
    ([ADDED, elected("r2"), GONE, elected("r2")], MOVED),
    ([elected("r1")], set()),
    # A tombstone goes while nobody lags, or somebody does.
    ([TOMBSTONE_GONE], {"record-removed", "tombstone-removed"}),
    (
        [ADDED, TOMBSTONE_GONE],
        {"record-removed", "tombstone-removed", "tombstone-removed-while-follower-lagged"},
    ),
    ([trace.PositionRecorded("r1", "r1", 2)], set()),
    ([trace.PositionRecorded("r1", "r1", 3)], {"tail-missing-at-fetch"}),
    ([trace.AppendRefused("r1", "k", "null_value")], {"append-refused"}),
    ([trace.CleaningFailed("r1", 0)], {"cleaning-failed"}),
    ([trace.FetchingFailed("r1", "r2", 2, 3)], {"fetching-failed"}),
    ([trace.Converted("r1", "r1", 80, (1,))], {"delete-value-dropped"}),
    ([trace.Converted("r1", "r1", 80, ())], set()),
    ([trace.Converted("r1", "c1", 80, (1,))], {"delete-value-withheld"}),
    ([trace.Converted("r1", "c1", 80, ())], set()),
    ([trace.IsrChanged("r1", ("r1", "r2"), "r2")], {"isr-expanded"}),
    ([trace.IsrChanged("r1", (), None)], {"isr-shrunk"}),
    ([trace.ReplicaWiped("r1", "disk")], {"replica-rebuilt"}),
    ([trace.SnapshotInstalled("r1", 0, 0, (), 0, 0, leading=True)], {"snapshot-installed"}),
    ([trace.SnapshotFetchDropped("r1", 2, 1, "it is gone")], {"snapshot-fetch-dropped"}),
    ([trace.Truncated("r1", 1, 1, 0, 0, leading=False)], {"follower-truncated"}),
    ([trace.FaultInjected("r1", "roll", "")], {"fault-injected"}),
    ([trace.UncleanElection("r1", 2, "")], {"unclean-election"}),
    ([trace.ConfigChanged("r1", (), initial=True)], set()),
    ([trace.ConfigChanged("r1", ())], {"settings-changed"}),
    ([trace.Appended("r1", marker(2, 7, commit=True))], set()),
    ([trace.Appended("r1", marker(2, 7, commit=False))], {"transaction-aborted"}),
    ([cleaned("r1", 2, removed(1, None, "marker"))], {"record-removed", "marker-removed"}),
    ([cleaned("r1", 2, removed(1, "k", "aborted"))], {"record-removed", "aborted-data-removed"}),
    ([cleaned("r1", 2)._replace(partial=True)], {"partial-round"}),
    ([cleaned("r1", 2)._replace(oversized=((0, 99),))], {"batch-oversized"}),
    # Retention deletes k, which is not committed, or is, or is in a snapshot.
    ([trace.LogStartMoved("r1", 2, 2, "ms")], {"old-segments-deleted"}),
    (
        [committed("r1", 2), trace.LogStartMoved("r1", 2, 2, "ms")],
        {"old-segments-deleted", "live-key-expired"},
    ),
    (
        [committed("r1", 2), SNAPSHOT, trace.LogStartMoved("r1", 2, 2, "ms")],
        {"old-segments-deleted"},
    ),
    ([trace.LogStartedAfresh("r1", 2, 2, 2)], {"follower-started-afresh"}),
    # A crash takes what only one replica had, and was committed.
    ([trace.ReplicaCrashed("r1", 0, 0)], set()),
    ([committed("r1", 2), trace.ReplicaCrashed("r1", 0, 0)], {"outside-durability"}),
]


@pytest.mark.parametrize(("events", "expected"), HAND_MADE)
def test_exactly_what_occurred_is_reached(events: list[Event], expected: set[str]) -> None:
    assert reached([*LOG, *events]) == tuple(name for name in SITUATIONS if name in expected)


@pytest.mark.parametrize(
    ("strategy", "headers", "lost"),
    [("header", (), True), ("header", (("version", b"1"),), False), ("offset", (), False)],
)
def test_a_write_without_version_loses_where_versions_count(
    strategy: str, headers: tuple[tuple[str, bytes], ...], lost: bool
) -> None:
    batch = data_batch((record(0, "k"), record(1, "k")._replace(headers=headers)), epoch=1)
    names = reached([*cluster("r1"), trace.Appended("r1", batch), LAST_GONE], strategy)

    assert ("unversioned-write-lost" in names) is lost


RARE = {
    "append-refused",
    "batch-oversized",
    "cleaning-failed",
    "delete-value-dropped",
    "delete-value-withheld",
    "fetching-failed",
    "follower-started-afresh",
    "live-key-expired",
    "old-segments-deleted",
    "outside-durability",
    "settings-changed",
    "snapshot-fetch-dropped",
    "snapshot-installed",
    "unclean-election",
}
"""What random scenarios do not bring: snapshots, retention, a batch limit, new settings, loss of
power, passes that cannot go on, and, in a quorum, unclean elections."""

RICH = (46, 147, 28)
"""Seeds of the reference mix that reach everything together; from 0 on it takes some 150."""


@pytest.mark.parametrize(
    ("mix", "rules", "seeds", "wanted", "never"),
    [
        ("reference", HAZARD, (*RICH, *range(200)), SITUATIONS.keys() - RARE, set()),
        ("kraft", KRAFT, range(200), {"snapshot-installed", "snapshot-fetch-dropped"}, set()),
        (
            "quiet",
            FIXED,
            range(50),
            {"tail-emptied"},
            {"tail-removed", "migrated-after-tail-removed"},
        ),
        (
            {"not_idempotent": 1.0, "transactional": 0.0},
            HAZARD,
            range(20),
            {"tail-removed"},
            {"tail-emptied"},
        ),
    ],
)
def test_random_runs_reach_what_endangers_a_compacted_log(
    mix: object, rules: Rules, seeds: Iterable[int], wanted: set[str], never: set[str]
) -> None:
    found: set[str] = set()
    for seed in seeds:
        found |= set(
            run_scenario(generate(seed, Mix.model_validate(mix)).with_rules(rules)).reached
        )
        if wanted <= found and not never:
            break

    assert (wanted - found, found & never) == (set(), set())
