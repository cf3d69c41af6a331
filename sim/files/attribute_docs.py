"""Descriptions of attributes and parameters in docstrings, for schemas, lists and help."""

from __future__ import annotations

import ast
import inspect
import re

_SECTION = re.compile(r"\n(?:Args|Attributes|Fields):\n")
_PART = re.compile(r"^(Source|Example|Says): (.*(?:\n    .*)*)", re.MULTILINE)
_ENDS = re.compile(r"\n\n\w+:[ \n]")
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n     +.*)*)", re.MULTILINE)


def docs_of(thing: object) -> tuple[str, dict[str, str]]:
    """A docstring without its parameters, attributes or fields, and their descriptions by name."""
    text, *section = _SECTION.split(inspect.getdoc(thing) or "")
    docs = _ENTRY.findall("\n".join(section))
    return text.rstrip(), {name: " ".join(one.split()) for name, one in docs}


def described(thing: object) -> tuple[str, dict[str, str]]:
    """The sentences of a docstring in one line, and its parts: `Source:`, `Example:`, `Says:`."""
    text = inspect.getdoc(thing) or ""
    parts = {name: " ".join(said.split()) for name, said in _PART.findall(text)}
    return " ".join(_ENDS.split(text)[0].split()), parts


def attribute_docs(kind: type) -> dict[str, str]:
    """Descriptions below the attributes of a class, by name, in one line each."""
    return {name: " ".join(text.split()) for name, text in attribute_texts(kind).items()}


def attribute_texts(kind: type) -> dict[str, str]:
    """Descriptions below the attributes of a class by name, with their lines and indentation."""
    from textwrap import dedent

    (node,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            docs[statement.target.id] = inspect.cleandoc(str(following.value.value))
    return docs
