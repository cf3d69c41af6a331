"""The common fields of stories and timed scenarios, and the checks of rules in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

from sim.files.document import Complaints, Place, as_object, unknown_field, unknown_value
from sim.protocol.rules import PRESETS, RULES, Rules, allowed_value, rules_from


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expectation of a run.

    Attributes:
        violated: Names of the invariants that have to be violated; all others that are judged have
            to hold.
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


def rule_problem(name: str, value: object) -> str | None:
    """Problem with the value of a rule or of `preset`, without its place; None without one."""
    if name == "preset":
        known = isinstance(value, str) and value in PRESETS
        return None if known else unknown_value(value, PRESETS, what="preset")
    if name not in RULES:
        return unknown_field(name, RULES, what="rule")
    try:
        allowed_value(name, value)
    except ValueError as error:
        return str(error)
    return None


def check_rule(name: str, value: object, place: Place) -> None:
    """Raises BadInput unless a rule, or `preset`, may have the value at `place`."""
    place.check(rule_problem(name, value))


def rules_at(values: object, place: Place, *, base: Rules) -> Rules:
    """The object of rules at `place`, which may name a `preset`, over `base`.

    Raises:
        BadInput: Unknown preset, rule or value.
    """
    given = as_object(values, place)
    wrong = Complaints()
    for name, value in given.items():
        with wrong:
            check_rule(name, value, place.at(name))
    wrong.end()
    return rules_from(given, base=base)
