"""The search as users have it: the command, its folder, what `import sim` answers."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest

import sim
from sim.errors import BadInput
from sim.files.document import Document
from sim.study.explore import answers, witness
from sim.study.explore.page import graph_of, table_of, untouched
from sim.study.explore.plan import plan_in
from tests.commands import replog
from tests.schedules.conftest import SMALL_PLAN

PLAN: dict[str, Any] = SMALL_PLAN | {
    "matrix": {"fix": ["none", "leo_retention"]},
    "compare": ["none", "leo_retention"],
}
ALONE: dict[str, Any] = {"matrix": {"fix": ["none"]}, "compare": []}
"""What is otherwise in a plan of one search."""


@pytest.fixture(scope="module")
def explored() -> sim.Explored:
    """The search of the small plan."""
    return sim.explore(SMALL_PLAN)


def _plan(folder: Path, **changes: Any) -> Path:
    path = folder / "plan.yaml"
    path.write_text(json.dumps(PLAN | changes), encoding="utf-8")
    return path


def test_what_breaks_is_written_as_stories_that_run_and_near_misses_that_hold(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"

    answer = replog("explore", _plan(tmp_path), "--out", out)

    assert answer.status == 0
    assert "none: follower-position-sound after 6 steps" in answer.out
    stories = sorted(out.glob("*/*.yaml"))
    assert len(stories) >= 8
    assert replog("suite", out).status == 0
    assert replog("suite", out / "none", "--strict").status == 0  # no id is in two files
    found = json.loads((out / "explored.json").read_text())["answers"]
    assert [(one["label"], one.get("against")) for one in found] == [
        ("none", None),
        ("leo_retention", None),
        ("none", "leo_retention"),
        ("leo_retention", "none"),
    ]
    assert all(one["exhausted"] for one in found)
    assert [bool(one["witnesses"]) for one in found] == [True, False, True, False]


def test_a_search_that_is_done_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    words = ("explore", _plan(tmp_path, **ALONE), "--out", out)
    replog(*words)
    before = (out / "explored.json").read_text()
    monkeypatch.setattr(answers, "Searched", None)

    assert replog(*words, "--resume").status == 0
    assert (out / "explored.json").read_text() == before
    again = replog(*words)
    assert again.status == 2
    assert "--resume continues it" in again.err


@pytest.mark.parametrize(
    ("name", "told"), [("plan", "is of another plan"), ("made_by", "is of another version")]
)
def test_what_another_plan_or_other_code_has_begun_is_not_gone_on_with(
    name: str, told: str, tmp_path: Path
) -> None:
    out, words = tmp_path / "out", ("explore", _plan(tmp_path), "--out", tmp_path / "out")
    assert replog(*words, "--seconds", "0.02").status == 3
    begun = json.loads((out / "explored.json").read_text())
    (out / "explored.json").write_text(json.dumps(begun | {name: "0"}))

    answer = replog(*words, "--resume")
    assert answer.status == 2
    assert told in answer.err


def test_what_the_oracle_of_traces_does_not_find_is_told_as_disputed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness, "certify", lambda _text: SimpleNamespace(differing=["x"]))

    answer = replog("explore", _plan(tmp_path, **ALONE))

    assert "the oracle of traces does not find it" in answer.out


def test_a_search_that_its_bounds_stopped_is_inconclusive_and_goes_on(tmp_path: Path) -> None:
    out, plan = tmp_path / "out", _plan(tmp_path, **ALONE)
    whole, words = tmp_path / "whole", ("explore", plan, "--out", out)
    assert replog("explore", plan, "--out", whole).status == 0

    assert replog(*words, "--seconds", "0.02").status == 3
    assert not json.loads((out / "explored.json").read_text())["answers"][0]["exhausted"]
    assert [*out.glob("levels/*/000.npz")]
    assert replog(*words).status == 2
    resumed = replog(*words, "--resume")

    assert resumed.status == 0
    assert "0 of 1 searches were done" in resumed.err
    assert "none: continues behind depth " in resumed.err
    assert not (out / "levels").exists()
    said = [json.loads((one / "explored.json").read_text())["answers"] for one in (whole, out)]
    assert [one | {"seconds": 0} for one in said[0]] == [one | {"seconds": 0} for one in said[1]]


def test_fetches_that_resting_makes_are_not_counted_and_a_story_says_no_more_than_is_so(
    explored: sim.Explored,
) -> None:
    with pytest.raises(sim.BadInput, match="not broken"):
        explored.witness("slot-agreement")
    at_rest = explored.witness("leo-convergence")
    at_once = explored.witness("follower-position-sound")

    steps = explored.witnesses["rules", "", "leo-convergence"].schedule
    assert steps[-1] == "quiesce"
    assert not steps[-2].startswith("fetch")
    assert at_rest.source == "replog explore"
    assert at_once.source.endswith(
        "no shorter schedule of this world breaks follower-position-sound"
    )


def test_no_schedule_is_longer_than_the_plan_says() -> None:
    plan = plan_in(Document("plan", SMALL_PLAN | {"depth": 6}))
    [[answer]] = answers.explore(plan)

    assert {one.steps for one in answer.witnesses if one.steps > 6} == set()
    assert "follower-position-sound" in {one.invariant for one in answer.witnesses}


def test_a_rule_that_no_move_of_a_plan_touches_is_named() -> None:
    given = {"matrix": {"flush": ["acknowledged", "on_append"], "fix": ["none", "empty_batch"]}}
    plan = plan_in(Document("plan", SMALL_PLAN | given))
    found = answers.as_document([one for each in answers.explore(plan) for one in each])

    assert untouched(plan, found) == ["flush"]
    assert "No move of this plan touches flush" in table_of(plan.model_dump(mode="json"), found)


def test_the_states_of_a_small_world_are_a_graph_in_which_paths_lead_to_what_breaks(
    explored: sim.Explored,
) -> None:
    graph = explored.graph()

    at_once = "follower-position-sound"
    first = [one for one in explored.answers[0].witnesses if one.invariant == at_once]
    broken = [edge for *edge, breaks in graph.edges(data="breaks") if at_once in breaks]
    assert min(graph.nodes[before]["depth"] + 1 for before, _ in broken) == first[0].steps
    paths = nx.single_source_shortest_path_length(graph, 0)
    assert {node: graph.nodes[node]["depth"] for node in graph} == paths
    assert any(breaks for _, breaks in graph.nodes(data="breaks"))
    with pytest.raises(BadInput, match="graph: nothing: no such rule set; allowed: rules"):
        explored.graph("nothing")


def test_a_world_with_too_many_states_is_no_graph() -> None:
    plan = plan_in(Document("plan", SMALL_PLAN))
    (_, rules), *_ = plan.searched()

    with pytest.raises(BadInput, match="more than 5 states"):
        graph_of(plan.world_of(), rules, most=5)
