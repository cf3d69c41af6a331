"""The types of fields of steps: the values they allow, and how these are read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.errors import did_you_mean
from sim.files import limits
from sim.files.document import Place, shown
from sim.files.limits import LONG, Limit
from sim.protocol.replication.interrupting import MOMENTS
from sim.protocol.replication.reading import ISOLATIONS, WAYS

_INTEGER = re.compile(r"-?[0-9]{1,60}", re.ASCII)
"""Integers with more digits are beyond every limit."""


_NAME = [
    {"type": "string", "minLength": 1},
    {"type": "integer", "minimum": -LONG - 1, "maximum": LONG},
]


@dataclass(frozen=True, slots=True, eq=False)
class FieldType:
    """A type of fields; types with equal values, as TEXT and KEY, are different ones.

    Attributes:
        expected: Name of the type in errors.
        parse: Function that reads a given value; it raises ValueError, TypeError or KeyError.
        schema: JSON Schema of values outside steps of one line, for editors.
    """

    expected: str
    parse: Callable[[Any], Any]
    schema: Mapping[str, Any]

    def value_of(self, value: object, place: Place) -> Any:
        """The value at `place`, read by this type.

        Raises:
            BadInput: The value is not of this type, or beyond its limit.
        """
        try:
            return self.parse(value)
        except _BeyondLimit as error:
            place.fail(str(error))
        except (ValueError, TypeError, KeyError, RecursionError):
            place.fail(f"expected {self.expected}, not {shown(value)}")


class _BeyondLimit(ValueError):
    """An error for a value of the right type that is beyond a limit, which the text names."""


def _fail(value: Any) -> Any:
    raise ValueError(value)


def _checked(problem: str | None) -> None:
    if problem is not None:
        raise _BeyondLimit(problem)


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else _fail(value)


def _number(limit: Limit, *, natural: bool = False) -> FieldType:
    """A type of integers within a limit, from 0 on if `natural`."""

    def parse(value: Any) -> int:
        number = _integer(value)
        if natural and number < 0:
            _fail(value)
        _checked(limit.problem(number))
        return number

    least = 0 if natural else limit.least
    schema = {"type": "integer", "minimum": least, "maximum": limit.most}
    expected = "an integer that is not negative" if natural else "an integer"
    return FieldType(expected, parse, schema)


NATURAL = _number(limits.OFFSET, natural=True)


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


def _listed(value: Any) -> list[Any]:
    """The items of a list, or of a text: one in JSON, or items with commas between them."""
    if isinstance(value, str):
        value = json.loads(value) if value.startswith("[") else value.split(",")
    return value if isinstance(value, list) else _fail(value)


def names_in(value: Any) -> tuple[str, ...]:
    """Names in a list, or in one text with commas.

    Raises:
        ValueError: The value is neither.
    """
    items = value.split(",") if isinstance(value, str) else _listed(value)
    _checked(limits.REPLICAS.too_many(len(items), "names"))
    return tuple(_name(item) for item in items)


def _segments(value: Any) -> tuple[tuple[int, int, int], ...]:
    parsed: list[tuple[int, int, int]] = []
    for item in map(_listed, _listed(value)):
        base, end, last_modified = (NATURAL.parse(number) for number in item)
        if base > end or (parsed and base < parsed[-1][1]):
            _fail(value)
        parsed.append((base, end, last_modified))
    return tuple(parsed)


def _offsets(value: Any) -> tuple[int, ...]:
    return tuple(sorted({NATURAL.parse(item) for item in _listed(value)}))


def _horizons(value: Any) -> tuple[tuple[int, int], ...]:
    return tuple((NATURAL.parse(base), TIME.parse(at_ms)) for base, at_ms in _listed(value))


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


def _one_of(*allowed: str) -> FieldType:
    return FieldType(
        f"one of {', '.join(allowed)}",
        lambda value: value if value in allowed else _fail(value),
        {"enum": list(allowed)},
    )


_SEGMENT = {"type": "array", "items": NATURAL.schema, "minItems": 3, "maxItems": 3}
_NAMES = {"type": "array", "items": {"anyOf": _NAME}}

TIME = _number(limits.TIMESTAMP)
PRODUCER = _number(limits.PRODUCER_ID)
EPOCH = _number(limits.LEADER_EPOCH, natural=True)
SPAN = _number(limits.ADVANCE, natural=True)
PERIOD = _number(limits.DURATION, natural=True)
TEXT = FieldType("a text", _text, {"anyOf": _NAME})
KEY = FieldType("a text", _text, {"anyOf": _NAME})
LABEL = FieldType("a text", _text, {"anyOf": _NAME})
OPTIONAL_TEXT = FieldType(
    "a text or null",
    lambda value: None if value is None else _text(value),
    {"anyOf": [*_NAME, {"type": "null"}]},
)
BOOLEAN = FieldType("true or false", _boolean, {"type": "boolean"})
REPLICA = FieldType("a replica", _name, {"anyOf": _NAME})
NAMED = FieldType("a text", _name, {"anyOf": _NAME})
REPLICAS = FieldType("a list of replicas", names_in, {"anyOf": [_NAMES, _NAME[0]]})
NAMES = FieldType("a list of names", names_in, _NAMES)
SEGMENTS = FieldType(
    "a list of [base, end, last modified] in the order of offsets",
    _segments,
    {"type": "array", "items": _SEGMENT},
)
OFFSETS = FieldType(
    "a list of offsets",
    _offsets,
    {"type": "array", "items": NATURAL.schema},
)
HORIZONS = FieldType(
    "a list of [base offset, ms]",
    _horizons,
    {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}},
)
BYTES = FieldType(
    "pairs of hexadecimal digits",
    _bytes,
    {"type": "string", "pattern": r"^\s*([0-9A-Fa-f]{2}\s*)*$"},
)
VERSION = FieldType(
    "an integer of 64 bits or null",
    _version,
    {"anyOf": [_number(limits.VERSION).schema, {"type": "null"}]},
)
MARKER = _one_of("commit", "abort")
MOMENT = _one_of(*MOMENTS)
ISOLATION = _one_of(*ISOLATIONS)
WAY = _one_of(*WAYS)


_OWN = re.compile(r"[CA]:-?[0-9]+|(LC|SN)[0-9]+", re.ASCII)
"""Labels of records that no step names: markers, leader changes, snapshots in a log."""


def unwritten(
    kind: FieldType, value: Any, keys: Sequence[str], labels: Sequence[str]
) -> str | None:
    """Complaint about a value that names a key or a record which no step writes, else None."""
    if kind is KEY and value not in keys:
        return f"no step writes a key {value!r}{did_you_mean(value, keys)}"
    return no_such_label(value, labels) if kind is LABEL else None


def no_such_label(label: str, labels: Sequence[str]) -> str | None:
    """Complaint about a label that no step gives to a record, else None."""
    if label in labels or _OWN.fullmatch(label):
        return None
    return f"no step writes a record {label!r}{did_you_mean(label, labels)}"


def check_names(kind: FieldType, value: Any, known: Sequence[str], place: Place) -> None:
    """Raises BadInput for a value that names a replica twice, or an unknown one."""
    names = (value,) if kind is REPLICA else value if kind is REPLICAS else ()
    if len(set(names)) < len(names):
        place.fail(f"a replica is named twice in {', '.join(names)}")
    for name in names:
        if name not in known:
            place.fail(f"no replica {name!r}; known here: {', '.join(known)}")
