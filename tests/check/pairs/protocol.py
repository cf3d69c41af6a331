"""Pairs of the laws on elections, epochs, high watermarks and what logs agree on."""

from sim.log import Batch
from sim.trace import (
    Acknowledged,
    Event,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    PositionRecorded,
    PrefixDeleted,
    Pushed,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
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
    removed,
    superseded,
)
from tests.check.pairs.handmade import HandMade

A, B, C = batch(0, "a"), batch(1, "b"), batch(2, "c")
K0, K1, J1 = batch(0, "k"), batch(1, "k"), batch(1, "j")
OTHER = batch(0, "x", uid=9, epoch=2)
MAJORITY = RULES.with_values({"commit": "majority"})
BASE: list[Event] = [*cluster("r1", "r2"), *appended("r1", A, B)]


def elected(name: str, epoch: int, start: int, *isr: str) -> LeaderElected:
    """`name` leads an epoch; without an in-sync set everybody is in it."""
    members = isr or ("r1", "r2", "r3")
    return LeaderElected(name, epoch, start, members, members)


def follows(high_watermark: int) -> HighWatermarkMoved:
    """r2 takes over a high watermark."""
    return HighWatermarkMoved("r2", high_watermark, leading=False)


ELECTION_SAFETY = [
    HandMade("nobody is elected twice", [*BASE, elected("r2", 1, 0)], [*BASE, elected("r1", 1, 2)]),
    HandMade(
        "there is one leader at all", [*BASE, elected("r2", 1, 0)], [*BASE, elected("r2", 2, 0)]
    ),
]

OLD, SAME, NEWER = (batch(1, "b", epoch=epoch) for epoch in (1, 2, 3))
SECOND: list[Event] = [*cluster("r1", "r2"), *appended("r1", batch(0, "a", epoch=2))]
OLD_A, SAME_C = batch(0, "a"), batch(2, "c", epoch=2)
RISING: list[Event] = [*cluster("r1", "r2"), *appended("r1", OLD_A, SAME, SAME_C)]
SNAPSHOT = SnapshotInstalled("r2", 1, 2, (), 0, 0, leading=False)
DOWN, UP = ReplicaCrashed("r1", 1, 0, 5), ReplicaRestarted("r1", 1, 0, 5)


def _behind_a_gap(epoch: int) -> list[Event]:
    """r2 copies what is at 2 behind a record at 0, of a leader that has left."""
    first, last = batch(0, "a", epoch=2), batch(2, "c", epoch=epoch)
    return [
        *cluster("r1", "r2"),
        *appended("r1", first),
        *appended("r1", batch(1, "b", epoch=2), last),
        copied("r2", "r1", 0, first),
        copied("r2", "gone", 1, last),
    ]


EPOCH_MONOTONIC = [
    HandMade(
        "an epoch has one record", [*SECOND, *appended("r1", OLD)], [*SECOND, *appended("r1", SAME)]
    ),
    HandMade(
        "a log has one epoch", [*SECOND, *appended("r1", OLD)], [*SECOND, *appended("r1", NEWER)]
    ),
    HandMade(
        "copies are compared with what was there before alone",
        [*RISING, copied("r2", "r1", 0, OLD_A, SAME, SAME_C._replace(epoch=1))],
        [*RISING, copied("r2", "r1", 0, OLD_A, SAME, SAME_C)],
    ),
    HandMade(
        "a pushed copy may be of any epoch",
        [*SECOND, Pushed("r1", "r2", OLD)],
        [*SECOND, Pushed("r1", "r2", SAME)],
    ),
    HandMade(
        "a snapshot has no epoch",
        [*RISING, SNAPSHOT, copied("r2", "r1", 1, OLD)],
        [*RISING, SNAPSHOT, copied("r2", "r1", 1, SAME)],
    ),
    HandMade("a gap has no epoch below", _behind_a_gap(1), _behind_a_gap(2)),
    HandMade(
        "a restart begins a new epoch",
        [*SECOND, DOWN, UP._replace(epoch=4)],
        [*SECOND, DOWN, UP],
    ),
    HandMade(
        "a new disk remembers the epoch",
        [*SECOND, DOWN, UP._replace(epoch=0)],
        [*SECOND, DOWN, ReplicaWiped("r1", "a new disk"), UP._replace(epoch=0)],
    ),
]

