"""What a rule is: a name, its values, what it decides and who says so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

RuleValue = str | int | bool


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """What one rule decides and where it comes from.

    Attributes:
        name: Its name in files and on the command line.
        allowed: Allowed values, the default first; empty when any value of the type will do.
            A registry of strategies, fixes or the like stands for what is in it when asked.
        decides: What it decides, for people.
        source: Who says so: a KIP, a class and method, a ticket.
        minimum: Smallest allowed number, for rules that take one.
    """

    name: str
    allowed: Collection[RuleValue]
    decides: str
    source: str
    minimum: int | None = None

    @property
    def values(self) -> tuple[RuleValue, ...]:
        """Allowed values, the default first, those of plugins last; empty = any of the type."""
        return tuple(self.allowed)
