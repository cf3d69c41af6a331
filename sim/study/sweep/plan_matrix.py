"""The rule sets of a plan in each of its environments: the same random draws, side by side.

A matrix is shorthand, and gone once a plan is read: `expanded` writes its combinations out as the
`rule_sets` that the rest of Replog knows, and a folder's `plan.json` holds.

Combinations are in the standard order of a factorial design: the first rule changes fastest, so
that neighbours differ in what the plan names first, which is what a report compares. With
`rule_sets` in the plan, each of them meets the whole matrix, one after the other.

A rate holds for one environment. Targeted faults (`tail_hunts`) make rare failures frequent; so a
plan names its environments, `plain` without them and `hunted` with them, and every table is there
for each. Every draw is a case of each environment: parts that differ between two environments have
random streams of their own, so the `hunted` case is the plain one with targeted faults. Splitting
the cases of one environment would not do: targeted faults need a long idle phase, so such cases
differ from others in more than these faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from string import Formatter
from typing import Any, TypeVar

from pydantic import BaseModel

from sim.errors import BadInput, closest, did_you_mean
from sim.files.document import (
    Complaints,
    Document,
    Location,
    Place,
    as_list,
    as_object,
    as_text,
    check_format,
    listed,
    shown,
)
from sim.files.limits import RULE_SETS
from sim.files.models import validate
from sim.plugins import require_plugins
from sim.protocol.rules import RULES, rules_from
from sim.protocol.rules.rules import RuleValue
from sim.protocol.rules.rules import shown as rule_shown
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.runnable import check_rule

PLAIN = "plain"
HUNTED = "hunted"


@dataclass(frozen=True, slots=True)
class Environment:
    """A name and the mix from which cases are drawn."""

    name: str
    mix: Mix


def environments_of(
    generate: Mix, changes: Mapping[str, Mapping[str, Any]]
) -> tuple[Environment, ...]:
    """The environments of a plan: `generate` with the changes of each, by name.

    Without any there is one, `generate` itself: `hunted` if it has targeted faults, else `plain`.

    Raises ValueError for what no mix has; pydantic's ValidationError is one.
    """
    if not changes:
        targeted = (
            generate.tail_hunts
            or generate.election_hunts
            or generate.disk_hunts
            or generate.mark_hunts
        )
        return (Environment(HUNTED if targeted else PLAIN, generate),)
    return tuple(Environment(name, changed(generate, own)) for name, own in changes.items())


def case_seed(seed: int, turns: int, case_id: int) -> int:
    """The seed of a case's scenario, in [0, 2**63); one draw has one in every environment.

    It is a hash of (seed of the sweep, draw): a case is the same however many others there are.

    Args:
        seed: Of the sweep.
        turns: How many environments take turns.
        case_id: Number of the case.
    """
    digest = blake2b(f"{seed}/{case_id // turns}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def changed(generate: Mix, changes: Mapping[str, Any]) -> Mix:
    """`generate` with the changes of an environment.

    Raises ValueError for what no mix has; pydantic's ValidationError is one.
    """
    if "mix" in changes:
        raise ValueError("mix: belongs into generate; an environment names what differs from it")
    fields = {**generate.model_dump(), **changes}
    weights = changes.get("weights")
    if isinstance(weights, Mapping):
        fields["weights"] = {**generate.weights.model_dump(), **weights}
    return Mix.model_validate(fields)


MATRIX, LABEL = "matrix", "label"
M = TypeVar("M", bound=BaseModel)

Values = dict[str, RuleValue]


class Expanded(Document):
    """A plan with its rule sets written out; mistakes in them are reported at its matrix."""

    __slots__ = ("_written",)

    def __init__(self, written: Document, data: Any) -> None:
        super().__init__(written.name, data, lambda steps: written.line_of(_as_written(steps)))
        self._written = written

    def problem(self, location: Location, text: str, *, path: str | None = None) -> str:
        """Makes one line for the user, at the place in the file."""
        as_written = _as_written(location)
        if list(as_written) == list(location):
            return super().problem(location, text, path=path)
        return self._written.problem(as_written, text)


def _as_written(location: Location) -> Location:
    """The place in the file of a place in the expanded plan."""
    if location and location[0] == "rule_sets":
        return [MATRIX]
    return [LABEL] if location and location[0] == "labels" else location


def read_plan(document: Document, plan_format: str, model: type[M]) -> M:
    """The plan in a document, as a model with the matrix written out as rule sets.

    Raises:
        BadInput: With all that is wrong, in its order, a line each: `file:line: field: what is
            wrong, what is allowed`.
    """
    check_format(document, (plan_format,))
    wrong = Complaints()
    written_out, about = expanded(document, wrong)
    plan: M | None = None
    with wrong:
        plan = validate(written_out, model, reported=about)
    wrong.end(document)
    assert plan is not None
    return plan


def expanded(document: Document, wrong: Complaints) -> tuple[Document, list[str]]:
    """Writes out the matrix of a plan; returns the plan and its fields with mistakes.

    Reported to `wrong`: an unknown rule or value, a rule without values or with one twice, a
    rule that `rule_sets` gives as well, too many rule sets, or a label that names no swept rule.
    Then there are no rule sets in the plan.
    """
    data, top = document.data, document.top
    if not isinstance(data, dict):
        return document, []
    rest = {name: value for name, value in data.items() if name not in (MATRIX, LABEL)}
    if MATRIX not in data:
        if LABEL in data:
            wrong.add(top.at(LABEL).problem("only with matrix"))
        return Document(document.name, rest, document.line_of), []
    before = len(wrong.lines)
    if LABEL in data and "labels" in data:
        wrong.add(top.at(LABEL).problem("labels is given, too; give one of them"))
    with wrong:
        _load_plugins(data, top)
    matrix, entries = _factors(data, top, wrong), _entries(data, top, wrong)
    swept = _swept(data[MATRIX], *entries)
    label = _label(data, top, swept, wrong)
    if len(wrong.lines) == before:
        with wrong:
            rest["rule_sets"] = _met(matrix, entries, top)
            if label is not None:
                rest["labels"] = _labels(rest["rule_sets"], data.get("rules"), label, swept)
    unread = ["rule_sets", "labels", "compare"] if len(wrong.lines) > before else []
    return Expanded(document, {n: v for n, v in rest.items() if n not in unread}), unread


def _load_plugins(data: Mapping[str, Any], top: Place) -> None:
    """A plan's plugins register values that its matrix may name."""
    named = data.get("plugins", [])
    if isinstance(named, list) and all(isinstance(one, str) for one in named):
        try:
            require_plugins(named)
        except BadInput as error:
            top.at("plugins").fail(str(error))


