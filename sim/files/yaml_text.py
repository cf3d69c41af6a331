"""YAML read strictly, so that a file means the same to every reader, and every value has its line.

Stricter than YAML 1.1: a key may occur once, and a plain word that YAML versions read differently
(`no`, `012`, `1e3`) is an error, not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from sim.files.document import Document, Location, clipped, path_of
from sim.limits import LEVELS, VALUES

Scalar = str | int | float | bool | None
Data = Scalar | Mapping[str, "Data"] | Sequence["Data"]

TOO_DEEP = f"nested deeper than {LEVELS.most} levels"
_NULLS = frozenset({"", "~", "null"})
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
        size: Number of scalars and collections in it, itself included; what an alias repeats is
            counted as often as it is used.
        depth: Levels of collections in it, itself included.
    """

    value: Scalar | list[Node] | dict[str, Node]
    line: int
    key_lines: dict[str, int] = field(default_factory=dict)
    size: int = 1
    depth: int = 0

    def data(self) -> Data:
        """The value without lines: what `json.loads` would give."""
        if isinstance(self.value, dict):
            return {key: node.data() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        return self.value

    def line_of(self, location: Location) -> int:
        """The line of what stands at `location`, which exists: of its key, if it has one."""
        node, line = self, self.line
        for step in location:
            if isinstance(node.value, dict):
                line, node = node.key_lines[str(step)], node.value[str(step)]
            elif isinstance(node.value, list) and isinstance(step, int):
                node = node.value[step]
                line = node.line
        return line


def parse_yaml(text: str, name: str) -> Document:
    """The one document in `text`; `name` is for messages.

    Raises:
        BadInput: It is not YAML, has a key twice, an ambiguous plain value, or is nested or sized
            beyond reason.
    """
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        root = _Builder(name).build(events)
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
    root = root or Node(None, 1)
    return Document(name, root.data(), root.line_of)


class _Builder:
    """Turns parser events into nodes without recursion, so that no file can exhaust the stack."""

    def __init__(self, name: str) -> None:
        self.name = name
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
                    self.fail(line, f"alias *{clipped(event.anchor or '')} has no anchor before it")
                self.add(self.anchors[event.anchor], line)
        return self.root

    def fail(self, line: int, text: str) -> NoReturn:
        raise BadInput(f"{self.name}:{line}: {text}")

    def location(self) -> list[str | int]:
        """Where the value stands that is read at present."""
        steps: list[str | int] = []
        for node, key in zip(self.open, self.keys, strict=True):
            step = len(node.value) if isinstance(node.value, list) else key
            steps += [] if step is None else [step]
        return steps

    def start(self, event: MappingStartEvent | SequenceStartEvent, line: int) -> None:
        mapping = isinstance(event, MappingStartEvent)
        if event.tag is not None:
            self.fail(line, f"tags are not allowed: {clipped(event.tag)}")
        if len(self.open) >= LEVELS.most:
            self.fail(line, TOO_DEEP)
        if self.awaits_key():
            self.fail(line, "a key must be a plain word")
        self.open.append(Node({} if mapping else [], line, depth=1))
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
            self.fail(line, f"tags are not allowed: {clipped(event.tag)}")
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
            path = path_of([*self.location(), key])
            self.fail(line, f"{path}: given twice, first in line {parent.key_lines[key]}")
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
        parent.depth = max(parent.depth, node.depth + 1)
        if len(self.open) + node.depth > LEVELS.most:  # an alias may bring levels with it
            self.fail(line, TOO_DEEP)
        parent.size += node.size
        if parent.size > VALUES.most:
            self.fail(line, f"more than {VALUES.most} values in one file")

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
                f"plain {clipped(text)} is not the same number in every YAML version; "
                "write a decimal number such as 1000 or 0.5, or quote it",
            )
        return text
