"""YAML, read strictly: a file means the same to every reader, and every value has its line.

Stricter than YAML 1.1: a key may occur once, and a plain word that YAML versions read differently
(`no`, `012`, `1e3`) is an error, not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from sim.errors import BadInput
from sim.files.document import Document, Node, Scalar, clipped, path_of
from sim.files.limits import LEVELS, VALUES

TOO_DEEP = f"nested deeper than {LEVELS.most} levels"
_NULLS = frozenset({"", "~", "null"})
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,29})")
_DECIMAL = re.compile(r"[-+]?[0-9]{1,30}\.[0-9]{1,30}")
_SWITCH = re.compile(r"(?i:true|false|yes|no|on|off|null)")
_NUMBER = re.compile(
    r"[-+]?([0-9][0-9_]*|0[xob][0-9a-fA-F_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9]*)?)"
)
_FLOAT = re.compile(r"[-+]?(\.(?i:inf|nan)|([0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)([eE][-+]?[0-9]+)?)")


_HALVES = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def parse_yaml(text: str, name: str) -> Document:
    """The one document in `text`; `name` is for messages.

    Raises:
        BadInput: It is not YAML, has a key twice or an ambiguous plain value, is nested too deeply
            or too large.
    """
    try:
        root = _Reader(yaml.parse(text, Loader=yaml.CSafeLoader), name).document()
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        what = clipped(str(error.problem or error.context))
        raise BadInput(f"{name}:{line}: is not YAML: {what}") from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        what = f"unacceptable character #x{error.character:04x}: {error.reason}"
        raise BadInput(f"{name}:{line}: is not YAML: {what}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{name}: is not YAML: {' '.join(str(error).split())}") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise BadInput(f"{name}:{line}: half a character (a lone surrogate)") from None
    return Document(name, root.data(), root.line_of)


def places_in_json(text: str, name: str) -> Node | None:
    """The values of a text that is JSON with their lines; numbers and words are left as text.

    Returns:
        None where the text has more values or levels than a file of YAML may have.

    Raises:
        BadInput: A field is given twice.
    """
    as_yaml = _HALVES.sub(r"\\ufffd", text)  # YAML knows no halves of characters
    try:
        return _PlacesInJson(yaml.parse(as_yaml, Loader=yaml.CSafeLoader), name).document()
    except (yaml.YAMLError, _TooLarge):
        return None


class _TooLarge(BadInput):
    """More values or levels than a file of YAML may have."""


class _Reader:
    """Builds nodes from the events of the parser, in the order of the text."""

    def __init__(self, events: Iterator[Event], name: str) -> None:
        self.events = events
        self.name = name
        self.anchors: dict[str, Node] = {}

    def document(self) -> Node:
        """The one document; null if there is none."""
        root: Node | None = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    self.fail(event, "a second document starts here; one per file is allowed")
                root = self.node(next(self.events), [])
        return root or Node(None, 1)

    def fail(self, event: Event, text: str, kind: type[BadInput] = BadInput) -> NoReturn:
        raise kind(f"{self.name}:{_line_of(event)}: {text}")

    def node(self, event: Event, way: list[str | int]) -> Node:
        """The value that begins with this event; `way` leads to it."""
        if isinstance(event, AliasEvent):
            found = self.anchors.get(event.anchor or "")
            if found is None:
                self.fail(event, f"alias *{clipped(event.anchor or '')} has no anchor before it")
            if len(way) + found.depth > LEVELS.most:  # with its own levels
                self.fail(event, TOO_DEEP, _TooLarge)
            return found
        assert isinstance(event, ScalarEvent | MappingStartEvent | SequenceStartEvent)
        literal = isinstance(event, ScalarEvent) and event.tag == "!"
        if event.tag is not None and not literal:
            self.fail(event, f"tags are not allowed: {clipped(event.tag)}")
        if isinstance(event, ScalarEvent):
            plain = not event.style and not literal
            value = self.resolve(event) if plain else event.value
            found = Node(value, _line_of(event))
        elif len(way) >= LEVELS.most:
            self.fail(event, TOO_DEEP, _TooLarge)
        elif isinstance(event, MappingStartEvent):
            found = self.mapping(event, way)
        else:
            found = self.sequence(event, way)
        if event.anchor is not None:
            self.anchors[event.anchor] = found
        return found

    def sequence(self, event: Event, way: list[str | int]) -> Node:
        items: list[Node] = []
        found = Node(items, _line_of(event), depth=1)
        while not isinstance(inner := next(self.events), CollectionEndEvent):
            items.append(self.grown(found, inner, [*way, len(items)]))
        return found

    def mapping(self, event: Event, way: list[str | int]) -> Node:
        values: dict[str, Node] = {}
        found = Node(values, _line_of(event), depth=1)
        while not isinstance(inner := next(self.events), CollectionEndEvent):
            if not isinstance(inner, ScalarEvent):
                self.fail(inner, "a key must be a plain word")
            key = inner.value
            if key == "<<" and not inner.style:
                self.fail(inner, "merge keys (<<) are not allowed; write the fields out")
            if key in values:
                first = f"given twice, first in line {found.key_lines[key]}"
                self.fail(inner, f"{path_of([*way, key])}: {first}")
            found.key_lines[key] = _line_of(inner)
            values[key] = self.grown(found, next(self.events), [*way, key])
        return found

    def grown(self, parent: Node, event: Event, way: list[str | int]) -> Node:
        """A value within `parent`, which is larger and deeper by it."""
        node = self.node(event, way)
        parent.depth = max(parent.depth, node.depth + 1)
        parent.size += node.size
        if parent.size > VALUES.most:
            self.fail(event, f"more than {VALUES.most} values in one file", _TooLarge)
        return node

    def resolve(self, event: ScalarEvent) -> Scalar:
        """A plain scalar: null, true, false, a decimal number, or text."""
        text: str = event.value
        if text in _NULLS:
            return None
        if text in {"true", "false"}:
            return text == "true"
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return float(text)
        if _SWITCH.fullmatch(text):
            hint = "write true, false or null, or quote it"
            self.fail(event, f"plain {text} is ambiguous in YAML; {hint}")
        if _NUMBER.fullmatch(text) or _FLOAT.fullmatch(text):
            hint = "write a decimal number such as 1000 or 0.5, or quote it"
            what = "is not the same number in every YAML version"
            self.fail(event, f"plain {clipped(text)} {what}; {hint}")
        return text


class _PlacesInJson(_Reader):
    """Builds nodes of a text that is JSON."""

    def resolve(self, event: ScalarEvent) -> Scalar:
        text: str = event.value
        return text


def _line_of(event: Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1
