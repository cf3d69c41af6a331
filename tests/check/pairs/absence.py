"""Pairs of the laws on what logs have to hold: committed records, winners, markers, tombstones."""

from sim.log import Batch
from sim.rules import Rules
from sim.trace import (
    Event,
    HighWatermarkMoved,
    LeaderElected,
    LogStartMoved,
    PrefixDeleted,
    Removal,
    ReplicaCrashed,
    RoundsEnded,
    SegmentsLost,
    SnapshotTaken,
    TombstoneProbed,
)
from tests.check.events import (
    RULES,
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
)
from tests.check.pairs.handmade import HandMade

A, B = batch(0, "a"), batch(1, "b")
K0, K1, J1 = batch(0, "k"), batch(1, "k"), batch(1, "j")
DELETE = batch(0, "k", None)
OTHER = batch(0, "x", uid=9, epoch=2)
LEADS_TWO = LeaderElected("r2", 2, 0, ("r2",), ("r1", "r2"))


def _both(*batches: Batch) -> list[Event]:
    """r1 and r2 hold committed batches."""
    end = batches[-1].last_offset + 1
    return [
        *cluster("r1", "r2"),
        *appended("r1", *batches),
        copied("r2", "r1", 0, *batches),
        committed("r1", end),
        HighWatermarkMoved("r2", end, leading=False),
    ]


def _evicted(winner: Batch, replica: str) -> list[Event]:
    """A committed record of `k` goes from a log since an uncommitted one is said to beat it."""
    return [
        *cluster("r1", "r2"),
        *appended("r1", K0, winner),
        copied("r2", "r1", 0, K0, winner),
        committed("r1", 1),
        cleaned(replica, 2, superseded(0, "k", 1), hw=1),
    ]


def _evicted_by_a_transaction(replica: str, *, commit: bool) -> list[Event]:
    """The same, and what is said to beat it is of a transaction that ends above."""
    log = [K0, batch(1, "k", pid=7), marker(2, 7, commit=commit)]
    return [
        *cluster("r1", "r2"),
        *appended("r1", *log),
        copied("r2", "r1", 0, *log),
        committed("r1", 1),
        cleaned(replica, 2, superseded(0, "k", 1), end=3, hw=1),
    ]


LOST: list[Event] = [
    *cluster("r1"),
    *appended("r1", K0),
    committed("r1", 1),
    SegmentsLost("r1", (0,)),
]
COMMITTED_NEVER_LOST = [
    HandMade(
        "what made up for it has to be there still",
        [*LOST, *appended("r1", J1), committed("r1", 2), at_rest("r1")],
        [
            *LOST,
            *appended("r1", batch(1, "k", None)),
            committed("r1", 2),
            cleaned("r1", 2, removed(1, "k", "tombstone")),
            at_rest("r1"),
        ],
    ),
    HandMade(
        "what the leader holds makes up for it, aborted or not",
        [*_evicted_by_a_transaction("r1", commit=False), at_rest("r1")],
        [*_evicted_by_a_transaction("r1", commit=True), at_rest("r1")],
    ),
    HandMade(
        "what lies below the log start is lost",
        [*_both(A, B), SegmentsLost("r1", (0,)), at_rest("r1")],
        [*_both(A, B), SegmentsLost("r1", (0,)), PrefixDeleted("r1", 1, 2), at_rest("r1")],
    ),
    HandMade(
        "only a committed record makes up for a committed one",
        [*_evicted(J1, "r1"), at_rest("r1")],
        [*_evicted(K1, "r1"), at_rest("r1")],
    ),
    HandMade(
        "followers have to hold it, too",
        [*_both(A, B), SegmentsLost("r1", (1,)), at_rest("r1")],
        [*_both(A, B), SegmentsLost("r2", (1,)), at_rest("r1")],
    ),
    HandMade(
        "an offset that was committed twice counts as it was first",
        [*cluster("r1", "r2"), *appended("r1", A), committed("r1", 1), LEADS_TWO, at_rest("r2")],
        [
            *cluster("r1", "r2"),
            *appended("r1", A),
            committed("r1", 1),
            LEADS_TWO,
            *appended("r2", OTHER),
            committed("r2", 1),
            at_rest("r2"),
        ],
    ),
]

