"""Pairs of the laws on what cleaning takes and leaves."""

from sim.compaction.tombstones import with_record_horizon
from sim.log import Batch, Record, data_batch
from sim.trace import (
    CleanerLooked,
    ConfigChanged,
    Consumed,
    Event,
    HighWatermarkMoved,
    LogEmptied,
    Pushed,
    Removal,
    ReplicaCrashed,
    ReplicaRestarted,
    Truncated,
)
from tests.check.events import (
    RULES,
    appended,
    batch,
    cleaned,
    cluster,
    committed,
    copied,
    record,
    removed,
    superseded,
)
from tests.check.pairs.handmade import HandMade

K0, K1, K2 = (batch(offset, "k") for offset in range(3))
Z1, Z2 = (batch(offset, "z") for offset in (1, 2))
ALONE: list[Event] = [*cluster("r1"), *appended("r1", K0, K1, Z2), committed("r1", 3)]
BOTH: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", K0, K1, Z2),
    copied("r2", "r1", 0, K0, K1, Z2),
    committed("r1", 3),
    HighWatermarkMoved("r2", 3, leading=False),
]
TWO: list[Event] = [*cluster("r1"), *appended("r1", K0, K1), committed("r1", 2)]
ONE: list[Event] = [*cluster("r1"), *appended("r1", K0, Z1), committed("r1", 2)]


def _again(end: int, *removals: Removal) -> list[Event]:
    """A second pass, after one record of `k` more."""
    second = cleaned("r1", end, *removals, end=3)
    return [*ONE, cleaned("r1", 2), *appended("r1", K2), committed("r1", 3), second]


def _emptied(*removals: Removal) -> list[Event]:
    """r2 cleans, throws its log away, copies it anew, and cleans again."""
    return [
        *BOTH,
        cleaned("r2", 3, superseded(0, "k", 1)),
        LogEmptied("r2", 5, 1, 3, 3),
        copied("r2", "r1", 0, K0, K1, Z2),
        cleaned("r2", 3, *removals),
    ]


CLEAN_PREFIX = [
    HandMade(
        "what is above the first dirty offset counts, too",
        [*ALONE, cleaned("r1", 2, end=3, hw=3)],
        [*ALONE, cleaned("r1", 1, end=3, hw=3)],
    ),
    HandMade(
        "the protected record counts like any other",
        [*TWO, cleaned("r1", 2)],
        [*TWO, cleaned("r1", 2, protected=1)],
    ),
    HandMade(
        "every record that a fix names is protected, not the last of the log alone",
        [*ALONE, cleaned("r1", 3, protected=1)],
        [*TWO, cleaned("r1", 2, protected=1)],
    ),
    HandMade(
        "what an earlier pass has counted stays counted",
        _again(3),
        _again(3, superseded(0, "k", 2)),
    ),
    HandMade(
        "a log that was thrown away is as clean as it was",
        _emptied(),
        _emptied(superseded(0, "k", 1)),
    ),
]

UNCOMMITTED_WINNER: list[Event] = [*TWO[:-1], committed("r1", 1)]
BY_AN_OLDER = Removal(1, 101, "k", "superseded", 0)

COMPACTION_BOUND = [
    HandMade(
        "a replica knows best what its high watermark was",
        [*UNCOMMITTED_WINNER, cleaned("r1", 2, superseded(0, "k", 1), hw=2)],
        [*TWO, cleaned("r1", 2, superseded(0, "k", 1), hw=2)],
    ),
    HandMade(
        "the last committed record is not below the high watermark",
        [*UNCOMMITTED_WINNER, cleaned("r1", 2, superseded(0, "k", 1), hw=1)],
        [*TWO, cleaned("r1", 2, superseded(0, "k", 1), hw=2)],
    ),
    HandMade(
        "the one that won counts, not the one that lost",
        [*UNCOMMITTED_WINNER, cleaned("r1", 2, BY_AN_OLDER, hw=1)],
        [*TWO, cleaned("r1", 2, BY_AN_OLDER, hw=2)],
    ),
    HandMade(
        "a pass that says that it stayed below did so",
        [*UNCOMMITTED_WINNER, cleaned("r1", 1, superseded(0, "k", 1), end=2, hw=1)],
        [*TWO, cleaned("r1", 1, superseded(0, "k", 1), end=2, hw=2)],
    ),
]

MAX_LAG_MS, DIFFERENCE_MS = 1000, 50
LIMIT_MS = MAX_LAG_MS + 2 * DIFFERENCE_MS


def _looked(
    now_ms: int,
    *,
    bound: int = 0,
    eligible: bool = False,
    stable: int = 2,
    key: str | None = "k",
    difference_ms: int | None = DIFFERENCE_MS,
) -> list[Event]:
    """A look at a log of two records of timestamp 0, of which a pass takes those below `bound`."""
    look = CleanerLooked(
        "r1",
        now_ms,
        eligible,
        0,
        bound,
        stable,
        0,
        0,
        MAX_LAG_MS,
        difference_ms,
    )
    log = appended("r1", batch(0, key), batch(1, key))
    return [*cluster("r1"), *log, committed("r1", 2), look]