FIRST_COPIED: list[Event] = [*BASE, copied("r2", "r1", 0, A)]
FOLLOWER_POSITION_SOUND = [
    HandMade(
        "a position is the offset of the last record",
        [*FIRST_COPIED, PositionRecorded("r1", "r2", 2)],
        [*FIRST_COPIED, PositionRecorded("r1", "r2", 1)],
    ),
    HandMade(
        "what is not committed does not count",
        [*FIRST_COPIED, PositionRecorded("r1", "r2", 2)],
        [*FIRST_COPIED, copied("r2", "r1", 1, B), PositionRecorded("r1", "r2", 2)],
    ),
]

COPIED_ALL: list[Event] = [*BASE, copied("r2", "r1", 0, A, B)]
HW_MONOTONIC = [
    HandMade(
        "it has to rise",
        [*COPIED_ALL, follows(2), follows(1)],
        [*COPIED_ALL, follows(2), follows(2)],
    ),
    HandMade(
        "a cut leaves it",
        [*COPIED_ALL, follows(2), follows(1)],
        [
            *COPIED_ALL,
            follows(2),
            Truncated("r2", 0, 2, 2, 0, leading=False),
            copied("r2", "r1", 0, A, B),
            follows(1),
        ],
    ),
]
HW_WITHIN_LOG = [
    HandMade(
        "all of the log may not be committed",
        [*FIRST_COPIED, follows(2)],
        [*FIRST_COPIED, follows(1)],
    ),
    HandMade(
        "a crash leaves it",
        [*BASE, ReplicaCrashed("r1", 1, 2)],
        [*BASE, ReplicaCrashed("r1", 1, 1)],
    ),
    HandMade(
        "a restart is no change",
        [*COPIED_ALL, ReplicaCrashed("r2", 2, 0), ReplicaRestarted("r2", 1, 2)],
        [*COPIED_ALL, ReplicaCrashed("r2", 2, 0), ReplicaRestarted("r2", 2, 2)],
    ),
    HandMade(
        "a cut leaves it",
        [*COPIED_ALL, follows(2), Truncated("r2", 1, 2, 2, 0, False, kept_high_watermark=True)],
        [*COPIED_ALL, follows(2), Truncated("r2", 1, 2, 2, 0, False)],
    ),
]

CUT = Truncated("r1", 1, 2, 0, 0, leading=True)
LEADER_APPEND_ONLY = [
    HandMade("nobody cuts a log", [*BASE, CUT], [*BASE, CUT._replace(leading=False)]),
    HandMade(
        "a leader may not clean",
        [*BASE, committed("r1", 2), CUT],
        [*BASE, committed("r1", 2), cleaned("r1", 2, superseded(0, "a", 1))],
    ),
    HandMade(
        "what is not committed may be cut",
        [*BASE, CUT],
        [*BASE, CUT._replace(replica="r2", leading=False)],
    ),
]

UNDER_TWO: list[Event] = [*COPIED_ALL, committed("r1", 2), follows(1)]
COMMITTED_TWICE: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", A),
    copied("r2", "r1", 0, A),
    committed("r1", 1),
    Truncated("r1", 0, 1, 1, 0, leading=True),
    *appended("r1", OTHER),
    committed("r1", 1),
]
LEADER_COMPLETENESS = [
    HandMade(
        "what the candidate does not know to be committed does not count",
        [*FIRST_COPIED, committed("r1", 2), elected("r2", 2, 1)],
        [*UNDER_TWO, elected("r2", 2, 2)],
    ),
    HandMade(
        "an empty batch is no record",
        [*UNDER_TWO, cleaned("r2", 2, removed(1, "b", "superseded")), elected("r2", 2, 2)],
        [
            *UNDER_TWO,
            cleaned("r2", 2, removed(1, "b", "superseded"), emptied=(1,)),
            elected("r2", 2, 2),
        ],
    ),
    HandMade(
        "what lies below the log start is missing",
        [*UNDER_TWO, SegmentsLost("r2", (0,)), elected("r2", 2, 2)],
        [*UNDER_TWO, SegmentsLost("r2", (0,)), PrefixDeleted("r2", 1, 2), elected("r2", 2, 2)],
    ),
    HandMade(
        "an offset that was committed twice does not count",
        [*COMMITTED_TWICE, elected("r1", 3, 1, "r1")],
        [*COMMITTED_TWICE, elected("r2", 3, 1, "r2")],
    ),
]


