"""Reading a YAML (or JSON) file so that every value keeps its line.

Stricter than YAML 1.1, so that a file means the same to every reader: a key may occur once, and a
plain word that YAML versions read differently (`no`, `012`, `1e3`) is an error, not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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

Scalar = str | int | float | bool | None
Data = Scalar | Mapping[str, "Data"] | Sequence["Data"]
Location = Sequence[str | int]
Report = Callable[[Location, str], None]
"""Takes a place in the file and what is wrong there."""

DEPTH_LIMIT = 64
SIZE_LIMIT = 1_000_000
"""Values in one file, aliases counted as often as they are used."""

_NULLS = frozenset({"", "~", "null"})
SCENARIO_FORMAT = "replog-scenario/1"
"""What a file of a timed scenario says it is."""

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,29})")
_DECIMAL = re.compile(r"[-+]?[0-9]{1,30}\.[0-9]{1,30}")
_SWITCH = re.compile(r"(?i:true|false|yes|no|on|off|null)")
_NUMBER = re.compile(
    r"[-+]?([0-9][0-9_]*|0[xob][0-9a-fA-F_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9]*)?)"
)
_FLOAT = re.compile(r"[-+]?(\.(?i:inf|nan)|([0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)([eE][-+]?[0-9]+)?)")


@dataclass(slots=True)
class Node:
    """A value and where it stands.

    Attributes:
        value: A scalar, a list of nodes, or a mapping of nodes by key.
        line: The line it starts in, from 1.
        key_lines: For a mapping: the line of each key.
        size: Number of scalars and collections in it, itself included.
    """

    value: Scalar | list[Node] | dict[str, Node]
    line: int
    key_lines: dict[str, int] = field(default_factory=dict)
    size: int = 1

    def data(self) -> Data:
        """The value without lines: what `json.loads` would give."""
        if isinstance(self.value, dict):
            return {key: node.data() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        return self.value


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it was read: `path` for messages, `root` with its lines."""

    path: Path
    root: Node

    def line_of(self, location: Location) -> int:
        """The line of the deepest value on the way to `location` that exists; keys have lines, too.

        Steps that name nothing in the file are skipped: validators add the names of alternatives.
        """
        node, line = self.root, self.root.line
        for step in location:
            found = _child(node, step)
            if found is not None:
                line = node.key_lines.get(str(step), found.line)
                node = found
        return line

    def existing(self, location: Location) -> list[str | int]:
        """The steps of `location` that name something in the file."""
        node, steps = self.root, []
        for step in location:
            found = _child(node, step)
            if found is not None:
                steps.append(step)
                node = found
        return steps

    def name_of(self, location: Location) -> str:
        """`location` as people write it, `faults[2].for_ms`, without what is not in the file.

        The last step is kept in any case: it may be the name of a missing field.
        """
        node, text = self.root, ""
        for index, step in enumerate(location):
            found, last = _child(node, step), index == len(location) - 1
            if isinstance(node.value, list) and isinstance(step, int):
                text += f"[{step}]"
            elif found is not None or (last and isinstance(node.value, dict)):
                text += f".{step}" if text else str(step)
            node = found or node
        return text

    def problem(self, location: Location, text: str) -> str:
        """One line for the user: `file:line: field: text`."""
        name = self.name_of(location)
        return f"{self.path}:{self.line_of(location)}: {name + ': ' if name else ''}{text}"


def _child(node: Node, step: str | int) -> Node | None:
    if isinstance(node.value, dict):
        return node.value.get(str(step))
    if isinstance(node.value, list) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step]
    return None


