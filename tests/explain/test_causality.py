"""The small part of a run that led to a violation."""

from pathlib import Path

import networkx as nx

import sim
from sim.check import Violation
from sim.diagnose.explain.case import Case, judged_at
from sim.diagnose.explain.causality import as_dot, causal_cone, causality
from sim.diagnose.explain.past import Became, Past, Recorded
from sim.protocol.events import (
    Appended,
    Cleaned,
    Copied,
    Event,
    FaultInjected,
    HighWatermarkMoved,
    LeaderElected,
    Removal,
    ReplicaAdded,
    ReplicaCrashed,
    Truncated,
)
from sim.protocol.events.sentences import describe
from sim.simulate.run.timed import run_scenario
from tests.check.events import batch
from tests.shrink.cases import AT_ONCE

ROOT = Path(__file__).resolve().parents[2]
START = (*map(ReplicaAdded, ("r1", "r2", "r3")),)


def append(offset: int) -> Event:
    return Appended("r1", batch(offset, "k"))


def copy(follower: str, offset: int) -> Event:
    return Copied(follower, "r1", offset, (batch(offset, "k"),), offset + 1)


def violation(offset: int, at: int) -> Violation:
    return Violation("slot-agreement", at, "r2", offset, None, f"offset {offset} on r2.")


def cone(events: Recorded, found: Violation) -> list[int]:
    return causal_cone(Case(Past(events), found), found)


def test_a_lost_record_leads_to_the_cut_and_the_cut_to_the_election() -> None:
    events = [
        *START,
        LeaderElected("r1", 1, 0, ("r1", "r2"), ("r1", "r2")),
        *(append(0), append(1), copy("r2", 0), copy("r2", 1)),
        FaultInjected("r1", "crash", "down for 5 ms"),
        ReplicaCrashed("r1", 2, 1),
        LeaderElected("r3", 2, 0, ("r3",), ("r1", "r2", "r3")),
        Truncated("r2", 1, 2, 1, 0, False),
    ]

    assert cone(list(enumerate(events)), violation(1, 11)) == [3, 5, 7, 8, 9, 10, 11]


def test_the_cone_as_a_graph_says_why_each_event_is_in_it_and_can_be_written() -> None:
    copied = copy("r2", 1)
    events = list(
        enumerate(
            [
                *START,
                LeaderElected("r1", 1, 0, ("r1", "r2"), ("r1", "r2")),
                *(append(0), append(1), copy("r2", 0), copied),
                LeaderElected("r3", 2, 0, ("r3",), ("r1", "r2", "r3")),
                Truncated("r2", 1, 2, 1, 0, False),
            ]
        )
    )
    found = violation(1, 9)

    graph = causality(Past(events), found)

    assert sorted(graph) == cone(events, found)
    assert graph.edges[8, 9]["why"] == "message", "its leader had it cut the log"
    assert graph.edges[5, 7]["why"] == "copy"
    assert graph.edges[3, 5]["why"] == "decided by"
    assert graph.nodes[7]["offset"] == 1
    assert (graph.nodes[7]["time"], graph.nodes[7]["replica"]) == (7, "r2")
    assert graph.nodes[7]["sentence"] == describe(copied)
    assert (graph.nodes[7]["message"], graph.nodes[5]["message"]) == ("r1 to r2", "")
    assert 3 in nx.ancestors(graph, 9)
    assert nx.is_directed_acyclic_graph(graph)
    assert "decided by" in "".join(nx.generate_graphml(graph))
    assert '  8 -> 9 [label="message"];' in as_dot(graph).splitlines()


def test_the_graph_of_a_run_ends_at_the_event_that_showed_the_violation() -> None:
    run = sim.run(ROOT / "scenarios/kip280/kip280_15_believed_position_hw_truncation_no_fix.yaml")
    graph = run.causality("no-offset-reuse")

    assert [*graph] == list(run.explain("no-offset-reuse").as_json()["cone"])
    assert {max(graph)} == {node for node in graph if not graph.out_degree(node)}


def test_a_violation_knows_the_event_that_showed_it_also_among_those_of_one_moment() -> None:
    events = [(7, copy("r2", 0)), (7, copy("r3", 0)), (7, HighWatermarkMoved("r3", 0, False))]

    assert judged_at(events, violation(0, 7)._replace(position=1)) == 1
    assert judged_at(events, violation(0, 7)) == 2, "no checker found it: the last of its time"


def test_of_a_random_run_the_cone_is_small() -> None:
    run = run_scenario(AT_ONCE, keep_events=True)
    events = run.events
    found = next(one for one in run.violations if one.invariant == "no-resurrection")

    positions = cone(events, found)

    assert len(positions) < len(events) / 20
    assert HighWatermarkMoved("r3", 255, False) in [events[one][1] for one in positions]


def test_it_is_known_what_a_log_held_before_any_event_and_what_made_it_so() -> None:
    gone = Removal(1, 101, "k", "superseded", 2)
    cleaned = Cleaned("r1", 0, 3, (gone,), (), (), (), None, 3, 3, (0, 0))
    cut = Truncated("r2", 0, 1, 0, 0, False)
    events = [*START, append(0), append(1), copy("r2", 0), append(2), cleaned, cut]
    past = Past(list(enumerate(events))).until(len(events))

    assert [past.uid_at("r1", 1, before) for before in (4, 5, 7, 8)] == [0, 101, 101, 0]
    assert [past.slot("r1", 1, before) for before in (4, 5, 8)] == [None, 4, 7]
    assert past.last_written("r1", 1) == 101
    assert [past.log_end("r2", before) for before in (5, 6, 9)] == [0, 1, 0]
    assert past.fate("r2", 0, None).became is Became.CUT
    assert past.fate("r1", 1, None).became is Became.CLEANED
    assert past.last(Appended, replica="r1", before=6) == 4
    assert list(past.steps) == ["r1", "r2", "r3"]
