"""The small part of a run that led to a violation."""

from pathlib import Path

import pytest

from sim import trace
from sim.check import Violation
from sim.explain.case import Case, judged_at
from sim.explain.causality import causal_cone
from sim.explain.past import Became, Past, Recorded
from sim.log import Record, data_batch
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.story import load_story, run_story
from sim.timed_run import run_scenario
from sim.trace import Event

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def batch(offset: int, key: str = "k") -> trace.Appended:
    records = (Record(offset, key, "v", 0, (), uid=offset + 1),)
    return trace.Appended("r1", data_batch(records, epoch=1))


def copy(follower: str, offset: int) -> Event:
    return trace.Copied(follower, "r1", offset, (batch(offset).batch,), offset + 1)


def violation(offset: int | None, *, at: int, replica: str = "r2") -> Violation:
    return Violation("slot-agreement", at, replica, offset, None, f"offset {offset} on {replica}.")


def recorded(*events: Event) -> list[tuple[int, Event]]:
    return list(enumerate((*map(trace.ReplicaAdded, ("r1", "r2", "r3")), *events)))


def cone(events: Recorded, found: Violation) -> list[int]:
    return causal_cone(Case(events, found, None).past, found)


def test_a_lost_record_leads_to_the_cut_and_the_cut_to_the_election() -> None:
    events = recorded(
        trace.LeaderElected("r1", 1, 0, ("r1", "r2"), ("r1", "r2")),
        batch(0),
        batch(1),
        copy("r2", 0),
        copy("r2", 1),
        trace.FaultInjected("r1", "crash", "down for 5 ms"),
        trace.ReplicaCrashed("r1", 2, 1),
        trace.LeaderElected("r3", 2, 0, ("r3",), ("r1", "r2", "r3")),
        trace.Truncated("r2", 1, 2, 1, 0, False),
    )

    assert cone(events, violation(1, at=11)) == [3, 5, 7, 8, 9, 10, 11]


def test_a_violation_knows_the_event_that_showed_it_also_among_those_of_one_moment() -> None:
    events = [(7, copy("r2", 0)), (7, copy("r3", 0)), (7, trace.HighWatermarkMoved("r3", 0, False))]

    assert judged_at(events, violation(0, at=7)._replace(position=1)) == 1
    assert judged_at(events, violation(0, at=7)) == 2, "no checker found it: the last of its time"


CONES = [
    (
        "findings/finding_16_ghost_behind_a_snapshot",
        "materialized-state-equivalence",
        "3 10 13 15 16 18 19 20 22 23 24 25 26 32 33 35 36 37 39 40",
    ),
    (
        "kip534/kip534_07_coordination_does_not_move_the_clock",
        "consumer-tombstone-visibility",
        "2 3 4 5 7 8 9 10 11 12 13 15 16 18",
    ),
    (
        "truncation/log_start_02_truncation_to_the_log_start",
        "no-truncation-below-hw",
        "2 8 10 11 12 13 14 15 16 18",
    ),
    (
        "kip630/coord_05_expired_group_returns",
        "coordinator-serves-loaded",
        "3 5 7 8 9 12 14 15 16 18 19 20 23 24 25 26 27 28 29 30 31 32 33 34",
    ),
    (
        "kip280/kip280_81_late_version_shown_until_the_next_write",
        "no-transient-resurrection",
        "1 4 5 8 9 10 11 14 15",
    ),
    (
        "kip630/kip630_18_an_aborted_delete_saves_nobody",
        "materialized-state-equivalence",
        "3 4 5 6 8 9 11 12 13 17 19 21 22 24 25 26 27 29 30 32",
    ),
    (
        "snapshots/snap_18_whatever_arrives_is_installed",
        "snapshot-never-regresses",
        "4 11 12 13 15 19 20 22 23 27 29 30 31 32",
    ),
    ("readers/readers_12_position_never_reaches_the_end", "reader-reaches-end", "1 7 10 11"),
    ("kip280/kip280_49_cleaning_moves_the_log_end", "leo-preservation", "1 2 4 5 6"),
    (
        "durability/files_01_file_of_epochs_is_behind",
        "no-truncation-below-hw",
        "9 10 12 13 14 15 18 19",
    ),
    (
        "kip534/kip534_04_merged_segment_never_looks_old",
        "tombstone-eventually-removed",
        "1 2 3 4 5 8 13 14 15",
    ),
    (
        "kip630/kip630_20_the_newer_value_is_aborted",
        "tombstone-safety",
        "3 9 10 15 17 19 20 22 23 25 26 27 29",
    ),
]
"""Together they follow whatever a story can show."""


@pytest.mark.parametrize(("name", "invariant", "positions"), CONES)
def test_the_cone_of_a_story(name: str, invariant: str, positions: str) -> None:
    run = run_story(load_story(SCENARIOS / f"{name}.yaml"))
    found = next(each for each in run.violations if each.invariant == invariant)

    assert " ".join(map(str, cone(run.events, found))) == positions


def test_of_a_random_run_the_cone_is_small() -> None:
    events: list[tuple[int, Event]] = []
    run = run_scenario(generate(20, Mix.model_validate("storm")), trace=events)
    (found,) = [one for one in run.violations if one.invariant == "no-resurrection"][:1]

    positions = cone(events, found)

    assert len(positions) < len(events) / 20
    assert trace.HighWatermarkMoved("r2", 389, False) in [events[one][1] for one in positions]


def test_it_is_known_what_a_log_held_before_any_event_and_what_made_it_so() -> None:
    gone = trace.Removal(1, 2, "k", "superseded", 2)
    cleaned = trace.Cleaned("r1", 0, 3, (gone,), (), (), (), None, 3, 3, (0, 0))
    cut = trace.Truncated("r2", 0, 1, 0, 0, False)
    past = Past(recorded(batch(0), batch(1), copy("r2", 0), batch(2), cleaned, cut))

    assert [past.uid_at("r1", 1, before) for before in (4, 5, 7, 8)] == [0, 2, 2, 0]
    assert [past.slot("r1", 1, before) for before in (4, 5, 8)] == [None, 4, 7]
    assert past.last_written("r1", 1) == 2
    assert [past.log_end("r2", before) for before in (5, 6, 9)] == [0, 1, 0]
    assert past.fate("r2", 0, None).became is Became.CUT
    assert past.fate("r1", 1, None).became is Became.CLEANED
    assert past.last(trace.Appended, replica="r1", before=6) == 4
    assert list(past.steps) == ["r1", "r2", "r3"]
