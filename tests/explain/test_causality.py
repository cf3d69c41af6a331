"""The small part of a run that led to a violation."""

from pathlib import Path

import networkx as nx
import pytest

import sim
from sim.check import Violation
from sim.diagnose.explain.case import Case, judged_at
from sim.diagnose.explain.causality import causal_cone, causality
from sim.diagnose.explain.past import Became, Past, Recorded
from sim.diagnose.explain.state import _lacks_winner, _passed_over, kept_loser
from sim.protocol.events import (
    Appended,
    Event,
    HighWatermarkMoved,
    LogEmptied,
    LogStartedAfresh,
    ReplicaAdded,
    ReplicaWiped,
    SnapshotInstalled,
    SnapshotTaken,
)
from sim.protocol.events.sentences import describe
from sim.simulate.run.timed import run_scenario
from tests.check.events import batch
from tests.check.text import cases_of
from tests.shrink.cases import AT_ONCE

ROOT = Path(__file__).resolve().parents[2]
RUNS = {case.name: case.happened() for case in cases_of("runs.txt", Path(__file__).parent)}
"""Short runs, whose events happen at 1, 2, 3, ..., and are at the positions 0, 1, 2, ..."""


def violation(offset: int, at: int) -> Violation:
    return Violation("slot-agreement", at, "r2", offset, None, f"offset {offset} on r2.")


def cone(events: Recorded, found: Violation) -> list[int]:
    return causal_cone(Case(Past(events), found), found)


def test_the_cone_as_a_graph_says_why_each_event_is_in_it_and_can_be_written() -> None:
    events, found = RUNS["cut"], violation(1, 12)

    graph = causality(Past(events), found)

    assert sorted(graph) == cone(events, found) == [3, 5, 7, 8, 9, 10, 11]
    assert graph.edges[10, 11]["why"] == "message", "its leader had it cut the log"
    assert graph.edges[5, 7]["why"] == "copy"
    assert graph.edges[3, 5]["why"] == "decided by"
    assert graph.nodes[7]["offset"] == 1
    assert (graph.nodes[7]["time"], graph.nodes[7]["replica"]) == (8, "r2")
    assert graph.nodes[7]["sentence"] == describe(events[7][1])
    assert (graph.nodes[7]["message"], graph.nodes[5]["message"]) == ("r1 to r2", "")
    assert 3 in nx.ancestors(graph, 11)
    assert nx.is_directed_acyclic_graph(graph)
    assert "decided by" in "".join(nx.generate_graphml(graph))


def test_the_graph_of_a_run_ends_at_the_event_that_showed_the_violation() -> None:
    run = sim.run(ROOT / "scenarios/kip280/kip280_15_believed_position_hw_truncation_no_fix.yaml")
    graph = run.causality("no-offset-reuse")

    assert [*graph] == list(run.explain("no-offset-reuse").as_json()["cone"])
    assert {max(graph)} == {node for node in graph if not graph.out_degree(node)}


def test_a_violation_knows_the_event_that_showed_it_also_among_those_of_one_moment() -> None:
    events = [(7, event) for _, event in RUNS["cut"][-3:]]

    assert judged_at(events, violation(0, 7)._replace(position=1)) == 1
    assert judged_at(events, violation(0, 7)) == 2, "no checker found it: the last of its time"


def test_of_a_random_run_the_cone_is_small() -> None:
    run = run_scenario(AT_ONCE, keep_events=True)
    events = run.events
    found = next(one for one in run.violations if one.invariant == "no-resurrection")

    positions = cone(events, found)

    assert len(positions) < len(events) / 20
    assert HighWatermarkMoved("r3", 255, False) in [events[one][1] for one in positions]


def test_a_fault_lasts_until_its_own_end_and_an_instant_one_does_not() -> None:
    events = RUNS["faults"]
    past = Past(events).until(len(events))

    lasting = [past.lasting_fault("r2", before) for before in range(3, len(events) + 1)]
    assert lasting == [None, 3, 4, 4, 3, 3, None]
    found = violation(0, 8)
    assert cone(events[:-1], found) == [3, 7]
    assert Case(past, found).fault("r2", 8) == " (partition at step 4: alone_for_5_ms)"


@pytest.mark.parametrize(
    "gone",
    [
        ReplicaWiped("r1", "a new disk"),
        LogEmptied("r1", 9, 1, 2, 2),
        LogStartedAfresh("r1", 5, 2, 2),
        SnapshotInstalled("r1", 1, 1, (), 2, 2, leading=False),
        ReplicaAdded("r1"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_snapshot_is_the_newest_until_its_disk_or_its_log_is_replaced(gone: Event) -> None:
    taken = SnapshotTaken("r1", 2, 1, ())
    events = list(enumerate([event for _, event in RUNS["later"][:5]] + [taken, gone]))
    past = Past(events).until(len(events))
    installed = (1, 1) if isinstance(gone, SnapshotInstalled) else None

    assert [past.newest_snapshot("r1", before) for before in (5, 6, 7)] == [None, (2, 1), installed]


def test_a_record_without_a_key_is_of_no_key_not_of_the_empty_one() -> None:
    added = [Appended("r1", batch(0, None)), Appended("r1", batch(1, ""))]
    past = Past([*RUNS["cut"][:3], *enumerate(added, 4)]).until(5)

    assert (past.uids_of(None), past.uids_of("")) == ([], [101])
    assert past.history.beating(100) == []


def test_a_state_before_a_position_is_explained_by_nothing_after_it() -> None:
    past = Past(RUNS["later"])
    case, late = (Case(past, violation(1, at)._replace(replica="r1")) for at in (6, 8))

    assert "crashed" in kept_loser(late, 5, 100, 101).text
    assert "crashed" not in kept_loser(case, 5, 100, 101).text
    assert _passed_over(late, 100, 101, 6) != []
    assert _passed_over(late, 100, 101, 5) == []
    assert "above its high watermark 0" in _lacks_winner(late, 101, 7)[0].text


def test_it_is_known_what_a_log_held_before_any_event_and_what_made_it_so() -> None:
    events = RUNS["held"]
    past = Past(events).until(len(events))

    assert [past.uid_at("r1", 1, before) for before in (4, 5, 7, 8)] == [0, 101, 101, 0]
    assert [past.slot("r1", 1, before) for before in (4, 5, 8)] == [None, 4, 7]
    assert past.last_written("r1", 1) == 101
    assert [past.log_end("r2", before) for before in (5, 6, 9)] == [0, 1, 0]
    assert past.fate("r2", 0, None).became is Became.CUT
    assert past.fate("r1", 1, None).became is Became.CLEANED
    assert past.last(Appended, replica="r1", before=6) == 4
    assert list(past.steps) == ["r1", "r2", "r3"]
