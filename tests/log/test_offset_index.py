"""The offset index of a segment: what has an entry, and where reading begins."""

from msgspec.structs import replace

from sim.protocol.log import Batch, Log, LogConfig, Record, Segment, data_batch
from sim.protocol.log.segment import Call

SIZE = 100


def batch(offset: int, last_offset: int | None = None) -> Batch:
    """A batch of 100 bytes."""
    made = data_batch((Record(offset, "k", "v"),), epoch=0)
    last = offset if last_offset is None else last_offset
    return replace(made, last_offset=last, size_bytes=SIZE)


def segment(count: int) -> Segment:
    """Batches at the offsets 0, 1, and so on."""
    return Segment.of(0, [batch(offset) for offset in range(count)], last_modified_ms=0)


def begins(made: Segment, offset: int, *, interval_bytes: int) -> int:
    """Offset of the batch that is read first by who looks for `offset`."""
    position = made.index.read_from(made.batches, offset, interval_bytes=interval_bytes)
    return made.batches[position].base_offset


def starts(made: Segment, *, interval_bytes: int) -> list[int]:
    """The same for each offset of the segment."""
    offsets = range(made.batches[-1].last_offset + 1)
    return [begins(made, offset, interval_bytes=interval_bytes) for offset in offsets]


def test_a_batch_gets_an_entry_when_more_than_the_interval_was_written_before_it() -> None:
    """The bytes of the batch with the entry count for the next one."""
    assert starts(segment(7), interval_bytes=250) == [0, 0, 0, 3, 3, 3, 6]
    assert starts(segment(7), interval_bytes=300) == [0, 0, 0, 0, 4, 4, 4]
    assert starts(segment(7), interval_bytes=299) == [0, 0, 0, 3, 3, 3, 6]
    assert starts(segment(7), interval_bytes=700) == [0] * 7


def test_an_entry_has_the_last_offset_of_its_batch() -> None:
    """Who looks for an offset before the last one begins at an entry before it."""
    made = Segment.of(0, [batch(0), batch(1, 4), batch(5, 9)], last_modified_ms=0)

    found = [begins(made, offset, interval_bytes=0) for offset in (0, 1, 3, 4, 8, 9, 99)]
    assert found == [0, 0, 0, 1, 1, 5, 5]


def test_what_was_written_in_one_call_has_one_entry_with_its_largest_offset() -> None:
    made = segment(6)
    made.index.calls = [Call(0, 1, 1), Call(2, 4, 4)]

    assert starts(made, interval_bytes=150) == [0, 0, 0, 0, 2, 5]
    assert starts(made, interval_bytes=200) == [0, 0, 0, 0, 0, 5]


def test_an_index_that_is_written_anew_has_forgotten_calls() -> None:
    log = Log(LogConfig(indexes_calls=True))
    for offset in range(6):
        log.append(batch(offset), now_ms=0)
    log.note_call(1)
    assert starts(log.active, interval_bytes=50) == [0, 0, 0, 0, 0, 1]

    log.reopen(recovered_from=0)
    assert starts(log.active, interval_bytes=50) == [0, 1, 2, 3, 4, 5]


def test_a_call_that_is_cut_has_no_entry_any_more() -> None:
    """Its entry had the largest offset, which is gone."""
    log = Log(LogConfig(indexes_calls=True))
    log.append(batch(0), now_ms=0)
    for offset in range(1, 4):
        log.append(batch(offset), now_ms=0)
    log.note_call(1)
    assert begins(log.active, 3, interval_bytes=50) == 1
    log.truncate_to(3)
    log.append(batch(3), now_ms=0)

    assert begins(log.active, 3, interval_bytes=50) == 0
