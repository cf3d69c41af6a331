"""Pairs of the laws on snapshots and log starts."""

from sim.log import Batch, Control, Record, control_batch
from sim.trace import (
    Copied,
    Event,
    FaultInjected,
    HighWatermarkMoved,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    Quiesced,
    ReplicaCrashed,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
)
from tests.check.events import RULES, appended, batch, cluster, committed, copied
from tests.check.pairs.handmade import HandMade

A, B = batch(0, "a"), batch(1, "b")
A0, A1 = batch(0, "a"), batch(1, "a")
BASE: list[Event] = [*cluster("r1", "r2"), *appended("r1", A, B), committed("r1", 2)]
BOTH: tuple[Record, ...] = (A.records[0], B.records[0])
TAKEN = SnapshotTaken("r1", 2, 1, BOTH)
DELETED = PrefixDeleted("r1", 2, 2)

INSTALLED = SnapshotInstalled("r2", 5, 1, (), 8, 5, leading=False)
LEADER_NEVER_LOADS = [
    HandMade("nobody loads one", [*BASE, INSTALLED._replace(leading=True)], [*BASE, INSTALLED]),
    HandMade(
        "a leader takes none either",
        [*BASE, INSTALLED._replace(end_offset=9, leading=True)],
        [*BASE, TAKEN],
    ),
]
AT_EIGHT: list[Event] = [*BASE, HighWatermarkMoved("r2", 8, leading=False)]
NEVER_REGRESSES = [
    HandMade(
        "a replica knows best what its high watermark was",
        [*AT_EIGHT, INSTALLED._replace(end_offset=7, high_watermark=0)],
        [*AT_EIGHT, INSTALLED._replace(end_offset=8, high_watermark=0)],
    ),
    HandMade(
        "one that ends at the high watermark takes it back",
        [*BASE, INSTALLED._replace(high_watermark=6)],
        [*BASE, INSTALLED],
    ),
    HandMade(
        "an uncommitted tail may not go",
        [*BASE, INSTALLED._replace(high_watermark=8)],
        [*BASE, INSTALLED._replace(high_watermark=4)],
    ),
]

SNAPSHOT_AT_LOG_START = [
    HandMade(
        "one that ends above covers it as well",
        [*BASE, TAKEN, DELETED._replace(log_start_offset=1)],
        [*BASE, TAKEN, DELETED],
    ),
    HandMade(
        "one that ends below is a beginning",
        [*BASE, SnapshotTaken("r1", 1, 1, BOTH[:1]), DELETED],
        [*BASE, SnapshotTaken("r1", 1, 1, BOTH[:1]), DELETED._replace(log_start_offset=1)],
    ),
    HandMade(
        "a whole log needs one, too",
        [*BASE, DELETED],
        [*BASE, DELETED._replace(log_start_offset=0)],
    ),
]

UNKNOWN: list[Event] = [*BASE[:-1], committed("r1", 1), copied("r2", "r1", 0, A, B)]
SNAPSHOT_BOUND = [
    HandMade(
        "one that ends at the high watermark is above it",
        [*BASE, TAKEN._replace(end_offset=3)],
        [*BASE, TAKEN],
    ),
    HandMade(
        "the log end bounds it",
        [*UNKNOWN, TAKEN],
        [*UNKNOWN, TAKEN._replace(end_offset=1, records=BOTH[:1])],
    ),
    HandMade(
        "what others know to be committed bounds it",
        [*BASE, copied("r2", "r1", 0, A, B), TAKEN._replace(replica="r2")],
        [*BASE, copied("r2", "r1", 0, A, B), TAKEN],
    ),
]

