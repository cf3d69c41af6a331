"""Random log files that Kafka could really hold, as Hypothesis strategies.

Keys and producers are few, so that things collide; what is rare on a disk (holes, emptied batches,
old delete horizons, sequences about to wrap) is common here. Logs stay small: many run in little
time, and a counterexample shrinks to a few batches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from hypothesis import strategies as st

from tests.conformance.drawing import once_in
from tests.conformance.log_builder import (
    Compression,
    Data,
    Document,
    Entry,
    LeaderChange,
    Marker,
    Write,
)
from tests.conformance.log_steps import (
    Append,
    Clean,
    Ending,
    Now,
    Other,
    Plan,
    Retry,
    Segment,
    Step,
    build,
)
from tests.conformance.random_moves import moving, topics

KEYS = ("a", "b", "c", "d")
ODD_KEYS = ("", "\udcff", "\udcfe", "\ufffd", "a\0", "l" * 64)
"""An empty key is one; bytes that are no UTF-8 differ; a length of 64 takes two bytes."""
MARKER_KEYS = ("\0\0\0\0", "\0\0\0\1", "\0\0\0\2", "\0\0\0\3")
"""Keys with the very bytes of the keys of ABORT, COMMIT and LEADER_CHANGE (KAFKA-14055)."""
BEFORE_HORIZONS = "kafka-2.8"
"""The preset of releases that have no delete horizon for each batch."""
LARGE_GAP = 2**31 + 7
"""More offsets than one segment may span."""
SPANS = (2**31 - 1, 2**31, 2**31 + 1)
"""Around the most offsets that one segment may span."""
MOST = 2**63 - 1
"""The latest time there is, in ms."""
ENDINGS: tuple[tuple[Ending, ...], ...] = (
    ("COMMIT",),
    ("ABORT",),
    ("ABORT", "COMMIT"),
    ("COMMIT", "ABORT"),
    ("open", "ABORT"),
    ("open",),
)

_none = st.none()
_keys = once_in(8, st.sampled_from((None, None, *MARKER_KEYS)), st.sampled_from(KEYS))
_values = st.sampled_from(("v", "v", "v", None, None, "", "\udc80\0", "w" * 100))
_mostly_no_offset = st.sampled_from((0, 0, 0, 0, 1, 2))
_timestamps = st.sampled_from((0, 5, 900, -1, 1_700_000_000_000))
_headers = st.sampled_from(
    (
        (),
        (("version", 7),),
        (("raw", "80"), ("raw", "")),
        (("version", -1), ("trace", "00ff")),
        (("n" * 64, "00" * 64),),
    )
)
_horizons = st.sampled_from((None, None, None, 0, 500, 1_000, 1_050, 1_100, 2_000, MOST))
_compressions: st.SearchStrategy[Compression] = st.sampled_from(
    ("none", "none", "none", "none", "gzip", "snappy", "lz4", "zstd")
)
_formats: st.SearchStrategy[Literal[0, 1, 2]] = st.sampled_from((2, 2, 1, 0))
_modified = st.sampled_from((0, 899, 900, 999, 1_000, 1_001, 1_100))
_intervals = st.tuples(
    st.integers(0, 8), st.sampled_from((1, 1, 2, 3)), st.sampled_from((0, 0, -1))
)
_rarely = st.sampled_from((False, False, False, False, False, True))
_producers = st.sampled_from((0, 0, 1, 2, 3, 3, 4, 4, 5))


def entries() -> st.SearchStrategy[Entry]:
    """One record: mostly just a key and a value."""
    plain = st.builds(Entry, key=_keys, value=_values)
    odd = st.builds(
        Entry,
        key=_keys,
        value=_values,
        missing_before=_mostly_no_offset,
        timestamp_ms=_timestamps,
        headers=_headers,
    )
    return once_in(3, odd, plain)


def data() -> st.SearchStrategy[Data]:
    """One batch of records, an emptied one included."""
    records = st.lists(entries(), min_size=1, max_size=3).map(tuple)
    odd = st.builds(
        Data,
        entries=once_in(3, st.just(()), records),
        producer=_producers,
        missing_before=_mostly_no_offset,
        missing_after=_mostly_no_offset,
        next_epoch=_rarely,
        bump=_rarely,
        from_zero=_rarely,
        horizon_ms=_horizons,
        timestamp_ms=_timestamps,
        append_time=_rarely,
        compression=_compressions,
        magic=_formats,
    )
    plain = st.builds(Data, entries=records, producer=_producers, magic=_formats)
    return once_in(2, odd, plain)


def _entry_of(number: int, keys: int, length: int, delete_every: int, unkeyed_every: int) -> Entry:
    known = number * 7 % keys
    key = KEYS[known] if known < len(KEYS) else f"k{known}"
    deleted = delete_every > 0 and number % delete_every == 0
    return Entry(
        key=None if unkeyed_every and number % unkeyed_every == 1 else key,
        value=None if deleted else "x" * (length + number % 5),
        timestamp_ms=0,
    )


def large_data() -> st.SearchStrategy[Data]:
    """One batch of many records, or of large ones, or of both."""

    def entries_of(count: int, keys: int, length: int, rest: tuple[int, int]) -> tuple[Entry, ...]:
        return tuple(_entry_of(number, keys, length, *rest) for number in range(count))

    many = st.builds(
        entries_of,
        st.sampled_from((10, 70, 130, 300)),
        st.sampled_from((1, 4, 60, 1_000)),
        st.sampled_from((0, 5, 70)),
        st.sampled_from(((0, 0), (3, 0), (50, 7), (1, 0))),
    )
    large = st.builds(
        entries_of,
        st.sampled_from((1, 1, 2)),
        st.sampled_from((1, 2, 4)),
        st.sampled_from((900, 2_500, 4_200)),
        st.sampled_from(((0, 0), (0, 1), (2, 0))),
    )
    return st.builds(
        Data,
        entries=once_in(3, many, large),
        producer=_producers,
        horizon_ms=_horizons,
        append_time=_rarely,
        compression=_compressions,
    )


def markers() -> st.SearchStrategy[Marker]:
    """One transaction marker."""
    producers = st.sampled_from((3, 3, 4, 4, 5, 6))
    plain = st.builds(Marker, producer=producers, commit=st.booleans())
    odd = st.builds(
        Marker,
        producer=producers,
        commit=st.booleans(),
        bump=st.booleans(),
        emptied=st.sampled_from((True, False, False)),
        missing_before=_mostly_no_offset,
        horizon_ms=_horizons,
        timestamp_ms=_timestamps,
    )
    return once_in(3, odd, plain)


def leader_changes() -> st.SearchStrategy[LeaderChange]:
    """What a new leader writes."""
    return st.builds(
        LeaderChange, emptied=_rarely, missing_before=_mostly_no_offset, timestamp_ms=_timestamps
    )


def writes() -> st.SearchStrategy[Write]:
    """One batch of any kind."""
    control: st.SearchStrategy[Write] = once_in(10, leader_changes(), markers())
    kinds: st.SearchStrategy[Write] = once_in(3, control, data())
    return kinds


def segments() -> st.SearchStrategy[Segment]:
    """One segment, an empty one included."""
    missing = st.sampled_from((0,) * 12 + (1, 2, LARGE_GAP))
    few = st.lists(writes(), max_size=6).map(tuple)
    much = st.lists(once_in(2, large_data(), writes()), min_size=3, max_size=9).map(tuple)
    odd = st.one_of(much, series(), second_tries())
    span = once_in(12, st.sampled_from(SPANS), _none)
    return st.builds(
        Segment,
        writes=once_in(5, odd, few),
        missing_before=missing,
        span=span,
        modified_ms=_modified,
    )


def second_tries() -> st.SearchStrategy[tuple[Write, ...]]:
    """A producer aborts a transaction, and commits what was written before it once more.

    Who begins to read in between takes it for aborted if somebody tells of the first one.
    """

    def writes_of(
        producer: int, before: Data, first: Data, between: list[Write]
    ) -> tuple[Write, ...]:
        aborted = (replace(first, producer=producer), Marker(producer, commit=False))
        committed = (replace(before, producer=producer), Marker(producer, commit=True))
        return (before, *aborted, *between, *committed)

    between: st.SearchStrategy[Write] = once_in(3, large_data(), data())
    return st.builds(
        writes_of,
        st.sampled_from((3, 4)),
        data(),
        data(),
        st.lists(between, min_size=1, max_size=3),
    )


def series() -> st.SearchStrategy[tuple[Data, ...]]:
    """As many batches of one producer as a broker remembers, or more."""

    def batches(producer: int, records: list[Entry]) -> tuple[Data, ...]:
        return tuple(Data((record,), producer) for record in records)

    return st.builds(
        batches, st.sampled_from((1, 2, 3)), st.lists(entries(), min_size=1, max_size=8)
    )


def cleans(preset: str) -> st.SearchStrategy[Clean]:
    """One pass: often over the whole log, at or near a horizon, with a small map."""
    log_wide = st.sampled_from((None, None, 0, 999, 1_000, 1_001, 2**63 - 1))
    later = st.builds(Now, st.just("later"), st.sampled_from((0, 1, 60, 100, 150, 5_000, -80)))
    at_horizon = st.builds(
        Now, st.just("horizon"), st.sampled_from((0, 0, -1, 1)), which=st.integers(0, 3)
    )
    given = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 30)), max_size=3).map(tuple)
    return st.builds(
        Clean,
        now=st.one_of(later, at_horizon),
        given=once_in(8, given, _none),
        latest=once_in(3, st.integers(0, 30), _none),
        dirty=st.sampled_from(
            ("start", "start", "start", "bound", "offset", "offset", "aborted", "aborted")
        ),
        which=st.integers(0, 30),
        segments_left=st.sampled_from((0, 0, 0, 1, 2)),
        short_by=st.sampled_from((0,) * 15 + (1,)),
        capacity=once_in(3, st.integers(0, 4), _none),
        log_horizon_ms=log_wide if preset == BEFORE_HORIZONS else _none,
    )


def steps(preset: str) -> st.SearchStrategy[Step]:
    """One step."""
    appends = st.builds(
        Append,
        writes=st.lists(writes(), min_size=1, max_size=2).map(tuple),
        roll_after=st.booleans(),
    )
    others = st.builds(Other, op=st.sampled_from(("roll", "reload", "reload")))
    retries = st.builds(Retry, which=st.integers(0, 6), shift=st.sampled_from((0, 0, 0, 1)))
    return once_in(2, st.one_of(appends, others, retries), cleans(preset))


def tails() -> st.SearchStrategy[tuple[Data, ...]]:
    """One batch of which a pass may leave nothing: deletes and records without a key."""
    gone = st.builds(Entry, key=st.sampled_from((None, *KEYS)), value=_none)
    records = st.lists(gone, min_size=1, max_size=2).map(tuple)
    last = st.builds(Data, entries=records, horizon_ms=_horizons, magic=_formats)
    return last.map(lambda data: (data,))


def retentions(preset: str) -> st.SearchStrategy[int]:
    """`delete.retention.ms`, up to where a horizon would not fit any more."""
    usual = st.sampled_from((100, 100, 1_000, 0))
    if preset == BEFORE_HORIZONS:
        return usual
    return once_in(20, st.sampled_from((MOST, MOST - 1_000, MOST - 1_060)), usual)


def plans(preset: str) -> st.SearchStrategy[Plan]:
    """A log of one to four segments to clean, an active one, and up to six steps."""
    closed = st.lists(segments(), min_size=1, max_size=4)
    active = st.builds(
        Segment,
        writes=st.lists(writes(), max_size=2).map(tuple),
        span=once_in(12, st.sampled_from(SPANS), _none),
    )
    first, more = cleans(preset), st.lists(steps(preset), max_size=5)
    usual = st.builds(lambda one, then: [one, *then], first, more)
    modified = st.sampled_from((None, 0, 999, 1_000, 1_100))
    return st.builds(
        Plan,
        segments=st.builds(lambda old, last: (*old, last), closed, active),
        steps=once_in(3, moving(preset, steps(preset), first, writes()), usual).map(tuple),
        preset=st.just(preset),
        modified_ms=modified,
        start=st.sampled_from((0, 0, 0, 0, 7)),
        first_sequences=st.sampled_from(((0,), (0,), (5, 2**31 - 2))),
        delete_retention_ms=retentions(preset),
        endings=st.sampled_from(ENDINGS),
        end_in_active=st.booleans(),
        tail=once_in(4, tails(), st.just(())),
        clean_open=_rarely,
        limit=once_in(6, st.tuples(st.integers(0, 2), st.sampled_from((-1, 0, 0, 1))), _none),
        own_times=st.booleans() if preset == BEFORE_HORIZONS else st.just(value=False),
        old_formats=_rarely,
        compressed=_rarely,
        index_interval_bytes=st.sampled_from((None, None, 0, 0, 150, 400)),
        interval_of=once_in(3, _intervals, _none),
        keys=once_in(
            2, st.tuples(st.sampled_from(ODD_KEYS), st.sampled_from(ODD_KEYS)), st.just(())
        ),
        topic=topics(),
    )


def documents(preset: str = "kafka-4.0") -> st.SearchStrategy[Document]:
    """Log files for a preset, each with at least one pass of the cleaner."""
    return plans(preset).map(build)
