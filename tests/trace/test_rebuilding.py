"""A trace alone says what every replica holds at every moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
import pytest

from sim.files.formats import STORY_FORMAT
from sim.protocol.compaction import TOMBSTONE_MARKS
from sim.protocol.events import Event
from sim.protocol.events.written import as_row
from sim.protocol.replication import Replica
from sim.protocol.rules import PRESETS, rules_from
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.simulation import Simulation
from sim.simulate.run.trace_file import TraceHeader, header_of
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story, load_story
from sim.study.suite import format_of, scenario_files
from tests.trace.rebuilt import Rebuilder, Row, differences

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
STORIES = [path for path in scenario_files(SCENARIOS) if format_of(path) == STORY_FORMAT]

HARSH = {
    "duration_ms": 3_000,
    "power_losses": 0.5,
    "cleaning_crashes": 0.5,
    "install_crashes": 0.5,
    "small_fetches": 0.5,
    "transactional": 0.5,
}


class Follower:
    """Reads the lines of a trace as they are written, and compares."""

    def __init__(self, header: TraceHeader) -> None:
        self.row: Row = {}
        self._is_tombstone = TOMBSTONE_MARKS[header.tombstone_mark]
        self._rebuilder = Rebuilder(_read(header.as_row()))

    def take(self, at: int, event: Event) -> None:
        self.row = _read(as_row(at, event, self._is_tombstone))
        self._rebuilder.take(self.row)

    def compare(self, replicas: dict[str, Replica]) -> None:
        assert list(self._rebuilder.logs) == list(replicas)
        for name, replica in replicas.items():
            assert differences(self._rebuilder.logs[name], replica) == [], (name, self.row)


def _read(row: Row) -> Row:
    return msgspec.json.decode(msgspec.json.encode(row))  # type: ignore[no-any-return]


class WatchedStory(StoryDriver):
    """A story that calls `watch` for what each step, or part of one, has led to."""

    def __init__(self, story: Story, watch: Callable[[StoryDriver, int], None]) -> None:
        self._watch, self._seen = watch, 0
        super().__init__(story, invariants=())

    def emit(self, events: Sequence[Event]) -> None:
        super().emit(events)
        self._watch(self, self._seen)
        self._seen = len(self.events)


def test_the_logs_of_every_story_can_be_rebuilt_after_everything_that_happens() -> None:
    compared = 0

    def watch(driver: StoryDriver, seen: int) -> None:
        nonlocal compared
        for at, event in driver.events[seen:]:
            follower.take(at, event)
        follower.compare(driver.replicas)
        compared += len(driver.replicas)

    for path in STORIES:
        story = load_story(path)
        follower = Follower(header_of(story))
        driver = WatchedStory(story, watch)
        for step in story.steps:
            driver.take(step)

    assert compared > 10_000


@pytest.mark.parametrize(("number", "preset"), list(enumerate(PRESETS)))
def test_the_logs_of_random_runs_can_be_rebuilt_at_every_moment(number: int, preset: str) -> None:
    built_in = "kraft" if preset == "kraft" else ("reference", "storm")[number % 2]
    scenario = generate(number, Mix(mix=built_in, **HARSH))  # type: ignore[arg-type]
    values = {"preset": preset, "segment_swap": ("swap_files", "old_first")[number // 2 % 2]}
    scenario = scenario.with_rules(rules_from(values, base=scenario.rules))
    follower = Follower(header_of(scenario))
    kinds = set()

    def follow(at_ms: int, events: Iterable[Event]) -> None:
        for event in events:
            follower.take(at_ms, event)

    cluster = Cluster(scenario, follow)

    def compare(_: object) -> None:
        follower.compare({name: node.replica for name, node in cluster.nodes.items()})
        kinds.add(follower.row["event"])

    for at_ms in range(0, 2 * scenario.duration_ms, 50):
        cluster.context.env.timeout(at_ms).callbacks.append(compare)
    Simulation(cluster).run()
    compare(None)

    assert len(kinds) > 2