GROWN: list[Event] = [*cluster("r1", "r2"), *appended("r1", A0, A1), committed("r1", 2)]
AHEAD: list[Event] = [*BASE[:-1], committed("r1", 1)]
OTHER = batch(0, "x", uid=9, epoch=2)
TWICE: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", A),
    committed("r1", 1),
    LeaderElected("r2", 2, 0, ("r2",), ("r1", "r2")),
    *appended("r2", OTHER),
]
ARRIVED = SnapshotInstalled("r2", 2, 1, BOTH, 0, 0, leading=False)
SNAPSHOT_CONSISTENCY = [
    HandMade(
        "each replica may have its own of one id",
        [*AHEAD, TAKEN, TAKEN._replace(replica="r2", records=BOTH[:1])],
        [*AHEAD, TAKEN, TAKEN._replace(replica="r2")],
    ),
    HandMade(
        "it holds what the history folds to now",
        [*GROWN, SnapshotTaken("r1", 1, 1, (A1.records[0],))],
        [*GROWN, SnapshotTaken("r1", 1, 1, (A0.records[0],))],
    ),
    HandMade(
        "what is above the history is compared at once",
        [*AHEAD, TAKEN._replace(records=BOTH[:1]), committed("r1", 2)],
        [*AHEAD, TAKEN._replace(records=BOTH[:1])],
    ),
    HandMade(
        "one that is gone is compared",
        [*AHEAD, TAKEN._replace(records=BOTH[:1]), committed("r1", 2)],
        [*AHEAD, TAKEN._replace(records=BOTH[:1]), SnapshotDeleted("r1", 2, 1), committed("r1", 2)],
    ),
    HandMade(
        "an offset that was committed twice counts as it was first",
        [*TWICE, SnapshotTaken("r2", 1, 2, OTHER.records)],
        [*TWICE, committed("r2", 1), SnapshotTaken("r2", 1, 2, OTHER.records)],
    ),
    HandMade(
        "what arrives is another one",
        [*BASE, TAKEN, ARRIVED._replace(records=BOTH[:1])],
        [*BASE, TAKEN, ARRIVED],
    ),
    HandMade(
        "what arrives above the history is never compared",
        [*AHEAD, ARRIVED._replace(records=BOTH[:1]), committed("r1", 2)],
        [*AHEAD, ARRIVED, committed("r1", 2)],
    ),
    HandMade(
        "more than the fold does no harm",
        [*GROWN, SnapshotTaken("r1", 2, 1, BOTH)],
        [*GROWN, SnapshotTaken("r1", 2, 1, A1.records)],
    ),
]
SUM = A1.records[0]._replace(value="3")
DELTAS: list[Event] = [
    *cluster("r1"),
    *appended("r1", batch(0, "a", "+1"), batch(1, "a", "+2"), batch(2, "a", "+4")),
    committed("r1", 3),
]
SNAPSHOT_CONSISTENCY.append(
    HandMade(
        "deltas above its end count",
        [*DELTAS, SnapshotTaken("r1", 2, 1, (SUM._replace(value="7"),))],
        [*DELTAS, SnapshotTaken("r1", 2, 1, (SUM,))],
        rules=RULES.with_values({"state_machine": "deltas"}),
    )
)

OFFERED = SnapshotOffered("r1", "r2", 0, 2, 1)
PREFIX_DELETION_SAFETY = [
    HandMade(
        "any snapshot helps a follower below the log start",
        [*BASE, TAKEN, DELETED, OFFERED._replace(end_offset=1)],
        [*BASE, TAKEN, DELETED, OFFERED],
    ),
    HandMade(
        "a replica knows best what its high watermark was",
        [*AHEAD, TAKEN, DELETED],
        [*BASE, TAKEN, DELETED],
    ),
    HandMade(
        "a prefix that ends at the high watermark is above it",
        [*BASE, TAKEN, DELETED._replace(high_watermark=1)],
        [*BASE, TAKEN, DELETED],
    ),
    HandMade(
        "only a snapshot that ends there covers it",
        [*BASE, SnapshotTaken("r1", 1, 1, BOTH[:1]), DELETED],
        [*BASE, TAKEN, DELETED._replace(log_start_offset=1)],
    ),
    HandMade(
        "a snapshot that ends at the log start does not cover it",
        [*BASE, DELETED],
        [*BASE, TAKEN, DELETED],
    ),
    HandMade(
        "one that ends below the follower's position is none",
        [*BASE, OFFERED._replace(end_offset=-1, epoch=-1)],
        [*BASE, OFFERED._replace(fetch_offset=2)],
    ),
]

