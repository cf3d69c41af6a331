"""What a rule is, as data: what it decides, its values, what each means and who says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, get_type_hints

from sim.compaction.extending import meaning_of
from sim.limits import Limit

RuleValue = str | int | bool


class Value(NamedTuple):
    """One value of a rule.

    Attributes:
        means: What it means, for people.
        source: Who says so: a section of a KIP, a class and method, a ticket, a paper.
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


class RuleSpec(NamedTuple):
    """One rule, in the annotation of the field that holds it.

    Attributes:
        decides: What it decides, for people.
        choices: Its values, the default first; empty when any number or text will do. A registry
            of strategies, fixes or the like stands for what is in it when asked: each has a
            `source`, perhaps an `example`, and `means` or a docstring.
        source: Who says so, of a rule that takes any number or text; else each value has its own.
        minimum: Smallest allowed number, for rules that take one.
        limit: Largest allowed number, or longest text, for rules that take any.
        name: Its name in files and on the command line: that of the field.
    """

    decides: str
    choices: tuple[Value, ...] | Mapping[str, object] = ()
    source: str = ""
    minimum: int | None = None
    limit: Limit | None = None
    name: str = ""

    @property
    def values(self) -> tuple[RuleValue, ...]:
        """Allowed values, the default first, those of plugins last; empty = any of the type."""
        if isinstance(self.choices, tuple):
            return tuple(value.name for value in self.choices)
        return tuple(self.choices)

    def described(self) -> tuple[Value, ...]:
        """The same with what each means, its source and its example."""
        if isinstance(self.choices, tuple):
            return self.choices
        return tuple(
            Value(meaning_of(one), source_of(one), getattr(one, "example", ""), name)
            for name, one in self.choices.items()
        )


def rule(decides: str, **values: Value) -> RuleSpec:
    """A rule with these values, the default first; `true` and `false` are those of a flag."""
    flags: dict[str, RuleValue] = {"true": True, "false": False}
    named = [value._replace(name=flags.get(name, name)) for name, value in values.items()]
    return RuleSpec(decides, tuple(named))


def rules_of(group: type) -> dict[str, RuleSpec]:
    """The rules of a group by name, in the order of its fields."""
    kinds = get_type_hints(group, include_extras=True)
    return {name: kind.__metadata__[0]._replace(name=name) for name, kind in kinds.items()}


def source_of(described: object) -> str:
    """Who says so, in the words of the strategy, the fix or the like itself."""
    return str(getattr(described, "source", ""))
