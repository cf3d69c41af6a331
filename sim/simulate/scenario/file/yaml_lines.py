"""Data as YAML that people like to read: lists of one-line mappings, plain words where YAML allows.

Texts come out as the strict reader (`sim.files.yaml_text`) takes them back: what any version of
YAML might read as something else is in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from sim.errors import BadInput
from sim.files.foreign.lines import is_plain

COLUMNS = 100
"""A mapping or a list of plain values that is longer goes over several lines."""

_PLAIN = re.compile(r"[A-Za-z_](?:[\w ./*+-]*[\w/*+-])?", re.ASCII)
_SWITCH = re.compile(r"(?i:true|false|yes|no|on|off|null|y|n)")


def yaml_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a document: mappings, lists, texts, numbers, booleans and None.

    Raises:
        BadInput: A text has half a character in it, which nobody could write as UTF-8.
    """
    yield from _mapping(document, "")


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in values.items():
        head = f"{indent}{yaml_text(name)}:"
        line = f"{head} {flow(value)}"
        if not isinstance(value, dict | list) or not value:
            yield line
        elif isinstance(value, dict):
            if len(line) <= COLUMNS and not _holds_mappings(value):
                yield line
            else:
                yield head
                yield from _mapping(value, f"{indent}  ")
        elif len(line) <= COLUMNS and not any(isinstance(item, dict) for item in value):
            yield line
        else:
            yield head
            yield from (f"{indent}  - {flow(item)}" for item in value)


def _holds_mappings(values: Mapping[str, Any]) -> bool:
    """Whether some field is a list of mappings, one line each."""
    return any(
        isinstance(value, list) and any(isinstance(item, dict) for item in value)
        for value in values.values()
    )


def flow(value: Any) -> str:
    """A value in one line. Raises as `yaml_text`."""
    if isinstance(value, dict):
        pairs = (f"{yaml_text(name)}: {flow(item)}" for name, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _decimal(value)
    return yaml_text(str(value))


def _decimal(value: float) -> str:
    """The shortest decimal number that is this one, without an exponent."""
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else f"{text}.0"


def yaml_text(text: str) -> str:
    """A text as a value of YAML in one line: plain where YAML allows, else in quotes.

    Raises:
        BadInput: It has half a character in it, which nobody could write as UTF-8.
    """
    if _PLAIN.fullmatch(text) and not _SWITCH.fullmatch(text):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """A text as a value of YAML in quotes, in one line. Raises as `yaml_text`."""
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if is_plain(character):
        return character
    if "\ud800" <= character <= "\udfff":
        raise BadInput(f"{character!a} is half a character; no file can say it")
    return f"\\U{ord(character):08x}"
