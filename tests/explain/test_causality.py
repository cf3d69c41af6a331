"""Happens-before, and the small part of it that led to a violation."""

from functools import cache
from pathlib import Path

import networkx as nx

from sim import trace
from sim.check import Violation
from sim.explain.case import judged_at
from sim.explain.causality import Cone, causal_cone, causal_graph
from sim.explain.past import Became, Past
from sim.log import Record, data_batch
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.story import load_story, run_story
from sim.story.result import StoryRun
from sim.timed_run import run_scenario
from sim.trace import Event

ROOT = Path(__file__).resolve().parents[2]


@cache
def red_stories() -> tuple[StoryRun, ...]:
    paths = sorted((ROOT / "scenarios").rglob("*.yaml"))
    stories = [path for path in paths if "replog-story/1" in path.read_text(encoding="utf-8")]
    runs = [run_story(load_story(path)) for path in stories]
    return tuple(run for run in runs if run.violations)


def batch(offset: int, key: str = "k") -> trace.Appended:
    records = (Record(offset, key, "v", 0, (), uid=offset + 1),)
    return trace.Appended("r1", data_batch(records, epoch=1))


def copy(follower: str, offset: int) -> Event:
    return trace.Copied(follower, "r1", offset, (batch(offset).batch,), offset + 1)


def violation(offset: int | None, *, at: int, replica: str = "r2") -> Violation:
    return Violation("slot-agreement", at, replica, offset, None, f"offset {offset} on {replica}.")


def recorded(*events: Event) -> list[tuple[int, Event]]:
    return list(enumerate(events))


def test_an_event_follows_the_one_before_it_on_its_replica_and_what_was_copied_to_it() -> None:
    graph = causal_graph(recorded(batch(0), batch(1), copy("r2", 0), copy("r2", 1)))

    assert {(a, b): why for a, b, why in graph.edges(data="why")} == {
        (0, 1): "program order on r1",
        (1, 2): "copied from the log of r1",
        (1, 3): "copied from the log of r1",
        (2, 3): "program order on r2",
    }
    assert graph.nodes[2] == {
        "at": 2,
        "event": copy("r2", 0),
        "kind": "Copied",
        "replica": "r2",
    }


def test_other_offsets_lead_to_nothing() -> None:
    events = recorded(*map(batch, range(9)), *(copy("r2", n) for n in range(9)))

    assert causal_cone(events, violation(4, at=17)) == [4, 13, 17]


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

    assert causal_cone(events, violation(1, at=8)) == [0, 2, 4, 5, 6, 7, 8]


def test_a_removed_tombstone_leads_to_the_pass_that_gave_its_batch_a_horizon() -> None:
    first = trace.Cleaned("r1", 0, 2, (), (), (), ((1, 40),), None, 2, 2, (0, 0))
    gone = trace.Removal(1, 2, "k", "tombstone", None)
    second = trace.Cleaned("r1", 2, 2, (gone,), (), (), (), None, 2, 2, (0, 0))
    other = trace.Cleaned("r1", 2, 2, (), (), (), (), None, 2, 2, (0, 0))
    events = recorded(batch(0, "j"), batch(1), first, other, second)

    assert causal_cone(events, violation(1, at=4, replica="r1")) == [1, 2, 4]


def test_a_position_leads_to_the_copy_that_brought_the_follower_there() -> None:
    events = recorded(
        batch(0), batch(1), copy("r2", 0), copy("r2", 1), trace.PositionRecorded("r1", "r2", 3)
    )
    wrong = Violation("follower-position-sound", 4, "r2", 2, None, "r1 believes that r2 has it.")

    assert causal_cone(events, wrong) == [3, 4]


def test_a_violation_knows_the_event_that_showed_it_also_among_those_of_one_moment() -> None:
    events = [(7, copy("r2", 0)), (7, copy("r3", 0)), (7, trace.HighWatermarkMoved("r3", 0, False))]

    assert judged_at(events, violation(0, at=7)._replace(position=1)) == 1
    assert judged_at(events, violation(0, at=7)) == 2, "no checker found it: the last of its time"


def test_in_every_red_story_the_graph_goes_forward_and_the_cone_lies_within_it() -> None:
    assert len(red_stories()) > 100
    for run in red_stories():
        graph = causal_graph(run.events)
        assert all(before < after for before, after in graph.edges)
        assert all(
            graph.nodes[before]["at"] <= graph.nodes[after]["at"] for before, after in graph.edges
        )
        for found in {each.invariant: each for each in run.violations}.values():
            cone = Cone(Past(run.events[: found.position + 1], run.story.rules), found)
            ancestors = cone.evidence.union(*(nx.ancestors(graph, one) for one in cone.evidence))
            assert ancestors.issuperset(cone.positions), (run.story.id, found.invariant)
            assert found.position in cone.positions


def test_of_a_random_run_the_cone_is_small() -> None:
    events: list[tuple[int, Event]] = []
    run = run_scenario(generate(20, Mix.model_validate("storm")), trace=events)
    (found,) = [one for one in run.violations if one.invariant == "no-resurrection"][:1]

    positions = causal_cone(events, found)

    assert len(positions) < len(events) / 20
    assert trace.HighWatermarkMoved("r2", 389, False) in [events[one][1] for one in positions]


def test_it_is_known_what_a_log_held_before_any_event_and_what_made_it_so() -> None:
    gone = trace.Removal(1, 2, "k", "superseded", 2)
    cleaned = trace.Cleaned("r1", 0, 3, (gone,), (), (), (), None, 3, 3, (0, 0))
    cut = trace.Truncated("r2", 0, 1, 0, 0, False)
    past = Past(recorded(batch(0), batch(1), copy("r2", 0), batch(2), cleaned, cut))

    assert [past.uid_at("r1", 1, before) for before in (1, 2, 4, 5)] == [0, 2, 2, 0]
    assert [past.slot("r1", 1, before) for before in (1, 2, 5)] == [None, 1, 4]
    assert past.last_written("r1", 1) == 2
    assert [past.log_end("r2", before) for before in (2, 3, 6)] == [0, 1, 0]
    assert past.fate("r2", 0, None).became is Became.CUT
    assert past.fate("r1", 1, None).became is Became.CLEANED
    assert past.last(trace.Appended, replica="r1", before=3) == 1
    assert list(past.steps) == ["r1", "r2"]
