"""What lies in the current folder is not imported in the place of a library, by any process."""

from pathlib import Path

import pytest

from tests.commands import python
from tests.plugins.plugged import PAIR, with_plugins

LIBRARIES = ("yaml", "pydantic", "msgspec", "rich", "simpy", "pandas", "pyarrow", "matplotlib")
STANDARD = ("multiprocessing", "pickle", "struct", "signal", "random", "json", "socket", "tempfile")
COMMAND = "from sim.cli import main\nif __name__ == '__main__':\n    main()\n"
AN_IMPORT = "open(__file__ + '.imported', 'w').close()\nraise SystemExit('shadowed')\n"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder with a file for each library, and one that calls itself an installed package."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    with_plugins(foreign)
    for name in (*LIBRARIES, *STANDARD, "installed"):
        (foreign / f"{name}.py").write_text(AN_IMPORT)
    info = foreign / "installed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[replog.plugins]\ninstalled = installed\n")
    for name in ("one", "two"):
        (foreign / f"{name}.yaml").write_text(PAIR.replace("id: longest", f"id: {name}"))
    (tmp_path / "replog").write_text(COMMAND)
    return foreign


def assert_runs_in(foreign: Path, *command: str) -> None:
    done = python(*command, cwd=foreign)
    assert (done.status, list(foreign.glob("*.imported"))) == (0, []), done.err


def test_python_m_sim_imports_none_of_them(foreign: Path) -> None:
    for module in STANDARD:  # which Python itself imports before it comes to us
        (foreign / f"{module}.py").unlink()
    assert_runs_in(foreign, "-m", "sim", "run", "one.yaml", "--plugin", "longest")


def test_neither_the_command_nor_its_workers_import_one_of_them(foreign: Path) -> None:
    """Python looks for what a new process needs in the current folder first, unless it is told."""
    suite = ("suite", "one.yaml", "two.yaml", "-j", "2", "--plugin", "longest")
    assert_runs_in(foreign, "../replog", *suite)
