"""Rules in a file: a wrong one is complained about where it stands."""

from __future__ import annotations

from sim.files.document import Place, unknown_field, unknown_value
from sim.files.fields import as_object
from sim.rules import PRESETS, RULES, Rules, rules_from
from sim.rules.rules import allowed_value


def rule_problem(name: str, value: object) -> str | None:
    """What is wrong with the value of a rule, without where it stands; None = nothing."""
    if name not in RULES:
        return unknown_field(name, RULES, what="rule")
    try:
        allowed_value(name, value)
    except ValueError as error:
        return str(error)
    return None


def rules_at(values: object, place: Place, *, base: Rules) -> Rules:
    """The object of rules at `place`, which may name a `preset`, over `base`.

    Raises:
        BadInput: Unknown preset, rule or value.
    """
    given = as_object(values, place)
    for name, value in given.items():
        at = place.at(name)
        if name == "preset":
            if not isinstance(value, str) or value not in PRESETS:
                at.fail(unknown_value(value, PRESETS, what="preset"))
        else:
            problem = rule_problem(name, value)
            if problem is not None:
                at.fail(problem)
    return rules_from(given, base=base)
