"""Rules: every disputed behaviour of the protocol and of the cleaner as a named, typed switch.

A hidden choice makes a testbed report bugs that are not there, or miss those that are. Each group
of rules is a class in `cleaner`, `replication` or `storage`, with a field for each rule. Its type
lists the values; its docstring says what the rule decides, what each value means, its source and an
example. `presets` has the values that bundles of rules set; `rules_from` applies them.
Files and the command line know rules by their names alone, without the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from sim.errors import BadInput, did_you_mean
from sim.files.limits import in_short, whole_number
from sim.protocol.rules.cleaner import CleanerRules
from sim.protocol.rules.presets import PRESETS
from sim.protocol.rules.replication import (
    CoordinatorRules,
    ElectionRules,
    ReadingRules,
    ReplicationRules,
)
from sim.protocol.rules.spec import RuleSpec, RuleValue, rules_of, shown
from sim.protocol.rules.storage import SnapshotRules, StorageRules, TopicRules


class Rules(Struct, frozen=True, gc=False):
    """A value for every rule; the defaults are those of a Raft log with Kafka's cleaner."""

    cleaner: CleanerRules = CleanerRules()
    replication: ReplicationRules = ReplicationRules()
    election: ElectionRules = ElectionRules()
    storage: StorageRules = StorageRules()
    snapshots: SnapshotRules = SnapshotRules()
    reading: ReadingRules = ReadingRules()
    coordinator: CoordinatorRules = CoordinatorRules()
    topic: TopicRules = TopicRules()

    @classmethod
    def of(cls, **values: RuleValue) -> Rules:
        """The defaults, but for the rules that are given by name.

        Raises:
            BadInput: A rule or a value does not exist; the message lists what is allowed.
        """
        return cls().with_values(values)

    def with_values(self, values: Mapping[str, object], *, where: str = "rules") -> Rules:
        """These rules with some values changed, given by name.

        Raises:
            BadInput: A rule or a value does not exist; the message lists what is allowed.
        """
        checked = {name: check_value(name, value, where=where) for name, value in values.items()}
        groups: tuple[Any, ...] = astuple(self)
        own = [{n: checked[n] for n in g.__struct_fields__ if n in checked} for g in groups]
        return Rules(*[replace(group, **values) for group, values in zip(groups, own, strict=True)])

    def as_dict(self) -> dict[str, RuleValue]:
        """All rules with their values by name, group by group in order of declaration."""
        return {name: getattr(getattr(self, group), name) for name, group in GROUP_OF.items()}

    def differing_from(self, other: Rules) -> dict[str, RuleValue]:
        """The rules whose value here is not the one in `other`."""
        if self == other:
            return {}
        theirs = other.as_dict()
        return {name: value for name, value in self.as_dict().items() if theirs[name] != value}


GROUP_OF: dict[str, str] = {
    rule: group
    for group in Rules.__struct_fields__
    for rule in getattr(Rules(), group).__struct_fields__
}
"""The group of every rule by its name, in the order of `Rules`; no two rules have one name."""

DEFAULTS: dict[str, RuleValue] = Rules().as_dict()
"""The default of every rule."""

RULES: dict[str, RuleSpec] = {
    name: spec for group in astuple(Rules()) for name, spec in rules_of(group).items()
}
"""Every rule by name, in the order of `Rules`."""


def check_value(name: str, value: object, *, where: str = "rules") -> RuleValue:
    """The value if rule `name` allows it; numbers and booleans may come as text.

    Raises:
        BadInput: Unknown rule, or a value it does not allow.
    """
    if name not in RULES:
        said = f"unknown rule {in_short(name)}{did_you_mean(name, RULES)}"
        raise BadInput(f"{where}: {said}; allowed: {listed(RULES)}")
    try:
        return allowed_value(name, value)
    except ValueError as error:
        raise BadInput(f"{place_of(name, where)}: {error}") from None


def allowed_value(name: str, value: object) -> RuleValue:
    """The value if rule `name`, which exists, allows it; numbers and booleans may come as text.

    Raises:
        ValueError: It does not; the text says what is allowed, and not where the value stands.
    """
    spec, default = RULES[name], DEFAULTS[name]
    parsed = _parse(value, type(default))
    if parsed is None or (spec.values and parsed not in spec.values):
        allowed = listed(spec.values) or _kind(default, spec.minimum)
        close = did_you_mean(str(value), [str(known) for known in spec.values])
        said = in_short(value) if isinstance(value, str) else repr(value)
        raise ValueError(f"unknown value {said}{close}; allowed: {allowed}")
    problem = _beyond(spec, parsed)
    if problem is not None:
        raise ValueError(problem)
    return parsed


def _beyond(spec: RuleSpec, value: RuleValue) -> str | None:
    """The problem of a number or a text that has the right type; None without one."""
    if isinstance(value, bool) or spec.limit is None:
        return None
    if isinstance(value, int):
        return spec.limit.problem(value, least=spec.minimum)
    return spec.limit.too_many(len(value), "characters")


def place_of(name: str, where: str) -> str:
    """The place of rule `name` in messages: `where.name`, or `where name` if that is an option."""
    return f"{where} {name}" if where.startswith("--") else f"{where}.{name}"


def _kind(default: RuleValue, minimum: int | None) -> str:
    """The kind of value that a rule without named values allows."""
    if isinstance(default, str):
        return "a text that is not empty"
    return "an integer" if minimum is None else f"an integer from {minimum}"


def _parse(value: Any, kind: type) -> RuleValue | None:
    """The value, or what its text stands for; None = it is none of this kind."""
    if isinstance(value, str) and kind is not str:
        return {"true": True, "false": False}.get(value) if kind is bool else whole_number(value)
    fits = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    return value if fits and value != "" else None


def listed(values: object) -> str:
    """Values as an error message lists them."""
    return ", ".join(map(shown, values))  # type: ignore[call-overload]


def rules_from(
    values: Mapping[str, object], *, base: Rules | None = None, where: str = "rules"
) -> Rules:
    """The rules of `base` (default: `Rules()`), changed by a mapping that may name a `preset`.

    The preset comes first, so that other rules of the mapping override it. `where` is the place of
    the mapping in messages.

    Raises:
        BadInput: Unknown preset, rule or value.
    """
    rules = base or Rules()
    rest = dict(values)
    preset = rest.pop("preset", None)
    if preset is not None:
        if not isinstance(preset, str) or preset not in PRESETS:
            close = did_you_mean(str(preset), PRESETS)
            raise BadInput(
                f"{place_of('preset', where)}: unknown preset {preset!r}{close}; "
                f"allowed: {listed(PRESETS)}"
            )
        rules = rules.with_values(PRESETS[preset].values, where=where)
    return rules.with_values(rest, where=where)
