"""A further alternative of a decision: its searches and its runs, in a folder of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sim.bounds import Bounds
from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.foreign import json_text
from sim.files.formats import PROVEN_FORMAT
from sim.files.shipped import shipped_folder
from sim.protocol.rules import Rules, RuleValue, check_value, shown
from sim.study.explore.answers import answers_of, as_document
from sim.study.explore.page import as_answer
from sim.study.explore.plan import load_plan
from sim.study.report.grid import OWN_PROVEN, ReportDecision, plans_of, rules_searched
from sim.study.sweep.plan import Plan
from sim.study.sweep.runner import Teller, run_sweep
from sim.study.sweep.table import SweepFolder

BOUNDS: Final = Bounds(seconds=300)
"""Bounds of time and memory for each search of a further alternative."""


def add_alternative(
    folder: SweepFolder,
    decision: ReportDecision,
    text: str,
    *,
    teller: Teller,
) -> Path:
    """Makes the missing searches and runs of one more value of the rule of a decision.

    The whole sweep is run again with this value added, on the same cases, since rates are compared
    case by case; an unfinished one is resumed.

    Args:
        folder: The sweep.
        decision: The decision between values of one rule.
        text: The further value, such as the name of a fix that a plugin registers.
        teller: Output for the progress of the sweep and for a line about each search.

    Returns:
        The folder of the sweep with the alternative, for a report.

    Raises:
        BadInput: The decision is about several rules, the rule has no such value, the decision has
            it already, or it names a search that is not there.
    """
    first, *_ = decision.alternatives.values()
    if len(first) != 1:
        raise BadInput(f"--alternative {text}: a decision about {', '.join(first)}, not one rule")
    (rule,) = first
    value = check_value(rule, text, where="--alternative")
    label = shown(value)
    if label in decision.alternatives or {rule: value} in decision.alternatives.values():
        known = ", ".join(decision.alternatives)
        raise BadInput(f"--alternative {text}: is one already; those of the decision: {known}")
    out = folder.path / f"with_{label}"
    plans = plans_of(out, decision)
    run_sweep(
        _with_value(folder, decision, rule, value),
        out=out,
        count=folder.sweep.count,
        seed=folder.sweep.seed,
        engine="process",
        resume=out.exists(),
        plan_file=folder.made.plan_file,
        teller=teller,
    )
    for name, plan in plans.items():
        if not any(own[rule] == value for own in rules_searched(plan).values()):
            teller.tell(f"search {name}: {rule}={label}")
            plans[name] = _searched(plan, first, rule, value)
            document = {"format": PROVEN_FORMAT, "plans": [*plans.values()]}
            replace_text(out / OWN_PROVEN, json_text(document, indent=1) + "\n")
    return out


def _with_value(folder: SweepFolder, decision: ReportDecision, rule: str, value: RuleValue) -> Plan:
    """The plan of a sweep, with the value added: one rule set for each of the first alternative."""
    written: dict[str, Any] = folder.sweep.plan.model_dump(mode="json")
    label, *_ = decision.alternatives
    places = [
        one.index
        for one in folder.sweep.rule_sets
        if decision.alternative_of(one.rules.as_dict()) == label
    ]
    written["rule_sets"] += [{**written["rule_sets"][at], rule: value} for at in places]
    if written["labels"]:
        written["labels"] += [f"{written['labels'][at]}, {shown(value)}" for at in places]
    alternatives = {**decision.alternatives, shown(value): {rule: value}}
    evidence = {"searches": [*decision.searches], "stories": [*decision.stories]}
    written["decisions"] = {decision.name or rule: {"alternatives": alternatives, **evidence}}
    return Plan.model_validate(written | {"notes": []})


def _searched(
    proven: Mapping[str, Any], first: Mapping[str, Any], rule: str, value: RuleValue
) -> dict[str, Any]:
    """A proven plan with the answers under one more value of a rule, which are searched here."""
    plan = load_plan(shipped_folder() / "explore" / f"{proven['plan']}.yaml")
    found = {**proven, "own_rules": {**proven["own_rules"]}, "answers": [*proven["answers"]]}
    for label, rules in plan.searched():
        if rules.as_dict()[rule] != first[rule]:
            continue
        changed, name = rules.with_values({rule: value}), f"{label}, {shown(value)}"
        alone = {"rules": {}, "rule_sets": [changed.as_dict()], "labels": [name], "compare": []}
        world = plan.model_copy(update=alone)
        (answer,) = as_document(answers_of(world, (name, ""), BOUNDS))
        found["own_rules"][name] = changed.differing_from(Rules())
        found["answers"].append(as_answer(answer))
    return found
