"""Waves and blocks: every case exactly once, and no row depends on them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sim.sweep.layout import WAVE_RUNS_MAX, Wave, blocks_of, split, wave_of_case, waves_of
from sim.sweep.plan import number_runs
from tests.sweep.fakes import plan

PLAN = plan()


@given(count=st.integers(1, 10_000_000))
def test_waves_hold_every_case_once_and_in_order(count: int) -> None:
    sweep = number_runs(PLAN, count=count)

    waves = waves_of(sweep)

    assert [wave.number for wave in waves] == list(range(len(waves)))
    assert waves[0].first == 0
    assert waves[-1].end == count
    assert all(one.end == other.first for one, other in pairwise(waves))
    assert all(0 < len(wave.cases) * 3 < WAVE_RUNS_MAX + 3 for wave in waves)


def test_a_small_sweep_is_one_wave_and_a_large_one_has_at_least_sixteen() -> None:
    sizes = {count: len(waves_of(number_runs(PLAN, count=count))) for count in (1, 300, 2_000)}

    assert sizes == {1: 1, 300: 1, 2_000: 6}
    assert len(waves_of(number_runs(PLAN, count=10_000))) == 16
    assert len(waves_of(number_runs(PLAN, count=2_000_000))) == 30


@given(count=st.integers(1, 100_000), data=st.data())
def test_the_wave_of_a_case_is_the_one_that_holds_it(count: int, data: st.DataObject) -> None:
    sweep = number_runs(PLAN, count=count)
    case = data.draw(st.integers(0, count - 1))

    assert case in wave_of_case(sweep, case).cases


@given(
    cases=st.integers(1, 5_000),
    rate=st.floats(0.01, 1e6),
    cores=st.integers(1, 64),
    blocks=st.none() | st.integers(1, 10_000),
)
def test_blocks_hold_every_case_of_a_wave_once(
    cases: int, rate: float, cores: int, blocks: int | None
) -> None:
    wave = Wave(3, 100, 100 + cases)

    found = blocks_of(wave, number_runs(PLAN), runs_per_second=rate, cores=cores, blocks=blocks)

    assert [case for block in found for case in block] == list(wave.cases)
    assert all(found)


def test_blocks_are_worth_about_two_seconds() -> None:
    wave = Wave(0, 0, 1_000)  # 3,000 runs

    found = blocks_of(wave, number_runs(PLAN), runs_per_second=300, cores=2)

    assert len(found) == 6  # 10 s of work: five blocks, rounded up to the cores
    assert {len(block) for block in split(range(10), 3)} == {3, 4}