HOLE_JUSTIFIED = [
    HandMade(
        "what the leader holds makes up for it, aborted or not",
        [*_evicted_by_a_transaction("r2", commit=False), at_rest("r1")],
        [*_evicted_by_a_transaction("r2", commit=True), at_rest("r1")],
    ),
    HandMade(
        "only a committed record makes up for a committed one",
        [*_evicted(J1, "r2"), at_rest("r1")],
        [*_evicted(K1, "r2"), at_rest("r1")],
    ),
    HandMade(
        "an empty batch is a hole",
        [*_both(A, B), cleaned("r2", 2, removed(1, "b", "superseded")), at_rest("r1")],
        [
            *_both(A, B),
            cleaned("r2", 2, removed(1, "b", "superseded"), emptied=(1,)),
            at_rest("r1"),
        ],
    ),
    HandMade(
        "a replica that is down does not count",
        [*_both(A, B), SegmentsLost("r2", (0,)), ReplicaCrashed("r2", 2, 2), at_rest("r1")],
        [*_both(A, B), ReplicaCrashed("r2", 2, 2), at_rest("r1")],
    ),
    HandMade(
        "what is below the log start is missing",
        [*_both(A, B), SegmentsLost("r2", (0,)), at_rest("r1")],
        [*_both(A, B), SegmentsLost("r2", (0,)), PrefixDeleted("r2", 1, 2), at_rest("r1")],
    ),
    HandMade(
        "the end of the log is missing",
        [*_both(A, B), SegmentsLost("r2", (1,)), at_rest("r1")],
        [*_both(A, B), ReplicaCrashed("r2", 1, 1), at_rest("r1")],
    ),
    HandMade(
        "the record that the leader holds makes up for the committed one",
        [*_both(A, B), cleaned("r2", 2, superseded(0, "a", 1)), at_rest("r1")],
        [*_both(A, B), at_rest("r1")],
    ),
]

WINNER_RETAINED = [
    HandMade(
        "a tombstone that wins has to stay",
        [*_both(K0, B), cleaned("r2", 2, removed(0, "k", "superseded")), at_rest("r1")],
        [*_both(DELETE, B), cleaned("r2", 2, removed(0, "k", "tombstone")), at_rest("r1")],
    ),
    HandMade(
        "what the log starts behind is missing",
        [*_both(A, B), PrefixDeleted("r2", 1, 2), SegmentsLost("r2", (1,)), at_rest("r1")],
        [*_both(A, B), PrefixDeleted("r2", 2, 2), at_rest("r1")],
    ),
    HandMade(
        "a log that ends before the winner lacks it",
        [*_both(A, B), SegmentsLost("r2", (1,)), at_rest("r1")],
        [*_both(A, B), ReplicaCrashed("r2", 1, 1), at_rest("r1")],
    ),
    HandMade(
        "a second winner of an offset replaces the first",
        [
            *cluster("r1", "r2"),
            *appended("r1", A),
            committed("r1", 1),
            SegmentsLost("r1", (0,)),
            at_rest("r1"),
        ],
        [
            *cluster("r1", "r2"),
            *appended("r1", A),
            committed("r1", 1),
            LEADS_TWO,
            *appended("r2", OTHER),
            committed("r2", 1),
            at_rest("r2"),
        ],
    ),
]

D0, D1, D2 = (batch(offset, "d", pid=7) for offset in range(3))
FOREIGN = batch(0, "d", pid=8)
ABORT, COMMIT = marker(1, 7, commit=False), marker(1, 7, commit=True)
Z2 = batch(2, "z")
MARKER_GOES = removed(1, None, "marker")


def _lagging(*has: Batch, data: Batch = D0, goes: Removal = MARKER_GOES) -> list[Event]:
    """r2 has copied so much when r1 removes the marker at 1."""
    copy: list[Event] = [copied("r2", "r1", 0, *has)] if has else []
    return [
        *cluster("r1", "r2", isr=("r1",)),
        *appended("r1", data, ABORT, Z2),
        *copy,
        committed("r1", 3),
        cleaned("r1", 3, removed(0, "d", "aborted"), goes),
    ]


SECOND = [D0, marker(1, 7, commit=True), D2, marker(3, 7, commit=False)]


def _two_transactions(count: int) -> list[Event]:
    """r2 has copied the first `count` batches when r1 removes the second marker."""
    return [
        *cluster("r1", "r2", isr=("r1",)),
        *appended("r1", *SECOND),
        copied("r2", "r1", 0, *SECOND[:count]),
        committed("r1", 4),
        cleaned("r1", 4, removed(3, None, "marker")),
    ]


DOWN = ReplicaCrashed("r2", 1, 0)

TXN_MARKER_SAFETY = [
    HandMade("a log that ends right above the marker lacks it", _lagging(D0), _lagging(D0, ABORT)),
    HandMade("who lacks the marker needs it", _lagging(D0), _lagging()),
    HandMade(
        "data of any producer waits for the marker",
        _lagging(D0),
        _lagging(FOREIGN, data=FOREIGN),
    ),
    HandMade(
        "data of an earlier transaction waits for the marker",
        _two_transactions(3),
        _two_transactions(2),
    ),
    HandMade(
        "what a cleaner calls superseded is no marker",
        _lagging(D0, goes=MARKER_GOES._replace(reason="superseded")),
        _lagging(D0, ABORT, goes=MARKER_GOES._replace(reason="superseded")),
    ),
    HandMade(
        "a replica that is down does not count",
        [*_lagging(D0)[:-1], DOWN, _lagging(D0)[-1]],
        [*_lagging(D0, ABORT)[:-1], DOWN._replace(log_end_offset=2), _lagging(D0)[-1]],
    ),
]

