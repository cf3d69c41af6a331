"""Decisions: the alternatives that a report sets side by side, and how evidence is matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.errors import BadInput, did_you_mean
from sim.protocol.rules import rules_from
from sim.protocol.rules.rules import shown

Values = Mapping[str, Any]
PRESET = "preset"


@dataclass(frozen=True, slots=True)
class Decision:
    """The alternatives of a decision, and the evidence that bears on it.

    Attributes:
        name: The plan's name for it; empty for one that the plan does not name.
        alternatives: By label, what each sets of the rules in which they differ. The first is the
            one that the others would replace.
        searches: Names of the plans whose searches bear on it.
        stories: Names of shipped scenarios that bear on it.
    """

    name: str
    alternatives: Mapping[str, Values]
    searches: Sequence[str] = ()
    stories: Sequence[str] = ()

    def alternative_of(self, rules: Values) -> str | None:
        """The alternative that has these rules; None without one."""
        for label, values in self.alternatives.items():
            if all(rules[name] == value for name, value in values.items()):
                return label
        return None

    def beside(self, values: Values) -> str:
        """The values of rules in which the alternatives do not differ, as in `header, read_end`."""
        decided = next(iter(self.alternatives.values()))
        names = [name for name in values if name not in decided and name != PRESET]
        return ", ".join(shown(values[name]) for name in names)


def decisions_of(plan: Values) -> tuple[Decision, ...]:
    """The decisions that the plan of a sweep names, or else the one that its rule sets are about.

    Args:
        plan: The content of `plan.json`.
    """
    written, rule_sets = plan["plan"], plan["rule_sets"]
    base = rules_from(written.get("rules", {}))
    by_label = {one["label"]: one["rules"] for one in rule_sets}
    named = written.get("decisions", {})
    if not named:
        swept = [name for name in rule_sets[0]["swept"] if name != PRESET]
        whole = swept and _is_whole(rule_sets, swept[0])
        return (decision_by(plan, swept[0]) if whole else Decision("", _differing(by_label)),)
    return tuple(
        Decision(
            name,
            _differing(
                {label: rules_from(own, base=base).as_dict() for label, own in alternatives.items()}
                or by_label
            ),
            one["searches"],
            one["stories"],
        )
        for name, one in named.items()
        for alternatives in [one["alternatives"]]
    )


def decision_of(plan: Values, name: str | None) -> Decision:
    """The decision of a name, or the first one.

    Raises:
        BadInput: There is none of that name.
    """
    decisions = decisions_of(plan)
    found = next((one for one in decisions if name in (None, one.name)), None)
    if found is None:
        known = [one.name for one in decisions if one.name]
        allowed = f"allowed: {', '.join(known)}" if known else "the plan names none"
        close = did_you_mean(name or "", known)
        raise BadInput(f"decision {name}: no such decision{close}; {allowed}")
    return found


def decision_by(plan: Values, rule: str) -> Decision:
    """The decision between the values of one swept rule.

    Raises:
        BadInput: The sweep does not vary the rule.
    """
    swept = [one["swept"] for one in plan["rule_sets"]]
    if rule not in swept[0]:
        raise BadInput(f"this sweep does not vary {rule}; it varies {', '.join(swept[0])}")
    return Decision("", {shown(one[rule]): {rule: one[rule]} for one in swept})


def _is_whole(rule_sets: Sequence[Values], rule: str) -> bool:
    """True where every value of a rule met the same values of the other rules."""
    swept = [one["swept"] for one in rule_sets]
    values = {one[rule] for one in swept}
    others = {tuple(value for name, value in one.items() if name != rule) for one in swept}
    return 1 < len(values) < len(swept) == len(values) * len(others)


def _differing(alternatives: Mapping[str, Values]) -> dict[str, Values]:
    """The alternatives without the rules that all of them set to the same value."""
    first, *others = alternatives.values()
    names = [name for name in first if any(one[name] != first[name] for one in others)]
    return {label: {name: one[name] for name in names} for label, one in alternatives.items()}
