"""The oracle: committed history, lineage, holes and their reasons, offsets committed twice."""

from collections.abc import Callable
from typing import Any

import pytest

from sim import trace
from sim.check import Checker
from sim.check.replica_view import EMPTY, HOLE
from sim.log import data_batch
from sim.trace import Event
from tests.check.events import (
    appended,
    batch,
    checked,
    cleaned,
    cluster,
    committed,
    copied,
    marker,
    record,
    removed,
    superseded,
)

A, B, OTHER = batch(0, "a"), batch(1, "b"), batch(0, "b", uid=7, epoch=2)
OLD, NEW, DELETE = batch(0, "k"), batch(1, "k"), batch(1, "k", None)
WIDE = data_batch((record(1, "b"), record(2, "c")), epoch=1)
R2_LEADS = trace.LeaderElected("r2", 2, 0, ("r2",), ("r2",))
R2_KNOWS = trace.HighWatermarkMoved("r2", 1, leading=False)
LEARNED, PUSHED = trace.GapLearned("r2", "r1", 0, 1), trace.Pushed("r2", "r1", OTHER)
COMMITTED = ("history", "committed")
TWO = cluster("r1", "r2")
AB = [*cluster("r1"), *appended("r1", A, B)]
REWRITTEN = [*TWO, *appended("r1", OLD, NEW)]
FORKED = [*TWO, *appended("r1", A, B), committed("r1", 2), trace.Appended("r2", OTHER)]
SUCCEEDED = [*TWO, *appended("r1", A), committed("r1", 1), R2_LEADS]
CLEANED = [*REWRITTEN, cleaned("r1", 2, superseded(0, "k", 1))]
ABORTED = [
    *[*cluster("r1"), *appended("r1", batch(0, "k", None), batch(1, None), batch(2, "d", pid=7))],
    *[*appended("r1", marker(3, 7, commit=False)), committed("r1", 4)],
]
UNDECIDED = [
    *[*cluster("r1"), *appended("r1", batch(0, "k"), batch(1, "k", pid=7)), committed("r1", 2)]
]
SWEPT = [
    *[*cluster("r1"), *appended("r1", OLD, DELETE), committed("r1", 2)],
    cleaned("r1", 2, superseded(0, "k", 1), removed(1, "k", "tombstone"), emptied=(1,)),
]
STRADDLED = [*AB[:-1], trace.Appended("r1", WIDE)]
CUT = trace.Truncated("r1", 2, 3, 0, 0, leading=False, lowest=1)


def facts(of: str, *names: str) -> Callable[[Checker], list[Any]]:
    """Facts of a replica, or of the `history`."""

    def asked(checker: Checker) -> list[Any]:
        one: Any = checker.history if of == "history" else checker.history.replicas[of]
        return [getattr(one, name) for name in names]

    return asked


def may_be_absent(*uids: int) -> Callable[[Checker], list[bool]]:
    return lambda checker: [checker.history.may_be_absent(uid) for uid in uids]


def absent_now(checker: Checker) -> bool:
    return checker.history.may_be_absent_now(100)


def told_apart(checker: Checker) -> list[tuple[int, str, str]]:
    return [(at, one.name, other.name) for at, one, other in checker.history.disagreements]


def missing(name: str) -> Callable[[Checker], int | None]:
    """The first committed offset that a replica lacks."""
    return lambda checker: checker.history.first_missing(
        checker.history.replicas[name], 9, twice_counts=True
    )


