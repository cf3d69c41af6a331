"""Pairs of the laws on what readers are given."""

from sim.log import Batch, Record, data_batch
from sim.rules import Rules
from sim.trace import (
    Consumed,
    Event,
    HighWatermarkMoved,
    LeaderElected,
    PrefixDeleted,
    ReadingEnded,
    Understood,
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

K0, K1, Z1, Z2 = batch(0, "k"), batch(1, "k"), batch(1, "z"), batch(2, "z")
DELETE = batch(1, "k", None)
OTHER, NEXT = batch(0, "x", uid=9, epoch=2), batch(1, "y", uid=8, epoch=2)


def log(*batches: Batch) -> list[Event]:
    """r1 holds committed batches."""
    return [
        *cluster("r1"),
        *appended("r1", *batches),
        committed("r1", batches[-1].last_offset + 1),
    ]


def reads(
    start: int, end: int, *batches: Batch, at: int = 0, replica: str = "r1", by: str = "c1"
) -> Consumed:
    """A consumer reads to `end` and is given the records of `batches`."""
    records = tuple(record for each in batches for record in each.records)
    return Consumed(replica, by, start, end, records, at)


TWO_LEADERS: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", K0),
    committed("r1", 1),
    LeaderElected("r2", 2, 0, ("r2",), ("r1", "r2")),
    *appended("r2", OTHER),
]
COMMITTED_TWICE: list[Event] = [*TWO_LEADERS, committed("r2", 1)]

CONSISTENT_READ = [
    HandMade(
        "whoever reads a second history reads inconsistently",
        [*COMMITTED_TWICE, reads(0, 1, K0), reads(0, 1, OTHER, replica="r2", by="c2")],
        [*COMMITTED_TWICE, reads(0, 1, OTHER, replica="r2"), reads(0, 1, OTHER, by="c2")],
    ),
    HandMade(
        "what one consumer reads twice is no matter",
        [*COMMITTED_TWICE, reads(0, 1, K0), reads(0, 1, OTHER, replica="r2")],
        [*COMMITTED_TWICE, reads(0, 1, K0), reads(0, 1, K0)],
    ),
    HandMade(
        "two that read different offsets differ",
        [*COMMITTED_TWICE, reads(0, 1, K0), reads(0, 1, OTHER, replica="r2", by="c2")],
        [
            *COMMITTED_TWICE,
            *appended("r2", NEXT),
            reads(0, 1, K0),
            reads(1, 2, NEXT, replica="r2", by="c2"),
        ],
    ),
]

WITH_VERSIONS = Rules.of(commit="isr", strategy="timestamp", consumer_order="strategy")
LATER, EARLIER = (
    data_batch((Record(offset, "k", "v", at, uid=100 + offset),), epoch=1)
    for offset, at in ((0, 9), (1, 5))
)
CONSUMER_ENDS_CURRENT = [
    HandMade(
        "who has not read everything has to be current",
        [*log(K0, K1), reads(0, 2, K0), at_rest("r1")],
        [*log(K0, K1), reads(0, 1, K0), at_rest("r1")],
    ),
    HandMade(
        "who has read to the end has not read everything",
        [*log(K0, K1), reads(0, 2, K0), at_rest("r1")],
        [*log(K0, K1), reads(0, 2, K0, K1), at_rest("r1")],
    ),
    HandMade(
        "records that were never committed are judged",
        [*log(K0, K1), reads(0, 2, K0), at_rest("r1")],
        [
            *cluster("r1", "r2"),
            *appended("r1", K0, K1),
            *appended("r2", batch(0, "k", uid=9, epoch=2)),
            committed("r1", 2),
            reads(0, 2, batch(0, "k", uid=9, epoch=2), replica="r2"),
            at_rest("r1"),
        ],
    ),
    HandMade(
        "a consumer keeps the last record it is given, whatever the strategy",
        [*log(LATER, EARLIER), reads(0, 2, EARLIER), at_rest("r1")],
        [*log(LATER, EARLIER), reads(0, 2, LATER, EARLIER), at_rest("r1")],
        rules=WITH_VERSIONS,
    ),
    HandMade(
        "a consumer applies the strategy",
        [*log(LATER, EARLIER), reads(0, 2, LATER, EARLIER), at_rest("r1")],
        [*log(LATER, EARLIER), reads(0, 2, LATER), at_rest("r1")],
        rules=WITH_VERSIONS.with_values({"consumer_order": "offset"}),
    ),
]

