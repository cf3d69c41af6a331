"""Single changes that may heal: one rule at a time, the fixes first."""

from __future__ import annotations

from collections.abc import Iterator

from sim.rules import RULES, Rules
from sim.rules.spec import RuleValue

FIXES = ("fix", "tombstone_removal", "lag_guard", "truncation")
"""The rules that were made against what is violated; their values are tried first."""


def rule_changes(rules: Rules, defaults: Rules) -> Iterator[tuple[str, RuleValue]]:
    """Each other value of each rule, once: fixes, then defaults, then as `replog list rules`."""
    own, usual = rules.as_dict(), defaults.as_dict()
    changes = [(name, value) for name in FIXES for value in RULES[name].values]
    changes += [(name, usual[name]) for name in own]
    changes += [(name, value) for name in own for value in RULES[name].values]
    for name, value in dict.fromkeys(changes):
        if own[name] != value:
            yield name, value
