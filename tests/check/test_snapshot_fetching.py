"""Fetching snapshots: what a core with a mistake would tell, and near misses."""

from sim.log import Control, Record, control_batch
from sim.trace import (
    Copied,
    Event,
    FaultInjected,
    LeaderElected,
    LogEmptied,
    Quiesced,
    ReplicaCrashed,
    SnapshotChunkFetched,
    SnapshotFetchDropped,
    SnapshotInstalled,
    SnapshotTaken,
)
from tests.check.events import appended, batch, cluster, committed, violations_of

A, B = batch(0, "a"), batch(1, "b")
BASE: list[Event] = [*cluster("r1", "r2"), *appended("r1", A, B), committed("r1", 2)]
BOTH: tuple[Record, ...] = (A.records[0], B.records[0])
CHUNK = SnapshotChunkFetched("r2", "r1", 2, 1, 0, 1, 70, True)
LAST = SnapshotChunkFetched("r2", "r1", 2, 1, 70, 1, 30, True)
NOT_FOUND = SnapshotFetchDropped("r2", 2, 1, "SNAPSHOT_NOT_FOUND")


def installed(*records: Record) -> SnapshotInstalled:
    return SnapshotInstalled("r2", 2, 1, records, 0, 0, False)


def test_a_log_with_something_in_it_is_not_emptied_before_the_snapshot_is_there() -> None:
    emptied = LogEmptied("r2", 2, 1, 1, 1)
    name = "snapshot-install-atomic"

    assert len(violations_of(name, [*BASE, emptied])) == 1
    assert violations_of(name, [*BASE, emptied._replace(log_end_offset=0)]) == []


def test_a_part_of_a_snapshot_is_not_installed() -> None:
    begin = [*BASE, SnapshotTaken("r1", 2, 1, BOTH), CHUNK]
    name = "snapshot-install-atomic"

    [sentence] = violations_of(name, [*begin, installed(BOTH[0])])
    assert "installed 1 records as snapshot (2, 1), which has 2" in sentence
    assert violations_of(name, [*begin, installed(*BOTH)]) == []


def test_a_fetch_that_is_still_going_on_at_rest_makes_no_progress() -> None:
    chunk = SnapshotChunkFetched("r2", "r1", 5, 1, 0, 1, 70)
    rest = Quiesced("r1", synced=True)
    ends = (installed(), SnapshotFetchDropped("r2", 5, 1, "a new epoch"))

    [sentence] = violations_of("snapshot-fetch-progress", [*BASE, chunk, rest])
    assert "r2 has 1 entries of the snapshot that ends at 5" in sentence
    in_bytes = chunk._replace(in_bytes=True)
    [sentence] = violations_of("snapshot-fetch-progress", [*BASE, in_bytes, rest])
    assert "r2 has 70 bytes of" in sentence
    for end in ends:
        assert violations_of("snapshot-fetch-progress", [*BASE, chunk, end, rest]) == []
    unhealed = Quiesced("r1", synced=False)
    assert violations_of("snapshot-fetch-progress", [*BASE, chunk, unhealed]) == []


def test_three_downloads_in_a_row_are_not_lost_to_deletions() -> None:
    name, lost = "snapshot-fetch-progress", [CHUNK, NOT_FOUND]

    assert len(violations_of(name, [*BASE, *lost * 3])) == 1
    assert violations_of(name, [*BASE, *lost * 2, NOT_FOUND]) == []
    between: tuple[Event, ...] = (
        LeaderElected("r1", 2, 2, ("r1",), ("r1", "r2")),
        FaultInjected("r2", "partition", ""),
        ReplicaCrashed("r2", 0, 0),
        installed(*BOTH),
        Copied("r2", "r1", 0, (A,), 1),
        SnapshotFetchDropped("r2", 2, 1, "a new epoch"),
    )
    for event in between:
        assert violations_of(name, [*BASE, *lost * 2, event, *lost]) == []


def test_the_next_chunk_begins_where_the_last_one_ended() -> None:
    name = "traffic-accounting"

    assert violations_of(name, [*BASE, CHUNK, LAST, installed(*BOTH), CHUNK]) == []
    assert violations_of(name, [*BASE, CHUNK, NOT_FOUND, CHUNK]) == []
    assert len(violations_of(name, [*BASE, CHUNK, CHUNK])) == 1


def test_no_snapshot_is_sent_in_the_log() -> None:
    inside = control_batch(2, epoch=1, control=Control.SNAPSHOT, timestamp_ms=0, uid=9)
    change = control_batch(2, epoch=1, control=Control.LEADER_CHANGE, timestamp_ms=0, uid=9)

    for sent, count in ((inside, 1), (change, 0)):
        events = [*BASE, Copied("r2", "r1", 0, (A, B), 2), *appended("r1", sent)]
        copied = Copied("r2", "r1", 2, (sent,), 3)
        assert len(violations_of("traffic-accounting", [*events, copied])) == count
