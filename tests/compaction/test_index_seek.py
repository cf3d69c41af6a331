"""Where the map is read from: the start of the first dirty segment, or where its index says."""

from msgspec.structs import replace

from sim.protocol.compaction import clean
from sim.protocol.log import Batch
from sim.protocol.log.segment import BUFFER_BYTES, Call, calls_written
from tests.compaction.logs import (
    batch,
    plan,
    record,
    segment,
)

INDEX = {"full_map": False, "index_interval_bytes": 0}


def sized(offset: int, size_bytes: int) -> Batch:
    """A batch of a certain size."""
    return replace(batch(record(offset, "k")), size_bytes=size_bytes)


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
