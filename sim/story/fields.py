"""The types that a field of a step may have: what is allowed, and how it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sim import limits
from sim.files.document import Place, shown
from sim.limits import Limit
from sim.replication.interrupting import MOMENTS
from sim.replication.reading import ISOLATIONS, WAYS

_INTEGER = re.compile(r"-?[0-9]{1,60}", re.ASCII)
"""Longer ones are beyond every limit."""


class FieldType(NamedTuple):
    """A field type: what it is called in errors, how a given value is read, the largest of it."""

    expected: str
    parse: Callable[[Any], Any]
    limit: Limit | None = None

    def value_of(self, value: object, place: Place, *, typed: str | None = None) -> Any:
        """The value at `place` as this type reads it; `typed` is how it was written in a line.

        Raises:
            BadInput: It is not of this type.
        """
        try:
            return self.parse(value)
        except _BeyondLimit as error:
            place.fail(str(error))
        except (ValueError, TypeError, KeyError, RecursionError):
            place.fail(f"expected {self.expected}, not {shown(typed or value)}")


class _BeyondLimit(ValueError):
    """A value is of the right type, and beyond what is allowed; the text says so."""


def _fail(value: Any) -> Any:
    raise ValueError(value)


def _checked(problem: str | None) -> None:
    if problem is not None:
        raise _BeyondLimit(problem)


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else _fail(value)


def _within(limit: Limit) -> Callable[[Any], int]:
    """Reads an integer that is within a limit."""

    def parse(value: Any) -> int:
        number = _integer(value)
        _checked(limit.problem(number))
        return number

    return parse


def _natural(limit: Limit) -> Callable[[Any], int]:
    """Reads an integer from 0 that is within a limit."""
    within = _within(limit)

    def parse(value: Any) -> int:
        return within(value) if _integer(value) >= 0 else _fail(value)

    return parse


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        _fail(value)
    if isinstance(value, int):
        _checked(limits.NUMBER.problem(value))
    text = str(value) or _fail(value)
    _checked(limits.TEXT.too_many(len(text), "characters"))
    return text


def _name(value: Any) -> str:
    text = _text(value)
    _checked(limits.NAME.too_many(len(text), "characters"))
    return text


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}[value] if value in ("true", "false") else _fail(value)


def names_in(value: Any) -> tuple[str, ...]:
    """Names in a list, or in one text with commas.

    Raises:
        ValueError: It is neither.
    """
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        _fail(value)
    _checked(limits.REPLICAS.too_many(len(items), "names"))
    return tuple(_name(item) for item in items)


def _segments(value: Any) -> tuple[tuple[int, int, int], ...]:
    items = json.loads(value) if isinstance(value, str) else value
    if not isinstance(items, list):
        _fail(value)
    parsed: list[tuple[int, int, int]] = []
    for item in items:
        if not isinstance(item, list):
            _fail(value)
        base, end, last_modified = (_offset(number) for number in item)
        if base > end or (parsed and base < parsed[-1][1]):
            _fail(value)
        parsed.append((base, end, last_modified))
    return tuple(parsed)


def _version(value: Any) -> int | None:
    if value in (None, "null"):
        return None
    version = _integer(value)
    return version if limits.VERSION.problem(version) is None else _fail(value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        _fail(value)
    _checked(limits.TEXT.too_many(len(value), "characters"))
    return bytes.fromhex(value)


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value)


def _marker(value: Any) -> str:
    return str(value) if value in ("commit", "abort") else _fail(value)


def _one_of(*allowed: str) -> FieldType:
    return FieldType(
        f"one of {', '.join(allowed)}",
        lambda value: value if value in allowed else _fail(value),
    )


_offset = _natural(limits.OFFSET)

TIME = FieldType("an integer", _within(limits.TIMESTAMP), limits.TIMESTAMP)
PRODUCER = FieldType("an integer", _within(limits.PRODUCER_ID), limits.PRODUCER_ID)
EPOCH = FieldType(
    "an integer that is not negative", _natural(limits.LEADER_EPOCH), limits.LEADER_EPOCH
)
SPAN = FieldType("an integer that is not negative", _natural(limits.ADVANCE), limits.ADVANCE)
NATURAL = FieldType("an integer that is not negative", _offset, limits.OFFSET)
TEXT = FieldType("a text", _text)
OPTIONAL_TEXT = FieldType("a text or null", _optional_text)
BOOLEAN = FieldType("true or false", _boolean)
REPLICA = FieldType("a replica", _name)
NAMED = FieldType("a text", _name)
REPLICAS = FieldType("a list of replicas", names_in)
SEGMENTS = FieldType("a list of [base, end, last modified] in the order of offsets", _segments)
BYTES = FieldType("pairs of hexadecimal digits", _bytes)
VERSION = FieldType("an integer of 64 bits or null", _version, limits.VERSION)
MARKER = FieldType("commit or abort", _marker)
MOMENT = _one_of(*MOMENTS)
ISOLATION = _one_of(*ISOLATIONS)
WAY = _one_of(*WAYS)


def check_names(kind: FieldType, value: Any, known: Sequence[str], place: Place) -> None:
    """Raise BadInput if the value names a replica twice, or one that is not known."""
    names = (value,) if kind is REPLICA else value if kind is REPLICAS else ()
    if len(set(names)) < len(names):
        place.fail(f"a replica is named twice in {', '.join(names)}")
    for name in names:
        if name not in known:
            place.fail(f"no replica {name!r}; known here: {', '.join(known)}")
