"""Snapshots: what a core with a mistake would tell, and near misses."""

from sim.log import Record
from sim.rules import Rules
from sim.trace import (
    Event,
    PrefixDeleted,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
)
from tests.check.events import appended, batch, cluster, committed, violations_of

A, B = batch(0, "a"), batch(1, "b")
BASE: list[Event] = [*cluster("r1", "r2"), *appended("r1", A, B), committed("r1", 2)]
BOTH: tuple[Record, ...] = (A.records[0], B.records[0])


def installed(end: int, *, high_watermark: int, leading: bool = False) -> SnapshotInstalled:
    """r2 replaces its log, which ends at 8."""
    return SnapshotInstalled("r2", end, 1, (), 8, high_watermark, leading)


def test_a_snapshot_that_ends_below_the_high_watermark_takes_the_replica_back() -> None:
    found = violations_of("snapshot-never-regresses", [*BASE, installed(5, high_watermark=8)])

    assert len(found) == 1
    assert violations_of("snapshot-never-regresses", [*BASE, installed(8, high_watermark=8)]) == []


def test_a_leader_does_not_load_a_snapshot() -> None:
    name = "leader-never-loads-snapshot"

    assert len(violations_of(name, [*BASE, installed(9, high_watermark=1, leading=True)])) == 1
    assert violations_of(name, [*BASE, installed(9, high_watermark=1)]) == []


def test_two_snapshots_of_one_id_hold_the_same() -> None:
    first = SnapshotTaken("r1", 2, 1, BOTH)
    other = SnapshotTaken("r2", 2, 1, BOTH[:1])

    assert len(violations_of("snapshot-consistency", [*BASE, first, other])) >= 1
    same = SnapshotTaken("r2", 2, 1, BOTH)
    assert violations_of("snapshot-consistency", [*BASE, first, same]) == []


def test_a_snapshot_is_compared_with_history_as_soon_as_history_reaches_its_end() -> None:
    base: list[Event] = [*cluster("r1"), *appended("r1", A, B), committed("r1", 1)]
    early = [*base, SnapshotTaken("r1", 2, 1, BOTH[:1])]

    assert violations_of("snapshot-consistency", early) == []
    assert len(violations_of("snapshot-consistency", [*early, committed("r1", 2)])) == 1


def test_a_snapshot_ends_at_or_below_the_high_watermark() -> None:
    assert violations_of("snapshot-bound", [*BASE, SnapshotTaken("r1", 2, 1, BOTH)]) == []
    assert len(violations_of("snapshot-bound", [*BASE, SnapshotTaken("r1", 3, 1, BOTH)])) == 1


def test_a_log_start_needs_a_snapshot_that_ends_there() -> None:
    taken, deleted = SnapshotTaken("r1", 2, 1, BOTH), PrefixDeleted("r1", 1, 2)

    assert len(violations_of("snapshot-at-log-start", [*BASE, taken, deleted])) == 1
    at_end = deleted._replace(log_start_offset=2)
    assert violations_of("snapshot-at-log-start", [*BASE, taken, at_end]) == []


def test_a_prefix_goes_behind_a_covering_snapshot_and_below_the_high_watermark() -> None:
    taken, deleted = SnapshotTaken("r1", 2, 1, BOTH), PrefixDeleted("r1", 2, 2)
    name = "prefix-deletion-safety"

    assert violations_of(name, [*BASE, taken, deleted]) == []
    assert len(violations_of(name, [*BASE, deleted])) == 1
    assert len(violations_of(name, [*BASE, taken, deleted._replace(high_watermark=1)])) == 1


def test_a_follower_below_the_log_start_is_offered_a_snapshot() -> None:
    name = "prefix-deletion-safety"

    assert len(violations_of(name, [*BASE, SnapshotOffered("r1", "r2", 0, -1, -1)])) == 1
    assert violations_of(name, [*BASE, SnapshotOffered("r1", "r2", 0, 2, 1)]) == []


def test_a_snapshot_of_deltas_holds_what_they_come_to() -> None:
    one, two = batch(0, "a", "+1"), batch(1, "a", "+2")
    base: list[Event] = [*cluster("r1"), *appended("r1", one, two), committed("r1", 2)]
    deltas = Rules.of(commit="isr", state_machine="deltas")
    name = "snapshot-consistency"

    for value, count in (("3", 0), ("2", 1)):
        sum_ = two.records[0]._replace(value=value)
        taken = SnapshotTaken("r1", 2, 1, (sum_,))
        assert len(violations_of(name, [*base, taken], rules=deltas)) == count
