"""One small sweep for all tests of the facade, and a story that violates."""

import pytest

import sim
from tests.commands import ROOT, python

PLAN = ROOT / "scenarios/sweeps/demo.yaml"
SCRIPT = """\
import doctest
from sim.api import sweeps

print("run once:", doctest.testmod(sweeps, optionflags=doctest.NORMALIZE_WHITESPACE))
"""


@pytest.fixture(scope="session")
def printed_and_swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, sim.Sweep]:
    """What a script without a guard printed, which runs the examples of `sweep`, and their sweep.

    Four cases; in one of them a committed offset is given twice without a fix, in others a deleted
    key returns whatever the fix.
    """
    folder = tmp_path_factory.mktemp("facade")
    (folder / "scenarios").symlink_to(ROOT / "scenarios")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    ended = python(script, cwd=folder)
    assert ended.status == 0, ended.err
    return ended.out, sim.open_sweep(folder / "my_sweep")


@pytest.fixture(scope="session")
def swept(printed_and_swept: tuple[str, sim.Sweep]) -> sim.Sweep:
    """The sweep alone."""
    return printed_and_swept[1]


@pytest.fixture(scope="session")
def reused(swept: sim.Sweep) -> sim.Run:
    """A run in which a committed offset is given twice."""
    return swept.failures().where(invariant="no-offset-reuse", fix="none").first()
