"""YAML, read strictly: a file means the same to every reader, and every value has its line.

Stricter than YAML 1.1: a key may occur once, and a plain word that YAML versions read differently
(`no`, `012`, `1e3`) is an error, not a guess.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, NoReturn

import yaml

from sim.errors import BadInput
from sim.files.document import Data, Document, Location, clipped, path_of
from sim.files.limits import LEVELS, VALUES, YAML_BYTES

_NULLS = frozenset({"", "~", "null"})
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,29})")
_DECIMAL = re.compile(r"[-+]?[0-9]{1,30}\.[0-9]{1,30}")
_SWITCH = re.compile(r"(?i:true|false|yes|no|on|off|null)")
_NUMBER = re.compile(
    r"[-+]?([0-9][0-9_]*|0[xob][0-9a-fA-F_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9]*)?)"
)
_FLOAT = re.compile(r"[-+]?(\.(?i:inf|nan)|([0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)([eE][-+]?[0-9]+)?)")


_HALVES = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_TOO_DEEP = f"nested deeper than {LEVELS.most} levels"
_MANY = 5_000
"""Most of the characters `[{-?`, each of which may open a level, in a text that is composed without
counting its levels first."""
_STANDARD = "tag:yaml.org,2002:"
_KINDS = ("null", "bool", "int", "float", "str", "timestamp", "merge", "value", "map", "seq")
_TAGS = frozenset(f"{_STANDARD}{kind}" for kind in _KINDS)
"""Tags that YAML gives to values for which the text names none."""


def parse_yaml(text: str, name: str) -> Document:
    """The one document in `text`; `name` is for messages.

    Raises:
        BadInput: It is not YAML, has a key twice or an ambiguous plain value, is nested too deeply
            or too large.
    """
    if len(text) > YAML_BYTES.most:
        raise BadInput(f"{name}: {YAML_BYTES.too_many(len(text), 'characters of YAML')}")
    try:
        if sum(map(text.count, "[{-?")) > _MANY:
            _check_levels(text, name)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.composer.ComposerError as error:
        second = "a second document starts here; one per file is allowed"
        what = second if error.context else "an alias has no anchor before it"
        raise BadInput(f"{name}:{_line_of(error.problem_mark)}: {what}") from None
    except yaml.MarkedYAMLError as error:
        what = clipped(str(error.problem or error.context))
        raise BadInput(f"{name}:{_line_of(error.problem_mark)}: is not YAML: {what}") from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        what = f"unacceptable character #x{error.character:04x}: {error.reason}"
        raise BadInput(f"{name}:{line}: is not YAML: {what}") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise BadInput(f"{name}:{line}: half a character (a lone surrogate)") from None
    if root is None:
        return Document(name, None, lambda _: 1)
    return Document(name, _Reader(name).value(root, []), partial(line_of, root))


def _check_levels(text: str, name: str) -> None:
    """Refuses a text that is nested too deeply for the composer, which recurses in C."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > LEVELS.most:
            raise BadInput(f"{name}:{_line_of(event.start_mark)}: {_TOO_DEEP}")


def places_in_json(text: str) -> yaml.Node | None:
    """The nodes of a text that is JSON, for `line_of`; None for one that is too large."""
    if len(text) > YAML_BYTES.most:
        return None
    try:
        # JSON writes a character beyond U+FFFF as two escapes, which YAML does not allow.
        return yaml.compose(_HALVES.sub(r"\\ufffd", text), Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None


def check_given_once(root: yaml.Node | None, name: str) -> None:
    """Raises BadInput for a field that is given twice in a text that is JSON."""
    if root is not None:
        _Reader(name, plain_is_text=True).value(root, [])


def line_of(root: yaml.Node | None, location: Location) -> int | None:
    """The line of the value at `location`: of its key, if it has one.

    Args:
        root: The node of the document; None where the lines are not known.
        location: The way to a value, without steps that are not in the document.
    """
    if root is None:
        return None
    node, line = root, _line_of(root.start_mark)
    for step in location:
        if isinstance(node, yaml.MappingNode):
            pairs = [pair for pair in node.value if pair[0].value == step]
            if not pairs:
                return line
            key, node = pairs[0]
            line = _line_of(key.start_mark)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = _line_of(node.start_mark)
    return line


class _Reader:
    """Converts nodes to plain data, in the order of the text.

    Args:
        name: Name of the file in messages.
        plain_is_text: True to leave numbers and words as they are written.
    """

    def __init__(self, name: str, *, plain_is_text: bool = False) -> None:
        self._name = name
        self._plain_is_text = plain_is_text
        self._left = VALUES.most

    def value(self, node: yaml.Node, way: list[str | int]) -> Data:
        """The value of a node; `way` leads to it. Raises BadInput."""
        self._left -= 1
        if self._left < 0:
            self._fail(node, f"more than {VALUES.most} values in one file")
        if node.tag not in _TAGS:
            tag = node.tag.replace(_STANDARD, "!!")
            self._fail(node, f"tags are not allowed: {clipped(tag)}")
        if isinstance(node, yaml.ScalarNode):
            return node.value if node.style or self._plain_is_text else self._resolved(node)
        if len(way) >= LEVELS.most:
            self._fail(node, _TOO_DEEP)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, [*way, index]) for index, item in enumerate(node.value)]
        return self._fields(node, way)

    def _fields(self, node: Any, way: list[str | int]) -> dict[str, Data]:
        found: dict[str, Data] = {}
        for key, inner in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fail(key, "a key must be a plain word")
            if key.value == "<<" and not key.style:
                self._fail(key, "merge keys (<<) are not allowed; write the fields out")
            if key.value in found:
                first = next(one for one, _ in node.value if one.value == key.value)
                twice = f"given twice, first in line {_line_of(first.start_mark)}"
                self._fail(key, f"{path_of([*way, key.value])}: {twice}")
            found[key.value] = self.value(inner, [*way, key.value])
        return found

    def _resolved(self, node: yaml.ScalarNode) -> str | int | float | bool | None:
        """A plain scalar: null, true, false, a decimal number, or text."""
        text: str = node.value
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
            self._fail(node, f"plain {text} is ambiguous in YAML; {hint}")
        if _NUMBER.fullmatch(text) or _FLOAT.fullmatch(text):
            hint = "write a decimal number such as 1000 or 0.5, or quote it"
            what = "is not the same number in every YAML version"
            self._fail(node, f"plain {clipped(text)} {what}; {hint}")
        return text

    def _fail(self, node: yaml.Node, text: str) -> NoReturn:
        raise BadInput(f"{self._name}:{_line_of(node.start_mark)}: {text}")


def _line_of(mark: Any) -> int:
    return 1 if mark is None else int(mark.line) + 1
