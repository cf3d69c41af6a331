"""A trace alone says what every replica holds at every moment, as the oracle of traces rebuilds it.

The oracle reads the lines of a finished run; the same run is then done once more beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from sim.check.certify.logs import RebuiltCluster, RebuiltReplica, parse
from sim.files.formats import STORY_FORMAT
from sim.protocol.events import Event
from sim.protocol.replication import Replica
from sim.protocol.rules import PRESETS, rules_from
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.simulation import Simulation
from sim.simulate.run import Run
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import run_scenario
from sim.simulate.run.trace_file import trace_lines
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story, load_story
from sim.study.suite import format_of, scenario_files

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
    """Applies the lines of a run's trace as its events happen once more, and compares."""

    def __init__(self, run: Run) -> None:
        trace = parse(b"".join(trace_lines(run)))
        self.read = 0
        self.rows = trace.events
        self._rebuilt = RebuiltCluster(trace)

    def take(self, count: int) -> None:
        for row in self.rows[self.read : self.read + count]:
            self._rebuilt.apply(row)
        self.read += count

    def compare(self, replicas: dict[str, Replica]) -> None:
        rebuilt = self._rebuilt.replicas
        assert list(rebuilt) == list(replicas)
        for name, replica in replicas.items():
            found = of_rebuilt(rebuilt[name], {*map(tuple, replica.snapshots)})
            assert found == of_replica(replica), (name, self.rows[self.read - 1])


def of_rebuilt(one: RebuiltReplica, held: set[tuple[int, ...]]) -> dict[str, object]:
    """What the oracle takes for the disk of a replica; it may know snapshots that are gone."""
    return {
        "up": one.up,
        "ends": (one.start, one.end, one.high_watermark),
        "records": [(slot.offset, slot.uid, slot.epoch) for slot in one.log.values()],
        "empty batches": one.empty,
        "snapshots": {
            at: [slot.uid for slot in slots] for at, slots in one.snapshots.items() if at in held
        },
    }


def of_replica(replica: Replica) -> dict[str, object]:
    """The disk of a replica, as far as the oracle has to know it."""
    log = replica.log
    held = [batch for batch in log.batches() if batch.last_offset >= log.log_start_offset]
    return {
        "up": replica.up,
        "ends": (log.log_start_offset, log.log_end_offset, log.high_watermark),
        "records": [
            (record.offset, record.uid, batch.epoch)
            for batch in held
            for record in batch.records
            if record.offset >= log.log_start_offset
        ],
        "empty batches": {batch.last_offset for batch in held if not batch.records},
        "snapshots": {
            tuple(at): [record.uid for record in snapshot.records]
            for at, snapshot in replica.snapshots.items()
        },
    }


class WatchedStory(StoryDriver):
    """A story that calls `watch` for what each step, or part of one, has led to."""

    def __init__(self, story: Story, watch: Callable[[StoryDriver, int], None]) -> None:
        self._watch, self._seen = watch, 0
        super().__init__(story, invariants=())

    def emit(self, events: Sequence[Event]) -> None:
        super().emit(events)
        self._watch(self, len(self.events) - self._seen)
        self._seen = len(self.events)


def test_the_logs_of_every_second_story_can_be_rebuilt_after_everything_that_happens() -> None:
    """The laws that need the logs of the others are judged on them, too (`tests/certify`)."""
    compared = 0

    def watch(driver: StoryDriver, count: int) -> None:
        nonlocal compared
        follower.take(count)
        follower.compare(driver.replicas)
        compared += len(driver.replicas)

    for path in STORIES[::2]:
        story = load_story(path)
        follower = Follower(run_story(story))
        driver = WatchedStory(story, watch)
        for step in story.steps:
            driver.take(step)

    assert compared > 5_000


@pytest.mark.parametrize(("number", "preset"), list(enumerate(PRESETS)))
def test_the_logs_of_random_runs_can_be_rebuilt_at_every_moment(number: int, preset: str) -> None:
    built_in = "kraft" if preset == "kraft" else ("reference", "storm")[number % 2]
    scenario = generate(number, Mix(mix=built_in, **HARSH))  # type: ignore[arg-type]
    values = {"preset": preset, "segment_swap": ("swap_files", "old_first")[number // 2 % 2]}
    scenario = scenario.with_rules(rules_from(values, base=scenario.rules))
    follower = Follower(run_scenario(scenario, keep_events=True))
    kinds = set()

    def follow(_: int, events: Iterable[Event]) -> None:
        follower.take(len(list(events)))

    cluster = Cluster(scenario, follow)

    def compare(_: object) -> None:
        follower.compare({name: node.replica for name, node in cluster.nodes.items()})
        kinds.add(follower.rows[follower.read - 1]["event"])

    for at_ms in range(0, 2 * scenario.duration_ms, 50):
        cluster.context.env.timeout(at_ms).callbacks.append(compare)
    Simulation(cluster).run()
    compare(None)

    assert len(kinds) > 2
    assert follower.read == len(follower.rows)