CASES: list[tuple[list[Event], Callable[[Checker], object], object]] = [
    # Committed is what the leader's log has when its high watermark moves, cleaned away or not.
    ([*AB, committed("r1", 1)], facts(*COMMITTED), [[100]]),
    (
        [
            *TWO,
            *appended("r1", A),
            copied("r2", "r1", 0, A),
            R2_KNOWS,
        ],
        facts(*COMMITTED),
        [[]],
    ),
    (
        [*REWRITTEN, cleaned("r1", 2, superseded(0, "k", 1), hw=0)],
        facts("r1", "slots"),
        [[HOLE, 101]],
    ),
    (
        [*REWRITTEN, cleaned("r1", 2, superseded(0, "k", 1), hw=0), committed("r1", 2)],
        facts(*COMMITTED),
        [[100, 101]],
    ),
    # A follower inherits the lineage of a gap that it copies, or that it learns of.
    ([*CLEANED, copied("r2", "r1", 0, NEW)], facts("r2", "slots"), [[HOLE, 101]]),
    ([*CLEANED, copied("r2", "r1", 0, NEW)], facts("r2", "lineage"), [[100, 101]]),
    (
        [*CLEANED, copied("r2", "r1", 0, NEW), R2_LEADS, committed("r2", 2)],
        facts(*COMMITTED),
        [[100, 101]],
    ),
    ([*CLEANED, LEARNED], facts("r2", "slots", "lineage"), [[HOLE], [100]]),
    # So it does what nothing explains, though nothing is committed yet.
    (
        [*REWRITTEN, cleaned("r1", 2, removed(0, "k", "x"), hw=0), copied("r2", "r1", 0, NEW)],
        facts("r2", "unexplained_offsets"),
        [{0}],
    ),
    # What stays of a batch.
    (SWEPT, facts("r1", "slots"), [[HOLE, EMPTY]]),
    ([*SWEPT, cleaned("r1", 2, dropped=(1,))], facts("r1", "slots"), [[HOLE, HOLE]]),
    ([*AB, cleaned("r1", 2, dropped=(1,))], facts("r1", "slots"), [[100, 101]]),
    ([*AB, cleaned("r1", 2, superseded(1, "b", 0), end=1)], facts("r1", "slots"), [[100]]),
    # An offset that is committed twice keeps its first record.
    ([*AB, committed("r1", 1), committed("r1", 1)], facts("history", "committed_twice"), [{}]),
    (
        [*SUCCEEDED, trace.Appended("r2", OTHER), committed("r2", 1)],
        facts("history", "committed", "committed_twice", "recommitted"),
        [[100], {0: 7}, [(0, 7)]],
    ),
    (
        [*SUCCEEDED, copied("r2", "r1", 0, A), committed("r2", 1)],
        facts("history", "committed_twice"),
        [{}],
    ),
    # Two logs disagree as long as both hold something at an offset.
    (FORKED, told_apart, [(0, "r1", "r2")]),
    ([*FORKED, cleaned("r1", 2, superseded(0, "a", 1), end=2, hw=2)], told_apart, []),
    ([*FORKED, trace.ReplicaWiped("r1", "a new disk")], told_apart, []),
    # The winner follows the strategy, and the verdict of transactions.
    (UNDECIDED, facts("history", "winners"), [{"k": 100}]),
    (
        [*UNDECIDED, trace.Appended("r1", marker(2, 7, commit=True)), committed("r1", 3)],
        facts("history", "winners"),
        [{"k": 101}],
    ),
    (
        [*UNDECIDED, trace.Appended("r1", marker(2, 7, commit=False)), committed("r1", 3)],
        facts("history", "winners"),
        [{"k": 100}],
    ),
    # A committed winner excuses absence for good, one that the leader holds as long as it does;
    # tombstones, markers, aborted and unkeyed records may be absent.
    ([*REWRITTEN, committed("r1", 1)], may_be_absent(100, 101), [False, False]),
    ([*REWRITTEN, committed("r1", 2)], may_be_absent(100, 101), [True, False]),
    (ABORTED, may_be_absent(100, 101, 102, 103), [True] * 4),
    ([*REWRITTEN, committed("r1", 1)], absent_now, True),
    ([*REWRITTEN, committed("r1", 1), trace.ReplicaCrashed("r1", 1, 1)], absent_now, False),
    ([*REWRITTEN, committed("r1", 1), trace.ReplicaRemoved("r1")], absent_now, False),
    # What a disk forgets that was cut, lost or replaced.
    ([*AB, trace.Truncated("r1", 1, 2, 0, 0, leading=False)], facts("r1", "slots"), [[100]]),
    ([*AB, trace.ReplicaCrashed("r1", 1, 0)], facts("r1", "slots", "up"), [[100], False]),
    ([*AB, trace.ReplicaWiped("r1", "a new disk")], facts("r1", "slots"), [[]]),
    ([*AB, trace.SegmentsLost("r1", (0,))], facts("r1", "slots"), [[HOLE, 101]]),
    ([*AB, trace.Appended("r1", batch(1, "b", uid=9, epoch=2))], facts("r1", "slots"), [[100, 9]]),
    (
        [*AB, trace.SnapshotInstalled("r1", 5, 1, (), 2, 0, leading=False)],
        facts("r1", "log_start_offset", "log_end_offset", "high_watermark", "snapshots"),
        [5, 5, 5, {(5, 1): ()}],
    ),
    (
        [*AB, trace.LogStartedAfresh("r1", 5, 5, 2)],
        facts("r1", "log_start_offset", "log_end_offset", "first_dirty_offset"),
        [5, 5, 5],
    ),
    (
        [*AB, trace.LogStartMoved("r1", 1, 2, "ms")],
        facts("r1", "log_start_offset", "slots", "first_dirty_offset"),
        [1, [HOLE, 101], 1],
    ),
    (
        [*AB, trace.ReplicaCrashed("r1", 2, 0), trace.ReplicaRestarted("r1", 1, 0)],
        facts("r1", "log_end_offset_before", "log_end_offset", "up"),
        [2, 1, True],
    ),
    # A batch that straddles the target of a cut is gone as a whole, and missing if committed.
    ([*STRADDLED, CUT], facts("r1", "slots", "lineage"), [[100, HOLE], [100, 0]]),
    ([*STRADDLED, committed("r1", 3), CUT], missing("r1"), 1),
    # Committed offsets that a log lacks: cut, lost, never had, or another record.
    ([*AB, committed("r1", 2)], missing("r1"), None),
    ([*AB, committed("r1", 2), trace.SegmentsLost("r1", (0,))], missing("r1"), 0),
    ([*AB, committed("r1", 2), trace.ReplicaCrashed("r1", 1, 0)], missing("r1"), 1),
    ([*AB, committed("r1", 2), cleaned("r1", 2, removed(0, "a", "x"))], missing("r1"), 0),
    ([*AB, cleaned("r1", 2, removed(0, "a", "x"), hw=0), committed("r1", 2)], missing("r1"), 0),
    ([*CLEANED, committed("r1", 2), copied("r2", "r1", 0, NEW)], missing("r2"), None),
    ([*TWO, *appended("r1", A, B), committed("r1", 2), copied("r2", "r1", 0, B)], missing("r2"), 0),
    ([*TWO, *appended("r1", A), trace.Appended("r2", OTHER), committed("r1", 1)], missing("r2"), 0),
    ([*TWO, *appended("r1", A), committed("r1", 1), PUSHED], missing("r2"), 0),
    ([*REWRITTEN, trace.Appended("r2", OTHER), committed("r1", 2)], missing("r2"), 0),
    # Who has left for good neither leads nor counts, until it is there again.
    (
        [*TWO, trace.ReplicaRemoved("r1")],
        facts("history", "leader", "isr", "voters"),
        [None, ("r2",), ("r2",)],
    ),
    (
        [*TWO, trace.ReplicaRemoved("r2"), trace.ReplicaAdded("r2")],
        facts("history", "removed_replicas"),
        [set()],
    ),
]


@pytest.mark.parametrize(("events", "asked", "expected"), CASES)
def test_what_the_history_knows_after_events(
    events: list[Event], asked: Callable[[Checker], object], expected: object
) -> None:
    assert asked(checked(events)) == expected


def test_a_sentence_names_a_record_by_key_value_and_offset() -> None:
    events = [
        *cluster("r1"),
        *appended("r1", batch(0, "k", "old"), DELETE, marker(2, 7, commit=True)),
    ]

    describe = checked(events).history.describe

    assert [str(describe(uid)) for uid in (100, 101, 102, 0)] == [
        "k=old (offset 0)",
        "tombstone of k (offset 1)",
        "COMMIT marker of producer 7 (offset 2)",
        "nothing",
    ]
