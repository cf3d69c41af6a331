"""A file as it was read, and where each value stands in it: file, line, and the way to the value.

No YAML or JSON is parsed here: see `sim.files.reading` and `sim.files.yaml_text`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from sim.errors import BadInput, did_you_mean
from sim.files.formats import kind_of
from sim.files.limits import COMPLAINTS

Location = Sequence[str | int]
"""The way to a value: names of fields, and indexes from 0."""

Scalar = str | int | float | bool | None
Data = Scalar | Mapping[str, "Data"] | Sequence["Data"]

Report = Callable[[Location, str], None]
"""Takes a place in the file and the problem there."""

_NUMBER = re.compile(r"[-+]?[\d.]+")
_SHOWN = 60
"""Characters of a wrong value that a message repeats."""
_NAME = 100
"""Characters of a name of a field that a message repeats."""
ENOUGH = 2_000
"""Most complaints about a file that become lines; more are only counted, or not looked for."""


class Document:
    """A file as it was read.

    Attributes:
        name: Name in messages, mostly the path; empty if they begin with the way to the value.
        data: Its content: mappings with text keys, lists, text, numbers, booleans and None.
    """

    __slots__ = ("_find_line", "data", "name")

    def __init__(
        self, name: str, data: Any, find_line: Callable[[Location], int | None] | None = None
    ) -> None:
        """`find_line` gives the line, from 1, of the deepest value on the way to a location."""
        self.name = name
        self.data = data
        self._find_line = find_line

    @property
    def top(self) -> Place:
        """The place of the whole document."""
        return Place(self)

    def line_of(self, location: Location) -> int | None:
        """The line of the deepest value on the way to `location`; None where there are no lines.

        Keys have lines, too. Steps that name nothing in the file are skipped: validators add the
        names of alternatives.
        """
        if self._find_line is None:
            return None
        value, steps = self.data, []
        for step in location:
            if _has(value, step):
                steps.append(step)
                value = value[step]
        return self._find_line(steps)

    def name_of(self, location: Location) -> str:
        """`location` as people write it, `faults[2].for_ms`, without what is not in the file.

        The last step is kept in any case: it may be the name of a missing field.
        """
        value, steps = self.data, []
        for index, step in enumerate(location):
            found, last = _has(value, step), index == len(location) - 1
            if found or (last and isinstance(value, list if isinstance(step, int) else dict)):
                steps.append(step)
            value = value[step] if found else value
        return path_of(steps)

    def in_order(self, problems: Iterable[str]) -> list[str]:
        """Lines that `problem` made, each once, in the order of the lines of the file."""

        def line_in(problem: str) -> int:
            number, _, rest = problem.removeprefix(f"{self.name}:").partition(":")
            return int(number) if rest and number.isdecimal() else sys.maxsize

        return sorted(dict.fromkeys(problems), key=line_in)

    def problem(self, location: Location, text: str, *, path: str | None = None) -> str:
        """A line for the user, `file:line: path: text`; `path` is made from `location` if None."""
        line = self.line_of(location)
        where = [self.name if line is None else f"{self.name}:{line}"]
        where.append(self.name_of(location) if path is None else path)
        return ": ".join([*filter(None, where), text])


class CommandLine(Document):
    """Values of an option such as `--rule fix=none`, instead of a file."""

    __slots__ = ()

    def problem(self, location: Location, text: str, *, path: str | None = None) -> str:
        """A line for the user: `--rule name: text`."""
        named = " ".join(filter(None, [self.name, path or self.name_of(location)]))
        return f"{named}: {text}"


class Place:
    """Place of a value in a document: the place of its parent, and the step from there.

    Attributes:
        document: The document.
        label: Name of this place in messages, such as `step 3 (fetch)`; empty for the way to it.
    """

    __slots__ = ("_parent", "_step", "document", "label")

    def __init__(
        self,
        document: Document,
        parent: Place | None = None,
        step: str | int = "",
        label: str = "",
    ) -> None:
        self.document = document
        self._parent = parent
        self._step = step
        self.label = label

    def at(self, step: str | int, label: str = "") -> Place:
        """The place of a field, or of an item of a list."""
        return Place(self.document, self, step, label)

    def labelled(self, label: str) -> Place:
        """This place under a label."""
        return Place(self.document, self._parent, self._step, label)

    @property
    def location(self) -> list[str | int]:
        """The way here from the top."""
        return [] if self._parent is None else [*self._parent.location, self._step]

    @property
    def path(self) -> str:
        """The way here as text: `segments[1][0].offset`; below a label `step 3 (fetch): max`."""
        steps: list[str | int] = []
        place = self
        while place._parent is not None and not place.label:
            steps.append(place._step)
            place = place._parent
        return ": ".join(filter(None, [place.label, path_of(steps[::-1])]))

    def check(self, problem: str | None) -> None:
        """Raises BadInput about the value here, if there is a problem."""
        if problem is not None:
            self.fail(problem)

    def refuse(self, step: str | int, wrong: object, text: str) -> None:
        """Raises BadInput about a field or an item here, if `wrong` is true."""
        if wrong:
            self.at(step).fail(text)

    def problem(self, text: str) -> str:
        """A problem with the value here, in one line: `file:line: path: text`."""
        return self.document.problem(self.location, text, path=self.path)

    def fail(self, text: str) -> NoReturn:
        """Raises BadInput about the value here."""
        raise BadInput(self.problem(text))


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)


def path_of(location: Location) -> str:
    """`location` as people write it: `segments[1][0].offset`."""
    text = ""
    for step in location:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{field_name(step)}" if text else field_name(step)
    # A number alone would read as the value that is wrong, or as a column.
    return json.dumps(text) if _NUMBER.fullmatch(text) else text


def field_name(name: str) -> str:
    """The name of a field in a path, shortened; quoted if it is empty, unprintable or padded."""
    name = clipped(name, _NAME)
    plain = name.isprintable() and name.strip() == name != ""
    return name if plain else json.dumps(name)


def shown(value: object) -> str:
    """A value as a message repeats it: as in JSON, in one line, shortened."""
    if isinstance(value, str):
        value = value[: _SHOWN + 1]
    text = json.dumps(value, ensure_ascii=False, default=str)
    if not text.isprintable():
        text = json.dumps(value, default=str)
    return clipped(text, _SHOWN)


def clipped(text: str, length: int = _SHOWN) -> str:
    """A text, or the part of it that a message shows."""
    return text if len(text) <= length else f"{text[:length]}…"


def joint_error(complaints: Sequence[str], *, more: int = 0) -> BadInput:
    """The error with the first complaints about a file, a line each, and the number of others.

    Args:
        complaints: Lines, in order.
        more: Number of further complaints, for which there are no lines.
    """
    left = max(0, len(complaints) - COMPLAINTS.most) + more
    lines = [*complaints[: COMPLAINTS.most], *([f"and {left:,} more"] if left else [])]
    return BadInput(*lines)


class Complaints:
    """Complaints about the parts of a file; each part is read in a `with` of its own.

    Attributes:
        lines: Lines about what was wrong so far, in order.
    """

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __enter__(self) -> None:
        """Starts to read a part; the BadInput that it raises is kept for `end`."""

    def __exit__(self, _kind: object, error: object, _traceback: object) -> bool:
        if isinstance(error, BadInput):
            self.lines += error.args
        return isinstance(error, BadInput)

    def add(self, line: str) -> None:
        """Adds a complaint about a part that is still read to its end."""
        self.lines.append(line)

    @property
    def enough(self) -> bool:
        """True once the largest number of complaints is reached."""
        return len(self.lines) >= ENOUGH

    def end(self, document: Document | None = None) -> None:
        """Raises BadInput with the complaints, each once, if there are any.

        Args:
            document: The document by whose lines they are sorted; None to keep their order.
        """
        if self.lines:
            lines = dict.fromkeys(self.lines)
            raise joint_error(list(lines) if document is None else document.in_order(lines))


def listed(values: Iterable[object]) -> str:
    """Names as a message lists them."""
    return ", ".join(map(str, values)) or "none"


def unknown_field(name: str, allowed: Collection[str], *, what: str = "field") -> str:
    """Complaint about a field that does not exist."""
    return f"unknown {what}{did_you_mean(name, allowed)}; allowed: {listed(allowed)}"


def unknown_value(value: object, allowed: Collection[str], *, what: str = "value") -> str:
    """Complaint about a value that is none of those allowed."""
    close = did_you_mean(value, allowed)
    return f"unknown {what} {shown(value)}{close}; allowed: {listed(allowed)}"


def as_text(value: object, place: Place) -> str:
    """The value as text. Raises BadInput."""
    if not isinstance(value, str):
        place.fail(f"expected text, not {shown(value)}")
    return value


def as_list(value: object, place: Place) -> list[Any]:
    """The value as a list. Raises BadInput."""
    if not isinstance(value, list):
        place.fail(f"expected a list, not {shown(value)}")
    return value


def as_object(value: object, place: Place) -> dict[str, Any]:
    """The value as an object: fields with their values. Raises BadInput."""
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

    Attributes:
        place: Where the object stands.
        values: Name -> value, as given.
    """

    __slots__ = ("place", "values")

    def __init__(
        self, value: object, place: Place, allowed: Collection[str], wrong: Complaints
    ) -> None:
        """Starts with an object that may have the fields `allowed`; others are added to `wrong`.

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
        """Raises BadInput about a field."""
        self.at(name).fail(text)


TAG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
_TAG = re.compile(TAG_PATTERN)
OPERATORS = ("and", "or", "not")


def is_tag(word: str) -> bool:
    """True for a word that can be a tag, named in an expression such as `slow and not raft`."""
    return _TAG.fullmatch(word) is not None and word.lower() not in OPERATORS


def tags_at(value: object, place: Place) -> tuple[str, ...]:
    """The tags in a file's `tags` field; null means none.

    Raises:
        BadInput: It is no list of words, or a word of it cannot be a tag or is given twice.
    """
    found = [] if value is None else as_list(value, place)
    for index, item in enumerate(found):
        place.at(index).check(tag_problem(item))
    place.check(tag_given_twice(found))
    return tuple(found)


def tag_given_twice(words: Sequence[str]) -> str | None:
    """The problem with tags of which one is given twice; None without one."""
    twice = next((word for index, word in enumerate(words) if word in words[:index]), None)
    return None if twice is None else f"{shown(twice)} is given twice"


def tag_problem(item: object) -> str | None:
    """The problem with a value as a tag; None without one."""
    if isinstance(item, str) and is_tag(item):
        return None
    return (
        f"{shown(item)} is no tag; allowed: letters, digits, and . _ - behind the first, "
        f"but not {', '.join(OPERATORS[:-1])} or {OPERATORS[-1]}"
    )
