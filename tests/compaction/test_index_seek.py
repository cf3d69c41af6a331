"""Where the map is read from: the start of the first dirty segment, or where its index says."""

from sim.compaction import clean
from sim.compaction.buffers import BUFFER_BYTES, calls_written
from sim.log import Batch, Segment
from sim.log.offset_index import Call
from tests.compaction.logs import (
    batch,
    indexed,
    marker,
    offsets_of,
    plan,
    record,
    segment,
    whole,
)

INDEX = {"full_map": False, "index_interval_bytes": 0}


def deleted_after(*, commit: bool) -> list[Segment]:
    """A value, a transaction of its producer, another key, and the tombstone at 6."""
    return indexed(
        segment(
            batch(record(0, "k", "old"), pid=7),
            marker(1, 7, commit=True),
            batch(record(2, "a"), pid=7),
            marker(3, 7, commit=commit),
            batch(record(4, "b")),
            batch(record(5, "c")),
            batch(record(6, "k", None), pid=7),
            marker(7, 7, commit=True),
        ),
        segment(base=8),
    )


def test_a_record_that_is_newer_than_the_winner_in_the_map_stays() -> None:
    """What counts as aborted is not in the map, but it is no older for that."""
    log = indexed(
        segment(
            batch(record(0, "a"), pid=7),
            marker(1, 7, commit=False),
            batch(record(2, "k", "first")),
            batch(record(3, "k", "second"), pid=7),
            marker(4, 7, commit=True),
        ),
        segment(base=5),
    )

    done = clean(log, plan(first_dirty_offset=2, upper_bound=5, **INDEX))

    assert done.winners["k"].offset == 2
    assert offsets_of(done.segments) == [1, 2, 3, 4]


def test_transactions_that_ended_below_the_log_start_are_forgotten() -> None:
    log = deleted_after(commit=False)
    first = clean(log, plan(map_capacity=3, upper_bound=8, **INDEX))
    rules = {"first_dirty_offset": 6, "upper_bound": 8, "now_ms": 1_000, **INDEX}

    done = clean(whole(log, first), plan(log_start_offset=4, **rules))

    assert [gone.offset for gone in done.removed["superseded"]] == [0]


def sized(offset: int, size_bytes: int) -> Batch:
    """A batch of a certain size."""
    return batch(record(offset, "k"))._replace(size_bytes=size_bytes)


def test_a_cleaner_writes_once_for_each_buffer_it_reads() -> None:
    half = BUFFER_BYTES // 2
    sources = [sized(0, half), sized(1, half), sized(2, half), sized(3, 1)]

    assert calls_written(sources, sources) == [Call(0, 1, 1), Call(2, 3, 3)]
    assert calls_written(sources, sources[1:]) == [Call(1, 1, 1), Call(2, 3, 3)]
    assert calls_written(sources, [sources[0]]) == [Call(0, 0, 0)]
    assert calls_written(sources, []) == []


def test_a_batch_that_does_not_fit_makes_the_buffer_grow() -> None:
    sources = [sized(0, 10), sized(1, BUFFER_BYTES + 1), sized(2, BUFFER_BYTES - 1), sized(3, 1)]

    assert calls_written(sources, sources) == [Call(0, 0, 0), Call(1, 2, 2), Call(3, 3, 3)]


def test_a_map_that_was_full_leaves_the_buffer_as_large_as_it_had_to_be() -> None:
    """A cleaner (buildOffsetMapForSegment) gives it back only when it has read a whole segment."""
    sizes = (BUFFER_BYTES - 1, BUFFER_BYTES + 1, 1)
    log = [
        segment(*[sized(offset, size) for offset, size in enumerate(sizes)]),
        segment(batch(record(3, "m"))),
        segment(base=4),
    ]
    log[0].batches[2] = batch(record(2, "l"))
    rules = {"upper_bound": 4, "indexes_calls": True, **INDEX}

    full = clean(log, plan(map_capacity=1, **rules)).segments[0]
    whole_segment = clean(log, plan(map_capacity=2, **rules)).segments[0]

    assert full.index.calls == [Call(0, 1, 1), Call(2, 2, 2)]
    assert whole_segment.index.calls[0] == Call(1, 2, 2)


def test_the_entry_of_a_rebuilt_batch_has_its_last_record() -> None:
    source = batch(record(0, "a"), record(1, "b"), record(2, "c"))
    rebuilt = source.rebuilt(source.records[:2], None)

    assert calls_written([source], [rebuilt]) == [Call(0, 2, 1)]
    assert calls_written([source], [source]) == [Call(0, 2, 2)]
    assert calls_written([source], [source.emptied()]) == [Call(0, 2, 2)]
