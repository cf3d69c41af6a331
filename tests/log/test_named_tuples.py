"""Named tuples that are made without their own constructor have all their fields."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = [path for path in sorted(ROOT.glob("sim/**/*.py")) if "import make\n" in path.read_text()]


def calls(text: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "make":
            yield node


def test_whoever_makes_a_named_tuple_gives_all_its_fields() -> None:
    for path in MODULES:
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for call in calls(path.read_text()):
            made, given = call.args
            assert isinstance(made, ast.Name)
            assert isinstance(given, ast.Tuple)
            assert not any(isinstance(one, ast.Starred) for one in given.elts)
            fields: tuple[str, ...] = getattr(module, made.id)._fields
            assert len(given.elts) == len(fields), f"{path}, line {call.lineno}: {made.id}"

    assert MODULES
