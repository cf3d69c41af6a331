"""A segment that takes over the next one is what a segment of all their batches would be."""

import pytest

from sim.log import Batch, Record, Segment, data_batch


def batch(offset: int, timestamp_ms: int, *, transactional: bool = False) -> Batch:
    record = Record(offset, "k", "v", timestamp_ms)
    return data_batch((record,), epoch=1, producer_id=1, transactional=transactional)


FIRST = [batch(0, 50), batch(1, 70)]
SECOND = [batch(2, 60, transactional=True), batch(5, 40)]


@pytest.mark.parametrize("first", [[], FIRST], ids=["empty", "full"])
@pytest.mark.parametrize("second", [[], SECOND], ids=["empty", "full"])
def test_a_merged_segment_equals_one_made_of_all_batches(
    first: list[Batch], second: list[Batch]
) -> None:
    whole = Segment.of(0, first + second, last_modified_ms=9)
    merged = Segment.of(0, list(first), last_modified_ms=3)
    merged.absorb(Segment.of(2, list(second), last_modified_ms=9))

    assert {name: getattr(merged, name) for name in Segment.__slots__} == {
        name: getattr(whole, name) for name in Segment.__slots__
    }
