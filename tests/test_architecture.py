"""The layers of the design hold, and the contracts that say so can fail.

The contracts themselves are in `pyproject.toml`, section `[tool.importlinter]`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import grimp
import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the `sim` package and the contracts of `folder`."""
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to break."""
    shutil.copytree(ROOT / "sim", tmp_path / "sim", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_a_layer_imports_only_from_below() -> None:
    result = lint_imports(ROOT)

    assert result.returncode == 0, result.stdout


IMPORTS = [
    (
        "sim/protocol/log/record.py",
        "sim.protocol.compaction.cleaner",
        "A room imports only from the rooms below it",
    ),
    ("sim/protocol/compaction/cleaner.py", "random", "The core is pure"),
    ("sim/protocol/log/record.py", "simpy", "Time lives in sim.simulate.cluster"),
    (
        "sim/protocol/events/__init__.py",
        "pyspark",
        "Only sim.study.sweep and the search on Spark know Spark",
    ),
    (
        "sim/protocol/events/__init__.py",
        "pandas",
        "Tables, figures and templates stay where they are made",
    ),
]


def test_imports_against_the_design_are_found(copy: Path) -> None:
    for module, imported, _ in IMPORTS:
        with (copy / module).open("a") as file:
            file.write(f"\nimport {imported}\n")

    result = lint_imports(copy)

    assert result.returncode == 1
    for module, imported, contract in IMPORTS:
        broken = rf"^{re.escape(contract)}.* BROKEN"
        assert re.search(broken, result.stdout, re.MULTILINE), contract
        name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert re.search(rf"{name} -> {re.escape(imported)} ", result.stdout), (name, imported)


def test_a_new_module_has_to_be_given_its_place(copy: Path) -> None:
    (copy / "sim/stray.py").write_text("import json\n")

    result = lint_imports(copy)

    assert result.returncode == 1
    assert re.search(r"^A room imports only .* BROKEN", result.stdout, re.MULTILINE)


def imports_of_all() -> dict[str, set[str]]:
    """Every module of the package, and those it names in its imports, wherever they stand in it.

    `from package import module` names the module, not the package.
    """
    with patch.object(sys, "path", [str(ROOT), *sys.path]):
        graph = grimp.build_graph("sim", exclude_type_checking_imports=False, cache_dir=None)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def test_no_module_imports_itself_in_a_circle_not_even_for_its_types() -> None:
    graph = imports_of_all()

    groups = nx.strongly_connected_components(nx.DiGraph(graph))

    assert len(graph) > 100
    assert [sorted(group) for group in groups if len(group) > 1] == []
