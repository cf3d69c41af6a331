"""Explanations: the events that led to a violation, one sentence each."""

from pathlib import Path

import pytest

from sim import trace
from sim.check import Violation
from sim.explain import explain
from sim.log import Control, Record, control_batch, data_batch
from sim.log.epochs import EpochEntry
from sim.scenario.file.load import load_scenario
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.story import load_story, run_story
from sim.timed_run import run_scenario
from sim.trace import Event
from sim.trace.sentences import describe

ROOT = Path(__file__).resolve().parents[2]
EMPTY = data_batch((Record(3, "k", "v", 0, (), uid=1),), epoch=1)._replace(records=())


def data(offset: int, key: str = "k", value: str | None = "v", *, producer_id: int = -1) -> Event:
    records = (Record(offset, key, value, 0, (), uid=offset + 1),)
    batch = data_batch(records, epoch=1, producer_id=producer_id, transactional=producer_id >= 0)
    return trace.Appended("r1", batch)


def marker(offset: int, producer_id: int) -> Event:
    batch = control_batch(
        offset, epoch=1, control=Control.ABORT, timestamp_ms=0, producer_id=producer_id, uid=99
    )
    return trace.Appended("r1", batch)


LOADED = "4 records of a snapshot, 2 of its log, 6 ms"


def violation(
    *, at: int = 100, offset: int | None = None, key: str | None = None, replica: str = "r2"
) -> Violation:
    return Violation("no-offset-reuse", at, replica, offset, key, "It happened.")


def told(events: list[Event], about: Violation, *, limit: int = 40) -> list[str]:
    """The explanation of `about`, with event n at time n, without the times."""
    lines = explain(list(enumerate(events, start=1)), about, limit=limit)
    return [line[8:] for line in lines]


def test_it_ends_with_the_violation_itself() -> None:
    assert told([], violation()) == ["no-offset-reuse: It happened."]


def test_what_happened_later_is_no_reason() -> None:
    lines = told([data(1), data(1), data(1)], violation(at=2, offset=1))

    assert len(lines) == 3


def test_other_offsets_and_keys_are_left_out() -> None:
    events = [data(1, "a"), data(2, "b"), data(3, "a"), data(4, "c")]

    lines = told(events, violation(key="a"))
    assert lines[:-1] == ["r1 appends a=v@1 in epoch 1", "r1 appends a=v@3 in epoch 1"]


def removing(*pairs: tuple[int, int]) -> Event:
    """A pass that removes records: (offset, offset of the winner)."""
    removals = tuple(
        trace.Removal(offset, offset + 1, "a", "superseded", winner) for offset, winner in pairs
    )
    return trace.Cleaned("r1", 0, 9, removals, (), (), (), None, 9, 9, (0, 0))


def test_an_offset_stands_for_what_beat_the_record_there() -> None:
    events = [data(1, "a"), data(2, "a"), data(3, "a"), removing((2, 1), (3, 1))]

    assert told(events, violation(offset=3))[:-1] == [
        "r1 appends a=v@1 in epoch 1",
        "r1 appends a=v@3 in epoch 1",
        "r1 cleans [0, 9): removes 3 (superseded by 1) and 1 more; log end 9",
    ]


def test_an_offset_stands_for_the_last_records_it_beat() -> None:
    events = [data(n, "a") for n in range(5)]

    lines = told([*events, removing((0, 4), (1, 4), (2, 4), (3, 4))], violation(offset=4, key="a"))
    assert lines[:-1] == [
        "r1 appends a=v@2 in epoch 1",
        "r1 appends a=v@3 in epoch 1",
        "r1 appends a=v@4 in epoch 1",
        "r1 cleans [0, 9): removes 2 (superseded by 4), 3 (superseded by 4) and 2 more; log end 9",
    ]


def test_records_beside_the_point_are_counted() -> None:
    records = tuple(Record(n, f"k{n}", "v", 0, (), uid=n + 1) for n in range(9))
    appended = trace.Appended("r1", data_batch(records, epoch=1))
    read = trace.Consumed("r1", "c1", 0, 9, records, 5)

    assert told([appended, read], violation(offset=3))[:-1] == [
        "r1 appends k3=v@3 and 8 more in epoch 1",
        "c1 reads r1 from 0 to 9: k3=v@3 and 8 more",
    ]


def test_a_marker_stands_for_the_transactions_of_its_producer() -> None:
    events = [data(1, "a", producer_id=7), data(2, "b", producer_id=8), marker(3, 7)]

    lines = told(events, violation(offset=3))
    assert lines[:-1] == [
        "r1 appends a=v@1 in epoch 1",
        "r1 appends ABORT of producer 7@3 in epoch 1",
    ]