def read_document(path: Path) -> Document:
    """The one YAML document in a file; a JSON file will do.

    Raises:
        BadInput: The file cannot be read, is not UTF-8, is not YAML, has a key twice, an ambiguous
            plain value, no mapping at the top, or is nested or sized beyond reason.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text (byte {error.start})") from None
    return parse_document(text, path)


def parse_document(text: str, path: Path) -> Document:
    """The document in `text`; `path` is for messages. Raises like `read_document`."""
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        root = _Builder(path).build(events)
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        raise BadInput(f"{path}:{line}: is not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    if root is None or not isinstance(root.value, dict):
        raise BadInput(f"{path}:1: expected fields, `name: value`, at the top level")
    return Document(path, root)


class _Builder:
    """Turns parser events into nodes without recursion, so that no file can exhaust the stack."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.open: list[Node] = []
        self.keys: list[str | None] = []
        self.anchors: dict[str, Node] = {}
        self.open_anchors: list[str | None] = []
        self.root: Node | None = None
        self.documents = 0

    def build(self, events: Iterator[Event]) -> Node | None:
        for event in events:
            line = 1 if event.start_mark is None else event.start_mark.line + 1
            if isinstance(event, DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    self.fail(line, "a second document starts here; one per file is allowed")
            elif isinstance(event, ScalarEvent):
                self.scalar(event, line)
            elif isinstance(event, MappingStartEvent | SequenceStartEvent):
                self.start(event, line)
            elif isinstance(event, CollectionEndEvent):
                self.end(line)
            elif isinstance(event, AliasEvent):
                if event.anchor not in self.anchors:
                    self.fail(line, f"alias *{event.anchor} has no anchor before it")
                self.add(self.anchors[event.anchor], line)
        return self.root

    def fail(self, line: int, text: str) -> NoReturn:
        raise BadInput(f"{self.path}:{line}: {text}")

    def start(self, event: MappingStartEvent | SequenceStartEvent, line: int) -> None:
        mapping = isinstance(event, MappingStartEvent)
        if event.tag is not None:
            self.fail(line, f"tags are not allowed: {event.tag}")
        if len(self.open) >= DEPTH_LIMIT:
            self.fail(line, f"nested deeper than {DEPTH_LIMIT} levels")
        if self.awaits_key():
            self.fail(line, "a key must be a plain word")
        self.open.append(Node({} if mapping else [], line))
        self.keys.append(None)
        self.open_anchors.append(event.anchor)

    def end(self, line: int) -> None:
        node, anchor = self.open.pop(), self.open_anchors.pop()
        self.keys.pop()
        if anchor is not None:
            self.anchors[anchor] = node
        self.add(node, line)

    def awaits_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1].value, dict) and self.keys[-1] is None

    def scalar(self, event: ScalarEvent, line: int) -> None:
        if self.awaits_key():
            self.key(event, line)
            return
        if event.tag is not None and event.tag != "!":
            self.fail(line, f"tags are not allowed: {event.tag}")
        plain = event.style is None or event.style == ""
        value = self.resolve(event.value, line) if plain and event.tag is None else event.value
        node = Node(value, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        self.add(node, line)

    def key(self, event: ScalarEvent, line: int) -> None:
        parent, key = self.open[-1], event.value
        if key == "<<":
            self.fail(line, "merge keys (<<) are not allowed; write the fields out")
        if key in parent.key_lines:
            self.fail(line, f"{key}: given twice, first in line {parent.key_lines[key]}")
        parent.key_lines[key] = line
        self.keys[-1] = key

    def add(self, node: Node, line: int) -> None:
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif isinstance(parent.value, dict):
            key = self.keys[-1]
            if key is None:
                self.fail(line, "a key must be a plain word")
            parent.value[key] = node
            self.keys[-1] = None
        parent.size += node.size
        if parent.size > SIZE_LIMIT:
            self.fail(line, f"more than {SIZE_LIMIT} values in one file")

    def resolve(self, text: str, line: int) -> Scalar:
        """A plain scalar: null, true, false, a decimal number, or text."""
        if text in _NULLS:
            return None
        if text in {"true", "false"}:
            return text == "true"
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return float(text)
        if _SWITCH.fullmatch(text):
            self.fail(
                line, f"plain {text} is ambiguous in YAML; write true, false or null, or quote it"
            )
        if _NUMBER.fullmatch(text) or _FLOAT.fullmatch(text):
            self.fail(
                line,
                f"plain {text} is not the same number in every YAML version; "
                "write a decimal number such as 1000 or 0.5, or quote it",
            )
        return text