def _superseded_at_the_candidate(winner: Batch) -> list[Event]:
    """r2 has cleaned the committed record of `k` for an uncommitted one, and is elected."""
    return [
        *cluster("r1", "r2"),
        *appended("r1", K0, winner),
        copied("r2", "r1", 0, K0, winner),
        committed("r1", 1),
        cleaned("r2", 2, superseded(0, "k", 1), hw=1),
        elected("r2", 2, 2),
    ]


LEADER_COMPLETENESS.append(
    HandMade(
        "only a committed record makes up for a committed one",
        _superseded_at_the_candidate(J1),
        _superseded_at_the_candidate(K1),
    )
)

THREE = cluster("r1", "r2", "r3")


ALONE_IN_SYNC = LeaderElected("r1", 1, 0, ("r1",), ("r1", "r2", "r3"))


def _by_majority(*copies: Batch) -> list[Event]:
    first = [*THREE[:-1], ALONE_IN_SYNC, *appended("r1", A, B)]
    return [*first, copied("r2", "r1", 0, *copies), committed("r1", 2)]


def _each_lacks_one(second: int) -> list[Event]:
    """Of three voters two have a hole each."""
    return [
        *THREE,
        *appended("r1", A, B),
        copied("r2", "r1", 0, A, B),
        copied("r3", "r1", 0, A, B),
        SegmentsLost("r2", (0,)),
        SegmentsLost("r3", (second,)),
        committed("r1", 2),
    ]


def _commits_twice(*after: Event) -> list[Event]:
    """r1 commits what r2, alone in its set, does not have."""
    return [
        *cluster("r1", "r2", isr=("r1",)),
        *appended("r1", A),
        committed("r1", 1),
        elected("r2", 2, 0, "r2"),
        *appended("r2", OTHER),
        *after,
    ]


def _cleaned_in_sync(winner: Batch) -> list[Event]:
    """An in-sync follower has cleaned the committed record of `k` for an uncommitted one."""
    return [
        *cluster("r1", "r2"),
        *appended("r1", K0, winner),
        copied("r2", "r1", 0, K0, winner),
        committed("r1", 1),
        cleaned("r2", 2, superseded(0, "k", 1), hw=1),
        committed("r1", 1),
    ]


BEHIND: list[Event] = [
    *cluster("r1", "r2", "r3", isr=("r1", "r2")),
    *appended("r1", A, B),
    copied("r2", "r1", 0, A, B),
    copied("r3", "r1", 0, A),
    committed("r1", 2),
    elected("r2", 2, 2, "r1", "r2"),
]
JOINS = IsrChanged("r2", ("r1", "r2", "r3"), "r3")
UNCOMMITTED: list[Event] = [*COPIED_ALL, committed("r1", 1)]
LOSES = removed(1, "b", "superseded")

COMMITTED_REPLICATED = [
    HandMade("all voters need it", _by_majority(A), _by_majority(A, B), rules=MAJORITY),
    HandMade(
        "one majority needs all of it", _each_lacks_one(0), _each_lacks_one(1), rules=MAJORITY
    ),
    HandMade(
        "an empty batch is no record",
        [*UNCOMMITTED, cleaned("r2", 2, LOSES, hw=1), committed("r1", 2)],
        [*UNCOMMITTED, cleaned("r2", 2, LOSES, emptied=(1,), hw=1), committed("r1", 2)],
    ),
    HandMade(
        "only a committed record makes up for a committed one",
        _cleaned_in_sync(J1),
        _cleaned_in_sync(K1),
    ),
    HandMade(
        "a set that a controller names is an expansion",
        [*BEHIND, JOINS],
        [*BEHIND, JOINS._replace(joined=None)],
    ),
    HandMade(
        "what the present leader does not know to be committed does not count",
        [*BEHIND, JOINS],
        [*BEHIND, copied("r3", "r2", 1, B), JOINS],
    ),
    HandMade(
        "an offset that was committed twice counts as it was first",
        _commits_twice(HighWatermarkMoved("r2", 0, leading=True)),
        _commits_twice(committed("r2", 1)),
    ),
    HandMade(
        "the set of a deposed leader counts",
        [*BEHIND[:-1], elected("r2", 2, 2, "r2", "r3"), JOINS._replace(isr=("r2", "r3"))],
        [*BEHIND[:-1], elected("r2", 2, 2, "r2", "r3"), JOINS._replace(replica="r1")],
    ),
]

