"""When a tombstone or a marker goes: both sides of every boundary (KIP-534, KIP-630, KIP-87)."""

import pytest

from sim.compaction import FIXES, STRATEGIES, TOMBSTONE_MARKS, TOMBSTONE_REMOVALS, Cleaning, clean
from sim.compaction.fixes import Kept, Tail
from sim.compaction.tombstones import Circumstances
from sim.log import Segment
from tests.compaction.logs import (
    RETENTION_MS,
    batch,
    batches_of,
    marker,
    offsets_of,
    plan,
    record,
    segment,
)


def passes(log: list[Segment], *times: int, **changes: object) -> Cleaning:
    """Passes at the given times, one after the other; the last one's result."""
    for now_ms in times:
        result = clean(log, plan(now_ms=now_ms, **changes))
        log = [*result.segments, *log[result.replaced :]]
    return result


def deleted() -> list[Segment]:
    """A value, its tombstone and another key."""
    return [segment(batch(record(0, "k")), batch(record(1, "k", None)), batch(record(2, "z")))]


@pytest.mark.parametrize(("now_ms", "left"), [(99, [1, 2]), (100, [2]), (101, [2])])
def test_a_tombstone_goes_when_now_reaches_the_horizon(now_ms: int, left: list[int]) -> None:
    assert offsets_of(passes(deleted(), 0, now_ms).segments) == left


def test_the_horizon_is_set_by_the_first_pass_that_retains_and_not_moved_by_the_next() -> None:
    first = passes(deleted(), 40)
    assert first.horizons == [(1, 40 + RETENTION_MS)]

    second = passes(first.segments, 90)
    assert second.horizons == []
    assert [b.delete_horizon_ms for b in batches_of(second.segments)] == [140, None]


def test_a_tombstone_that_is_new_to_the_pass_stays_however_late_it_is() -> None:
    assert offsets_of(passes(deleted(), 10_000).segments) == [1, 2]


def test_a_tombstone_above_the_bound_gets_no_horizon() -> None:
    result = passes(deleted(), 0, upper_bound=1)

    assert result.horizons == []


def circumstances(**changes: object) -> Circumstances:
    """A tombstone at 5 with horizon 100, at 100 ms, below a limit of 6."""
    facts: dict[str, object] = {
        "offset": 5,
        "horizon_ms": 100,
        "now_ms": 100,
        "removal_limit": 6,
        "segment_last_modified_ms": 50,
        "legacy_horizon_ms": 50,
    }
    return Circumstances(**(facts | changes))  # type: ignore[arg-type]


GATED: dict[str, object] = {"removal_limit": 5}


@pytest.mark.parametrize(
    ("rule", "changes", "goes"),
    [
        ("horizon", {}, True),
        ("horizon", {"now_ms": 99}, False),
        ("horizon", {"horizon_ms": None}, False),
        ("horizon", GATED, True),
        ("immediate", {"horizon_ms": None, "now_ms": 0}, True),
        ("last_modified", {}, True),
        ("last_modified", {"segment_last_modified_ms": 51}, False),
        ("last_modified", {"segment_last_modified_ms": None}, False),
        ("last_modified", {"legacy_horizon_ms": None}, False),
        ("last_modified", {"horizon_ms": None, "now_ms": 0}, True),
        ("leo_gated", {}, True),
        ("leo_gated", GATED, False),
        ("leo_gated", {"now_ms": 99}, False),
        ("coordinated", {}, True),
        ("coordinated", GATED, False),
        ("coordinated", {"horizon_ms": None}, False),
        ("never", {}, False),
    ],
)
def test_a_removal_rule_on_both_sides_of_each_of_its_limits(
    rule: str, changes: dict[str, object], goes: bool
) -> None:
    assert TOMBSTONE_REMOVALS[rule].may_remove(circumstances(**changes)) is goes


def test_rules_that_do_not_look_at_a_horizon_set_none() -> None:
    stamping = {name for name, rule in TOMBSTONE_REMOVALS.items() if rule.stamps}

    assert stamping == {"horizon", "leo_gated", "coordinated", "never"}
    for name, rule in TOMBSTONE_REMOVALS.items():
        result = passes(deleted(), 0, removal=rule)
        assert bool(result.horizons) == (name in stamping)


def test_a_batch_with_a_live_record_keeps_it_when_the_tombstone_goes() -> None:
    log = [segment(batch(record(0, "k", None), record(1, "z")))]

    result = passes(log, 0, RETENTION_MS)
    assert offsets_of(result.segments) == [1]
    assert [(b.base_offset, b.last_offset) for b in batches_of(result.segments)] == [(0, 1)]