OPEN, ABORTED = batch(0, "k", pid=7), marker(1, 7, commit=False)
BEHIND_A_START: list[Event] = [*log(K0, Z1), PrefixDeleted("r1", 1, 2)]
FOLLOWED: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", K0, Z1),
    copied("r2", "r1", 0, K0, Z1),
    committed("r1", 2),
]
KNOWN = HighWatermarkMoved("r2", 2, leading=False)


def _transaction_commits_again(*, commit: bool) -> list[Event]:
    """r2 commits a transaction at offsets of which r1 has committed the first."""
    data, end = batch(0, "k", uid=9, epoch=2, pid=7), marker(1, 7, commit=commit, epoch=2)
    return [*TWO_LEADERS[:-1], *appended("r2", data, end), committed("r2", 2)]


BEATEN_IN_HISTORY: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", K0, K1),
    committed("r1", 2),
    LeaderElected("r2", 2, 0, ("r2",), ("r1", "r2")),
    *appended("r2", batch(0, "k", uid=9, epoch=2)),
]
EARLIER_ORDER: list[Event] = log(LATER, EARLIER, Z2)
CONSUMER_NO_SKIP = [
    HandMade(
        "what lost under the rules before has to be given",
        [*EARLIER_ORDER, reads(0, 3, EARLIER)],
        [*EARLIER_ORDER, reads(0, 3, EARLIER, Z2)],
        rules=WITH_VERSIONS,
        checker={"earlier": [RULES]},
    ),
    HandMade(
        "what took its place has to be there still",
        [*log(K0, Z1), cleaned("r1", 2, removed(0, "k", "no key")), reads(0, 2)],
        [
            *log(K0, DELETE),
            cleaned("r1", 2, superseded(0, "k", 1), removed(1, "k", "tombstone")),
            reads(0, 2),
        ],
    ),
    HandMade(
        "history beats what was committed twice",
        [*BEATEN_IN_HISTORY, committed("r2", 1), reads(0, 1, replica="r2")],
        [
            *BEATEN_IN_HISTORY,
            *appended("r2", batch(1, "k", uid=8, epoch=2)),
            committed("r2", 1),
            reads(0, 1, replica="r2"),
        ],
    ),
    HandMade(
        "an offset that was committed twice has no transaction",
        [*_transaction_commits_again(commit=True), reads(0, 2, replica="r2")],
        [*_transaction_commits_again(commit=False), reads(0, 2, replica="r2")],
    ),
    HandMade(
        "what is open takes the place of another",
        [*log(K0), *appended("r1", batch(1, "k", pid=7)), reads(0, 1)],
        [*log(K0), *appended("r1", batch(1, "k", pid=7), marker(2, 7, commit=True)), reads(0, 1)],
    ),
    HandMade(
        "the position itself was passed", [*log(K0, Z1), reads(0, 1)], [*log(K0, Z1), reads(0, 0)]
    ),
    HandMade(
        "what it was given before was not given",
        [*log(K0, Z1), reads(1, 2)],
        [*log(K0, Z1), reads(0, 2, K0, Z1), reads(0, 2, Z1)],
    ),
    HandMade(
        "what is below the log start is skipped",
        [*log(K0, Z1), reads(0, 2, Z1)],
        [*BEHIND_A_START, reads(0, 2, Z1)],
    ),
    HandMade(
        "a tombstone has to be given",
        [*log(K0), reads(0, 1)],
        [*log(batch(0, "k", None)), reads(0, 1)],
    ),
    HandMade(
        "what was superseded has to be given",
        [*log(K0, K1), reads(0, 2, K0)],
        [*log(K0, K1), reads(0, 2, K1)],
    ),
    HandMade(
        "open and aborted data has to be given",
        [*log(OPEN, marker(1, 7, commit=True)), reads(0, 2)],
        [*log(OPEN, ABORTED), reads(0, 2)],
    ),
    HandMade(
        "data of an open transaction has to be given",
        [*log(batch(0, "k")), reads(0, 1)],
        [*log(OPEN), reads(0, 1)],
    ),
    HandMade(
        "only a committed record takes the place of another",
        [*log(K0), *appended("r1", Z1), reads(0, 1)],
        [*log(K0), *appended("r1", K1), reads(0, 1)],
    ),
    HandMade(
        "an offset that was committed twice counts as it was first",
        [*COMMITTED_TWICE, reads(0, 1, K0, replica="r2")],
        [*COMMITTED_TWICE, reads(0, 1, OTHER, replica="r2")],
    ),
    HandMade(
        "the high watermark of the replica that is read does not matter",
        [*FOLLOWED, KNOWN, reads(0, 2, K0, replica="r2")],
        [*FOLLOWED, KNOWN._replace(high_watermark=1), reads(0, 2, K0, replica="r2")],
    ),
    HandMade(
        "the first offset passed is the one after the position",
        [*log(K0, Z1), reads(0, 2, Z1)],
        [*log(K0, Z1), reads(0, 2, K0, Z1)],
    ),
]

