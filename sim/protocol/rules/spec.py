"""A rule as its field defines it: what it decides, its values, their meanings and sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import asdict

from sim.files.attribute_docs import attribute_texts
from sim.files.limits import Limit

RuleValue = str | int | bool


class Value(NamedTuple):
    """A value of a rule.

    Attributes:
        name: The value, as in files.
        means: Meaning of the value, as lists and reports print it.
        source: Source of the meaning: a section of a KIP, a class and method, a ticket, a paper.
        example: A file below `scenarios/` in which it makes a difference; empty for a plugin's.
    """

    name: RuleValue
    means: str
    source: str
    example: str = ""


def shown(value: object) -> str:
    """A value of a rule as files have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Open(NamedTuple):
    """The range of a rule that has no list of values.

    Attributes:
        limit: Largest allowed number, or longest text.
        minimum: Smallest allowed number; None for a text.
    """

    limit: Limit
    minimum: int | None = None


class RuleSpec(NamedTuple):
    """A rule, as the type and the docstring of its field define it.

    Attributes:
        name: Its name in files and on the command line: that of the field.
        group: The class that has the field.
        choices: Its values, the default first; empty for a rule that takes any number or text. A
            registry of strategies, fixes or the like stands for its members at the time of reading,
            each with `means`, `source` and `example`.
        limit: Largest allowed number, or longest text; None for a rule with choices.
        minimum: Smallest allowed number; None for any other rule.
    """

    name: str
    group: type[Struct]
    choices: tuple[RuleValue, ...] | Mapping[str, Any] = ()
    limit: Limit | None = None
    minimum: int | None = None

    @property
    def values(self) -> tuple[RuleValue, ...]:
        """Allowed values, the default first, those of plugins last; empty = any of the type."""
        return tuple(self.choices)

    @property
    def decides(self) -> str:
        """The question that the rule decides, as lists and reports print it."""
        text = _texts(self.group)[self.name].decides.removeprefix("Decides ").rstrip(".")
        return text[0].lower() + text[1:]

    @property
    def source(self) -> str:
        """Source of a rule that takes any number or text; empty where each value has its own."""
        return _texts(self.group)[self.name].source

    def described(self) -> tuple[Value, ...]:
        """The allowed values with meaning, source and example of each; empty = any of the type."""
        if isinstance(self.choices, Mapping):
            return tuple(
                Value(name, one.means, one.source, one.example)
                for name, one in self.choices.items()
            )
        found = _texts(self.group)[self.name].values
        return tuple(found[shown(name)]._replace(name=name) for name in self.choices)


class RuleText(NamedTuple):
    """The docstring of a rule in its parts.

    Attributes:
        decides: First sentence.
        source: Source of the rule itself; empty without one.
        values: Meaning, source and example of each value, by its text in files.
    """

    decides: str
    source: str
    values: dict[str, Value]


_ENTRY = re.compile(r"^(\w+): (.*(?:\n +.*)*)", re.MULTILINE)
_PART = re.compile(r"\n    (?=Source: |Example: )")


@cache
def _texts(group: type[Struct]) -> dict[str, RuleText]:
    """The docstrings of the rules of a group in their parts, by the names of the rules.

    A docstring is a sentence, then an entry for each value: its meaning after the value, then
    `Source:` and perhaps `Example:`.
    """
    return {name: _text(doc) for name, doc in attribute_texts(group).items()}


def _text(doc: str) -> RuleText:
    decides, _, entries = doc.partition("\n\n")
    values, source = {}, ""
    for name, body in _ENTRY.findall(entries):
        means, *parts = (" ".join(part.split()) for part in _PART.split(body))
        if name == "Source":
            source = means
        else:
            named = dict(part.split(": ", 1) for part in parts)
            values[name] = Value(name, means, named.get("Source", ""), named.get("Example", ""))
    return RuleText(" ".join(decides.split()), source, values)


def rules_of(group: Struct) -> dict[str, RuleSpec]:
    """The rules of a group of defaults by name, in the order of its fields.

    The type of a field lists the values, or is annotated with the registry that has them, or with
    the range of an `Open` rule.
    """
    kinds = get_type_hints(type(group), include_extras=True)
    return {
        name: _rule(type(group), name, kinds[name], default)
        for name, default in asdict(group).items()
    }


def _rule(group: type[Struct], name: str, kind: Any, default: RuleValue) -> RuleSpec:
    match getattr(kind, "__metadata__", ()):
        case [Open() as any_that_fits]:
            return RuleSpec(name, group, (), *any_that_fits)
        case [dict() as registry]:
            return RuleSpec(name, group, registry)
    return RuleSpec(name, group, (default, not default) if kind is bool else get_args(kind))