def _told(delay_ms: int, metric_secs: int) -> list[Event]:
    look = CleanerLooked("r1", 9_000, False, 0, 0, 2, delay_ms, metric_secs, MAX_LAG_MS, None)
    return [*TWO, look]


COMPACTION_LAG_BOUND = [
    HandMade(
        "what a pass would take waits no longer, whether there is one or not",
        _looked(LIMIT_MS + 1, bound=2),
        _looked(LIMIT_MS + 1, eligible=True, bound=2),
    ),
    HandMade("exactly D + M + D is too late", _looked(LIMIT_MS + 1), _looked(LIMIT_MS)),
    HandMade("D counts once", _looked(LIMIT_MS + 1), _looked(MAX_LAG_MS + DIFFERENCE_MS + 1)),
    HandMade(
        "what this look makes eligible waits on",
        _looked(LIMIT_MS + 1, eligible=True, bound=1),
        _looked(LIMIT_MS + 1, eligible=True, bound=2),
    ),
    HandMade(
        "records above the last stable offset wait, too",
        _looked(LIMIT_MS + 1, stable=1),
        _looked(LIMIT_MS + 1, stable=0),
    ),
    HandMade("without D it is 0", _looked(LIMIT_MS + 1), _looked(LIMIT_MS + 1, difference_ms=None)),
    HandMade(
        "records without a key wait, too", _looked(LIMIT_MS + 1), _looked(LIMIT_MS + 1, key=None)
    ),
]
LAG_METRIC = [
    HandMade("begun seconds count", _told(5_999, 6), _told(5_999, 5)),
    HandMade("a figure above 0 is an old one", _told(0, 5), _told(5_000, 5)),
    HandMade("no figure is no claim", _told(1_000, 0), _told(999, 0)),
]

DELETE = batch(0, "k", None)
STAMPED = DELETE._replace(delete_horizon_ms=100)
DELETED: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", DELETE, Z1),
    committed("r1", 2),
]


def _stamped(*horizons: int) -> list[Event]:
    """Passes of r1, each of which gives the tombstone a horizon."""
    return [*DELETED, *(cleaned("r1", 2, horizons=((0, at),)) for at in horizons)]


def _inherited(copy: Batch) -> list[Event]:
    """r2 copies the tombstone and gives it a horizon in a pass of its own."""
    return [*DELETED, copied("r2", "r1", 0, copy, Z1), cleaned("r2", 2, horizons=((0, 190),))]


def _copied_again(cut: Event, start: int) -> list[Event]:
    """r2 gives the tombstone a horizon, is cut, copies from `start` on, and gives it another."""
    return [
        *DELETED,
        copied("r2", "r1", 0, DELETE, Z1),
        cleaned("r2", 2, horizons=((0, 100),)),
        cut,
        copied("r2", "r1", start, *(DELETE, Z1)[start:]),
        cleaned("r2", 2, horizons=((0, 190),)),
    ]


CUT = Truncated("r2", 1, 2, 0, 0, leading=False)
LOST = ReplicaCrashed("r2", 1, 0)

HORIZON_STABILITY = [
    HandMade("no pass may tell the horizon again", _stamped(100, 90), _stamped(100, 100)),
    HandMade("only a later one is a change", _stamped(100, 99), _stamped(99, 99)),
    HandMade("a copy comes without a horizon", _inherited(STAMPED), _inherited(DELETE)),
    HandMade(
        "what was cut and copied again is the same batch",
        _copied_again(CUT, 1),
        _copied_again(CUT._replace(target=0), 0),
    ),
    HandMade(
        "what a crash lost and was copied again is the same batch",
        _copied_again(LOST, 1),
        _copied_again(LOST._replace(log_end_offset=0), 0),
    ),
]

RESTARTED = ReplicaRestarted("r1", 2, 2)
LEO_PRESERVATION = [
    HandMade(
        "what the crash lost was lost by the restart",
        [*TWO, ReplicaCrashed("r1", 2, 2), RESTARTED._replace(log_end_offset=1)],
        [*TWO, ReplicaCrashed("r1", 1, 1), RESTARTED._replace(log_end_offset=1)],
    ),
    HandMade(
        "a log whose last record was removed ends before it",
        [*TWO, cleaned("r1", 2, removed(1, "k", "tombstone"), end=1)],
        [*TWO, cleaned("r1", 2, removed(1, "k", "tombstone"))],
    ),
]


def _of(original: Batch, copy: Batch) -> list[Event]:
    return [*cluster("r1", "r2"), *appended("r1", original), copied("r2", "r1", 0, copy)]


def _with(original: Batch, **changes: object) -> Batch:
    return original._replace(records=(original.records[0]._replace(**changes),))


FLAGGED = data_batch((record(0, "k", None)._replace(flagged=True),), epoch=1)
STAMP = with_record_horizon(K0.records[0], 100)


