"""The workflow for GitHub Actions is one that GitHub reads, and its commands do what it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sim.cli import new
from sim.cli.new import TEMPLATES
from tests.cli.conftest import SMALL
from tests.commands import ROOT, replog
from tests.suite.red import STORY
from tests.sweeps.fakes import plan_text

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

    assert WORKFLOW.is_relative_to(ROOT / "sim")
    assert set(workflow[True]) == {"push", "pull_request", "workflow_dispatch"}  # `on`, in YAML 1.1
    assert workflow["permissions"] == {"contents": "read"}
    for job in JOBS.values():
        assert job["runs-on"] == "ubuntu-latest"
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))


def test_it_keeps_what_its_command_writes() -> None:
    (command,) = COMMANDS
    steps = [step for job in JOBS.values() for step in job["steps"]]
    (kept,) = (step["with"] for step in steps if "upload-artifact" in step.get("uses", ""))

    written = [command[command.index(f"--{name}") + 1] for name in ("junit", "failures")]
    assert kept["path"].splitlines() == written


def steps_of(workflow: str) -> list[str]:
    """The `run:` steps."""
    jobs = yaml.safe_load(workflow)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def done(step: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Does a step as GitHub would, in a folder; the environment is this one already."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "REPLOG": ""}
    return subprocess.run(
        ["bash", "-e", "-c", step],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def repository(folder: Path) -> str:
    """A repository of somebody else's: a workflow, and what `replog new story` writes."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    assert replog("new", "workflow", "-o", folder / ".github/workflows/replog.yml").status == 0
    assert replog("new", "story", "-o", folder / "scenarios/mine.yaml").status == 0
    workflow = (folder / ".github/workflows/replog.yml").read_text()
    assert workflow == replog("new", "workflow").out == WORKFLOW.read_text(encoding="utf-8")
    return workflow


def test_in_a_repository_that_is_not_this_one_its_steps_do_what_they_say(here: Path) -> None:
    install, *steps = steps_of(repository(here))

    uninstalled, *others = (done(step, here) for step in (install, *steps))

    assert install.startswith("pip install ")
    assert uninstalled.returncode != 0  # nobody has said what to install, and pip does not guess
    assert "REPLOG: " in uninstalled.stderr
    assert {(ended.returncode, ended.stderr) for ended in others} == {(0, "")}
    assert (here / "replog.xml").exists()

    (here / "sweeps").mkdir()
    few = plan_text(**SMALL | {"count": 1, "about": ["log divergence"]})
    (here / "sweeps/mine.yaml").write_text(few)
    ended = done(steps[-1], here)
    assert ended.returncode == 3  # one run of a rule set is too few to tell
    assert "undecided" in ended.stdout
    assert (here / "swept/mine/runs").exists()


def test_what_is_written_says_where_pip_finds_it_where_it_came_from_an_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = "replog[report] @ git+https://git.example/r@872c"
    monkeypatch.setattr(new, "origin", lambda _extra: address)

    (step,) = [
        step
        for step in yaml.safe_load(replog("new", "workflow").out)["jobs"]["scenarios"]["steps"]
        if "REPLOG" in step.get("env", {})
    ]
    assert step["env"]["REPLOG"] == f"${{{{ vars.REPLOG || '{address}' }}}}"


@pytest.mark.parametrize(
    ("files", "status", "told"),
    [
        ({"a.yaml": GREEN, "b.yaml": STORY}, 1, "file=scenarios/b.yaml,line=1,title=shorter%3A"),
        ({"a.yaml": GREEN, "b.yaml": "a: 1\n"}, 2, "file=scenarios/b.yaml,line=1,title=b%3A bad"),
        ({}, 2, None),
    ],
)
def test_a_red_a_misspelt_or_an_empty_repository_fails(
    on_github: Path, files: dict[str, str], status: int, told: str | None
) -> None:
    for name, text in files.items():
        (on_github / "scenarios" / name).write_text(text)

    (answer,) = [replog(*command) for command in COMMANDS]

    assert answer.status == status
    assert (f"::error {told}" in answer.out) == (told is not None)
    evidence = Path("failures/scenarios-b-shorter-leader-completeness/trace.ndjson")
    assert evidence.exists() == (status == 1)
    assert Path("summary.md").exists() == Path("replog.xml").exists() == (files != {})