COMMITTED_DATA: list[Event] = log(OPEN, marker(1, 7, commit=True))
ABORTED_DATA: list[Event] = log(OPEN, ABORTED)
GIVEN = reads(0, 2, OPEN)._replace(committed=True)
CONSUMER_READS_COMMITTED = [
    HandMade(
        "no transactional data may be given", [*ABORTED_DATA, GIVEN], [*COMMITTED_DATA, GIVEN]
    ),
    HandMade(
        "every consumer reads committed",
        [*ABORTED_DATA, GIVEN],
        [*ABORTED_DATA, GIVEN._replace(committed=False)],
    ),
    HandMade(
        "an open transaction may still be committed",
        [*log(OPEN), GIVEN._replace(end=1)],
        [*log(OPEN), GIVEN._replace(end=1, records=())],
    ),
    HandMade(
        "what is of no transaction has no verdict, hence not that it is committed",
        [*log(OPEN, ABORTED, Z2), GIVEN._replace(end=3)],
        [*log(OPEN, ABORTED, Z2), reads(0, 3, Z2)._replace(committed=True)],
    ),
    HandMade(
        "what another record has replaced is judged by its place",
        [*ABORTED_DATA, GIVEN],
        [
            *cluster("r1", "r2"),
            *appended("r2", OPEN),
            *appended("r1", batch(0, "k", uid=9, epoch=2, pid=8), marker(1, 8, commit=False)),
            committed("r1", 2),
            GIVEN._replace(replica="r2", end=1),
        ],
    ),
]

VALUE = Record(0, "A", "a", uid=1)
FLAGGED = Record(1, "A", "why", flagged=True, uid=2)
NULL = Record(2, "B", None, uid=3)
MARKED: list[Event] = [
    *cluster("r1"),
    *appended("r1", *(data_batch((each,), epoch=1) for each in (VALUE, FLAGGED, NULL))),
]
BY_FLAG = RULES.with_values({"tombstone_mark": "flag"})


def understood(values: tuple[Record, ...], deletes: tuple[Record, ...]) -> list[Event]:
    """What a consumer took the records for."""
    return [*MARKED, Understood("r1", "c1", values, deletes)]


CONSUMER_TAKES_DELETES = [
    HandMade(
        "a null value is a delete",
        understood((VALUE,), (FLAGGED, NULL)),
        understood((VALUE, NULL), (FLAGGED,)),
        rules=BY_FLAG,
    ),
    HandMade(
        "a record with a value is no delete",
        understood((VALUE, FLAGGED), ()),
        understood((VALUE,), (FLAGGED,)),
        rules=BY_FLAG,
    ),
    HandMade(
        "a flag is a delete",
        understood((VALUE,), (FLAGGED, NULL)),
        understood((VALUE, FLAGGED), (NULL,)),
        rules=RULES.with_values({"tombstone_mark": "null_value"}),
    ),
]

DELETED: list[Event] = log(K0, DELETE, Z2)


def passes(at: int, *given: Batch, start: int = 1, end: int = 3) -> list[Event]:
    """A consumer that read the value at 0 ms goes on at a later time."""
    return [*DELETED, reads(0, 1, K0), reads(start, end, *given, at=at)]