TXN_ISOLATION = [
    HandMade(
        "an open transaction has no verdict to differ from",
        [*_both(D0, ABORT), cleaned("r2", 2, MARKER_GOES), at_rest("r1")],
        [*_both(D0), at_rest("r1")],
    ),
    HandMade(
        "records that were never committed count",
        [*_both(D0, COMMIT), cleaned("r2", 2, MARKER_GOES), at_rest("r1")],
        [
            *cluster("r1", "r2"),
            *appended("r1", D0, COMMIT),
            committed("r1", 2),
            LEADS_TWO,
            *appended("r2", batch(0, "d", uid=9, epoch=2, pid=7)),
            *appended("r2", batch(1, "z", uid=8, epoch=2), marker(2, 7, commit=False, epoch=2)),
            at_rest("r1"),
        ],
    ),
    HandMade(
        "a replica that is down does not count",
        [*_both(D0, ABORT), ReplicaCrashed("r2", 1, 1), at_rest("r1")],
        [*_both(D0, ABORT), ReplicaCrashed("r2", 2, 2), at_rest("r1")],
    ),
    HandMade(
        "the last marker of a producer decides all its data",
        [*_both(*SECOND), cleaned("r2", 4, MARKER_GOES), at_rest("r1")],
        [*_both(*SECOND), at_rest("r1")],
    ),
]

BESIDE = [D0, batch(1, "e", pid=8), marker(2, 8, commit=True)]
LSO_PROGRESS = [
    HandMade(
        "one that nobody ended is stuck where another one was ended",
        [*_both(*BESIDE), cleaned("r2", 3, removed(2, None, "marker")), at_rest("r1")],
        [*_both(*BESIDE), at_rest("r1")],
    ),
    HandMade(
        "a transaction that nobody ended is stuck",
        [*_both(D0, ABORT), cleaned("r2", 2, MARKER_GOES), at_rest("r1")],
        [*_both(D0), at_rest("r1")],
    ),
    HandMade(
        "a batch without records keeps nothing open",
        [
            *_both(D0, ABORT),
            cleaned("r2", 2, removed(0, "d", "aborted"), MARKER_GOES, emptied=(0,)),
            at_rest("r1"),
        ],
        [
            *_both(D0, ABORT),
            cleaned("r2", 2, removed(0, "d", "aborted"), MARKER_GOES),
            at_rest("r1"),
        ],
    ),
    HandMade(
        "only aborted transactions get stuck",
        [*_both(D0, COMMIT), cleaned("r2", 2, MARKER_GOES), at_rest("r1")],
        [*_both(D0, COMMIT), at_rest("r1")],
    ),
]

SNAPSHOT = SnapshotTaken("r2", 1, 1, A.records)
BEHIND = HighWatermarkMoved("r2", 2, leading=False)
TAIL: list[Event] = [
    *cluster("r1", "r2", isr=("r1",)),
    *appended("r1", K0, B),
    copied("r2", "r1", 0, K0, B),
    committed("r1", 2),
]
GONE = [SegmentsLost("r2", (0,)), at_rest("r1")]

MATERIALIZED_STATE = [
    HandMade(
        "a replica that does not know all that is committed is compared, too",
        [*TAIL, BEHIND, *GONE],
        [*TAIL, BEHIND._replace(high_watermark=1), *GONE],
    ),
    HandMade(
        "a replica that is down is compared",
        [*_both(A, B), SegmentsLost("r2", (0,)), at_rest("r1")],
        [*_both(A, B), SegmentsLost("r2", (0,)), ReplicaCrashed("r2", 2, 2), at_rest("r1")],
    ),
    HandMade(
        "the log alone makes the state",
        [*_both(A, B), PrefixDeleted("r2", 1, 2), at_rest("r1")],
        [*_both(A, B), SNAPSHOT, PrefixDeleted("r2", 1, 2), at_rest("r1")],
    ),
    HandMade(
        "what is above the high watermark counts",
        [*_both(A), SegmentsLost("r1", (0,)), at_rest("r1")],
        [*_both(A), *appended("r1", B), at_rest("r1")],
    ),
    HandMade(
        "a key whose winner retention deleted has to be there",
        [
            *_both(A, B),
            LogStartMoved("r2", 1, 2, "retention.ms"),
            SegmentsLost("r2", (1,)),
            at_rest("r1"),
        ],
        [*_both(A, B), LogStartMoved("r2", 1, 2, "retention.ms"), at_rest("r1")],
    ),
    HandMade(
        "a tombstone that wins is a value",
        [*_both(K0, B), cleaned("r2", 2, removed(0, "k", "tombstone")), at_rest("r1")],
        [*_both(DELETE, B), cleaned("r2", 2, removed(0, "k", "tombstone")), at_rest("r1")],
    ),
    HandMade(
        "a second committed record of an offset replaces the first",
        [
            *cluster("r1", "r2"),
            *appended("r1", A),
            committed("r1", 1),
            SegmentsLost("r1", (0,)),
            at_rest("r1"),
        ],
        [
            *cluster("r1", "r2"),
            *appended("r1", A),
            committed("r1", 1),
            LEADS_TWO,
            *appended("r2", OTHER),
            committed("r2", 1),
            at_rest("r2"),
        ],
    ),
]