SAYS_WHY = data_batch((record(0, "k", "why")._replace(flagged=True),), epoch=1)
NULL = SAYS_WHY.records[0]._replace(value=None, flagged=None)
OLD_READER = ConfigChanged("c1", (("format", "2"),), initial=True)
NEW_READER = OLD_READER._replace(settings=(("format", "3"),), initial=False)


def _read(given: Record) -> Consumed:
    return Consumed("r1", "c1", 0, 2, (given,), 5)


def _told(original: Batch, *events: Event) -> list[Event]:
    """A flagged delete, and what a consumer says and is given."""
    return [*cluster("r1", "r2"), *appended("r1", original), *events]


RECORD_IMMUTABLE = [
    HandMade(
        "a batch that was written anew is another",
        _of(K0, _with(K0, timestamp_ms=1)),
        _of(K0, _with(K0)),
    ),
    HandMade(
        "no header may be added, not even the horizon among replicas",
        _of(K0, _with(K0, headers=(("x", b""),))),
        _of(K0, _with(K0, headers=STAMP.headers)),
    ),
    HandMade(
        "a delete may lose its flag",
        _of(FLAGGED, _with(FLAGGED, flagged=False)),
        _of(FLAGGED, _with(FLAGGED)),
        rules=RULES.with_values({"tombstone_mark": "flag"}),
    ),
    HandMade(
        "no copy may lose its flag",
        _of(FLAGGED, _with(FLAGGED, flagged=False, value="v")),
        _of(FLAGGED, _with(FLAGGED, flagged=False)),
        rules=RULES.with_values({"tombstone_mark": "null_value"}),
    ),
    HandMade(
        "only records count, not their epoch", _of(K0, K0._replace(epoch=2)), _of(K0, _with(K0))
    ),
    HandMade(
        "a reader may be given another value, as long as the offset is right",
        [*TWO, _read(K0.records[0]._replace(value="w"))],
        [*TWO, _read(K0.records[0]._replace())],
    ),
    HandMade(
        "no reader may be given a record without its flag",
        [*cluster("r1"), *appended("r1", FLAGGED), _read(FLAGGED.records[0]._replace(key="j"))],
        [
            *cluster("r1"),
            *appended("r1", FLAGGED),
            _read(FLAGGED.records[0]._replace(flagged=False)),
        ],
    ),
    HandMade(
        "no reader may be given a delete without its value",
        _told(SAYS_WHY, _read(NULL)),
        _told(SAYS_WHY, OLD_READER, _read(NULL)),
    ),
    HandMade(
        "a reader that was new when the run ended always was",
        _told(SAYS_WHY, OLD_READER, NEW_READER, _read(NULL)),
        _told(SAYS_WHY, OLD_READER, _read(NULL), NEW_READER),
    ),
    HandMade(
        "an old reader has to be given null for each flag, and so for each record",
        _told(K0, OLD_READER, _read(K0.records[0]._replace(value=None, flagged=None))),
        _told(K0, OLD_READER, _read(K0.records[0]._replace(flagged=None))),
    ),
    HandMade(
        "for an old reader anything goes",
        _told(SAYS_WHY, OLD_READER, _read(NULL._replace(timestamp_ms=1))),
        _told(SAYS_WHY, OLD_READER, _read(NULL)),
    ),
    HandMade(
        "what may be kept from a consumer may be kept from a follower",
        _told(
            SAYS_WHY,
            OLD_READER,
            copied("r2", "r1", 0, SAYS_WHY._replace(records=(NULL,))),
            _read(NULL),
        ),
        _told(SAYS_WHY, OLD_READER, copied("r2", "r1", 0, SAYS_WHY), _read(NULL)),
    ),
]

MOVED = _with(Z1, offset=2)._replace(base_offset=2, last_offset=2)
PUSHED = _with(Z1, offset=0)._replace(base_offset=0, last_offset=0)
FOLLOWED: list[Event] = [*cluster("r1", "r2"), *appended("r1", K0, Z1)]
RECORD_OFFSET_UNIQUENESS = [
    HandMade(
        "a record that was written anew is another",
        [*FOLLOWED, copied("r2", "r1", 0, K0, MOVED)],
        [*FOLLOWED, copied("r2", "r1", 0, K0, _with(Z1))],
    ),
    HandMade(
        "a pushed copy is another record",
        [*FOLLOWED, Pushed("r2", "r1", PUSHED)],
        [*FOLLOWED, Pushed("r2", "r1", K0)],
    ),
]

PAIRS = {
    "clean-prefix": CLEAN_PREFIX,
    "compaction-bound": COMPACTION_BOUND,
    "compaction-lag-bound": COMPACTION_LAG_BOUND,
    "horizon-stability": HORIZON_STABILITY,
    "lag-metric": LAG_METRIC,
    "leo-preservation": LEO_PRESERVATION,
    "record-immutable": RECORD_IMMUTABLE,
    "record-offset-uniqueness": RECORD_OFFSET_UNIQUENESS,
}
