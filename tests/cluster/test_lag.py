"""KIP-354 in simulated time, to the millisecond: what scenario files can only say roughly."""

from pathlib import Path

import pytest

from sim.protocol.events import Appended, CleanerLooked
from sim.simulate.scenario.file.load import load_scenario
from tests.cluster.worlds import tell

FOLDER = Path(__file__).parents[2] / "scenarios"


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