HELD: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", DELETE, B),
    copied("r2", "r1", 0, DELETE, B),
    committed("r1", 2),
    HighWatermarkMoved("r2", 2, leading=False),
]
PROBE, ROUNDS = TombstoneProbed("r1", "k"), RoundsEnded("r1", 3, 150, ("r1", "r2"))
GOES = [cleaned(name, 2, removed(0, "k", "tombstone")) for name in ("r1", "r2")]
VALUE: list[Event] = [*cluster("r1"), *appended("r1", K0), committed("r1", 1)]
LAST: list[Event] = [*cluster("r1"), *appended("r1", DELETE), committed("r1", 1)]
OF_ONE = ROUNDS._replace(cleaners=("r1",))
OPEN: list[Event] = [
    *cluster("r1"),
    *appended("r1", batch(0, "t", pid=7), batch(1, "k", None)),
    committed("r1", 2),
]


def _promising(removal: str) -> Rules:
    return RULES.with_values({"tombstone_removal": removal})


TOMBSTONE_EVENTUALLY_REMOVED = [
    HandMade(
        "a rule that promises nothing is judged after rounds of cleaning",
        [*LAST, PROBE],
        [*LAST, OF_ONE],
        rules=_promising("never"),
    ),
    HandMade(
        "a replica that is down is probed",
        [*HELD, GOES[0], PROBE],
        [*HELD, GOES[0], ReplicaCrashed("r2", 2, 2), PROBE],
    ),
    HandMade("a value of the key should be gone, too", [*LAST, PROBE], [*VALUE, PROBE]),
    HandMade(
        "coordination waits for nobody",
        [*HELD, ROUNDS],
        [*HELD, OF_ONE],
        rules=_promising("coordinated"),
    ),
    HandMade(
        "what the fix keeps at the log end has to go",
        [*LAST, cleaned("r1", 1), OF_ONE],
        [*LAST, cleaned("r1", 1, protected=0), OF_ONE],
    ),
    HandMade(
        "a record that the fix keeps stays kept",
        [*LAST, *appended("r1", B), committed("r1", 2), cleaned("r1", 2, protected=0), OF_ONE],
        [*LAST, cleaned("r1", 1, protected=0), OF_ONE],
    ),
    HandMade(
        "a tombstone above an open transaction has to go",
        [*OPEN, *appended("r1", marker(2, 7, commit=True)), committed("r1", 3), OF_ONE],
        [*OPEN, OF_ONE],
    ),
    HandMade(
        "a tombstone that the replica does not know to be committed has to go",
        [*LAST, OF_ONE],
        [*LAST[:-1], OF_ONE],
    ),
]

KEY_ENDS_AS_MEANT = [
    HandMade(
        "what the topic's retention deleted was meant to stay",
        [*_both(A, B), SegmentsLost("r1", (0,)), at_rest("r1")],
        [*_both(A, B), LogStartMoved("r1", 1, 2, "retention.ms"), at_rest("r1")],
    ),
    HandMade(
        "a key that is gone was meant to stay",
        [*_both(A, B), SegmentsLost("r1", (0,)), at_rest("r1")],
        [
            *_both(DELETE, B),
            cleaned("r1", 2, removed(0, "k", "tombstone")),
            at_rest("r1"),
        ],
    ),
]

PAIRS = {
    "committed-never-lost": COMMITTED_NEVER_LOST,
    "hole-justified": HOLE_JUSTIFIED,
    "key-ends-as-meant": KEY_ENDS_AS_MEANT,
    "lso-progress": LSO_PROGRESS,
    "materialized-state-equivalence": MATERIALIZED_STATE,
    "tombstone-eventually-removed": TOMBSTONE_EVENTUALLY_REMOVED,
    "txn-isolation": TXN_ISOLATION,
    "txn-marker-safety": TXN_MARKER_SAFETY,
    "winner-retained": WINNER_RETAINED,
}
