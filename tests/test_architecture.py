"""The layers of the design hold, and the contracts that say so can fail.

The contracts themselves are in `pyproject.toml`, section `[tool.importlinter]`.
"""

import re
import shutil
import sys
from pathlib import Path
from unittest.mock import patch

import grimp
import networkx as nx

from tests.commands import ROOT, python

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


def test_imports_against_the_design_and_modules_without_a_place_are_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sim", tmp_path / "sim", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "sim/stray.py").write_text("import json\n")
    for module, imported, _ in IMPORTS:
        with (tmp_path / module).open("a") as file:
            file.write(f"\nimport {imported}\n")

    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = python(
        *("-c", command, "--no-cache"), cwd=tmp_path, PYTHONPATH=str(tmp_path), COLUMNS="200"
    )

    assert result.status == 1
    assert "sim.stray" in result.out
    for module, imported, contract in IMPORTS:
        broken = rf"^{re.escape(contract)}.* BROKEN"
        assert re.search(broken, result.out, re.MULTILINE), contract
        name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert re.search(rf"{name} -> {re.escape(imported)} ", result.out), (name, imported)


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
