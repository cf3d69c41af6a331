"""What gates say of a sweep: outcomes, lines, JSON, Markdown, and what they refuse."""

import json

import pytest

from sim.check.violation import READERS
from sim.study.gates import Budget, Gates, budget_in, judge
from tests.gates.planted import folder


def test_one_run_is_enough_to_fail_a_gate_on_none_and_it_is_the_one_to_replay() -> None:
    sweep = folder({"none": {READERS: 1}, "empty_batch": {}}, cases=1_000)

    verdict = judge(sweep, Gates(fail_on=(READERS,)))

    assert [one.outcome for one in verdict.findings] == ["failed", "passed"]
    assert verdict.outcome == "failed"
    assert verdict.reproduce == "replog run nowhere 4"
    *_, passed, failed, summary = verdict.lines()
    assert failed == ("FAILED    fail-on readers [none]: 1 of 1,000 runs (0.10 %); first in run 4")
    assert passed == (
        "passed    fail-on readers [empty_batch]: none of 1,000 runs; "
        "a rate of up to 0.30 % is not excluded"
    )
    assert summary == "gates failed: 2 comparisons, 1 passed, 1 failed (level 5.00 %)"


def test_each_annotation_shows_a_run_of_its_own() -> None:
    sweep = folder({"none": {READERS: 1}, "empty_batch": {READERS: 1}}, cases=1_000)

    verdict = judge(sweep, Gates(fail_on=(READERS,)))
    shown = tuple(one._replace(shows=run) for run, one in enumerate(verdict.findings, start=4))

    annotations = list(verdict._replace(findings=shown).error_commands())

    assert [line.rpartition("replog run ")[2] for line in annotations] == [
        "nowhere 4",
        "nowhere 5",
    ]


def test_every_environment_is_judged_by_itself() -> None:
    sweep = folder({"none": {READERS: 9}}, cases=100, environments=("plain", "hunted"))

    both = judge(sweep, Gates(budgets=(Budget(READERS, 0.02),)))

    assert [found.place for found in both.findings] == ["none, plain", "none, hunted"]


@pytest.mark.parametrize("name", ["any", "about", READERS, "consistent-read"])
def test_a_gate_is_on_a_family_an_invariant_anything_or_what_the_plan_is_about(name: str) -> None:
    sweep = folder({"none": {READERS: 2, "consistent-read": 2}}, cases=100, about=(READERS,))
    sweep.statistics[0]["rule_sets"][0]["counts"]["about"] = {"any": {"runs": 2, "first_run": 4}}

    (found,) = judge(sweep, Gates(fail_on=(name,))).findings

    assert (found.violated, found.outcome) == (2, "failed")


def test_a_budget_fails_where_the_runs_show_it_and_corrects_for_many() -> None:
    # 16 of 200 is above 5 % with p = 0.044: enough for one rule set, not for the best of four.
    one = judge(folder({"a": {READERS: 16}}, cases=200), Gates(budgets=(Budget(READERS, 0.05),)))
    many = folder({label: {READERS: 16} for label in "abcd"}, cases=200)
    four = judge(many, Gates(budgets=(Budget(READERS, 0.05),)))

    assert [found.outcome for found in one.findings] == ["failed"]
    assert [found.outcome for found in four.findings] == ["undecided"] * 4
    assert four.findings[0].adjusted_p == pytest.approx(4 * (four.findings[0].p or 0))
    assert "above the budget (p = 0.04" in one.findings[0].text


def test_runs_without_a_verdict_decide_nothing() -> None:
    sweep = folder({"none": {}}, cases=50, unjudged=50)

    verdict = judge(sweep, Gates(fail_on=("any",), budgets=(Budget("any", 0.5),)))

    assert [found.outcome for found in verdict.findings] == ["undecided", "undecided"]
    assert verdict.findings[0].text == "fail-on any [none]: no run was judged: nothing is decided"


def test_the_verdict_as_json_and_as_markdown() -> None:
    sweep = folder({"a|b": {READERS: 3}}, cases=100)
    verdict = judge(sweep, Gates(fail_on=(READERS,), budgets=(budget_in("readers = 0.5 %"),)))

    document = json.loads(json.dumps(verdict.as_document()))
    page = verdict.as_markdown()

    assert (document["gates"], document["reproduce"]) == ("failed", "replog run nowhere 4")
    first, second = document["findings"]
    assert (first["violated"], first["judged"], first["shows"]) == (3, 100, 4)
    assert (second["gate"], second["limit"]) == ("budget readers=0.50 %", 0.005)
    assert (second["rule_set"], second["outcome"]) == ("a|b", "failed")
    assert page.splitlines()[0] == "### gates failed: 2 comparisons, 2 failed (level 5.00 %)"
    assert (
        "| **failed** | fail-on readers | a\\|b | 3 of 100 runs (3.00 %); first in run 4 |" in page
    )
    assert "Reproduce: `replog run nowhere 4`" in page
