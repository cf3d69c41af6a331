"""JSON documents read strictly: every complaint names the path of the value, `steps[0].now_ms`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from sim.errors import BadInput
from sim.replication.rules import hint, listed

MAX_LONG = 2**63 - 1
"""Largest offset or time in ms; Kafka's are signed 64-bit integers."""

_SHOWN = 60
"""Characters of a wrong value that a message repeats."""


class _Required:
    """Stands for "no default: the field has to be there"."""


REQUIRED: Final = _Required()


def read_json(path: Path) -> object:
    """The JSON value in a file.

    Raises:
        BadInput: It cannot be read, is not JSON, or an object in it names a field twice.
    """

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadInput(f"{path}: {twice}: given twice in one object")
        return found

    def no_number(text: str) -> NoReturn:
        raise BadInput(f"{path}: is not JSON: {text} is no number")

    try:
        text = path.read_bytes().decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=unique, parse_constant=no_number)
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
    text = json.dumps(value, ensure_ascii=True, default=str)
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
        if not isinstance(value, dict):
            complain(path, f"expected an object, not {shown(value)}")
        self.path = path
        self.values: dict[str, Any] = value
        if not value.keys() <= set(allowed):
            name = next(name for name in value if name not in allowed)
            close = hint(name, allowed)
            complain(self.at(name), f"unknown field{close}; allowed: {listed(allowed)}")

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

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
            close = hint(str(value), allowed)
            self.fail(name, f"unknown value {shown(value)}{close}; allowed: {listed(allowed)}")
        return value

    def items(self, name: str) -> Iterator[tuple[str, Any]]:
        """Path and value of each item of a list that has to be there."""
        self.require(name)
        path = self.at(name)
        for index, item in enumerate(as_list(self.values[name], path)):
            yield f"{path}[{index}]", item
