"""A rule as data: what it decides, its values, their meanings and sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import asdict

from sim.files.limits import Limit
from sim.protocol.compaction.extending import meaning_of

RuleValue = str | int | bool


class Value(NamedTuple):
    """A value of a rule.

    Attributes:
        means: Meaning of the value, as lists and reports print it.
        source: Source of the meaning: a section of a KIP, a class and method, a ticket, a paper.
        example: A file below `scenarios/` in which it makes a difference; empty for a plugin's.
        name: The value, as in files.
    """

    means: str
    source: str
    example: str = ""
    name: RuleValue = ""


def shown(value: object) -> str:
    """A value of a rule as files have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Open(NamedTuple):
    """The range of a rule that has no list of values.

    Attributes:
        source: Source of the rule.
        limit: Largest allowed number, or longest text.
        minimum: Smallest allowed number.
    """

    source: str
    limit: Limit
    minimum: int | None = None


class RuleSpec(NamedTuple):
    """A rule, as the annotation of its field defines it.

    Attributes:
        name: Its name in files and on the command line: that of the field.
        decides: What the rule decides, as lists and reports print it.
        choices: Its values, the default first; empty when any number or text will do. A registry
            of strategies, fixes or the like stands for what is in it when asked: each has a
            `source`, perhaps an `example`, and `means` or a docstring.
        source: Source of a rule that takes any number or text; else each value has its own.
        limit: Largest allowed number, or longest text, for rules that take any.
        minimum: Smallest allowed number, for rules that take one.
    """

    name: str
    decides: str
    choices: tuple[Value, ...] | Mapping[str, object] = ()
    source: str = ""
    limit: Limit | None = None
    minimum: int | None = None

    @property
    def values(self) -> tuple[RuleValue, ...]:
        """Allowed values, the default first, those of plugins last; empty = any of the type."""
        if isinstance(self.choices, tuple):
            return tuple(value.name for value in self.choices)
        return tuple(self.choices)

    def described(self) -> tuple[Value, ...]:
        """The allowed values with meaning, source and example of each."""
        if isinstance(self.choices, tuple):
            return self.choices
        return tuple(
            Value(meaning_of(one), source_of(one), getattr(one, "example", ""), name)
            for name, one in self.choices.items()
        )


def rules_of(group: Struct) -> dict[str, RuleSpec]:
    """The rules of a group of defaults by name, in the order of its fields.

    The annotation of a field is the rule: its type, what it decides, then a `Value` for each of
    the values in the order of the type, a registry that has them, or what an `Open` rule takes.
    """
    kinds = get_type_hints(type(group), include_extras=True)
    return {name: _rule(name, kinds[name], default) for name, default in asdict(group).items()}


def _rule(name: str, kind: Any, default: RuleValue) -> RuleSpec:
    decides, *given = kind.__metadata__
    match given:
        case [Open() as any_that_fits]:
            return RuleSpec(name, decides, (), *any_that_fits)
        case [dict() as registry]:
            return RuleSpec(name, decides, registry)
    names = (default, not default) if kind.__origin__ is bool else get_args(kind.__origin__)
    named = zip(given, names, strict=True)
    return RuleSpec(name, decides, tuple(value._replace(name=one) for value, one in named))


def source_of(described: object) -> str:
    """The source that a strategy, a fix or a removal rule names; empty without one."""
    return str(getattr(described, "source", ""))