LEO_CONVERGENCE = [
    HandMade(
        "a replica that is down has to converge",
        [*FIRST_COPIED, at_rest("r1")],
        [*FIRST_COPIED, ReplicaCrashed("r2", 1, 0), at_rest("r1")],
    ),
    HandMade(
        "a longer log has converged",
        [*COPIED_ALL, *appended("r2", C), at_rest("r1")],
        [*COPIED_ALL, at_rest("r1")],
    ),
    HandMade(
        "only what is committed has to be there",
        [*FIRST_COPIED, committed("r1", 1), at_rest("r1")],
        [*COPIED_ALL, committed("r1", 1), at_rest("r1")],
    ),
]

TO_ONE = Truncated("r2", 1, 2, 1, 1, leading=False)
NO_TRUNCATION_BELOW_HW = [
    HandMade(
        "a replica knows best what its high watermark was",
        [*COPIED_ALL, follows(2), TO_ONE],
        [*COPIED_ALL, follows(1), TO_ONE],
    ),
    HandMade(
        "a cut at the high watermark is below it",
        [*COPIED_ALL, follows(2), TO_ONE._replace(high_watermark=2)],
        [*COPIED_ALL, follows(1), TO_ONE],
    ),
    HandMade(
        "nothing committed may be cut, whether the replica knows it or not",
        [*COPIED_ALL, committed("r1", 2), follows(2), TO_ONE._replace(high_watermark=2)],
        [*COPIED_ALL, committed("r1", 2), follows(1), TO_ONE],
    ),
]
STARTS_AT_ONE: list[Event] = [*COPIED_ALL, follows(2), PrefixDeleted("r2", 1, 2)]
TRUNCATION_BELOW_LOG_START = [
    HandMade(
        "a replica knows best where its log starts",
        [*STARTS_AT_ONE, TO_ONE._replace(target=0, log_start_offset=0)],
        [*STARTS_AT_ONE, TO_ONE._replace(log_start_offset=0)],
    ),
    HandMade(
        "a cut at the log start is below it",
        [*COPIED_ALL, TO_ONE._replace(target=0)],
        [*COPIED_ALL, TO_ONE],
    ),
    HandMade(
        "a cut below the high watermark is below the log start",
        [*COPIED_ALL, TO_ONE._replace(target=0, high_watermark=2)],
        [*COPIED_ALL, TO_ONE._replace(high_watermark=2)],
    ),
]


def told(leader: str, offset: int, *, epoch: int = 1, acks: str = "1") -> Acknowledged:
    """A leader tells a producer that what it has at an offset is written."""
    return Acknowledged(leader, -1, -1, offset, offset, epoch, acks)


SECOND_LEADER = elected("r2", 2, 0, "r2")
REPLACED: list[Event] = [
    *BASE,
    told("r1", 0),
    SECOND_LEADER,
    *appended("r2", OTHER),
    committed("r2", 1),
]
ACKNOWLEDGED_KEPT = [
    HandMade(
        "the last committed record is not below the high watermark",
        [*BASE, told("r1", 1), committed("r1", 1), at_rest("r1")],
        [*BASE, told("r1", 1), committed("r1", 2), at_rest("r1")],
    ),
    HandMade(
        "what was never acknowledged has to be kept",
        [*BASE, told("r1", 1), committed("r1", 1), at_rest("r1")],
        [*BASE, told("r1", 0), committed("r1", 1), at_rest("r1")],
    ),
    HandMade(
        "what was acknowledged as committed counts",
        [*BASE, told("r1", 1), at_rest("r1")],
        [*BASE, told("r1", 1, acks="all"), at_rest("r1")],
    ),
    HandMade(
        "an offset whose first record is gone keeps no promise",
        [*REPLACED, at_rest("r2")],
        [
            *BASE,
            SECOND_LEADER,
            *appended("r2", OTHER),
            told("r2", 0, epoch=2),
            committed("r2", 1),
            at_rest("r2"),
        ],
    ),
]

PAIRS = {
    "acknowledged-kept": ACKNOWLEDGED_KEPT,
    "committed-replicated": COMMITTED_REPLICATED,
    "election-safety": ELECTION_SAFETY,
    "epoch-monotonic": EPOCH_MONOTONIC,
    "follower-position-sound": FOLLOWER_POSITION_SOUND,
    "hw-monotonic": HW_MONOTONIC,
    "hw-within-log": HW_WITHIN_LOG,
    "leader-append-only": LEADER_APPEND_ONLY,
    "leader-completeness": LEADER_COMPLETENESS,
    "leo-convergence": LEO_CONVERGENCE,
    "no-truncation-below-hw": NO_TRUNCATION_BELOW_HW,
    "truncation-below-log-start": TRUNCATION_BELOW_LOG_START,
}
