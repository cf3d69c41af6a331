"""Blocks: every missing case exactly once, and no row depends on them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sim.study.sweep.blocks import blocks_of, not_in
from sim.study.sweep.plan import number_runs
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
