"""Common base of stories and timed scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

from sim.protocol.rules import Rules


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expectation of a run.

    Attributes:
        violated: Exactly these invariants are violated, of those that are judged.
        checked: Invariants that are judged; None = those of the format, and those in `violated`.
    """

    violated: tuple[str, ...] = ()
    checked: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Runnable:
    """A story or a timed scenario, as loaded: immutable data.

    Attributes:
        unit: Unit of its times: `step`, numbers from 1, or `ms` of simulated time.
        id: Its name.
        title: What it is about, in a sentence.
        source: Where it comes from: a KIP, a ticket.
        rules: Rules that the replicas start with, all their values.
        preset: What its rules were named by; None = nothing.
        expect: What its run is expected to show.
    """

    unit: ClassVar[Literal["step", "ms"]]

    id: str
    title: str = ""
    source: str = ""
    rules: Rules = field(default_factory=Rules)
    preset: str | None = None
    expect: Expectation = field(default_factory=Expectation)

    @property
    def seed(self) -> int | None:
        """Seed of everything random in it; None = nothing is."""
        return None

    @property
    def default_rules(self) -> Rules:
        """Rules of one of this kind that names none."""
        return Rules()

    @property
    def clock_skews(self) -> Mapping[str, int] | None:
        """How far each replica's clock is ahead of simulated time in ms; None = there is none."""
        return None

    def with_rules(self, rules: Rules) -> Self:
        """A copy under other rules."""
        return replace(self, rules=rules)
