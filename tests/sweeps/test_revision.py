"""Which revision made a sweep: that of the checkout, or what an installed package is told."""

import subprocess
from pathlib import Path

import pytest

from sim.study.sweep import revision as module


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_an_installed_package_goes_by_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "sim/study/sweep/revision.py"))
    monkeypatch.delenv(module.VARIABLE, raising=False)
    assert module.revision() is None

    monkeypatch.setenv(module.VARIABLE, "v1-3-gabc")
    assert module.revision() == "v1-3-gabc"


def test_the_checkout_is_the_one_of_this_package_even_inside_a_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook of git has variables that name its repository."""
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "one")
    monkeypatch.setattr(module, "__file__", str(tmp_path / "sim/study/sweep/revision.py"))
    head = git(tmp_path, "rev-parse", "--short", "HEAD").strip()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    assert module.revision() == head
