"""JSON documents read strictly: every complaint names the path of the value, `steps[0].now_ms`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from sim.errors import BadInput, did_you_mean
from sim.rules.rules import listed

MAX_LONG = 2**63 - 1
"""Largest offset or time in ms; Kafka's are signed 64-bit integers."""

_SHOWN = 60
"""Characters of a wrong value that a message repeats."""


class _Required:
    """Stands for "no default: the field has to be there"."""


REQUIRED: Final = _Required()


class Repeated(dict[str, Any]):
    """An object that gives a field twice; whoever reads its fields complains.

    Attributes:
        twice: The name of that field.
    """

    twice: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    repeated = Repeated(found)
    repeated.twice = next(name for name in names if names.count(name) > 1)
    return repeated


def read_json(path: Path) -> object:
    """The JSON value in a file; an object that gives a field twice is a `Repeated`.

    Raises:
        BadInput: It cannot be read, is not UTF-8, or is not JSON.
    """
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_object)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}: is not JSON: {error.msg}") from None
    except RecursionError:
        raise BadInput(f"{path}: is nested too deeply") from None
    except ValueError as error:
        raise BadInput(f"{path}: is not JSON: {error}") from None


def complain(path: str, text: str) -> NoReturn:
    """Raise BadInput about the value at `path`; an empty path is the whole document."""
    raise BadInput(f"{path}: {text}" if path else text)


def shown(value: object) -> str:
    """A value as a message repeats it, shortened."""
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def as_integer(value: object, path: str, *, minimum: int, maximum: int = MAX_LONG) -> int:
    """A whole number within bounds (inclusive). Raises BadInput."""
    if type(value) is not int:
        complain(path, f"expected a whole number, not {shown(value)}")
    if value < minimum:
        complain(path, f"{value} is below the smallest allowed, {minimum}")
    if value > maximum:
        complain(path, f"{value} is above the largest allowed, {maximum}")
    return value


def as_text(value: object, path: str) -> str:
    """Text that can be written as UTF-8. Raises BadInput."""
    if not isinstance(value, str):
        complain(path, f"expected text, not {shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            complain(path, f"{shown(value)} is half a character (a lone surrogate)")
    return value


def as_list(value: object, path: str) -> list[Any]:
    """A list. Raises BadInput."""
    if not isinstance(value, list):
        complain(path, f"expected a list, not {shown(value)}")
    return value


def as_object(value: object, path: str) -> dict[str, Any]:
    """An object that gives every field once. Raises BadInput."""
    if not isinstance(value, dict):
        complain(path, f"expected an object, not {shown(value)}")
    if isinstance(value, Repeated):
        complain(inside(path, value.twice), "given twice")
    return value


def inside(path: str, name: str) -> str:
    """The path of a field of the object at `path`; names that would break a line are quoted."""
    word = name if name.isprintable() else json.dumps(name)
    return f"{path}.{word}" if path else word


class Fields:
    """The fields of one JSON object.

    An optional field that is null counts as not given.

    Attributes:
        path: Where the object stands; empty for the whole document.
        values: Name -> value, as given.
    """

    __slots__ = ("path", "values")

    def __init__(self, value: object, path: str, allowed: Collection[str]) -> None:
        """Raises BadInput unless `value` is an object that has no other fields than `allowed`."""
        self.path = path
        self.values = as_object(value, path)
        if not self.values.keys() <= set(allowed):
            name = next(name for name in self.values if name not in allowed)
            close = did_you_mean(name, allowed)
            complain(self.at(name), f"unknown field{close}; allowed: {listed(allowed)}")

    def at(self, name: str) -> str:
        """The path of a field."""
        return inside(self.path, name)

    def fail(self, name: str, text: str) -> NoReturn:
        """Raise BadInput about a field."""
        complain(self.at(name), text)

    def has(self, name: str) -> bool:
        """Whether a field is given and not null."""
        return self.values.get(name) is not None

    def require(self, *names: str) -> None:
        """Raise BadInput unless all these fields are given and not null."""
        for name in names:
            if name not in self.values:
                self.fail(name, "missing")
            if self.values[name] is None:
                self.fail(name, "has to have a value, not null")

    def integer(
        self,
        name: str,
        default: int | _Required = REQUIRED,
        *,
        minimum: int = 0,
        maximum: int = MAX_LONG,
    ) -> int:
        """A whole number from `minimum` to `maximum`; null and nothing mean `default`."""
        value = self.values.get(name)
        if value is None:
            if isinstance(default, int):
                return default
            self.require(name)
        return as_integer(value, self.at(name), minimum=minimum, maximum=maximum)

    def maybe_integer(self, name: str, *, minimum: int = 0) -> int | None:
        """A whole number, or None when there is none."""
        return self.integer(name, minimum=minimum) if self.has(name) else None

    def boolean(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fail(name, f"expected true or false, not {shown(value)}")
        return value

    def maybe_text(self, name: str) -> str | None:
        """Text, or None when there is none."""
        value = self.values.get(name)
        return None if value is None else as_text(value, self.at(name))

    def choice(self, name: str, allowed: Collection[str]) -> str | None:
        """One of `allowed`, or None when there is none."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or value not in allowed:
            close = did_you_mean(str(value), allowed)
            self.fail(name, f"unknown value {shown(value)}{close}; allowed: {listed(allowed)}")
        return value

    def items(self, name: str) -> Iterator[tuple[str, Any]]:
        """Path and value of each item of a list that has to be there."""
        self.require(name)
        path = self.at(name)
        for index, item in enumerate(as_list(self.values[name], path)):
            yield f"{path}[{index}]", item
