"""Which neighbouring segments become one (Cleaner.groupSegmentsBySize)."""

import pytest
from msgspec.structs import replace

from sim.protocol.compaction import TOMBSTONE_REMOVALS, clean
from sim.protocol.compaction.cleaner import groups_of
from sim.protocol.log import AbortedTransaction, Batch, Segment
from sim.protocol.log.formats import old_batch
from tests.compaction.logs import batch, plan, record, segment

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
    assert len(groups_of(segments, max_bytes=None, upper_bound=bound)) == groups


def test_of_three_segments_it_is_the_second_one_s_end_that_must_be_in_range() -> None:
    inside = [sized(0, 1), sized(10, 1), sized(FAR, 1)]
    outside = [sized(0, 1), sized(10, 1), sized(FAR + 1, 1)]

    told = [groups_of(each, max_bytes=None, upper_bound=FAR + 9) for each in (inside, outside)]
    assert [[len(group) for group in groups] for groups in told] == [[2, 1], [1, 2]]


def test_a_pass_that_fails_names_what_its_finished_groups_counted_as_aborted() -> None:
    """The ABORT marker at 1 is gone; the batch at 3 has no producer epoch and loses a record."""
    aborted = segment(batch(record(2, "a"), pid=7))
    aborted.aborted = [AbortedTransaction(7, 0, 1, 2)]
    bad = batch(record(3, "k"), record(4, "j"))
    bad = replace(bad, producer_id=8, producer_epoch=-1, base_sequence=0)
    done = clean(
        [aborted, segment(bad, batch(record(5, "k"))), Segment(6)],
        plan(
            full_map=False,
            first_dirty_offset=3,
            upper_bound=6,
            segment_bytes=1,
            checks_producers=True,
        ),
    )

    assert done.failure is not None
    assert (done.replaced, done.unended) == (1, {2: 1})


@pytest.mark.parametrize("removal", ["horizon", "record_horizon", "last_modified"])
@pytest.mark.parametrize(("retention_ms", "values"), [(5, "vv"), (2**63, "vv"), (2**63, "v")])
def test_a_batch_of_magic_1_is_rewritten_once_and_a_horizon_beyond_64_bits_is_not_set(
    removal: str, retention_ms: int, values: str
) -> None:
    """One that loses a record, and one that does not, both with a tombstone that stays."""
    keys = [record(at, "k" if at else "j", value) for at, value in enumerate(values)]
    old = old_batch(1, (*keys, record(2, "t", None)))
    done = clean(
        [segment(old, batch(record(3, "j"))), Segment(4)],
        plan(
            upper_bound=4,
            removal=TOMBSTONE_REMOVALS[removal],
            delete_retention_ms=retention_ms,
            converts_old=True,
        ),
    )
    [rewritten] = done.rewritten
    kept = done.segments[0].batches[0]

    assert type(kept) is Batch
    assert rewritten == (kept.base_offset, kept.size_bytes)
    stamps = removal != "last_modified" and retention_ms == 5
    assert [base for base, _ in done.horizons] == [kept.base_offset] * stamps