def test_what_a_coordinator_says_of_the_key_belongs_to_the_story() -> None:
    record = Record(3, "k", "v", 0, uid=4)
    load = trace.CoordinatorLoaded("r2", 2, 4, 0, 4, 0, (record,))
    told_k = trace.CoordinatorAnswered("r2", 2, "client 1", "k", (record,), 4)
    told_j = told_k._replace(key="j", records=())
    loaded = "has loaded below 4 (0 records of a snapshot, 4 of its log, 0 ms)"

    assert told([load, told_k, told_j], violation(offset=3, key="k"))[:-1] == [
        f"r2, coordinator of epoch 2, {loaded}, and completes k=v@3",
        "r2, coordinator of epoch 2, tells client 1 k=v@3, by its log below 4",
    ]


def test_leaders_faults_and_losses_always_belong_to_the_story() -> None:
    events: list[Event] = [
        trace.LeaderElected("r1", 1, 0, ("r1", "r2"), ("r1", "r2")),
        trace.FaultInjected("r2", "crash", "down for 5 ms"),
        trace.ConfigChanged("r2", (("strategy", "header"),)),
        trace.ReplicaCrashed("r2", 4, 3),
        trace.Truncated("r2", 2, 4, 2, 0, False),
        trace.RemovalBoundMoved("r2", 4, 4),
    ]

    assert told(events, violation(offset=9))[:-1] == [
        "r1 leads epoch 1 from 0, in sync: r1, r2",
        "fault crash at r2: down for 5 ms",
        "r2 has new settings: strategy header",
        "r2 crashes, log end 4",
        "r2 truncates from 4 to 2",
    ]


def test_an_offset_is_committed_once_and_a_position_told_when_it_changes() -> None:
    events: list[Event] = [
        trace.HighWatermarkMoved("r1", 3, True),
        trace.HighWatermarkMoved("r1", 4, True),
        trace.HighWatermarkMoved("r1", 5, True),
        trace.PositionRecorded("r1", "r2", 3),
        trace.PositionRecorded("r1", "r2", 4),
        trace.PositionRecorded("r1", "r2", 4),
        trace.PositionRecorded("r1", "r3", 4),
    ]

    assert told(events, violation(offset=3))[:-1] == [
        "r1 commits below 4",
        "r1 believes r2 is at 4",
    ]


