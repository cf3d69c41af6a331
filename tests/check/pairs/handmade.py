"""What a hand-made pair is."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sim.rules import Rules
from sim.trace import Event
from tests.check.events import RULES

NOTHING: Mapping[str, Any] = MappingProxyType({})


class HandMade(NamedTuple):
    """Events that violate a law, and the same but for one step, which do not.

    Attributes:
        misreading: How somebody would read the law who takes the near miss for a violation.
        violating: Violates it.
        near_miss: Does not.
        rules: Of the run.
        checker: What else the checker is told, see `Checker`.
    """

    misreading: str
    violating: Sequence[Event]
    near_miss: Sequence[Event]
    rules: Rules = RULES
    checker: Mapping[str, Any] = NOTHING
