"""Which neighbouring segments become one (Cleaner.groupSegmentsBySize)."""

import pytest

from sim.protocol.compaction.cleaner import MAX_OFFSET_RANGE, groups_of
from sim.protocol.log import Segment
from tests.compaction.logs import batch, record, segment

FAR = 2**31


def sized(base_offset: int, size_bytes: int) -> Segment:
    """A segment as far as grouping looks."""
    return Segment(base_offset, size_bytes=size_bytes)


@pytest.mark.parametrize(
    ("segments", "bound", "groups"),
    [
        # The last segment ends below the bound.
        ([sized(0, 1), sized(10, 1)], FAR, 1),
        ([sized(0, 1), sized(10, 1)], FAR + 1, 2),
        ([sized(7, 1), sized(10, 1)], FAR + 7, 1),
        ([sized(7, 1), sized(10, 1)], FAR + 8, 2),
        # Not the first one alone, however far it reaches.
        ([sized(0, 1)], FAR + 9, 1),
        # An empty one is exempt, so that empty segments do not stay every 2^31 offsets.
        ([sized(0, 1), sized(10, 0)], FAR + 1, 1),
        ([sized(0, 0), sized(10, 1)], FAR + 1, 2),
        ([sized(0, 1), sized(FAR * 2, 0), sized(FAR * 3, 0)], FAR * 4, 1),
    ],
)
def test_the_end_of_a_group_is_at_most_2147483647_offsets_from_its_base(
    segments: list[Segment], bound: int, groups: int
) -> None:
    assert MAX_OFFSET_RANGE == 2**31 - 1
    assert len(groups_of(segments, max_bytes=None, upper_bound=bound)) == groups


def test_of_three_segments_it_is_the_second_one_s_end_that_must_be_in_range() -> None:
    inside = [sized(0, 1), sized(10, 1), sized(FAR, 1)]
    outside = [sized(0, 1), sized(10, 1), sized(FAR + 1, 1)]

    told = [groups_of(each, max_bytes=None, upper_bound=FAR + 9) for each in (inside, outside)]
    assert [[len(group) for group in groups] for groups in told] == [[2, 1], [1, 2]]


def test_before_kafka_12889_an_empty_segment_had_to_be_in_range_like_any_other() -> None:
    log = [segment(batch(record(0, "a"))), segment(base=1), segment(base=FAR + 8)]

    for exempt, count in ((True, 1), (False, 2)):
        groups = groups_of(log[:2], max_bytes=None, upper_bound=FAR + 8, exempt_empty=exempt)
        assert len(groups) == count
