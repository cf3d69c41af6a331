"""Blocks: every missing case exactly once, and no row depends on them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sim.study.sweep.table import blocks_of, not_in

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
    rule_sets=st.integers(1, 2_000),
    cores=st.integers(1, 64),
    blocks=st.none() | st.integers(1, 10_000),
)
def test_blocks_hold_every_missing_case_once_and_in_order(
    count: int, covered: list[range], rule_sets: int, cores: int, blocks: int | None
) -> None:
    missing = not_in(covered, count)

    found = list(blocks_of(missing, rule_sets, cores=cores, blocks=blocks))

    assert [case for cases in found for case in cases] == [c for one in missing for c in one]
    assert all(found)
    assert blocks is None or len(found) <= blocks + len(missing)


def runs_of_blocks(cases: int, *, cores: int) -> list[int]:
    """How many runs each block has, of three rule sets."""
    return [3 * len(block) for block in blocks_of([range(cases)], 3, cores=cores)]


def test_blocks_are_long_at_first_and_short_at_the_end() -> None:
    runs = runs_of_blocks(20_000, cores=2)

    assert runs[0] == 999
    assert runs == sorted(runs, reverse=True)
    assert runs[-1] <= 100
    assert len(runs) < 90


def test_no_core_is_left_without_a_block_while_there_is_work_for_all() -> None:
    assert all(len(runs_of_blocks(1_000, cores=cores)) >= cores for cores in (1, 2, 4))