def _factors(data: Mapping[str, Any], top: Place, wrong: Complaints) -> dict[str, list[RuleValue]]:
    """The rules of a matrix, each with its values."""
    at, found = top.at(MATRIX), {}
    with wrong:
        for name, values in as_object(data[MATRIX], at).items():
            with wrong:
                found[name] = _values(name, values, at.at(name), wrong)
        if not data[MATRIX]:
            at.fail("no rule in it; name rules, each with its values")
    return found


def _values(name: str, given: object, at: Place, wrong: Complaints) -> list[RuleValue]:
    values = as_list(given, at)
    at.check(RULE_SETS.too_many(len(values), "values"))
    if not values:
        at.fail("no value; name at least one")
    if name not in RULES and name != "preset":
        check_rule(name, values[0], at)
    for index, value in enumerate(values):
        with wrong:
            check_rule(name, value, at.at(index))
            if value in values[:index]:
                at.at(index).fail(f"{shown(value)} is given twice")
    return values


def _entries(data: Mapping[str, Any], top: Place, wrong: Complaints) -> list[Values]:
    """Reads the `rule_sets` of a plan with a matrix; a single empty set without them."""
    if "rule_sets" not in data:
        return [{}]
    at, matrix, found = top.at("rule_sets"), data[MATRIX], []
    with wrong:
        entries = as_list(data["rule_sets"], at)
        if not entries:
            at.fail("empty; leave it out, or give each rule set values that are not in the matrix")
        for index, entry in enumerate(entries):
            place = at.at(index)
            with wrong:
                found.append(as_object(entry, place))
                for name, value in entry.items():
                    with wrong:
                        if isinstance(matrix, dict) and name in matrix:
                            place.at(name).fail("a rule of the matrix, too; give it in one of them")
                        check_rule(name, value, place.at(name))
    return found


def _swept(*rules: object) -> list[str]:
    """The swept rules, in the order in which they are named; a misspelt one as it was meant."""
    named = [name for one in rules if isinstance(one, dict) for name in one]
    known = [*RULES, "preset"]
    meant = (name if name in known else closest(name, known) or name for name in named)
    return list(dict.fromkeys(meant))


def _met(matrix: Mapping[str, list[RuleValue]], entries: list[Values], top: Place) -> list[Values]:
    """Combines each entry with every cell of the matrix."""
    count = len(entries)
    for values in matrix.values():
        count *= len(values)
    top.at(MATRIX).check(RULE_SETS.too_many(count, "rule sets"))
    return [{**cell, **entry} for entry in entries for cell in _cells(matrix)]


def _cells(matrix: Mapping[str, list[RuleValue]]) -> Iterator[Values]:
    """Yields every combination of values, the first rule changing fastest."""
    names = list(matrix)
    for values in product(*(matrix[name] for name in reversed(names))):
        yield dict(zip(names, reversed(values), strict=True))


def _label(data: Mapping[str, Any], top: Place, swept: list[str], wrong: Complaints) -> str | None:
    """The template of labels; None without one, and for one that cannot be used."""
    at = top.at(LABEL)
    if LABEL not in data:
        return None
    with wrong:
        text = as_text(data[LABEL], at)
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            at.fail(f"{error}; a rule in braces is replaced by its value")
        for _text, name, form, conversion in parts:
            if name is not None and (name not in swept or form or conversion):
                hint = f"no swept rule{did_you_mean(name, swept)}; allowed: {listed(swept)}"
                wrong.add(at.problem(f"{{{name}}}: {hint}"))
        return text
    return None


def _labels(rule_sets: list[Values], common: object, text: str, swept: list[str]) -> list[str]:
    """Makes the label of each rule set from a template such as `{strategy}: {fix}`."""
    common = common if isinstance(common, dict) else {}
    try:
        base = rules_from(common)
    except BadInput:
        return []  # the plan itself says so, with its line
    labels = []
    for rule_set in rule_sets:
        values = {**rules_from(rule_set, base=base).as_dict(), "preset": common.get("preset")}
        values |= rule_set
        labels.append(text.format_map({name: rule_shown(values[name]) for name in swept}))
    return labels
