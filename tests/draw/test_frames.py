"""What replicas hold after each event, out of events alone."""

import msgspec
import pytest

from sim.draw.frames import Kind, Lane, position_of, replayed
from sim.draw.reasons import Reasons
from sim.draw.words import Words
from sim.files.trace_file import TOMBSTONE_MARKS
from sim.rules import settings_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.scenario.trace_header import header_of
from sim.timed_run import run_scenario
from sim.trace import Cleaned, Event, Truncated
from sim.trace.written import as_row
from tests.draw.stories import LOST_TAIL, SCENARIOS, story, violation_of
from tests.story.running import run_steps
from tests.trace.rebuilt import Rebuilder, RebuiltLog, Row

STORIES = [
    f"{folder}/{path.name}"
    for folder in ("kip280", "kip630", "transactions", "raft")
    for path in sorted((SCENARIOS / folder).glob("*.yaml"))
    if "replog-story/1" in path.read_text(encoding="utf-8")
]


def test_the_last_frame_is_what_the_replicas_of_a_story_hold() -> None:
    assert len(STORIES) > 100
    for path in STORIES[::3]:
        run = story(path)
        replay = replayed(run.events, rules=run.story.rules)
        frame = replay.frame()

        assert {lane.name for lane in frame.lanes} == set(run.replicas), path
        for lane in frame.lanes:
            view = run.replicas[lane.name]
            held = [at for at, one in enumerate(lane.spots) if one.uid or one.kind is Kind.EMPTY]
            assert (lane.up, lane.log_start_offset) == (view.up, view.log_start_offset), path
            assert lane.log_end_offset == view.log_end_offset, path
            assert lane.high_watermark == view.high_watermark, path
            # A batch that straddles the log start is there as a whole, and drawn from there on.
            assert [at for at in view.offsets if at >= view.log_start_offset] == held, path


@pytest.mark.parametrize(("seed", "preset"), [(3, "kafka-4.0"), (1, "kraft")])
def test_frames_of_random_runs_are_what_their_traces_say(seed: int, preset: str) -> None:
    mix = Mix(
        duration_ms=3_000,
        sends=(60, 90),
        power_losses=0.5,
        cleaning_crashes=0.5,
        install_crashes=0.5,
        transactional=1.0,
        snapshots=1.0 if preset == "kraft" else 0.0,
    )
    scenario = generate(seed, mix).with_rules(settings_from({"preset": preset}, where="test"))
    events: list[tuple[int, Event]] = []
    run_scenario(scenario, trace=events)
    header = header_of(scenario)
    mark = TOMBSTONE_MARKS[header.judged_by.cleaner.tombstone_mark]
    rebuilt = Rebuilder(read(header.as_row()))
    replay = replayed([], rules=scenario.rules)
    for position, (at, event) in enumerate(events):
        rebuilt.take(read(as_row(at, event, mark)))
        replay.take(at, event)
        if position % 25 == 0 or position == len(events) - 1:
            lanes = replay.frame().lanes
            assert [lane.name for lane in lanes] == list(rebuilt.logs)
            assert [seen(lane) for lane in lanes] == [told(each) for each in rebuilt.logs.values()]
            holes = [one for lane in lanes for one in lane.spots if one.kind is Kind.HOLE]
            assert all(hole.reason for hole in holes)


def read(row: Row) -> Row:
    found: Row = msgspec.json.decode(msgspec.json.encode(row))
    return found


def seen(lane: Lane) -> tuple[object, ...]:
    """A lane as a log of a trace: who has what, with the delete horizon of its batch."""
    held = {
        offset: (one.uid, one.horizon_ms)
        for offset, one in enumerate(lane.spots)
        if one.uid or one.kind is Kind.EMPTY
    }
    return lane.up, lane.log_start_offset, lane.log_end_offset, lane.high_watermark, held


def told(log: RebuiltLog) -> tuple[object, ...]:
    held = {}
    for batch in log.batches:
        for record in batch["records"]:
            held[record["offset"]] = (record["uid"], batch["delete_horizon_ms"])
        if not batch["records"]:
            held[batch["last_offset"]] = (0, None)
    held = {offset: held[offset] for offset in sorted(held) if offset >= log.start}
    return log.up, log.start, log.end, log.high_watermark, held


EXPIRED = "kip280/kip280_18_expired_last_tombstone.yaml"
EXPIRED_EMPTY_BATCH = "kip280/kip280_19_expired_last_tombstone_empty_batch.yaml"
SNAPSHOT = "snapshots/snap_01_chunks_then_the_tail.yaml"
LOST_MARKER = "transactions/txn_02_commit_marker_lost.yaml"


