"""`replog new`: what it makes runs as expected, meets its schema, and replaces nothing unasked."""

from pathlib import Path

import pytest

from sim.files.reading import read_document
from sim.files.shipped import shipped_folder
from sim.study.sweep.plan import load_plan, number_runs
from sim.study.sweep.work import open_case
from tests.commands import replog
from tests.schemas.test_schemas import wrong


def test_a_new_plan_runs_its_factorial(here: Path) -> None:
    assert replog("new", "plan", "-o", "plan.yaml").status == 0

    sweep = number_runs(load_plan(here / "plan.yaml"))
    run = open_case(sweep, 0)
    assert [rule_set.label for rule_set in sweep.rule_sets][:4] == [
        "header: none",
        "header: leo_retention",
        "header: empty_batch",
        "offset: none",
    ]
    assert {run(rule_set.rules).verdict for rule_set in sweep.rule_sets} <= {"holds", "violated"}


KINDS = ("story", "scenario", "log", "plan", "explore")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_new_begins_with_its_schema_and_meets_it(here: Path, kind: str) -> None:
    replog("new", kind, "-o", "mine.yaml")

    first, *_ = (here / "mine.yaml").read_text().splitlines()
    assert first == f"# yaml-language-server: $schema={shipped_folder() / 'schema.json'}"
    assert Path(first.partition("$schema=")[2]).is_file()
    assert wrong(read_document(here / "mine.yaml").data) == []
    assert replog("new", kind).out == (here / "mine.yaml").read_text()


def test_a_schema_in_the_same_project_is_named_from_the_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the line is good for whoever has the project elsewhere, with its environment."""
    shipped = here / ".venv/sim/shipped"
    shipped.mkdir(parents=True)
    (shipped / "schema.json").write_text("{}")
    monkeypatch.setattr("sim.files.shipped.shipped_folder", lambda: shipped)

    replog("new", "story", "-o", "ours/deep/mine.yaml")

    first, *_ = (here / "ours/deep/mine.yaml").read_text().splitlines()
    named = first.partition("$schema=")[2]
    assert named == "../../.venv/sim/shipped/schema.json"
    assert (here / "ours/deep" / named).is_file()