CHUNK = SnapshotChunkFetched("r2", "r1", 2, 1, 0, 1, 70, True)
LAST = CHUNK._replace(position=70, size_bytes=30)
NOT_FOUND = SnapshotFetchDropped("r2", 2, 1, "SNAPSHOT_NOT_FOUND")
NEW_LEADER = LeaderElected("r1", 2, 2, ("r1",), ("r1",))


def lost(*between: Event, first: int = 2) -> list[Event]:
    """r2 loses `first` downloads to the leader's deletions, and one more after what is between."""
    return [*BASE, *(CHUNK, NOT_FOUND) * first, *between, CHUNK, NOT_FOUND]


def begun(*after: Event) -> list[Event]:
    """r2 has begun a download."""
    return [*BASE, CHUNK, *after]


REST = Quiesced("r1", synced=True)
SNAPSHOT_FETCH_PROGRESS = [
    HandMade("two in a row are too many", lost(), lost(first=1)),
    HandMade("another leader starts no new count", lost(), lost(NEW_LEADER)),
    HandMade("a fault is no excuse", lost(), lost(FaultInjected("r2", "pause", ""))),
    HandMade("a record that arrives is no progress", lost(), lost(Copied("r2", "r1", 0, (A,), 1))),
    HandMade("one that arrives between does not count", lost(), lost(CHUNK, ARRIVED)),
    HandMade(
        "whatever ends a download loses it",
        lost(),
        lost(CHUNK, SnapshotFetchDropped("r2", 2, 1, "a new epoch")),
    ),
    HandMade(
        "an offer that is gone at once is a download",
        lost(),
        [*begun(NOT_FOUND, NOT_FOUND), CHUNK, NOT_FOUND],
    ),
    HandMade("a story that asks is at rest", begun(REST), begun(REST._replace(synced=False))),
    HandMade("whoever began has to finish", begun(REST), begun(ARRIVED, REST)),
    HandMade("a crash ends no download", begun(REST), begun(ReplicaCrashed("r2", 0, 0), REST)),
]

EMPTIED = LogEmptied("r2", 2, 1, 1, 0)
SNAPSHOT_INSTALL_ATOMIC = [
    HandMade(
        "an empty log may not be emptied",
        [*BASE, EMPTIED],
        [*BASE, EMPTIED._replace(log_end_offset=0)],
    ),
    HandMade(
        "only what is committed may not go before",
        [*BASE, EMPTIED],
        [*BASE, EMPTIED._replace(log_end_offset=0, high_watermark=0)],
    ),
    HandMade(
        "a part is a snapshot",
        [*BASE, TAKEN, CHUNK, ARRIVED._replace(records=BOTH[:1])],
        [*BASE, TAKEN, CHUNK, ARRIVED],
    ),
    HandMade(
        "a source that has deleted it has none to differ from",
        [*BASE, TAKEN, CHUNK, ARRIVED._replace(records=BOTH[:1])],
        [*BASE, TAKEN, CHUNK, SnapshotDeleted("r1", 2, 1), ARRIVED],
    ),
]

IN_LOG = control_batch(0, epoch=1, control=Control.SNAPSHOT, timestamp_ms=0, producer_id=-1, uid=7)
LEADER_CHANGE = control_batch(
    0, epoch=1, control=Control.LEADER_CHANGE, timestamp_ms=0, producer_id=-1, uid=7
)
TRAFFIC_ACCOUNTING = [
    HandMade(
        "control records are snapshots",
        [*cluster("r1", "r2"), *appended("r1", IN_LOG), copied("r2", "r1", 0, IN_LOG)],
        [
            *cluster("r1", "r2"),
            *appended("r1", LEADER_CHANGE),
            copied("r2", "r1", 0, LEADER_CHANGE),
        ],
    ),
    HandMade("bytes may be sent again", begun(LAST._replace(position=30)), begun(LAST)),
    HandMade("bytes may be left out", begun(LAST._replace(position=90)), begun(LAST)),
    HandMade(
        "the next snapshot goes on where the last one ended",
        begun(LAST, CHUNK),
        begun(LAST, ARRIVED, CHUNK),
    ),
    HandMade("a dropped download goes on", begun(CHUNK), begun(NOT_FOUND, CHUNK)),
    HandMade(
        "a crash keeps what was fetched", begun(CHUNK), begun(ReplicaCrashed("r2", 0, 0), CHUNK)
    ),
    HandMade(
        "a new disk keeps what was fetched",
        begun(CHUNK),
        begun(ReplicaWiped("r2", "a new disk"), CHUNK),
    ),
]

