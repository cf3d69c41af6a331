"""The version and the revision that make a sweep, of a checkout and of an installed package."""

import subprocess
from pathlib import Path

import pytest

from sim import version as module
from sim.version import Made


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_an_installed_package_goes_by_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "sim/version.py"))
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
    monkeypatch.setattr(module, "__file__", str(tmp_path / "sim/version.py"))
    head = git(tmp_path, "rev-parse", "--short", "HEAD").strip()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert module.revision() == head

    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(module.VARIABLE, raising=False)
    assert module.revision() is None


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Made("1.0", "a"), True),
        (Made("1.0", None), True),
        (Made("1.0", "b"), False),
        (Made("1.1", "a"), False),
    ],
)
def test_revisions_are_compared_where_both_are_known(other: Made, *, same: bool) -> None:
    assert Made("1.0", "a").same_as(other) == other.same_as(Made("1.0", "a")) == same
