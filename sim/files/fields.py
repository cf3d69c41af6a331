"""The fields of one object of a file, each of the kind it has to be; complaints name its place."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn

from sim.files.document import (
    Complaints,
    Document,
    Place,
    listed,
    shown,
    unknown_field,
    unknown_value,
)
from sim.files.formats import kind_of


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
        if (kind := kind_of(document.data)) is not None:
            place.fail(f"{given}: a {kind.name}; run it with: replog {kind.command}")
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
        self, value: object, place: Place, allowed: Collection[str], wrong: Complaints
    ) -> None:
        """An object that may have the fields `allowed`; others are told to `wrong`.

        Raises:
            BadInput: It is no object.
        """
        self.place = place
        self.values = as_object(value, place)
        for name in self.values:
            if name not in allowed:
                wrong.add(self.at(name).problem(unknown_field(name, allowed)))

    def at(self, name: str) -> Place:
        """The place of a field."""
        return self.place.at(name)

    def fail(self, name: str, text: str) -> NoReturn:
        """Raise BadInput about a field."""
        self.at(name).fail(text)
