"""What the rules before KIP-534, and those it rejected, get wrong (KAFKA-4545, KAFKA-8522)."""

import pytest

from sim.compaction import TOMBSTONE_REMOVALS, Cleaning, clean
from sim.compaction.tombstones import HORIZON_HEADER
from sim.log import Segment
from tests.compaction.logs import (
    RETENTION_MS,
    batch,
    batches_of,
    deleted,
    offsets_of,
    passes,
    plan,
    record,
    segment,
    whole,
)

LAST_MODIFIED = TOMBSTONE_REMOVALS["last_modified"]


# Before KIP-534: one horizon for the pass, compared with the modification time of the segment.


def legacy_pass(
    log: list[Segment], now_ms: int, *, first_dirty: int, **changes: object
) -> Cleaning:
    """The horizon is the modification time of the last clean segment minus the retention."""
    times = [each.last_modified_ms for each in log if each.base_offset < first_dirty]
    horizon = times[-1] - RETENTION_MS if times else 0
    changes = {"upper_bound": log[-1].base_offset, "full_map": False, **changes}
    return clean(
        log,
        plan(
            removal=LAST_MODIFIED,
            now_ms=now_ms,
            first_dirty_offset=first_dirty,
            legacy_horizon_ms=horizon,
            **changes,
        ),
    )


def old_log() -> list[Segment]:
    """A value and its tombstone from the start of time, and a record of 900 ms later."""
    return [
        segment(batch(record(0, "k")), last_modified_ms=1),
        segment(batch(record(1, "k", None)), last_modified_ms=1),
        segment(batch(record(2, "z")), last_modified_ms=900),
        segment(batch(record(3, "y")), last_modified_ms=1_000),
        segment(base=4),
    ]


def test_kafka_4545_a_tombstone_goes_right_after_the_pass_that_took_its_values() -> None:
    """Too early: its retention ran from the append, long before a reader could need it."""
    log = old_log()
    first = legacy_pass(log, 1_000, first_dirty=0, upper_bound=3, segment_bytes=1)
    assert [r.offset for r in first.removals] == [0]

    second = legacy_pass(whole(log, first), 1_001, first_dirty=3, segment_bytes=1)
    assert [(r.offset, r.reason) for r in second.removals] == [(1, "tombstone")]


def test_kip_534_counts_from_the_pass_instead() -> None:
    log = old_log()
    first = clean(log, plan(now_ms=1_000, upper_bound=3, segment_bytes=1))
    second = clean(whole(log, first), plan(now_ms=1_001, upper_bound=4, segment_bytes=1))

    assert second.removals == ()


def test_kafka_8522_a_tombstone_that_is_merged_with_younger_segments_never_goes() -> None:
    """Never: the merged segment takes over the modification time of its last source."""
    log, offset = [*old_log()[:3], segment(base=3)], 3
    dirty = 0
    for round_ in range(20):
        now_ms = 1_000 + round_ * 50
        result = legacy_pass(log, now_ms, first_dirty=dirty)
        assert 1 in offsets_of(result.segments)
        merged = whole(log, result)[:-1]
        dirty = result.next_dirty_offset
        fresh = segment(batch(record(offset, f"key {offset}")), last_modified_ms=now_ms + 25)
        offset += 1
        log = [*merged, fresh, segment(base=offset)]
        assert merged[0].last_modified_ms == (900 if round_ == 0 else now_ms - 25)


@pytest.mark.parametrize(("modified_ms", "left"), [(800, [2]), (801, [1, 2])])
def test_a_segment_modified_at_the_pass_s_horizon_is_old_enough(
    modified_ms: int, left: list[int]
) -> None:
    log = [segment(*deleted()[0].batches, last_modified_ms=modified_ms), segment(base=3)]
    result = clean(log, plan(removal=LAST_MODIFIED, legacy_horizon_ms=800, upper_bound=3))

    assert offsets_of(result.segments) == left
    ranges = ((0, 1, 9_000), (1, 3, modified_ms))
    told = plan(removal=LAST_MODIFIED, legacy_horizon_ms=800, legacy_last_modified=ranges)
    assert offsets_of(clean(deleted(), told).segments) == left


# KIP-534, rejected: a checkpoint of (end offset, cleaning time) for each partition.


def checkpointed(log: list[Segment], *times: int) -> list[int]:
    """Offsets left after passes at these times; each knows where and when the last one ended."""
    rule, last = TOMBSTONE_REMOVALS["cleaning_checkpoint"], None
    for now_ms in times:
        result = clean(log, plan(removal=rule, now_ms=now_ms, upper_bound=3, last_cleaning=last))
        log, last = whole(log, result), (result.next_dirty_offset, now_ms)
    return offsets_of(log)


def test_a_cleaning_checkpoint_removes_when_the_last_pass_is_the_retention_ago() -> None:
    assert checkpointed(deleted(), 0, 99) == [1, 2]
    assert checkpointed(deleted(), 0, 100) == [2]


def test_a_cleaning_checkpoint_never_removes_if_passes_come_oftener_than_the_retention() -> None:
    """There is one pair only, and each pass writes it anew."""
    assert checkpointed(deleted(), *range(0, 10_000, 99)) == [1, 2]
    assert checkpointed(deleted(), *range(0, 10_000, 100)) == [2]


# KIP-534, rejected: a header with the horizon in each tombstone.


def with_headers(*times: int) -> Cleaning:
    """Passes over the deleted key with a horizon for each record."""
    return passes(deleted(), *times, removal=TOMBSTONE_REMOVALS["record_horizon"])


def test_a_record_horizon_is_a_header_that_a_client_can_see() -> None:
    """Counted in the size of the batch, beside the headers that the record had."""
    before = batches_of(deleted())[1]
    [after, _] = batches_of(with_headers(40).segments)

    assert after.records[0].headers == ((HORIZON_HEADER, (140).to_bytes(8, "big")),)
    assert after.size_bytes == before.size_bytes + 1 + len(HORIZON_HEADER) + 1 + 8
    assert after.delete_horizon_ms is None
    assert with_headers(40).horizons == [(1, 140)]
    assert with_headers(40, 60).horizons == []


@pytest.mark.parametrize(("now_ms", "left"), [(139, [1, 2]), (140, [2])])
def test_a_record_horizon_counts_for_its_record(now_ms: int, left: list[int]) -> None:
    assert offsets_of(with_headers(40, now_ms).segments) == left
