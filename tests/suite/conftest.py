"""Folders of small scenario files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sim.study.suite import CaseResult, collect, run_suite
from tests.suite.red import RED

GOOD = "format: replog-story/1\nreplicas: [r1]\nsteps:\n  - elect r1 1\n"

Fill = Callable[..., Path]


@pytest.fixture
def fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fill:
    """Makes a folder `s` below the current one with these files: path = text."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)

    def make(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = Path("s", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Path("s")

    return make


@pytest.fixture
def results(fill: Fill) -> list[CaseResult]:
    """A green file, a red one of each kind, and one that is misspelt."""
    files = {"a.yaml": GOOD, **RED, "z.yaml": "title: x\nformat: replog-sory/1\n"}
    return list(run_suite(collect([fill(files)])))