def test_of_a_long_story_the_beginning_is_left_out() -> None:
    lines = told([data(1) for _ in range(50)], violation(offset=1), limit=10)

    assert lines[0] == "(40 earlier events left out)"
    assert len(lines) == 12


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (data(4, value=None), "r1 appends k=null@4 in epoch 1"),
        (
            trace.Copied("r2", "r1", 0, (EMPTY,), 4),
            "r2 copies an empty batch@3 from r1, log end 4",
        ),
        (
            trace.Cleaned(
                "r1",
                0,
                4,
                (
                    trace.Removal(1, 2, "k", "superseded", 0),
                    trace.Removal(3, 4, "t", "marker", None),
                ),
                (3,),
                (),
                (),
                None,
                4,
                4,
                (0, 0),
            ),
            "r1 cleans [0, 4): removes 1 (superseded by 0), 3 (marker), keeps 3 empty; log end 4",
        ),
        (trace.Consumed("r1", "c1", 0, 2, (), 5), "c1 reads r1 from 0 to 2: nothing"),
        (
            trace.ConsumerReset("r1", "c1", 4, "below_log_start"),
            "c1 goes on at 4 of r1: that log starts there",
        ),
        (
            trace.ConsumerReset("r1", "c1", 4, "above_log_end"),
            "c1 goes on at 4 of r1: that log ends there",
        ),
        (
            trace.ConsumerReset("r1", "c1", 4, "log_truncated"),
            "c1 goes on at 4 of r1: there that log parts from what it has read",
        ),
        (
            trace.Acknowledged("r1", 7, 3, 12, 14, 2, "all"),
            "r1 tells producer 7 that 12 to 14 (from sequence 3 on) are committed",
        ),
        (
            trace.Acknowledged("r1", -1, -1, 12, 14, 2, "1"),
            "r1 tells a producer that 12 to 14 are written",
        ),
        (trace.FaultEnded("r1", "partition"), "fault partition at r1 is over"),
        (trace.ProducersForgotten("r1", (7, 8)), "r1 forgets the producers 7, 8"),
        (trace.IsrChanged("r1", ("r1", "r3"), "r3"), "in sync: r1, r3 (r3 joined)"),
        (
            trace.SnapshotOffered("r1", "r3", 2, 7, 1),
            "r1 offers r3, which asks for 2, snapshot (7, 1)",
        ),
        (
            trace.SnapshotChunkFetched("r3", "r1", 7, 1, 0, 2, 64),
            "r3 fetches keys 0 to 2 of (7, 1) from r1",
        ),
        (
            trace.SnapshotChunkFetched("r3", "r1", 7, 1, 40, 2, 64, True),
            "r3 fetches bytes 40 to 104 of (7, 1) from r1",
        ),
        (
            trace.LogEmptied("r3", 7, 1, 3, 2),
            "r3 empties its log, which ended at 3, for snapshot (7, 1)",
        ),
        (trace.SnapshotInstalled("r3", 7, 1, (), 2, 2, False), "r3 installs snapshot (7, 1)"),
        (
            trace.StateLoaded("r3", 9, 4, 2, 6),
            "r3 has loaded its state below 9 in 6 ms from 4 records of a snapshot and 2 of its log",
        ),
        (
            trace.CoordinatorLoaded("r3", 4, 9, 4, 2, 6),
            f"r3, coordinator of epoch 4, has loaded below 9 ({LOADED})",
        ),
        (
            trace.CoordinatorAnswered("r3", 4, "client 1", "k", (), 9),
            "r3, coordinator of epoch 4, tells client 1 nothing of k, by its log below 9",
        ),
        (
            trace.CoordinatorAnswered(
                "r3", 4, "client 1", "k", (), 9, "COORDINATOR_LOAD_IN_PROGRESS"
            ),
            "r3, coordinator of epoch 4, tells client 1 COORDINATOR_LOAD_IN_PROGRESS",
        ),
        (trace.PrefixDeleted("r1", 7, 9), "r1 starts its log at 7"),
        (
            trace.AppendRefused("r1", "k"),
            "r1 refuses k: its version is below that of a removed tombstone",
        ),
        (
            trace.AppendRefused("r1", "k", "null_value"),
            "r1 refuses k: its null value is not flagged as a delete",
        ),
        (
            trace.AppendRefused("r1", None, "client_version"),
            "r1 refuses a batch: it does not know the producer's version",
        ),
        (
            trace.AppendRefused("r1", None, "not_enough_replicas"),
            "r1 refuses a batch: fewer than min.insync.replicas are in sync",
        ),
        (
            trace.Converted("r1", "c1", 80, ()),
            "r1 writes records in an older format for c1",
        ),
        (
            trace.Converted("r1", "r2", 80, (3,)),
            "r1 writes records in an older format for r2; gone are the values of the deletes at 3",
        ),
        (
            trace.CleaningFailed("r1", 3),
            "r1's pass cannot go on at 3: no more cleaning before a restart",
        ),
        (
            trace.Understood("r1", "c1", (), (Record(3, "k", None),)),
            "c1 takes 0 records for values, 1 for deletes",
        ),
        (
            trace.EpochCacheChanged("r2", (EpochEntry(1, 0), EpochEntry(3, 2))),
            "r2 now knows the epochs 1 from 0, 3 from 2",
        ),
        (trace.EpochCacheChanged("r2", ()), "r2 knows no epoch"),
        (trace.RemovalBoundMoved("r1", 7, 7), "r1 may remove tombstones and markers below 7"),
        (
            trace.RemovalBoundMoved("r1", 7, 2),
            "r1 may remove tombstones below 7 and markers below 2",
        ),
        (trace.ReplicaWiped("r1", "a new disk"), "r1 loses its log: a new disk"),
        (trace.ReplicaRemoved("r1"), "r1 leaves for good"),
        (trace.Quiesced("r1", True), "the cluster is at rest and in sync"),
        (trace.TombstoneProbed("r1", "k"), "TombstoneProbed: replica r1, key k"),
    ],
)
def test_an_event_is_a_sentence(event: Event, sentence: str) -> None:
    assert describe(event) == sentence


def test_every_event_of_random_runs_has_a_sentence_of_its_own() -> None:
    """What has none is shown by its fields, which starts with the name of its class."""
    kinds: set[str] = set()
    for mix in ("storm", "kraft"):
        for seed in range(8):
            events: list[tuple[int, Event]] = []
            run_scenario(generate(seed, Mix.model_validate(mix)), trace=events)
            for _, event in events:
                kinds.add(type(event).__name__)
                assert not describe(event).startswith(type(event).__name__)

    assert len(kinds) > 20


def test_the_lost_tail_is_told_from_the_write_to_the_believed_position() -> None:
    events: list[tuple[int, Event]] = []
    scenario = load_scenario(ROOT / "scenarios/kip280/timed_lost_tail.yaml")
    run = run_scenario(scenario, trace=events)
    (reuse,) = [found for found in run.violations if found.invariant == "no-offset-reuse"]

    lines = explain(events, reuse)

    order = [
        "r1 appends A=a@0",
        "fault partition at r3",
        "r1 appends A=d@3",
        "r1 commits below 4",
        "r1 cleans [3, 4): removes 3 (superseded by 0)",
        "in sync: r1, r2, r3 (r3 joined)",
        "r3 leads epoch 2 from 3",
        "r3 appends E=e@3 in epoch 2",
        "no-offset-reuse: r3 gave offset 3 to E=e",
    ]
    places = [next(n for n, line in enumerate(lines) if words in line) for words in order]
    assert places == sorted(places)
    assert len(lines) <= 30


def test_a_story_is_told_in_steps() -> None:
    run = run_story(load_story(ROOT / "scenarios/transactions/txn_01_abort_marker_lost.yaml"))

    lines = explain(run.events, run.violations[0])

    assert lines[1].split() == ["2", "r1", "appends", "K=d1@0", "in", "epoch", "1"]
    assert lines[-1].split()[:2] == ["15", "txn-marker-safety:"]