STATE = RULES.with_values({"log_holds": "state"})
DELTAS = STATE.with_values({"state_machine": "deltas"})
A2, GONE, B1, B2 = batch(2, "a"), batch(1, "a", None), batch(1, "b"), batch(2, "b")
EXPIRED = LogStartMoved("r1", 1, 3, "retention.ms")


def _expired(*batches: Batch, to: int = 1, taken: SnapshotTaken | None = None) -> list[Event]:
    """r1 has these, all committed, perhaps takes a snapshot, and deletes its first segments."""
    snapshots: list[Event] = [] if taken is None else [taken]
    moved = EXPIRED._replace(log_start_offset=to)
    return [*cluster("r1"), *appended("r1", *batches), committed("r1", 3), *snapshots, moved]


STATE_KEPT = [
    HandMade(
        "whatever is old and has a key is state",
        _expired(A0, B1, B2),
        _expired(A0, A1, B2),
        rules=STATE,
    ),
    HandMade(
        "the last segment of a key has to stay, deleted or not",
        _expired(A0, B1, A2, to=2),
        _expired(A0, GONE, B2, to=2),
        rules=STATE,
    ),
    HandMade(
        "what is not committed makes up for what was",
        [*cluster("r1"), *appended("r1", A0, A1), committed("r1", 1), EXPIRED],
        [*cluster("r1"), *appended("r1", A0, A1), committed("r1", 2), EXPIRED],
        rules=STATE,
    ),
    HandMade(
        "no segment may go by age where there are snapshots",
        _expired(A0, B1, A2, taken=SnapshotTaken("r1", 1, 1, (A0.records[0],)), to=2),
        _expired(A0, B1, A2, taken=SnapshotTaken("r1", 1, 1, (A0.records[0],)), to=1),
        rules=STATE,
    ),
    HandMade(
        "a delete is no state",
        _expired(A0, GONE, B2, taken=SnapshotTaken("r1", 1, 1, (A0.records[0],)), to=2),
        _expired(A0, GONE, B2, taken=SnapshotTaken("r1", 2, 1, ()), to=2),
        rules=STATE,
    ),
    HandMade(
        "a newer record of the key is enough where records are deltas",
        _expired(A0, A1, B2),
        _expired(A0, A1, B2, taken=SnapshotTaken("r1", 1, 1, (A0.records[0],))),
        rules=DELTAS,
    ),
    HandMade(
        "a new disk has lost what the old one had",
        _expired(A0, B1, B2),
        [
            *_expired(A0, A1, B2),
            ReplicaWiped("r1", "a new disk"),
            LogStartedAfresh("r1", 1, 0, 0),
        ],
        rules=STATE,
    ),
]

PAIRS = {
    "leader-never-loads-snapshot": LEADER_NEVER_LOADS,
    "prefix-deletion-safety": PREFIX_DELETION_SAFETY,
    "snapshot-at-log-start": SNAPSHOT_AT_LOG_START,
    "snapshot-bound": SNAPSHOT_BOUND,
    "snapshot-consistency": SNAPSHOT_CONSISTENCY,
    "snapshot-fetch-progress": SNAPSHOT_FETCH_PROGRESS,
    "snapshot-install-atomic": SNAPSHOT_INSTALL_ATOMIC,
    "snapshot-never-regresses": NEVER_REGRESSES,
    "state-kept": STATE_KEPT,
    "traffic-accounting": TRAFFIC_ACCOUNTING,
}
