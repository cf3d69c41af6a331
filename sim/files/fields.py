"""The fields of one object of a file, each of the kind it has to be; complaints name its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, NoReturn

from sim.files.document import (
    Complaints,
    Document,
    Place,
    listed,
    shown,
    unknown_field,
    unknown_value,
)
from sim.limits import LONG, Limit, in_words

MAX_LONG = LONG
"""Largest offset or time in ms; Kafka's are signed 64-bit integers."""


class _Required:
    """Stands for "no default: the field has to be there"."""


REQUIRED: Final = _Required()


def as_integer(
    value: object,
    place: Place,
    *,
    minimum: int,
    maximum: int = MAX_LONG,
    limit: Limit | None = None,
) -> int:
    """A whole number within bounds (inclusive), and within a limit if there is one.

    Raises BadInput.
    """
    if type(value) is not int:
        place.fail(f"expected a whole number, not {shown(value)}")
    if limit is not None:
        place.check(limit.problem(value, least=minimum))
    if value < minimum:
        place.fail(f"{in_words(value)} is below the smallest allowed, {minimum}")
    if value > maximum:
        place.fail(f"{in_words(value)} is above the largest allowed, {maximum}")
    return value


def as_text(value: object, place: Place) -> str:
    """Text. Raises BadInput."""
    if not isinstance(value, str):
        place.fail(f"expected text, not {shown(value)}")
    return value


def as_list(value: object, place: Place) -> list[Any]:
    """A list. Raises BadInput."""
    if not isinstance(value, list):
        place.fail(f"expected a list, not {shown(value)}")
    return value


def as_object(value: object, place: Place) -> dict[str, Any]:
    """An object: fields with their values. Raises BadInput."""
    if not isinstance(value, dict):
        place.fail(f"expected fields, not {shown(value)}")
    return value


def check_format(document: Document, formats: Collection[str]) -> str:
    """The document's `format`. Raises BadInput unless it is one of `formats`."""
    given = as_object(document.data, document.top).get("format")
    if not isinstance(given, str) or given not in formats:
        place = document.top.at("format")
        if given is None:
            place.fail(f"missing; allowed: {listed(formats)}")
        place.fail(unknown_value(given, formats, what="format"))
    return given


class Fields:
    """The fields of one object.

    An optional field that is null counts as not given.

    Attributes:
        place: Where the object stands.
        values: Name -> value, as given.
    """

    __slots__ = ("place", "values")

    def __init__(
        self,
        value: object,
        place: Place,
        allowed: Collection[str],
        wrong: Complaints | None = None,
    ) -> None:
        """An object that may have the fields `allowed`.

        Raises:
            BadInput: It is no object, or has other fields; with `wrong` those are told there.
        """
        self.place = place
        self.values = as_object(value, place)
        told = Complaints() if wrong is None else wrong
        for name in self.values:
            if name not in allowed:
                told.add(self.at(name).problem(unknown_field(name, allowed)))
        if wrong is None:
            told.end()

    def at(self, name: str) -> Place:
        """The place of a field."""
        return self.place.at(name)

    def fail(self, name: str, text: str) -> NoReturn:
        """Raise BadInput about a field."""
        self.at(name).fail(text)

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
        limit: Limit | None = None,
    ) -> int:
        """A whole number from `minimum` to `maximum`; null and nothing mean `default`."""
        value = self.values.get(name)
        if type(value) is int and limit is None and minimum <= value <= maximum:
            return value
        if value is None:
            if isinstance(default, int):
                return default
            self.require(name)
        return as_integer(value, self.at(name), minimum=minimum, maximum=maximum, limit=limit)

    def maybe_integer(
        self, name: str, *, minimum: int = 0, limit: Limit | None = None
    ) -> int | None:
        """A whole number, or None when there is none."""
        return self.integer(name, minimum=minimum, limit=limit) if self.has(name) else None

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
        if value is None or isinstance(value, str):
            return value
        return as_text(value, self.at(name))

    def choice(self, name: str, allowed: Collection[str]) -> str | None:
        """One of `allowed`, or None when there is none."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or value not in allowed:
            self.fail(name, unknown_value(value, allowed))
        return value

    def items(self, name: str) -> Iterator[tuple[Place, Any]]:
        """Place and value of each item of a list that has to be there."""
        self.require(name)
        place = self.at(name)
        for index, item in enumerate(as_list(self.values[name], place)):
            yield place.at(index), item
