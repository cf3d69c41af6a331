"""Blocks: every missing case exactly once, and no row depends on them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sim.sweeps.layout import (
    blocks_of,
    first_run_of,
    joined,
    not_in,
    part_name,
)
from sim.sweeps.plan import number_runs
from tests.sweeps.fakes import plan

PLAN = plan()

CASES = st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda one: range(one[0], sum(one)))


@given(covered=st.lists(CASES), count=st.integers(1, 60))
def test_what_is_missing_are_the_cases_in_no_range_in_order(
    covered: list[range], count: int
) -> None:
    missing = not_in(covered, count)

    assert [case for cases in missing for case in cases] == [
        case for case in range(count) if not any(case in cases for cases in covered)
    ]
    assert all(one.stop < other.start for one, other in pairwise(missing))
    assert all(missing) or not missing


@given(lengths=st.lists(st.integers(1, 5), min_size=1), data=st.data())
def test_ranges_that_touch_are_one(lengths: list[int], data: st.DataObject) -> None:
    starts = [sum(lengths[:place]) for place in range(len(lengths))]
    touching = [range(start, start + size) for start, size in zip(starts, lengths, strict=True)]
    shuffled = data.draw(st.permutations(touching))

    assert joined(shuffled) == (range(sum(lengths)),)
    assert joined([range(2), range(3, 4)]) == (range(2), range(3, 4))


@given(
    count=st.integers(1, 50_000),
    covered=st.lists(CASES, max_size=3),
    rate=st.floats(0.01, 1e6),
    cores=st.integers(1, 64),
    blocks=st.none() | st.integers(1, 10_000),
)
def test_blocks_hold_every_missing_case_once_and_in_order(
    count: int, covered: list[range], rate: float, cores: int, blocks: int | None
) -> None:
    sweep = number_runs(PLAN, count=count)
    missing = not_in(covered, count)

    found = list(blocks_of(missing, sweep, runs_per_second=rate, cores=cores, blocks=blocks))

    assert [case for cases in found for case in cases] == [c for one in missing for c in one]
    assert all(found)


def seconds_of_blocks(cases: int, *, cores: int) -> list[float]:
    """How long each block takes at 300 runs, 100 cases, a second."""
    found = blocks_of(
        [range(cases)], number_runs(PLAN, count=cases), runs_per_second=300, cores=cores
    )
    return [len(block) / 100 for block in found]


def test_blocks_are_long_at_first_and_short_at_the_end() -> None:
    seconds = seconds_of_blocks(20_000, cores=2)

    assert seconds[0] == 8.0
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] <= 1.5
    assert len(seconds) < 45


def test_no_core_is_left_without_a_block_while_there_is_work_for_all() -> None:
    assert all(len(seconds_of_blocks(1_000, cores=cores)) >= cores for cores in (1, 2, 4))


def test_what_is_missing_may_be_cut_into_a_given_number_of_blocks() -> None:
    sweep = number_runs(PLAN, count=10)

    found = blocks_of([range(10)], sweep, runs_per_second=1, cores=2, blocks=3)

    assert [len(block) for block in found] == [3, 3, 4]


def test_names_of_parts_are_in_the_order_of_their_runs() -> None:
    names = [part_name("runs", 7, first) for first in (0, 9, 10, 99_999, 10**9)]

    assert names == sorted(names)
    assert [first_run_of(name.rpartition("/")[2]) for name in names] == [0, 9, 10, 99_999, 10**9]
