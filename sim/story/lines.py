"""Steps as one line: how it is read, how any step is written as one, what to write instead.

A line is cut at its spaces and has no quotes: a value with a space needs a mapping.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sim.errors import BadInput
from sim.story.fields import unknown_field
from sim.story.ops import (
    OPS,
    OPTIONAL_TEXT,
    REPLICA,
    REPLICAS,
    SEGMENTS,
    TEXT,
    FieldType,
)

_NAME = re.compile(r"[A-Za-z_][\w-]*")
_QUOTED = re.compile(r"""(?:(?<=[\s=])|^)(["'])[^"']*\s[^"']*\1(?=\s|$)""")
"""Something in quotes that has a space in it."""


class Line(NamedTuple):
    """The fields of a line, `op` among them, and those whose value has spaces as it was typed."""

    given: dict[str, Any]
    typed: dict[str, str]


def parse_line(line: str, known: Collection[str], where: str) -> Line:
    """`op`, then positional fields in order, then name=value for known names.

    A word with a name that the op lacks is the value of the next field only if that takes texts, or
    if `known` has a replica of that name.

    Raises:
        BadInput: It is empty, has too many values, or one twice, or a field that does not exist.
    """
    words = line.split()
    if not words:
        raise BadInput(f"{where}: an empty step")
    given: dict[str, Any] = {"op": words[0]}
    typed: dict[str, str] = {}
    spec = OPS.get(words[0])
    if spec is None:
        return Line(given, typed)
    where = f"{where} ({words[0]})"
    types = spec.fields()
    order = list(types)
    positional = iter(order)
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not (equals and name in order):
            free = next((field for field in positional if field not in given), None)
            goes_on = free is None and bool(order) and types[order[-1]] is REPLICAS
            kind = REPLICAS if goes_on else types[free] if free is not None else None
            if equals and _NAME.fullmatch(name) and not _takes(kind, word, known):
                raise BadInput(f"{where}: {unknown_field(name, order)}")
            if goes_on:
                typed[order[-1]] = f"{typed.get(order[-1], given[order[-1]])} {word}"
                given[order[-1]] = f"{given[order[-1]]},{word}"
                continue
            if free is None:
                raise BadInput(f"{where}: too many values at {word!r}")
            name, value = free, word
        if name in given:
            raise BadInput(f"{where}: {name}: given twice")
        given[name] = value
    return Line(given, typed)


def _takes(kind: FieldType | None, word: str, known: Collection[str]) -> bool:
    """Whether a word with a `=` in it may be a value of this type."""
    if kind is REPLICA or kind is REPLICAS:
        return word.split(",", maxsplit=1)[0] in known
    return kind is TEXT or kind is OPTIONAL_TEXT


def check_names_as_text(text: str, known: Collection[str], where: str, *, shown: str) -> None:
    """Raise BadInput for a list of replicas with brackets or spaces; `shown` is how it was typed.

    A replica whose name has them is meant by that name.
    """
    for item in text.split(","):
        if item not in known and (not item or item[0] in "[ " or item[-1] in "] "):
            names = ",".join(re.findall(r"[^\[\],\s]+", shown)) or ",".join(known)
            raise BadInput(
                f"{where}: {shown!r} is not a list of replicas; "
                f"as text it is {names}, without brackets or spaces"
            )


def quotes_hint(line: str) -> str:
    """What to add to a message about a line in which quotes were to hold a value together."""
    found = _QUOTED.search(line)
    if found is None:
        return ""
    op = line.split(maxsplit=1)[0]
    instead = f"write the step as {pattern(op)}" if op in OPS else "write the step as a mapping"
    return f" (a line has no quotes, {found.group()} is several values: {instead})"


def pattern(op: str) -> str:
    """A step of that op as a mapping, with its first fields."""
    names = ", ".join(f"{name}: ..." for name in _first_fields(op))
    return f"{{op: {op}, {names}}}" if names else f"{{op: {op}}}"


def line_pattern(op: str) -> str:
    """A step of that op as a line, with its first fields."""
    return " ".join([op, *(name.upper() for name in _first_fields(op))])


def _first_fields(op: str) -> Sequence[str]:
    """The required fields; a label and a key are, too, but for a marker."""
    return [*OPS[op].required, *(("label", "key") if op == "append" else ())]


def line_of(op: str, fields: Mapping[str, Any]) -> str:
    """A step that was given as a mapping, as a line: its first fields, then name=value."""
    words, named = [op], False
    for name, kind in OPS[op].fields().items():
        named = named or name not in _first_fields(op) or name not in fields
        if name in fields:
            value = _written(kind, fields[name])
            words.append(f"{name}={value}" if named else value)
    return " ".join(words)


def _written(kind: FieldType, value: Any) -> str:
    if kind is REPLICAS:
        return ",".join(value)
    if isinstance(value, bool) or value is None or kind is SEGMENTS:
        return json.dumps(value, separators=(",", ":"))
    return value.hex() if isinstance(value, bytes) else str(value)
