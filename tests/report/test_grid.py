"""The grid: what plans of decisions name, and each cell from searches, runs and stories."""

from itertools import combinations
from pathlib import Path

import pytest

from sim.check.checker import known_invariants
from sim.check.registry import declared_family
from sim.check.violation import FAMILIES
from sim.errors import BadInput
from sim.simulate.run.stories import run_story
from sim.study.matrix import judged
from sim.study.report.claims import WORDS_MAX, verdict_of
from sim.study.report.grid import (
    RUNS,
    SEARCH,
    STORY,
    decisions_of,
    grid_of,
    grids_of,
    proven_plans,
    violated_in,
)
from sim.study.report.schedules import story_of
from sim.study.suite.scenario_files import format_of, scenario_files
from sim.study.sweep.hazards import HAZARDS, hazard_of
from sim.study.sweep.plan import load_plan, number_runs
from sim.study.sweep.table import SweepFolder
from tests.commands import ROOT
from tests.report.contradicting import contradictions
from tests.report.folders import MADE, entry, folder_of, pair

PLANS = sorted((ROOT / "scenarios/sweeps").glob("*.yaml"))
TWICE = "offset given twice"
LIKE_ANOTHER = ("kip280_13_retained_loser_stays_with_a_dirty_map",)
"""The same as kip280_72, which is named and has a reader, too."""


def planned(path: Path) -> SweepFolder:
    """A sweep of a plan in which nothing was violated."""
    sweep = number_runs(load_plan(path))
    entries = [entry(one.index, one.label, {"holds": 9}) for one in sweep.rule_sets]
    pairs = [pair(left, right, {}) for left, right in combinations(range(len(entries)), 2)]
    statistics = [{"name": "plain", "rule_sets": entries, "pairs": pairs}]
    return SweepFolder(Path("a sweep"), "a sweep", sweep, MADE, statistics)


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_what_shipped_plans_decide_is_there_and_no_sentence_contradicts_a_cell(path: Path) -> None:
    for grid in grids_of(planned(path)):
        sentences = verdict_of(grid)
        assert contradictions(grid, sentences) == []
        assert max(len(one.text.split()) for one in sentences) <= WORDS_MAX
        assert len(sentences) <= 3
        for kind, names in ((SEARCH, grid.decision.searches), (STORY, grid.decision.stories)):
            assert {one.name for one in grid.units if one.kind == kind} == {*names}
        proven = [one for one in grid.findings if one.unit.kind != RUNS]
        assert {one.evidence for one in proven if not (ROOT / one.evidence).is_file()} == set()
        for label in grid.alternatives:
            assert any(one.alternative == label for one in grid.findings)


@pytest.fixture(scope="module")
def fixes() -> SweepFolder:
    return planned(ROOT / "scenarios/sweeps/leo_fixes.yaml")


def test_the_fixes_are_compared_in_every_kind_of_story_that_tells_them_apart(
    fixes: SweepFolder,
) -> None:
    """No fix is spared a story: where another one ends differently, one that ends so is named."""
    stories = [
        path
        for path in scenario_files(ROOT / "scenarios")
        if format_of(path) == "replog-story/1" and path.stem not in LIKE_ANOTHER
    ]
    ends = {
        path.stem: [
            frozenset(hazard_of(*one) for one in violated_in(str(path), (("fix", fix),)))
            for fix in ("leo_retention", "empty_batch")
        ]
        for path in stories
    }
    named = [ends.get(name) for name in decisions_of(fixes.sweep)[0].stories]

    assert [
        name for name, (leo, empty) in ends.items() if leo != empty and [leo, empty] not in named
    ] == []


def test_the_verdict_on_the_fixes_names_what_one_allows_and_the_other_does_not(
    fixes: SweepFolder,
) -> None:
    differ, closed, kept = (one.text for one in verdict_of(grids_of(fixes, "fixes")[0]))

    added, searches, others = differ.split("; ")
    assert added.startswith(
        'Where "none" holds, empty_batch adds returning deleted keys (deleted_keys and '
        "deleted_keys_three_replicas) and leo_retention adds late writes that outlive deletes"
    )
    assert searches.endswith("(three_replicas) and 3 more under leo_retention, not empty_batch")
    assert others.startswith("of 12 stories ")
    assert "more under leo_retention (finding_01: offsets given twice)" in others
    assert "more under empty_batch (kip280_01: offsets given twice)" in others
    assert "prevent offsets given twice and diverging replicas (two_replicas and 5 more)" in closed
    assert "(pairs) and 2 more" in kept


def test_every_schedule_that_is_proven_breaks_what_it_says() -> None:
    """The shortest of each cell, as a story; those that are not written down are not counted."""
    for plan in proven_plans(ROOT).values():
        for answer in plan["answers"]:
            for invariant, found in answer["breaks"].items():
                if found["schedule"] and plan["plan"] in ("two_replicas", "deleted_keys"):
                    story = story_of(plan, answer["label"], found["schedule"])
                    run = run_story(story, also_check=(invariant,))
                    assert invariant in {one.invariant for one in judged(run, (invariant,))}


def test_a_decision_that_names_what_is_not_there_is_refused(fixes: SweepFolder) -> None:
    with pytest.raises(BadInput, match=r"decision fixs: no such decision \(did you mean 'fixes'"):
        grids_of(fixes, "fixs")
    (decision, *_) = decisions_of(fixes.sweep)
    for other, message in (
        ({"searches": ["two_replica"]}, "two_replica: no search"),
        ({"stories": ["finding_999_nothing"]}, "finding_999_nothing: no shipped story"),
    ):
        named = {"name": "d", "alternatives": decision.alternatives, **other}
        with pytest.raises(BadInput, match=message):
            grid_of(fixes, type(decision)(**named))  # type: ignore[arg-type]


def test_a_plan_that_names_no_decision_is_about_its_rule_sets() -> None:
    rule_sets = [
        {"fix": fix, "strategy": strategy}
        for strategy in ("header", "offset")
        for fix in ("none", "empty_batch")
    ]
    entries = [entry(index, f"{index}", {"holds": 9}) for index in range(4)]
    pairs = [pair(left, right, {}) for left, right in combinations(range(4), 2)]
    out = folder_of(rule_sets, entries, pairs)

    (decision,) = decisions_of(out.sweep)
    assert decision.alternatives == {"none": {"fix": "none"}, "empty_batch": {"fix": "empty_batch"}}
    grid = grid_of(out, decision)
    assert {str(one) for one in grid.units} == {"plain, header", "plain, offset"}
    assert [one.kind for one in grid.units] == [RUNS, RUNS]


def test_each_violation_belongs_to_the_hazard_of_its_invariant_or_of_its_family() -> None:
    names = {one.name for one in HAZARDS}
    invariants = [name for one in HAZARDS for name in one.invariants]

    assert (len(names), len({*invariants})) == (len(HAZARDS), len(invariants))
    assert {one.family for one in HAZARDS} - {""} == {*FAMILIES}
    assert {hazard_of(one, declared_family(one)) for one in known_invariants()} <= names
    assert {*invariants} <= {*known_invariants()}
    assert hazard_of("no-offset-reuse", "log divergence") == TWICE
    assert hazard_of("of a plugin", "in no family") == HAZARDS[-1].name
