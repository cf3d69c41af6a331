"""Pairs of the laws on what is at an offset, on all replicas and for ever."""

from sim.log.epochs import EpochEntry
from sim.trace import (
    EpochCacheChanged,
    Event,
    HighWatermarkMoved,
    ReplicaCrashed,
    ReplicaRestarted,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
)
from tests.check.events import (
    appended,
    at_rest,
    batch,
    cleaned,
    cluster,
    committed,
    copied,
    superseded,
)
from tests.check.pairs.handmade import HandMade
from tests.check.pairs.protocol import BASE, K0, K1, OTHER, A, B, C, elected

CLASH: list[Event] = [*cluster("r1", "r2"), *appended("r1", A, B)]
UNDER_NEWER: list[Event] = [*CLASH, *appended("r2", OTHER)]
OF_THE_SAME = batch(0, "x", uid=9)
B_AGAIN = batch(1, "y", uid=8, epoch=2)
NEWEST = batch(2, "y", uid=8, epoch=3)
BEHIND_A_GAP: list[Event] = [
    *cluster("r1", "r2", "r3"),
    *appended("r1", A, C),
    *appended("r2", OTHER),
    *appended("r3", NEWEST),
]
ONE_FURTHER = A._replace(base_offset=1, last_offset=1, records=(A.records[0]._replace(offset=1),))
LOG_MATCHING = [
    HandMade(
        "a record at another offset than its own is another law's matter alone",
        [*CLASH, copied("r2", "r1", 0, ONE_FURTHER)],
        [*CLASH, copied("r2", "r1", 0, A)],
    ),
    HandMade("an offset names one record", [*CLASH, *appended("r2", OF_THE_SAME)], UNDER_NEWER),
    HandMade(
        "logs that differ differ from there on, whatever they hold",
        [*UNDER_NEWER, copied("r2", "r1", 1, B)],
        [*UNDER_NEWER, *appended("r2", B_AGAIN)],
    ),
    HandMade(
        "two holes are a shared record",
        [*BEHIND_A_GAP, copied("r2", "r1", 1, C)],
        [*BEHIND_A_GAP, copied("r2", "r3", 1, NEWEST)],
    ),
]

NO_OFFSET_REUSE = [
    HandMade(
        "in a story, too, a deposed leader that has not heard of it may write",
        [*BASE, committed("r1", 1), elected("r1", 3, 2), *appended("r2", OTHER)],
        [*BASE, committed("r1", 0), elected("r1", 3, 2), *appended("r2", OTHER)],
    ),
    HandMade(
        "the high watermark is a committed offset",
        [*BASE, committed("r1", 1), *appended("r2", OTHER)],
        [*BASE, committed("r1", 0), *appended("r2", OTHER)],
    ),
    HandMade(
        "only the own high watermark counts",
        [*BASE, committed("r1", 1), *appended("r2", OTHER)],
        [
            *BASE,
            committed("r1", 1),
            copied("r2", "r1", 0, A),
            *appended("r2", batch(1, "x", uid=9, epoch=2)),
        ],
    ),
    HandMade(
        "a deposed leader that has not heard of it may not write",
        [
            *BASE,
            committed("r1", 1),
            elected("r1", 3, 2),
            *appended("r2", batch(0, "x", uid=9, epoch=3)),
        ],
        [*BASE, committed("r1", 1), elected("r1", 3, 2), *appended("r2", OTHER)],
        checker={"zombies_count": False},
    ),
]

LOST_TAIL: list[Event] = [*BASE, ReplicaCrashed("r1", 1, 0), ReplicaRestarted("r1", 1, 0)]
OFFSET_EPOCH_UNIQUENESS = [
    HandMade(
        "a lost tail was never assigned",
        [*LOST_TAIL, *appended("r1", batch(1, "x", uid=9))],
        [*LOST_TAIL, *appended("r1", batch(1, "x", uid=9, epoch=2))],
    ),
    HandMade(
        "an offset is assigned once, whatever the epoch",
        [*CLASH, *appended("r2", OF_THE_SAME)],
        UNDER_NEWER,
    ),
]

