"""Named tuples that are made without their own constructor have all their fields."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from sim.log import Record
from sim.log.named_tuples import make

ROOT = Path(__file__).parents[2]
MODULES = [path for path in sorted(ROOT.glob("sim/**/*.py")) if "import make\n" in path.read_text()]


def calls(text: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "make":
            yield node


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_whoever_makes_a_named_tuple_gives_all_its_fields(path: Path) -> None:
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    found = list(calls(path.read_text()))

    assert found
    for call in found:
        made, given = call.args
        assert isinstance(made, ast.Name)
        assert isinstance(given, ast.Tuple)
        assert not any(isinstance(one, ast.Starred) for one in given.elts)
        fields: tuple[str, ...] = getattr(module, made.id)._fields
        assert len(given.elts) == len(fields), f"line {call.lineno}: {made.id}"


def test_what_is_made_is_what_its_constructor_makes() -> None:
    content: tuple[Any, ...] = (3, "K", None, 7, (), True, 1)
    made = make(Record, content)

    assert (type(made), made) == (Record, Record(*content))
    assert made.key == "K"
