"""Laws of the cleaner: they hold for any log and any combination of rules."""

from collections.abc import Sequence

from hypothesis import given

from sim.compaction import Cleaning, CleaningPass, clean
from sim.compaction.fixes import Tail
from sim.log import Batch, Record, Segment
from tests.compaction.logs import batches_of, logs, offsets_of, plans, records_of


def cleaned(segments: Sequence[Segment], plan: CleaningPass) -> tuple[list[Segment], Cleaning]:
    """The whole log after a pass, and what the pass says about itself."""
    result = clean(segments, plan)
    return [*result.segments, *segments[result.replaced :]], result


def covered(segments: Sequence[Segment], plan: CleaningPass) -> list[Batch]:
    """The batches that a pass may touch: those that end below its bound."""
    return [each for each in batches_of(segments) if each.last_offset < plan.upper_bound]


def winners(segments: Sequence[Segment], plan: CleaningPass) -> dict[str, Record]:
    """The winning record of each key in the mapped range, by comparing all with all."""
    start = 0 if plan.full_map else plan.first_dirty_offset
    mapped = [r for b in covered(segments, plan) for r in b.records if r.offset >= start]
    return {
        key: max((r for r in mapped if r.key == key), key=plan.strategy.version)
        for key in {r.key for r in mapped}
        if key is not None
    }


@given(logs(), plans())
def test_what_stays_is_in_its_old_order_at_its_old_offsets(
    segments: list[Segment], plan: CleaningPass
) -> None:
    after, _ = cleaned(segments, plan)

    before = {r.offset: r for r in records_of(segments)}
    assert offsets_of(after) == sorted(offsets_of(after))
    assert all(before[r.offset] is r for r in records_of(after))


@given(logs(), plans())
def test_every_record_either_stays_or_is_removed_with_a_reason(
    segments: list[Segment], plan: CleaningPass
) -> None:
    after, result = cleaned(segments, plan)

    removed = [removal.offset for removal in result.removals]
    assert sorted([*removed, *offsets_of(after)]) == offsets_of(segments)
    assert removed == sorted(removed)


@given(logs(), plans())
def test_nothing_that_reaches_the_bound_is_touched(
    segments: list[Segment], plan: CleaningPass
) -> None:
    after, result = cleaned(segments, plan)

    bound = plan.upper_bound
    assert [b for b in batches_of(after) if b.last_offset >= bound] == [
        b for b in batches_of(segments) if b.last_offset >= bound
    ]
    touched = [*(r.offset for r in result.removals), *result.emptied, *result.dropped]
    assert all(offset < bound for offset in touched)
    assert all(base < bound for base, _ in result.horizons)


@given(logs(), plans())
def test_a_winning_value_stays(segments: list[Segment], plan: CleaningPass) -> None:
    after, _ = cleaned(segments, plan)

    values = {r.offset for r in winners(segments, plan).values() if not plan.is_tombstone(r)}
    assert values <= set(offsets_of(after))


@given(logs(), plans())
def test_every_removal_is_explained_by_the_log(segments: list[Segment], plan: CleaningPass) -> None:
    _, result = cleaned(segments, plan)

    best = winners(segments, plan)
    before = {r.offset: r for r in records_of(segments)}
    for removal in result.removals:
        record = before[removal.offset]
        version = plan.strategy.version
        if removal.reason == "superseded":
            assert record.key is not None
            winner = best[record.key]
            assert removal.winner_offset == winner.offset
            assert version(winner) > version(record)
        elif removal.reason == "tombstone":
            assert plan.is_tombstone(record)
            assert record.key not in best or version(best[record.key]) <= version(record)
        else:
            assert (removal.reason, record.key) == ("no key", None)
        assert (removal.uid, removal.key) == (record.uid, record.key)


@given(logs(), plans())
def test_everything_beaten_and_everything_without_a_key_goes_but_for_what_the_fix_protects(
    segments: list[Segment], plan: CleaningPass
) -> None:
    after, result = cleaned(segments, plan)

    best, left = winners(segments, plan), set(offsets_of(after))
    for batch in covered(segments, plan):
        for record in batch.records:
            winner = best.get(record.key or "")
            version = plan.strategy.version
            beaten = winner is not None and version(winner) > version(record)
            if (beaten or record.key is None) and record.offset != result.protected_offset:
                assert record.offset not in left


@given(logs(), plans())
def test_the_same_pass_twice_in_a_row_removes_nothing_more(
    segments: list[Segment], plan: CleaningPass
) -> None:
    once, _ = cleaned(segments, plan)
    twice, second = cleaned(once, plan)

    assert not second.removals
    assert batches_of(twice) == batches_of(once)


@given(logs(), plans())
def test_a_pass_leaves_its_arguments_alone(segments: list[Segment], plan: CleaningPass) -> None:
    before = [(s.base_offset, list(s.batches), s.size_bytes) for s in segments]

    assert clean(segments, plan).removals == clean(segments, plan).removals
    assert [(s.base_offset, list(s.batches), s.size_bytes) for s in segments] == before


@given(logs(), plans())
def test_batches_keep_their_offsets_and_segments_add_up(
    segments: list[Segment], plan: CleaningPass
) -> None:
    after, _ = cleaned(segments, plan)

    before = {b.last_offset: b for b in batches_of(segments)}
    for batch in batches_of(after):
        source = before[batch.last_offset]
        assert (batch.base_offset, batch.epoch) == (source.base_offset, source.epoch)
    for segment in after:
        assert segment.size_bytes == sum(b.size_bytes for b in segment.batches)
        assert all(b.base_offset >= segment.base_offset for b in segment.batches)


@given(logs(), plans())
def test_a_horizon_once_set_stays(segments: list[Segment], plan: CleaningPass) -> None:
    after, result = cleaned(segments, plan)

    had = {b.base_offset: b.delete_horizon_ms for b in batches_of(segments)}
    for batch in batches_of(after):
        before = had[batch.base_offset]
        if before is not None and batch.records:
            assert batch.delete_horizon_ms == before
    assert all(had[base] is None for base, _ in result.horizons)
    assert all(at == plan.now_ms + plan.delete_retention_ms for _, at in result.horizons)


@given(logs(), plans())
def test_the_fix_keeps_what_it_says(segments: list[Segment], plan: CleaningPass) -> None:
    after, _ = cleaned(segments, plan)

    last = batches_of(segments)[-1] if batches_of(segments) else None
    kept = plan.fix.keeps(Tail(last, plan.upper_bound))
    if kept.record_offset is not None:
        assert kept.record_offset in offsets_of(after)
    if kept.batch_end in [b.last_offset for b in batches_of(segments)]:
        assert kept.batch_end in [b.last_offset for b in batches_of(after)]
