"""Waves and blocks: every case exactly once, and no row depends on them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sim.sweeps.layout import WAVE_RUNS_MAX, Wave, blocks_of, wave_of_case, waves_of
from sim.sweeps.plan import number_runs
from tests.sweeps.fakes import plan

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
    count=st.integers(1, 50_000),
    rate=st.floats(0.01, 1e6),
    cores=st.integers(1, 64),
    blocks=st.none() | st.integers(1, 10_000),
)
def test_blocks_hold_every_case_of_their_waves_once_and_in_order(
    count: int, rate: float, cores: int, blocks: int | None
) -> None:
    sweep = number_runs(PLAN, count=count)
    waves = waves_of(sweep)

    found = list(blocks_of(waves, sweep, runs_per_second=rate, cores=cores, blocks=blocks))

    assert [case for _, cases in found for case in cases] == list(range(count))
    assert all(
        cases and cases[0] in wave.cases and cases[-1] in wave.cases for wave, cases in found
    )


def seconds_of_blocks(cases: int, *, cores: int) -> list[float]:
    """How long each block of a single wave takes at 300 runs, 100 cases, a second."""
    found = blocks_of(
        [Wave(0, 0, cases)], number_runs(PLAN, count=cases), runs_per_second=300, cores=cores
    )
    return [len(block) / 100 for _, block in found]


def test_blocks_are_long_at_first_and_short_at_the_end() -> None:
    seconds = seconds_of_blocks(20_000, cores=2)

    assert seconds[0] == 8.0
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] <= 1.5
    assert len(seconds) < 45


def test_no_core_is_left_without_a_block_while_there_is_work_for_all() -> None:
    assert all(len(seconds_of_blocks(1_000, cores=cores)) >= cores for cores in (1, 2, 4))


def test_a_wave_may_be_cut_into_a_given_number_of_blocks() -> None:
    sweep = number_runs(PLAN, count=10)

    found = blocks_of([Wave(0, 0, 10)], sweep, runs_per_second=1, cores=2, blocks=3)

    assert [len(block) for _, block in found] == [3, 3, 4]
