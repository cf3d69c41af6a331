"""Checks of the rules in a file, with messages that name the place of a wrong one."""

from __future__ import annotations

from sim.files.document import Complaints, Place, as_object, unknown_field, unknown_value
from sim.protocol.rules import PRESETS, RULES, Rules, rules_from
from sim.protocol.rules.rules import allowed_value


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
