"""The search as users have it: the command, its folder, what `import sim` answers, bad plans."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest

import sim
from sim.cli import main
from sim.errors import BadInput
from sim.files.document import Document
from sim.study.explore import answers, witness
from sim.study.explore.page import graph_of, table_of, untouched
from sim.study.explore.plan import plan_in
from tests.plugins.plugged import forgetting_plugins
from tests.schedules.conftest import SMALL_PLAN

PLAN: dict[str, Any] = SMALL_PLAN | {
    "matrix": {"fix": ["none", "leo_retention"]},
    "compare": ["none", "leo_retention"],
}


def _replog(monkeypatch: pytest.MonkeyPatch, *words: object) -> object:
    monkeypatch.setattr(sys, "argv", ["replog", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def _plan(folder: Path, **changes: Any) -> Path:
    path = folder / "plan.yaml"
    path.write_text(json.dumps(PLAN | changes), encoding="utf-8")
    return path


def test_what_breaks_is_written_as_stories_that_run_and_near_misses_that_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    assert _replog(monkeypatch, "explore", _plan(tmp_path), "--out", out) == 0

    assert "none: follower-position-sound after 6 steps" in capsys.readouterr().out
    stories = sorted(out.glob("*/*.yaml"))
    assert len(stories) >= 8
    assert _replog(monkeypatch, "suite", out) == 0
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plan = tmp_path / "out", _plan(tmp_path)
    _replog(monkeypatch, "explore", plan, "--out", out)
    before = (out / "explored.json").read_text()
    monkeypatch.setattr(answers, "Searched", None)

    assert _replog(monkeypatch, "explore", plan, "--out", out, "--resume") == 0
    assert (out / "explored.json").read_text() == before
    assert _replog(monkeypatch, "explore", plan, "--out", out) == 2
    assert "--resume continues it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "told"), [("plan", "is of another plan"), ("made_by", "is of another version")]
)
def test_what_another_plan_or_other_code_has_begun_is_not_gone_on_with(
    name: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, words = tmp_path / "out", ("explore", _plan(tmp_path), "--out", tmp_path / "out")
    assert _replog(monkeypatch, *words, "--seconds", "0.02") == 3
    begun = json.loads((out / "explored.json").read_text())
    (out / "explored.json").write_text(json.dumps(begun | {name: "0"}))

    assert _replog(monkeypatch, *words, "--resume") == 2
    assert told in capsys.readouterr().err


def test_a_search_that_its_bounds_stop_is_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("explore", _plan(tmp_path), "--seconds", "0.02", "--json")

    assert _replog(monkeypatch, *words) == 3
    assert not json.loads(capsys.readouterr().out)["answers"][0]["exhausted"]


def test_what_the_oracle_of_traces_does_not_find_is_told_as_disputed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(witness, "certify", lambda _text: SimpleNamespace(differing=["x"]))

    _replog(monkeypatch, "explore", _plan(tmp_path))

    assert "the oracle of traces does not find it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"world": {"replicas": 2, "isr": ["r3"]}}, 'world.isr[0]: unknown replica "r3"'),
        ({"world": {"replicas": 2, "keys": ["r1"]}}, "are replicas; name keys otherwise"),
        ({"world": {"replicas": 9}}, "world.replicas:"),
        ({"budgets": {"appends": 2}}, "budgets.epochs: missing"),
        ({"compare": ["none", "other"]}, 'unknown label of a rule set "other"'),
        ({"invariants": ["election-safety"]}, "unknown invariant of a search"),
        ({"invariants": []}, "invariants: expected at least 1"),
        ({"world": {"replicas": 2, "versions": [2**70]}}, "world.versions[0]:"),
        ({"worlds": {}}, "worlds: unknown field"),
    ],
)
def test_a_mistake_in_a_plan_is_one_line(
    changes: dict[str, Any],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _replog(monkeypatch, "explore", _plan(tmp_path, **changes)) == 2
    said = capsys.readouterr().err
    assert told in said
    assert "Traceback" not in said


def test_a_notebook_gets_levels_and_a_shortest_schedule_as_a_scenario() -> None:
    explored = sim.explore(PLAN)

    alone = explored.levels[(explored.levels.rules == "none") & (explored.levels.against == "")]
    assert alone.states.sum() == explored.table.states[0]
    assert sim.run(explored.witness("follower-position-sound")).verdict == "violated"
    with pytest.raises(sim.BadInput, match="not broken"):
        explored.witness("slot-agreement")


def test_a_search_that_its_bounds_stopped_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plan = tmp_path / "out", _plan(tmp_path, matrix={"fix": ["none"]}, compare=[])
    whole, words = tmp_path / "whole", ("explore", plan, "--out", out)
    assert _replog(monkeypatch, "explore", plan, "--out", whole) == 0

    assert _replog(monkeypatch, *words, "--seconds", "0.02") == 3
    assert [*out.glob("levels/*/000.npz")]
    assert _replog(monkeypatch, *words) == 2
    assert "--resume continues it" in capsys.readouterr().err
    capsys.readouterr()
    assert _replog(monkeypatch, *words, "--resume") == 0

    said_of_it = capsys.readouterr().err
    assert "0 of 1 searches were done" in said_of_it
    assert "none: continues behind depth " in said_of_it
    assert not (out / "levels").exists()
    said = [json.loads((one / "explored.json").read_text())["answers"] for one in (whole, out)]
    assert [one | {"seconds": 0} for one in said[0]] == [one | {"seconds": 0} for one in said[1]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--engine", "sparks"), "--engine sparks: one of process, spark"),
        (("--master", "local[2]"), "--master local[2]: only with --engine spark"),
        (("--conf", "spark.x=1"), "only Spark has settings"),
        (("--engine", "spark"), "needs a folder for its levels"),
    ],
)
def test_engines_are_told_apart(
    words: tuple[str, ...],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _replog(monkeypatch, "explore", _plan(tmp_path), *words) == 2
    assert told in capsys.readouterr().err


def test_fetches_that_resting_makes_are_not_counted_and_a_story_says_no_more_than_is_so() -> None:
    found = sim.explore(SMALL_PLAN)

    at_rest, at_once = found.witness("leo-convergence"), found.witness("follower-position-sound")

    steps = found.witnesses["rules", "", "leo-convergence"].schedule
    assert steps[-1] == "quiesce"
    assert not steps[-2].startswith("fetch")
    assert at_rest.source == "replog explore"
    assert at_once.source.endswith(
        "no shorter schedule of this world breaks follower-position-sound"
    )


def test_a_rule_that_no_move_of_a_plan_touches_is_named() -> None:
    given = {"matrix": {"flush": ["acknowledged", "on_append"], "fix": ["none", "empty_batch"]}}
    plan = plan_in(Document("plan", SMALL_PLAN | given))
    found = answers.as_document([one for each in answers.explore(plan) for one in each])

    assert untouched(plan, found) == ["flush"]
    assert "No move of this plan touches flush" in table_of(plan.model_dump(mode="json"), found)


def test_the_states_of_a_small_world_are_a_graph_in_which_paths_lead_to_what_breaks() -> None:
    found = sim.explore(SMALL_PLAN)
    graph = found.graph()

    at_once = "follower-position-sound"
    first = [one for one in found.answers[0].witnesses if one.invariant == at_once]
    broken = [edge for *edge, breaks in graph.edges(data="breaks") if at_once in breaks]
    assert min(graph.nodes[before]["depth"] + 1 for before, _ in broken) == first[0].steps
    paths = nx.single_source_shortest_path_length(graph, 0)
    assert {node: graph.nodes[node]["depth"] for node in graph} == paths
    assert any(breaks for _, breaks in graph.nodes(data="breaks"))
    with pytest.raises(BadInput, match="graph: nothing: no such rule set; allowed: rules"):
        found.graph("nothing")


def test_a_world_with_too_many_states_is_no_graph() -> None:
    plan = plan_in(Document("plan", SMALL_PLAN))
    (_, rules), *_ = plan.searched()

    with pytest.raises(BadInput, match="more than 5 states"):
        graph_of(plan.world_of(), rules, most=5)


def test_an_invariant_of_a_plugin_that_is_judged_at_rest_is_searched_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short_logs.py").write_text(
        "from sim.plugins import Invariant, register_invariant\n\n\n"
        "@register_invariant\n"
        "class ShortLogs(Invariant):\n"
        '    """No log has a second offset."""\n\n'
        '    name, source = "short-logs", "an example"\n\n'
        "    def on_quiesced(self, event):\n"
        "        for replica in self.history.replicas.values():\n"
        "            if replica.log_end_offset > 1:\n"
        '                self.violated(f"{replica.name} has two offsets.", replica=replica.name)\n'
    )
    monkeypatch.chdir(tmp_path)
    plan = _plan(tmp_path, invariants=["short-logs"], compare=[])

    with forgetting_plugins():
        assert _replog(monkeypatch, "explore", plan, "--plugin", "short_logs") == 0

    assert "none: short-logs after 3 steps" in capsys.readouterr().out
