"""Which revision made a sweep: that of the checkout, or what an installed package is told."""

from pathlib import Path

import pytest

from sim.sweeps import revision as module
from sim.sweeps.output import describe
from sim.sweeps.plan import number_runs
from tests.sweeps.fakes import plan


def test_an_installed_package_goes_by_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "sim/sweeps/revision.py"))
    monkeypatch.delenv(module.VARIABLE, raising=False)
    assert module.revision() is None

    monkeypatch.setenv(module.VARIABLE, "v1-3-gabc")
    assert module.revision() == "v1-3-gabc"


def test_a_checkout_goes_by_git_and_without_it_by_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()  # no repository that git knows
    monkeypatch.setattr(module, "__file__", str(tmp_path / "sim/sweeps/revision.py"))
    monkeypatch.setenv(module.VARIABLE, "v1-3-gabc")

    assert module.revision() == "v1-3-gabc"


def test_the_folder_of_a_sweep_says_it() -> None:
    assert describe(number_runs(plan()))["revision"] == module.revision()
