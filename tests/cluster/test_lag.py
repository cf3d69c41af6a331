"""KIP-354 in simulated time, to the millisecond: what scenario files can only say roughly."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import pytest

from sim.scenario.file.load import load_scenario
from sim.trace import Appended, CleanerLooked
from tests.cluster.worlds import Story, tell

FOLDER = Path(__file__).parents[2] / "scenarios"


def told(name: str) -> Story:
    """What happens in a scenario file."""
    return tell(load_scenario(FOLDER / f"{name}.yaml"))


def changes(values: Iterable[int]) -> list[int]:
    """The values without repetitions of the one before."""
    return [value for value, _ in groupby(values)]


@pytest.mark.parametrize(
    ("name", "eligible_ms"),
    [
        ("kip354/kip354_01_worst_case", 1301),
        ("kip354/timed_worst_case_one_ms_late", 1302),
        ("kip354/timed_worst_case_one_ms_late_timer", 1301),
    ],
)
def test_a_record_dated_behind_one_dated_ahead_waits_for_d_plus_m_plus_d_and_no_less(
    name: str, eligible_ms: int
) -> None:
    scenario = load_scenario(FOLDER / f"{name}.yaml")
    topic = scenario.topic
    lag_ms, off_ms = topic.max_compaction_lag_ms, topic.timestamp_difference_max_ms
    assert lag_ms is not None
    assert off_ms is not None
    story = tell(scenario)
    looks = story.of(CleanerLooked)
    first = next(at for at, look in looks if look.eligible)
    delete = next(e.batch for _, e in story.of(Appended) if e.batch.records[0].value is None)

    assert [at for at, _ in looks] == list(range(1, scenario.duration_ms))
    assert first == eligible_ms
    assert first - delete.timestamp_ms == lag_ms + 2 * off_ms + (eligible_ms - 1300)


@pytest.mark.parametrize(
    ("name", "told_secs"),
    [
        ("kip354/timed_lag_metric_of_the_last_round", [0, 4]),
        ("kip354/timed_lag_metric_of_every_scan", [0, 4, 0]),
    ],
)
def test_the_metric_is_that_of_the_last_round_or_that_of_every_scan(
    name: str, told_secs: list[int]
) -> None:
    looks = [look for _, look in told(name).of(CleanerLooked)]

    assert changes(look.metric_secs for look in looks) == told_secs
    assert changes(look.delay_ms for look in looks) == [0, 4200, 0]