@pytest.mark.parametrize(
    ("path", "replica", "offset", "kind", "reason"),
    [
        (LOST_TAIL, "r1", 3, Kind.HOLE, "superseded by 0"),
        (LOST_TAIL, "r1", 2, Kind.RECORD, ""),
        (LOST_TAIL, "r1", 4, Kind.BEYOND, ""),
        (EXPIRED, "r1", 3, Kind.HOLE, "tombstone removed"),
        (EXPIRED_EMPTY_BATCH, "r1", 3, Kind.EMPTY, "tombstone removed"),
        (LOST_MARKER, "r1", 1, Kind.HOLE, "marker removed"),
        (LOST_MARKER, "r3", 1, Kind.HOLE, "not copied from r1: marker removed"),
    ],
)
def test_an_offset_without_a_record_says_why(
    path: str, replica: str, offset: int, kind: Kind, reason: str
) -> None:
    events = story(path).events
    passes = [at for at, (_, event) in enumerate(events) if isinstance(event, Cleaned)]
    until = None if replica == "r3" else passes[-1]
    frame = replayed(events, until=until, rules=story(path).story.rules).frame()
    spot = next(lane for lane in frame.lanes if lane.name == replica).at(offset)

    assert (spot.kind, spot.reason) == (kind, reason)


def test_what_a_cut_took_is_named_until_something_is_written_there() -> None:
    run = run_steps(
        """
        elect 1 1
        append 1 a A
        append 1 b B
        elect 2 2
        append 2 c C
        follow 1 2
        sync 1 2
        """
    )
    cut = next(at for at, (_, event) in enumerate(run.events) if isinstance(event, Truncated))

    after_the_cut = replayed(run.events, until=cut).frame().lanes[0]
    assert [(one.kind, one.reason) for one in after_the_cut.spots] == [
        (Kind.BEYOND, "truncated"),
        (Kind.BEYOND, "truncated"),
    ]
    at_the_end = replayed(run.events).frame().lanes[0]
    assert [(one.kind, one.reason) for one in at_the_end.spots] == [
        (Kind.RECORD, ""),
        (Kind.BEYOND, "truncated"),
    ]


def test_an_open_transaction_holds_back_the_last_stable_offset() -> None:
    run = story("transactions/txn_02_commit_marker_lost.yaml")
    lanes = {lane.name: lane for lane in replayed(run.events).frame().lanes}

    assert (lanes["r1"].last_stable_offset, lanes["r1"].high_watermark) == (4, 4)
    assert (lanes["r3"].last_stable_offset, lanes["r3"].high_watermark) == (0, 4)


def test_who_leads_and_who_has_not_heard_of_a_newer_epoch() -> None:
    run = story(LOST_TAIL)
    violation = violation_of(run, "no-offset-reuse")
    frame = replayed(run.events, until=position_of(run.events, violation, run.story.rules)).frame()

    assert [(lane.name, lane.leads, lane.newest) for lane in frame.lanes] == [
        ("r1", 1, False),
        ("r2", None, False),
        ("r3", 2, True),
    ]


def test_the_event_of_a_violation_is_found_within_its_step() -> None:
    run = story("durability/checkpoint_03_finish_mark_missing.yaml")
    violation = violation_of(run, "no-truncation-below-hw")
    for rules in (run.story.rules, None):
        position = position_of(run.events, violation, rules)
        assert isinstance(run.events[position][1], Truncated)
        assert run.events[position + 1][0] == violation.at  # the step went on after that


def test_what_is_kept_from_frame_to_frame_is_what_a_fresh_look_finds() -> None:
    for path in (LOST_TAIL, EXPIRED_EMPTY_BATCH, LOST_MARKER, SNAPSHOT):
        run = story(path)
        replay = replayed([])
        for position, (at, event) in enumerate(run.events):
            replay.take(at, event)
            replay.frame()
            if position % 5 == 0:
                assert replay.frame() == replayed(run.events, until=position).frame(), (path, at)
        assert replay.frame() == replayed(run.events).frame()


def test_reasons_are_none_where_nothing_is_missing() -> None:
    assert Reasons({}).of("r1") == {}
    run = story(LOST_TAIL)
    replay = replayed(run.events, until=8, rules=run.story.rules)

    assert {one.reason for lane in replay.frame().lanes for one in lane.spots} == {""}


def test_the_version_that_decides_is_the_one_of_the_strategy() -> None:
    steps = "elect 1 1\nappend 1 a A hdr=9 ts=40\nappend 1 b B ts=41"
    for strategy, versions in (
        ("header", ["v9", "no version"]),
        ("timestamp", ["t40", "t41"]),
        ("offset", ["", ""]),
    ):
        run = run_steps(steps, rules={"strategy": strategy})
        replay = replayed(run.events, rules=run.story.rules)
        words = Words(replay)

        held = [one.uid for one in replay.frame().lanes[0].spots]
        assert [words.version(uid) for uid in held] == versions
