"""Blocks: every missing case exactly once, and no row depends on them."""

from hypothesis import given
from hypothesis import strategies as st

from sim.study.sweep.work import blocks_of


@given(
    missing=st.lists(st.integers(0, 10**6)) | st.integers(0, 50_000).map(range).map(list),
    rule_sets=st.integers(1, 2_000),
    cores=st.integers(1, 64),
    blocks=st.none() | st.integers(1, 10_000),
)
def test_blocks_hold_every_missing_case_once_and_in_order(
    missing: list[int], rule_sets: int, cores: int, blocks: int | None
) -> None:
    found = list(blocks_of(missing, rule_sets, cores=cores, blocks=blocks))

    assert [case for cases in found for case in cases] == missing
    assert all(found)
    assert blocks is None or len(found) == min(blocks, len(missing))


def runs_of_blocks(cases: int, *, cores: int) -> list[int]:
    """How many runs each block has, of three rule sets."""
    return [3 * len(block) for block in blocks_of(range(cases), 3, cores=cores)]


def test_blocks_are_long_at_first_and_short_at_the_end() -> None:
    runs = runs_of_blocks(20_000, cores=2)

    assert runs[0] == 999
    assert runs == sorted(runs, reverse=True)
    assert runs[-1] <= 100
    assert len(runs) < 90


def test_no_core_is_left_without_a_block_while_there_is_work_for_all() -> None:
    assert all(len(runs_of_blocks(1_000, cores=cores)) >= cores for cores in (1, 2, 4))