@pytest.mark.parametrize(("mark", "tombstones"), [("null_value", [0, 1]), ("flag", [1, 2])])
def test_a_mark_says_what_is_a_tombstone(mark: str, tombstones: list[int]) -> None:
    null = record(0, "a", None)
    both = record(1, "b", None)._replace(flagged=True)
    flagged = record(2, "c", "why")._replace(flagged=True)

    is_tombstone = TOMBSTONE_MARKS[mark]
    assert [r.offset for r in (null, both, flagged) if is_tombstone(r)] == tombstones


# Transactions.


def aborted() -> list[Segment]:
    """Aborted data, its marker, and another key."""
    return [
        segment(batch(record(0, "d"), pid=7), marker(1, 7, commit=False), batch(record(2, "z")))
    ]


def test_aborted_data_goes_in_the_first_pass_and_beats_nothing() -> None:
    log = [
        segment(
            batch(record(0, "k")),
            batch(record(1, "k"), pid=7),
            marker(2, 7, commit=False),
        )
    ]

    result = passes(log, 0)
    assert offsets_of(result.segments) == [0, 2]
    assert [r.reason for r in result.removals] == ["aborted"]


@pytest.mark.parametrize(
    ("times", "left"),
    [
        ((0,), [1, 2]),
        ((0, 10), [1, 2]),
        ((0, 10, 109), [1, 2]),
        ((0, 10, 110), [2]),
        ((0, 200), [1, 2]),
    ],
)
def test_a_marker_goes_in_the_third_pass_at_the_earliest(
    times: tuple[int, ...], left: list[int]
) -> None:
    """The first takes the data, the second sets the horizon, a later one finds it due."""
    assert offsets_of(passes(aborted(), *times).segments) == left


def test_a_commit_marker_stays_as_long_as_a_record_of_its_transaction_does() -> None:
    log = [segment(batch(record(0, "d"), pid=7), marker(1, 7, commit=True), batch(record(2, "z")))]

    assert offsets_of(passes(log, 0, 100, 200, 300).segments) == [0, 1, 2]


def test_an_empty_batch_of_the_transaction_keeps_its_marker() -> None:
    empty = batch(record(0, "d"), pid=7).emptied()
    log = [segment(empty, marker(1, 7, commit=True), batch(record(2, "z")))]

    assert passes(log, 0).horizons == []


def test_markers_of_two_transactions_of_one_producer_are_told_apart() -> None:
    log = [
        segment(
            batch(record(0, "d"), pid=7),
            marker(1, 7, commit=False),
            batch(record(2, "e"), pid=7),
            marker(3, 7, commit=True),
            batch(record(4, "z")),
        )
    ]

    assert offsets_of(passes(log, 0, 10, 110).segments) == [2, 3, 4]


def test_data_of_an_earlier_transaction_does_not_hold_a_later_marker() -> None:
    log = [
        segment(
            batch(record(0, "d"), pid=7),
            marker(1, 7, commit=True),
            batch(record(2, "e"), pid=7),
            marker(3, 7, commit=False),
            batch(record(4, "z")),
        )
    ]

    assert offsets_of(passes(log, 0, 10, 110).segments) == [0, 1, 4]


def test_coordination_holds_markers_back_too() -> None:
    rule = TOMBSTONE_REMOVALS["coordinated"]

    held = passes(aborted(), 0, 10, 110, removal=rule, removal_limit=1)
    assert offsets_of(held.segments) == [1, 2]
    free = passes(aborted(), 0, 10, 110, removal=rule, removal_limit=2)
    assert offsets_of(free.segments) == [2]


# Fixes.


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_is_found_by_its_name_and_names_its_source(name: str) -> None:
    assert FIXES[name].name == name
    assert FIXES[name].source


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_has_nothing_to_keep_in_an_empty_log_but_the_end_of_its_round(name: str) -> None:
    kept = FIXES[name].keeps(Tail(None, 0))

    assert kept.record_offset is None
    assert kept.batch_end in (None, -1)


def test_what_each_fix_keeps() -> None:
    last = batch(record(3, "k"), record(4, "k"))._replace(last_offset=6)
    tail = Tail(last, 5)

    assert FIXES["none"].keeps(tail) == Kept()
    assert FIXES["leo_retention"].keeps(tail) == Kept(record_offset=4, batch_end=6)
    assert FIXES["leo_retention"].keeps(Tail(last.emptied(), 5)) == Kept(batch_end=6)
    assert FIXES["empty_batch"].keeps(tail) == Kept(batch_end=4)


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
