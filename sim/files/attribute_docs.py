"""What the source of a class says below each of its attributes: for schemas, and for lists."""

from __future__ import annotations

import ast
import inspect
from textwrap import dedent


def attribute_docs(kind: type) -> dict[str, str]:
    """What the source says below each attribute of a class, in one line each."""
    (node,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    told: dict[str, str] = {}
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            told[statement.target.id] = " ".join(str(following.value.value).split())
    return told
