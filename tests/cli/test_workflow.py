"""The workflow for GitHub Actions is one that GitHub reads, and its commands do what it says."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from sim.cli.new import TEMPLATES
from tests.commands import replog
from tests.suite.red import STORY

WORKFLOW = TEMPLATES / "workflow.yml"
GREEN = STORY.partition("  - elect r2")[0]
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
COMMANDS = [
    shlex.split(line)[1:]
    for job in JOBS.values()
    for step in job["steps"]
    for line in step.get("run", "").splitlines()
    if line.startswith("replog ")
]
"""Its lines that call Replog, in words."""


@pytest.fixture
def on_github(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with an empty folder of scenarios, as GitHub checks it out."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    (here / "scenarios").mkdir()
    return here


def test_it_is_a_workflow_and_lies_where_the_wheel_takes_it() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))

    assert WORKFLOW.is_relative_to(Path(__file__).parents[2] / "sim")
    assert set(workflow[True]) == {"push", "pull_request", "workflow_dispatch"}  # `on`, in YAML 1.1
    assert workflow["permissions"] == {"contents": "read"}
    for job in JOBS.values():
        assert job["runs-on"] == "ubuntu-latest"
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))


def test_a_green_repository_passes(on_github: Path) -> None:
    (on_github / "scenarios/a.yaml").write_text(GREEN)

    assert [replog(*command).status for command in COMMANDS] == [0]


@pytest.mark.parametrize(
    ("files", "status", "told"),
    [
        ({"a.yaml": GREEN, "b.yaml": STORY}, 1, "file=scenarios/b.yaml,line=1,title=shorter%3A"),
        ({"a.yaml": GREEN, "b.yaml": "a: 1\n"}, 2, "file=scenarios/b.yaml,line=1,title=b%3A bad"),
        ({}, 2, None),
    ],
)
def test_a_repository_with_a_red_scenario_a_misspelt_one_or_none_fails(
    on_github: Path, files: dict[str, str], status: int, told: str | None
) -> None:
    for name, text in files.items():
        (on_github / "scenarios" / name).write_text(text)

    (answer,) = [replog(*command) for command in COMMANDS]

    assert answer.status == status
    assert (f"::error {told}" in answer.out) == (told is not None)
    assert Path("failures/shorter-leader-completeness/trace.ndjson").exists() == (status == 1)
    assert Path("summary.md").exists() == Path("replog.xml").exists() == (told is not None)


def test_what_it_keeps_is_what_the_command_writes() -> None:
    (command,) = COMMANDS
    kept = [
        path
        for job in JOBS.values()
        for step in job["steps"]
        if "upload-artifact" in step.get("uses", "")
        for path in step["with"]["path"].splitlines()
    ]

    written = [command[command.index(f"--{name}") + 1] for name in ("junit", "failures")]
    assert written == kept