APART: list[Event] = [*UNDER_NEWER, committed("r1", 1)]
MINE = HighWatermarkMoved("r2", 1, leading=False)
WITH_A_THIRD: list[Event] = [
    *cluster("r1", "r2", "r3"),
    *appended("r1", A),
    *appended("r2", OTHER),
    *appended("r3", B),
]
REPLICA_CONVERGENCE = [
    HandMade(
        "a follower that holds nothing there differs, too",
        [*WITH_A_THIRD, at_rest("r1")],
        [*WITH_A_THIRD, ReplicaCrashed("r2", 1, 0), at_rest("r1")],
    ),
    HandMade(
        "who differs from another follower differs from the leader",
        [*WITH_A_THIRD, at_rest("r1")],
        [*WITH_A_THIRD, at_rest("r3")],
    ),
    HandMade(
        "a replica that is down has to converge",
        [*UNDER_NEWER, at_rest("r1")],
        [*UNDER_NEWER, ReplicaCrashed("r2", 1, 0), at_rest("r1")],
    ),
    HandMade(
        "a hole differs from a record",
        [*UNDER_NEWER, at_rest("r1")],
        [*UNDER_NEWER, SegmentsLost("r2", (0,)), at_rest("r1")],
    ),
    HandMade(
        "only what is committed has to agree",
        [*UNDER_NEWER, at_rest("r1")],
        [*UNDER_NEWER, Truncated("r2", 0, 1, 0, 0, leading=False), at_rest("r1")],
    ),
]
SLOT_AGREEMENT = [
    HandMade(
        "a record at another offset than its own is another law's matter alone",
        [
            *CLASH,
            copied("r2", "r1", 0, ONE_FURTHER),
            committed("r1", 2),
            MINE._replace(high_watermark=2),
        ],
        [*CLASH, copied("r2", "r1", 0, A), committed("r1", 2), MINE._replace(high_watermark=1)],
    ),
    HandMade("one high watermark is enough", [*APART, MINE], APART),
    HandMade(
        "the high watermark is below itself",
        [*APART, MINE],
        [*APART, MINE._replace(high_watermark=0)],
    ),
    HandMade(
        "a replica that is down does not count",
        [*APART, ReplicaCrashed("r2", 1, 1), committed("r1", 2)],
        [*APART, ReplicaCrashed("r2", 1, 0), committed("r1", 2)],
    ),
    HandMade(
        "a restart is no change",
        [*APART, ReplicaCrashed("r2", 1, 0), ReplicaRestarted("r2", 1, 1)],
        [*APART, ReplicaCrashed("r2", 1, 0), ReplicaRestarted("r2", 1, 0)],
    ),
]

AGAIN: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", A),
    committed("r1", 1),
    elected("r2", 2, 0, "r2"),
]
OF_A_KEY: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", K0, K1),
    copied("r2", "r1", 0, K0, K1),
    committed("r1", 2),
]
EMPTIES = Truncated("r2", 0, 2, 0, 0, leading=False)
STATE_MACHINE_SAFETY = [
    HandMade(
        "a follower commits, too",
        [*AGAIN, *appended("r2", OTHER), committed("r2", 1)],
        [*AGAIN, *appended("r2", OTHER), MINE],
    ),
    HandMade(
        "a leader that has not heard of its successor commits, too",
        [*AGAIN, *appended("r2", OTHER), committed("r2", 1)],
        [*AGAIN, *appended("r2", OTHER), elected("r1", 3, 1, "r1"), committed("r2", 1)],
    ),
    HandMade(
        "a leader that has cleaned a record commits something else there",
        [*OF_A_KEY, EMPTIES, elected("r2", 2, 0, "r2"), *appended("r2", OTHER), committed("r2", 1)],
        [
            *OF_A_KEY,
            cleaned("r2", 2, superseded(0, "k", 1), hw=2),
            elected("r2", 2, 2, "r2"),
            committed("r2", 2),
        ],
    ),
]

KNOWN_TO_BOTH: list[Event] = [
    *BASE,
    copied("r2", "r1", 0, A, B),
    committed("r1", 2),
    HighWatermarkMoved("r2", 2, leading=False),
]
ELSEWHERE = EpochCacheChanged("r2", (EpochEntry(1, 0), EpochEntry(2, 1)))
KEPT = Truncated("r2", 1, 2, 2, 0, leading=False, kept_high_watermark=True)
ANEW: list[Event] = [*cluster("r1", "r2"), *appended("r1", A), elected("r1", 3, 1, "r1", "r2")]
IN_EPOCH_TWO = A._replace(epoch=2)
EPOCH_CACHE_CONSISTENCY = [
    HandMade(
        "an end that nobody has any more, above a high watermark that was kept, counts",
        [*KNOWN_TO_BOTH, ELSEWHERE, elected("r1", 2, 2, "r1", "r2")],
        [*KNOWN_TO_BOTH, KEPT, elected("r1", 2, 2, "r1", "r2")],
    ),
    HandMade(
        "an end at the log start is above it",
        [*ANEW, copied("r2", "r1", 0, IN_EPOCH_TWO), MINE, committed("r1", 1)],
        [*ANEW, SnapshotInstalled("r2", 1, 2, (), 0, 0, leading=False), committed("r1", 1)],
    ),
]

PAIRS = {
    "epoch-cache-consistency": EPOCH_CACHE_CONSISTENCY,
    "log-matching": LOG_MATCHING,
    "no-offset-reuse": NO_OFFSET_REUSE,
    "offset-epoch-uniqueness": OFFSET_EPOCH_UNIQUENESS,
    "replica-convergence": REPLICA_CONVERGENCE,
    "slot-agreement": SLOT_AGREEMENT,
    "state-machine-safety": STATE_MACHINE_SAFETY,
}
