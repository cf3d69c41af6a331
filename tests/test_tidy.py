"""House rules that no linter knows: how long things may be, and what a lock file may say."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MODULES = sorted([*ROOT.glob("sim/**/*.py"), *ROOT.glob("tests/**/*.py")])
PUBLIC = [
    path
    for path in MODULES
    if path.is_relative_to(ROOT / "sim")
    and (path.stem in {"__init__", "__main__"} or not path.stem.startswith("_"))
]

MODULE_LINES = 500
FUNCTION_LINES = 70
LINE_COLUMNS = 100


def name(path: Path) -> str:
    """The path inside the repository: `sim/log/record.py`."""
    return path.relative_to(ROOT).as_posix()


@cache
def source(path: Path) -> str:
    return path.read_text()


class Parsed(NamedTuple):
    docstring: str | None
    functions: tuple[tuple[str, int], ...]
    """Name and number of lines of each, nested ones included, decorators not counted."""


@cache
def parsed(path: Path) -> Parsed:
    tree = ast.parse(source(path))
    return Parsed(ast.get_docstring(tree), tuple(functions(tree)))


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Those in the statements of a tree: an expression can hold none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1
        yield from functions(node)


def test_a_module_is_short_enough_to_have_one_purpose() -> None:
    lines = {name(path): len(source(path).splitlines()) for path in MODULES}

    assert {path: count for path, count in lines.items() if count > MODULE_LINES} == {}


def test_a_function_fits_on_a_screen() -> None:
    found = [(name(path), *one) for path in MODULES for one in parsed(path).functions]

    assert [(path, function) for path, function, lines in found if lines > FUNCTION_LINES] == []


def test_a_line_fits_beside_another_file() -> None:
    found = [
        (name(path), number)
        for path in MODULES
        for number, line in enumerate(source(path).splitlines(), start=1)
        if len(line) > LINE_COLUMNS
    ]

    assert found == []


def test_a_public_module_says_what_it_is_for() -> None:
    assert [name(path) for path in PUBLIC if not parsed(path).docstring] == []


def test_the_lock_file_names_no_index() -> None:
    """Where packages come from is the installing machine's business.

    An address in the lock would send everybody to one registry, or publish a private mirror's name.
    """
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_the_lock_file_pins_every_package_once_and_with_hashes() -> None:
    """One version for all versions of Python, so that a run is the same on each of them."""
    entries = (ROOT / "requirements.lock").read_text().replace("\\\n", " ").splitlines()
    pinned = [line for line in entries if line and not line.lstrip().startswith("#")]
    packages = [line.split("==")[0] for line in pinned]

    assert [line.split()[0] for line in pinned if "--hash=sha256:" not in line] == []
    assert packages == sorted(set(packages))
