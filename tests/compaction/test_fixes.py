"""What each fix keeps of the last offset of a round, or of the log (KIP-280, KAFKA-17076)."""

import pytest

from sim.compaction import FIXES, STRATEGIES, clean
from sim.compaction.fixes import Kept, Tail
from tests.compaction.logs import (
    RETENTION_MS,
    batch,
    batches_of,
    offsets_of,
    passes,
    plan,
    record,
    records_of,
    segment,
)


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_is_found_by_its_name_and_names_its_source(name: str) -> None:
    assert FIXES[name].name == name
    assert FIXES[name].source


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_has_nothing_to_keep_in_an_empty_log_but_the_end_of_its_round(name: str) -> None:
    kept = FIXES[name].keeps(Tail(None, 0, 0))

    assert kept.record_offset is None
    assert kept.batch_end in (None, -1)


def test_what_each_fix_keeps() -> None:
    last = batch(record(3, "k"), record(4, "k"))._replace(last_offset=6)
    tail = Tail(last, 5, 9)

    assert FIXES["none"].keeps(tail) == Kept()
    assert FIXES["leo_retention"].keeps(tail) == Kept(record_offset=4, batch_end=6)
    assert FIXES["leo_retention"].keeps(Tail(last.emptied(), 5, 9)) == Kept(batch_end=6)
    assert FIXES["empty_batch"].keeps(tail) == Kept(batch_end=4)
    assert FIXES["empty_batch_at_hw"].keeps(tail) == Kept(batch_end=8)
    assert FIXES["persisted_leo"].keeps(tail) == FIXES["gap_fetch"].keeps(tail) == Kept()


def test_an_emptied_batch_keeps_its_header_and_forgets_its_horizon() -> None:
    log = [segment(batch(record(0, "k", version=2)), batch(record(1, "k", version=1)))]
    log[0].batches[1] = log[0].batches[1]._replace(delete_horizon_ms=5)
    result = clean(
        log, plan(fix=FIXES["empty_batch"], strategy=STRATEGIES["header"], upper_bound=2)
    )

    [kept, empty] = batches_of(result.segments)
    assert (kept.base_offset, empty.records, empty.delete_horizon_ms) == (0, (), None)
    assert (empty.base_offset, empty.last_offset, empty.epoch) == (1, 1, 1)
    assert (result.emptied, result.dropped) == ([1], [])


@pytest.mark.parametrize(("bound", "ends"), [(3, [1, 2]), (4, [1])])
def test_the_round_keeps_the_batch_that_ends_exactly_at_its_bound(
    bound: int, ends: list[int]
) -> None:
    """Not one that ends below a gap under the bound (KAFKA-17076)."""
    log = [segment(batch(record(0, "a")), batch(record(1, "b")), batch(record(2, None)))]
    result = clean([*log, segment(base=bound)], plan(fix=FIXES["empty_batch"], upper_bound=bound))

    assert [b.last_offset for b in batches_of(result.segments)] == [0, *ends]


def test_a_later_round_drops_the_empty_batch_of_an_earlier_one() -> None:
    log = [segment(batch(record(0, "a")), batch(record(1, None))), segment(base=2)]
    first = clean(log, plan(fix=FIXES["empty_batch"], upper_bound=2))
    assert first.emptied == [1]

    grown = [*first.segments, segment(batch(record(2, "b"))), segment(base=3)]
    second = clean(grown, plan(fix=FIXES["empty_batch"], first_dirty_offset=2, upper_bound=3))
    assert (second.dropped, [b.last_offset for b in batches_of(second.segments)]) == ([1], [0, 2])


def test_leo_retention_keeps_the_last_record_of_the_whole_log_and_not_that_of_the_round() -> None:
    log = [segment(batch(record(0, "a")), batch(record(1, None))), segment(batch(record(2, "a")))]
    result = clean(log, plan(fix=FIXES["leo_retention"], upper_bound=2))

    assert offsets_of(result.segments) == [0]
    assert result.protected_offset is None


@pytest.mark.parametrize(
    ("key", "value"), [("a", "v"), ("a", None), (None, "v")], ids=["beaten", "tombstone", "unkeyed"]
)
def test_leo_retention_keeps_the_record_whatever_it_is_and_its_mates_go_by_the_rules(
    key: str | None, value: str | None
) -> None:
    mate = record(1, None)
    last = record(2, key, value, version=1)
    log = [segment(batch(record(0, "a", version=5)), batch(mate, last)), segment(base=3)]
    changes = {"fix": FIXES["leo_retention"], "strategy": STRATEGIES["header"], "upper_bound": 3}

    result = passes(log, 0, RETENTION_MS, rescan=True, **changes)
    assert records_of(result.segments) == [record(0, "a", version=5), last]
    assert result.protected_offset == 2


def test_leo_retention_keeps_the_last_batch_when_its_records_are_gone_already() -> None:
    log = [segment(batch(record(0, "a")), batch(record(1, "b")).emptied()), segment(base=2)]
    result = clean(log, plan(fix=FIXES["leo_retention"], upper_bound=2))

    assert [b.last_offset for b in batches_of(result.segments)] == [0, 1]
    assert (result.emptied, result.dropped) == ([], [])
