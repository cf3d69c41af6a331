"""`replog new`: what it makes runs as expected, meets its schema, and replaces nothing unasked."""

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from sim.cli.new import TEMPLATES
from sim.files.reading import read_document
from sim.files.shipped import shipped_folder
from sim.schemas import SCHEMAS
from sim.sweeps.plan import load_plan, number_runs
from sim.sweeps.work import open_case
from tests.commands import replog


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


@pytest.mark.parametrize("kind", ["story", "scenario", "log", "plan"])
def test_what_is_new_meets_its_schema_and_can_be_given_a_first_line_for_editors(
    here: Path, kind: str
) -> None:
    *_, last = replog("new", kind, "-o", "mine.yaml").out.splitlines()

    named, _, schema = last.partition("$schema=")
    assert named.endswith("# yaml-language-server: ")
    assert Path(schema) == shipped_folder() / "schema.json"
    data = read_document(here / "mine.yaml").data
    assert list(Draft202012Validator(SCHEMAS[kind]()).iter_errors(data)) == []


def test_a_new_workflow_is_the_one_that_is_tested(here: Path) -> None:
    printed = replog("new", "workflow").out

    assert printed == (TEMPLATES / "workflow.yml").read_text(encoding="utf-8")
    assert replog("new", "workflow", "-o", ".github/workflows/replog.yml").status == 0
    assert (here / ".github/workflows/replog.yml").read_text() == printed
    assert "jobs" in yaml.safe_load(printed)


def test_a_file_that_is_there_stays(here: Path) -> None:
    (here / "mine.yaml").write_text("precious")

    refused = replog("new", "story", "-o", "mine.yaml")

    assert refused.status == 2
    assert refused.complaint == "mine.yaml: is there already; give another name"
    assert (here / "mine.yaml").read_text() == "precious"
