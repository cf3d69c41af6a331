"""What searches found, as data that reports quote (`sim.study.report.proven`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sim.files.formats import PROVEN_FORMAT
from sim.protocol.rules import Rules
from sim.study.explore.plan import Plan
from sim.study.explore.wording import short_text

Row = Mapping[str, Any]
_QUOTED: Final = ("label", "against", "states", "depth", "exhausted")


def as_proven(documents: Mapping[str, Row]) -> dict[str, Any]:
    """All that a report needs of some searches, `format: replog-proven/1`.

    A plan about a schedule of which two oracles do not say the same is left out.

    Args:
        documents: By the names of their plans, what was explored, as `explored.json` has it.
    """
    plans = [
        _plan(name, one["plan"], one["answers"])
        for name, one in documents.items()
        if not any("disputed" in each for answer in one["answers"] for each in answer["witnesses"])
    ]
    return {"format": PROVEN_FORMAT, "plans": plans}


def _plan(name: str, told: Row, answers: list[Row]) -> dict[str, Any]:
    """Rules are told where they are not the default ones; `named` are those the plan names."""
    named = {*told["rules"], *[rule for one in told["rule_sets"] for rule in one]}
    searched = Plan.model_validate(told).searched()
    rules = {label: rules.differing_from(Rules()) for label, rules in searched}
    first, *others = rules.values()
    common = {rule: first[rule] for rule in first if all(_same(rule, first, one) for one in others)}
    return {
        "plan": name,
        "world": short_text(told),
        "named": sorted(named - {"preset"}),
        "rules": common,
        "own_rules": {
            label: {rule: value for rule, value in own.items() if rule not in common}
            for label, own in rules.items()
        },
        "answers": [_answer(one) for one in answers],
    }


def _same(rule: str, one: Row, other: Row) -> bool:
    return rule in other and other[rule] == one[rule]


def _answer(answer: Row) -> dict[str, Any]:
    quoted = {name: answer[name] for name in _QUOTED if name in answer}
    return {**quoted, "breaks": {one["invariant"]: one["steps"] for one in answer["witnesses"]}}
