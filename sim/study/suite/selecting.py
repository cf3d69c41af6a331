"""The selection of files by `-k EXPRESSION`, as in pytest, and by failures of the last run.

A cache that cannot be read counts as empty. Nothing is written before a file has failed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.document import OPERATORS, Document, is_tag, tags_at
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.files.reading import read_document, read_text
from sim.study.suite.result import CaseResult
from sim.study.suite.scenario_files import Collected, from_here

KINDS = {STORY_FORMAT: "story", SCENARIO_FORMAT: "timed", LOG_FORMAT: "log"}
"""The tag of each format."""
_TOKEN = re.compile(r"\s*(?:([()])|([\w:+\-.\[\]\\/]+))")
_ALLOWED = "words, and, or, not, parentheses"
_PARTS = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not),
    *(ast.Name, ast.Load),
)
"""What a parsed expression may consist of."""

Names = Iterable[str]
Chooses = Callable[[Names], bool]
"""Decides by its names whether a file is selected."""


def chooser(expression: str) -> Chooses:
    """The selection by an expression such as `kip280 and not (timed or slow)`.

    A word selects files with the word in one of their names, in upper or lower case, as `-k` of
    pytest does, whose parser is private; precedence and parentheses are those of Python.

    Raises:
        BadInput: It cannot be read.
    """
    words: dict[str, str] = {}
    source = ""
    position = 0
    expression = expression.strip()
    while position < len(expression):
        token = _TOKEN.match(expression, position)
        if token is None:
            raise BadInput(f"-k {expression}: cannot be read from column {position + 1} on")
        position = token.end()
        sign, word = token.groups()
        if word and word not in OPERATORS:
            sign = f"_{len(words)}"
            words[sign] = word.lower()
        source += f" {sign or word}"
    try:
        tree = ast.parse(source.strip(), mode="eval")
        if not all(isinstance(part, _PARTS) for part in ast.walk(tree)):
            raise SyntaxError
        meaning = compile(tree, "-k", "eval")
    except (SyntaxError, RecursionError, MemoryError):
        raise BadInput(f"-k {expression}: cannot be read; allowed: {_ALLOWED}") from None

    def is_meant(names: Names) -> bool:
        known = [name.lower() for name in names]
        found = {sign: any(word in name for name in known) for sign, word in words.items()}
        return bool(eval(meaning, {"__builtins__": {}}, found))  # noqa: S307 - only `_PARTS`

    return is_meant


def names_of(path: Path) -> tuple[str, ...]:
    """The names of a scenario file: its path, its id, and its tags."""
    document = read_document(path)
    given = document.data.get("id") if isinstance(document.data, dict) else None
    return (str(from_here(path)), str(given or path.stem), *_tags_in(document, path))


def tags_of(path: Path) -> tuple[str, ...]:
    """The tags of a scenario file: its kind, the name of its folder, and those it has itself.

    Raises:
        BadInput: It cannot be read, or has a tag that is not allowed.
    """
    return _tags_in(read_document(path), path)


def _tags_in(document: Document, path: Path) -> tuple[str, ...]:
    top: Mapping[str, Any] = document.data if isinstance(document.data, dict) else {}
    own = tags_at(top.get("tags"), document.top.at("tags"))
    folder = path.absolute().parent.name
    derived = [KINDS.get(str(top.get("format")), ""), folder]
    return tuple(dict.fromkeys([*filter(is_tag, derived), *own]))


def select(found: Collected, expression: str) -> Collected:
    """The files that an expression selects; a file that cannot be read has only its path.

    Raises:
        BadInput: The expression cannot be read, or selects none of them.
    """
    is_meant = chooser(expression)
    chosen = [path for path in found.files if is_meant(_names_as_known(path))]
    if not chosen:
        raise BadInput(f"-k {expression}: means none of {len(found.files)} scenario files")
    return found._replace(files=tuple(chosen))


def _names_as_known(path: Path) -> Names:
    try:
        return names_of(path)
    except BadInput:
        return (str(from_here(path)),)


FOLDER = Path(".replog_cache")
FILE = FOLDER / "last_failed.json"
FORMAT = "replog-last-failed/1"


def last_failed() -> frozenset[Path]:
    """Absolute paths of the files that failed in their last run from this folder."""
    try:
        content = json.loads(read_text(FILE))
        if content["format"] != FORMAT:
            return frozenset()
        return frozenset(Path(name).absolute() for name in content["failed"])
    except (BadInput, ValueError, TypeError, KeyError, RecursionError):
        return frozenset()


def remember(results: Iterable[CaseResult]) -> str:
    """Writes which files failed; files that were not run keep their state. The error, if any."""
    known = last_failed()
    failed = set(known)
    for result in results:
        path = result.path.absolute()
        if result.expectation_met:
            failed.discard(path)
        else:
            failed.add(path)
    if failed == known:
        return ""
    names = sorted(str(from_here(path)) for path in failed if path.exists())
    # Escaped: the bytes of a name need not be UTF-8.
    text = json.dumps({"format": FORMAT, "failed": names}, indent=1)
    try:
        FOLDER.mkdir(exist_ok=True)
        replace_text(FOLDER / ".gitignore", "*\n")
        replace_text(FILE, text)
    except (BadInput, OSError) as error:
        return f"which files failed is not remembered for --lf: {error}"
    return ""
