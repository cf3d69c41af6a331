"""The common base of stories and timed scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

from sim.protocol.rules import Rules


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expectation of a run.

    Attributes:
        violated: Names of the judged invariants that are violated, and no others.
        checked: Names of the judged invariants; None: those of the format, and of `violated`.
    """

    violated: tuple[str, ...] = ()
    checked: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Runnable:
    """A story or a timed scenario, as loaded: immutable data.

    Attributes:
        unit: Unit of its times: `step`, numbers from 1, or `ms` of simulated time.
        id: Its name.
        title: Its subject in a sentence.
        source: The KIP, ticket or discussion it comes from.
        rules: Rules of the replicas at the start.
        preset: Name of the preset of its rules; None without a preset.
        expect: Expected result of its run.
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
        """Seed of its random numbers; None where it has none."""
        return None

    @property
    def default_rules(self) -> Rules:
        """Rules of a story or scenario that names none."""
        return Rules()

    @property
    def clock_skews(self) -> Mapping[str, int] | None:
        """Lead of each replica's clock over simulated time in ms; None where times are steps."""
        return None

    def with_rules(self, rules: Rules) -> Self:
        """A copy of the story or scenario under other rules."""
        return replace(self, rules=rules)
