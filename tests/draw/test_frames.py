"""What replicas hold after each event, out of events alone."""

import re
from pathlib import Path
from typing import Any

import pytest

from sim.check.certify.logs import RebuiltCluster, RebuiltReplica, parse
from sim.diagnose.draw.cells import CellKind
from sim.diagnose.draw.frames import Lane, Logs
from sim.files.yaml_text import parse_yaml
from sim.protocol.events import (
    NAMES,
    Event,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    Truncated,
)
from sim.protocol.rules import rules_from
from sim.simulate.run import Run
from sim.simulate.run.timed import run_scenario
from sim.simulate.run.trace_file import trace_lines
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from tests.check.events import cluster
from tests.draw.stories import LOST_MARKER, STORIES, story
from tests.story.running import run_steps


def replayed(run: Run, until: type[Event] | None = None) -> dict[str, Lane]:
    """Replica -> its lane at the end, or after the last event of a class."""
    found = [at for at, (_, event) in enumerate(run.events) if until in (None, type(event))]
    return {lane.name: lane for lane in Logs(run.events, run.rules).frame(found[-1]).lanes}


def test_the_last_frame_is_what_the_replicas_of_a_story_hold() -> None:
    for path in STORIES[::3]:
        lanes, views = replayed(story(path)), story(path).replicas
        assert lanes.keys() == views.keys(), path
        for lane, view in zip(lanes.values(), map(views.get, lanes), strict=True):
            assert view is not None
            start, marks = view.log_start_offset, (view.log_end_offset, view.high_watermark)
            # A batch that straddles the log start is there as a whole, and drawn from there on.
            held = [offset for offset in view.offsets if offset >= start]
            told = seen(lane)
            assert (*told[:4], list(told[4])) == (view.up, start, *marks, held), path
            marked = "".join(text for text in view.batches if text.endswith(" horizon"))
            horizons = {at for at, one in enumerate(lane.spots) if one.horizon_ms is not None}
            stamped = {at for at in map(int, re.findall(r"@(\d+)", marked)) if at >= start}
            in_records = story(path).rules.cleaner.tombstone_removal == "record_horizon"
            assert horizons == stamped or in_records, path
            below = lane.spots[:start]
            assert all(one.kind is CellKind.BELOW and one.reason for one in below), path
            assert not any(one.reason and one.reason.winner is not None for one in below), path


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("epochs/epochcache_08_an_empty_epoch_is_kept.yaml", {"r1": None, "r2": 3}),
        ("kip630/kip630_01_tombstone_removed_too_early.yaml", {"r1": None, "r3": 2}),
        ("raft/raft_13_leader_cuts_its_own_log.yaml", {"a": 1, "b": 2}),
        ("raft/raft_04_leader_resumes_its_epoch.yaml", {"a": 1, "b": None}),
    ],
    ids=["follows", "at rest", "truncates and leads on", "resumes"],
)
def test_who_leads_at_the_end_of_a_story(path: str, leads: dict[str, int | None]) -> None:
    lanes = replayed(story(path))

    assert {name: lanes[name].leads for name in leads} == leads


@pytest.mark.parametrize(("seed", "preset"), [(3, "kafka-4.0"), (1, "kraft")])
def test_frames_of_random_runs_are_what_their_traces_say(seed: int, preset: str) -> None:
    often = dict.fromkeys(("power_losses", "cleaning_crashes", "install_crashes"), 0.5)
    snapshots = float(preset == "kraft")
    mix = Mix(duration_ms=3_000, sends=(60, 90), transactional=1.0, snapshots=snapshots, **often)
    scenario = generate(seed, mix).with_rules(rules_from({"preset": preset}, where="test"))
    run = run_scenario(scenario, keep_events=True)
    trace = parse(b"".join(trace_lines(run)))
    rebuilt, logs = RebuiltCluster(trace), Logs(run.events, scenario.rules)
    logs.frame(len(run.events) - 1)  # asked backwards all the same
    for position, row in enumerate(trace.events):
        rebuilt.apply(row)
        if position % 25 == 0 or position == len(run.events) - 1:
            lanes = {lane.name: lane for lane in logs.frame(position).lanes}
            assert {n: seen(lane) for n, lane in lanes.items()} == told(rebuilt.replicas)
            spots = [spot for lane in lanes.values() for spot in lane.spots]
            assert not any(spot.reason for spot in spots if spot.uid)


def seen(lane: Lane) -> tuple[Any, ...]:
    """State of a lane: whether it is up, its ends, the high watermark, and the uid at each offset.

    An empty batch counts as a record of uid 0.
    """
    spots = enumerate(lane.spots)
    held = {at: one.uid for at, one in spots if one.uid or one.kind is CellKind.EMPTY}
    return lane.up, lane.log_start_offset, lane.log_end_offset, lane.high_watermark, held


def told(replicas: dict[str, RebuiltReplica]) -> dict[str, tuple[Any, ...]]:
    """The same of the logs that the oracle of traces rebuilt."""
    return {
        name: (
            one.up,
            one.start,
            one.end,
            one.high_watermark,
            {offset: slot.uid for offset, slot in one.log.items()} | dict.fromkeys(one.empty, 0),
        )
        for name, one in replicas.items()
    }


RUNS = parse_yaml(Path(__file__).with_name("offsets.yaml").read_text(encoding="utf-8"), "").data


@pytest.mark.parametrize("run", RUNS)
def test_an_offset_without_a_record_says_why(run: dict[str, str]) -> None:
    done = run_steps(run["run"]) if "\n" in run["run"] else story(run["run"])
    until = next((kind for kind, name in NAMES.items() if name == run.get("until")), None)
    lanes = replayed(done, until)
    for line in run["spots"].splitlines():
        replica, offset, kind, reason = line.split(maxsplit=3)
        spot = lanes[replica].at(int(offset))
        found = (spot.kind, "-" if spot.reason is None else spot.reason.words)
        assert found == (CellKind[kind], reason), line


@pytest.mark.parametrize(
    "follows",
    [
        LogEmptied("r1", 5, 2, 0, 0),
        LogStartedAfresh("r1", 5, 0, 0),
        Truncated("r1", 0, 0, 0, 0, leading=False),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_old_leader_leads_no_longer_once_it_does_what_followers_do(follows: Event) -> None:
    newer = LeaderElected("r2", 2, 0, ("r2",), ("r1", "r2"))
    events = [*enumerate([*cluster("r1", "r2"), newer, follows])]
    before, after = (Logs(events).frame(at).lanes[0].role for at in (3, 4))

    assert (before, after) == ("old leader e1", "")


def test_an_open_transaction_holds_back_the_last_stable_offset() -> None:
    lanes = replayed(story(LOST_MARKER))
    assert (lanes["r1"].last_stable_offset, lanes["r1"].high_watermark) == (4, 4)
    assert (lanes["r3"].last_stable_offset, lanes["r3"].high_watermark) == (0, 4)
