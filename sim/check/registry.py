"""The registry of invariants: one class each, found by scanning the modules of this package.

An invariant subscribes to an event by having a method named after it: `on_appended` for
`Appended`. It reports with `self.violated(...)`; it never raises and never touches a replica.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from sim.check.ledger import Ledger


class Violation(NamedTuple):
    """One broken invariant.

    Attributes:
        invariant: Its name.
        at: When: ms in the timed world, the number of the step in a story.
        replica: Where, if at one replica.
        offset: The offset concerned, if one is.
        key: The key concerned, if one is.
        sentence: What happened, with the numbers in it.
    """

    invariant: str
    at: int
    replica: str | None
    offset: int | None
    key: str | None
    sentence: str

    def as_row(self, *, when: str) -> dict[str, Any]:
        """A flat mapping for JSON; `when` names its time: `at_ms` or `step`."""
        return {
            "invariant": self.invariant,
            when: self.at,
            "replica": self.replica,
            "offset": self.offset,
            "key": self.key,
            "sentence": self.sentence,
        }


class Kind(StrEnum):
    """When an invariant is judged, and what its violation means."""

    SAFETY = "safety"
    """Must hold after every event."""

    AT_REST = "at rest"
    """Safety that is judged when the cluster is quiescent."""

    LIVENESS = "liveness"
    """Holds only under fairness: links healed, replicas up, cleaners running."""

    FINDING = "finding"
    """Worth knowing, no violation of the protocol's promises by itself; judged when asked for."""


class Reporter(Protocol):
    """Takes a violation; knows the time and drops what was reported already."""

    def __call__(
        self, name: str, replica: str | None, offset: int | None, key: str | None, sentence: str
    ) -> None:
        """Record a violation."""


class Invariant:
    """Base of all invariants.

    Class attributes:
        name: Kebab-case, as in files and reports.
        kind: When it is judged.
        source: Who asks for it.
        in_stories: False for those that the story format does not evaluate by default.
        fairness: What has to hold for a violation to count; empty = nothing.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind] = Kind.SAFETY
    source: ClassVar[str]
    in_stories: ClassVar[bool] = True
    fairness: ClassVar[str] = ""

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Watch the events that `ledger` has applied."""
        self.ledger = ledger
        self._report = report

    def violated(
        self, replica: str | None, offset: int | None, key: str | None, sentence: str
    ) -> None:
        """Report a violation."""
        self._report(self.name, replica, offset, key, sentence)


INVARIANTS: dict[str, type[Invariant]] = {}
"""Every invariant by name."""

_I = TypeVar("_I", bound=type[Invariant])


def invariant(cls: _I) -> _I:
    """Register an invariant.

    Raises:
        ValueError: The name is taken.
    """
    if cls.name in INVARIANTS:
        raise ValueError(f"invariant {cls.name!r} is registered twice")
    INVARIANTS[cls.name] = cls
    return cls


@cache
def discover() -> None:
    """Import every module of this package, so that each registers its invariants."""
    package = import_module("sim.check.invariants")
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        import_module(f"sim.check.invariants.{module.name}")


Handler = Callable[[Any], None]
"""What takes an event of one class, such as a bound `on_...` method."""