TIMESTAMPS = RULES.with_values({"strategy": "timestamp"})


def timed(offset: int, value: str | None, at: int, *, pid: int = -1) -> Batch:
    """A record of `k` with a timestamp."""
    only = Record(offset, "k", value, at, uid=100 + offset)
    return data_batch((only,), epoch=1, producer_id=pid, transactional=pid >= 0)


FIRST, LATE = timed(0, "v", 1), timed(2, "v", 5)
BY_TIME: list[Event] = log(FIRST, timed(1, None, 9), LATE)


def _aborted_before(at: int) -> list[Event]:
    """A consumer reads data that is aborted later, and passes a tombstone of timestamp 5."""
    data = timed(0, "v", at, pid=7)
    events = log(data, marker(1, 7, commit=False), timed(2, None, 5))
    return [*events, reads(0, 1, data), reads(1, 3, at=50)]


CONSUMER_TOMBSTONE_VISIBILITY = [
    HandMade("exactly the retention is in time no more", passes(100, Z2), passes(101, Z2)),
    HandMade("the tombstone itself has to be given", passes(50, Z2), passes(50, DELETE, Z2)),
    HandMade("a position at the tombstone has passed it", passes(50, end=2), passes(50, end=1)),
    HandMade(
        "a later record of the key is not as good",
        [*BY_TIME, reads(0, 1, FIRST), reads(1, 3, at=50)],
        [*BY_TIME, reads(0, 1, FIRST), reads(1, 3, LATE, at=50)],
        rules=TIMESTAMPS,
    ),
    HandMade(
        "what was given before was not given",
        [*DELETED, reads(0, 1, K0), reads(1, 3, Z2, at=50)],
        [*DELETED, reads(0, 2, K0, DELETE), reads(1, 3, Z2, at=50)],
    ),
    HandMade(
        "whatever of the key was read before is what it deletes",
        _aborted_before(1),
        _aborted_before(9),
        rules=TIMESTAMPS,
    ),
    HandMade(
        "a tombstone that something beats counts",
        [*log(K0, DELETE), reads(0, 1, K0), reads(1, 2, at=50)],
        [*log(K0, DELETE, batch(2, "k")), reads(0, 1, K0), reads(1, 2, at=50)],
    ),
    HandMade(
        "the time of the first read counts",
        [*DELETED, reads(0, 1, K0), reads(0, 1, K0, at=40), reads(1, 3, Z2, at=120)],
        [*DELETED, reads(0, 1, K0), reads(0, 1, at=40), reads(1, 3, Z2, at=120)],
    ),
]


def ends(until: str, start: int, end: int, position: int, last: int, given: int) -> list[Event]:
    """A reader to which nothing more comes."""
    return [*log(K0, Z1), ReadingEnded("r1", "c1", until, start, end, position, last, given)]


READER_REACHES_END = [
    HandMade(
        "the position has to be above the end",
        ends("position", 0, 2, 1, 0, 1),
        ends("position", 0, 2, 2, 0, 1),
    ),
    HandMade(
        "the last record has to be at the end",
        ends("last_offset", 0, 2, 2, 0, 1),
        ends("last_offset", 0, 2, 2, 1, 1),
    ),
    HandMade(
        "more records than offsets have to come",
        ends("count", 0, 2, 2, 1, 1),
        ends("count", 0, 2, 2, 1, 2),
    ),
    HandMade(
        "who begins at the end waits for a record",
        ends("last_offset", 1, 2, 2, -1, 0),
        ends("last_offset", 2, 2, 2, -1, 0),
    ),
]

PAIRS = {
    "consistent-read": CONSISTENT_READ,
    "consumer-ends-current": CONSUMER_ENDS_CURRENT,
    "consumer-no-skip": CONSUMER_NO_SKIP,
    "consumer-reads-committed": CONSUMER_READS_COMMITTED,
    "consumer-takes-deletes": CONSUMER_TAKES_DELETES,
    "consumer-tombstone-visibility": CONSUMER_TOMBSTONE_VISIBILITY,
    "reader-reaches-end": READER_REACHES_END,
}
