"""`matrix` in a sweep plan: rules with the values they take, instead of every combination.

A matrix is shorthand, and gone once a plan is read: `expanded` writes its combinations out as the
`rule_sets` that the rest of Replog knows, and a folder's `plan.json` holds.

Combinations are in the standard order of a factorial design: the first rule changes fastest, so
that neighbours differ in what the plan names first, which is what a report compares. With
`rule_sets` in the plan, each of them meets the whole matrix, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from string import Formatter
from typing import Any

from sim.errors import BadInput
from sim.files.document import Document, Location, Place, listed, shown, unknown_field
from sim.files.fields import as_list, as_object, as_text
from sim.files.rule_values import check_rule
from sim.limits import RULE_SETS
from sim.plugins import require_plugins
from sim.rules import settings_from
from sim.rules.rules import RuleValue
from sim.rules.rules import shown as rule_shown

MATRIX, EXCLUDE, LABEL = "matrix", "exclude", "label"

Values = dict[str, RuleValue]


class Expanded(Document):
    """A plan with its rule sets written out; what is wrong with them is said of its matrix."""

    __slots__ = ("_written",)

    def __init__(self, written: Document, data: Any) -> None:
        super().__init__(written.name, data, lambda steps: written.line_of(_as_written(steps)))
        self._written = written

    def problem(self, location: Location, text: str, *, path: str | None = None) -> str:
        """One line for the user, about what the file says."""
        as_written = _as_written(location)
        if list(as_written) == list(location):
            return super().problem(location, text, path=path)
        return self._written.problem(as_written, text)


def _as_written(location: Location) -> Location:
    """Where in the file stands what is at a place of the expanded plan."""
    if location and location[0] == "rule_sets":
        return [MATRIX]
    return [LABEL] if location and location[0] == "labels" else location


def expanded(document: Document) -> Document:
    """The same plan without a matrix; one that has none is returned as it is.

    Raises:
        BadInput: `file:line: field: what is wrong`: an unknown rule or value, a rule without values
            or with one twice, a rule that `rule_sets` gives as well, an exclusion that excludes
            nothing, nothing left, too many rule sets, or a label that names no swept rule.
    """
    data, top = document.data, document.top
    if not isinstance(data, dict):
        return document
    if MATRIX not in data:
        for name in (EXCLUDE, LABEL):
            if name in data:
                top.at(name).fail("only with matrix")
        return document
    if LABEL in data and "labels" in data:
        top.at(LABEL).fail("labels is given, too; give one of them")
    _load_plugins(data, top)
    matrix = _factors(as_object(data[MATRIX], top.at(MATRIX)), top.at(MATRIX))
    entries = _entries(data, top, matrix)
    count = len(entries)
    for values in matrix.values():
        count *= len(values)
    top.at(MATRIX).check(RULE_SETS.too_many(count, "rule sets"))
    rule_sets = [{**cell, **entry} for entry in entries for cell in _cells(matrix)]
    rule_sets = _without(rule_sets, data, top)
    rest = {name: value for name, value in data.items() if name not in (MATRIX, EXCLUDE, LABEL)}
    rest["rule_sets"] = rule_sets
    if LABEL in data:
        rest["labels"] = _labels(rule_sets, data, top.at(LABEL))
    return Expanded(document, rest)


def _load_plugins(data: Mapping[str, Any], top: Place) -> None:
    """A plan's plugins register values that its matrix may name."""
    named = data.get("plugins", [])
    if isinstance(named, list) and all(isinstance(one, str) for one in named):
        try:
            require_plugins(named)
        except BadInput as error:
            top.at("plugins").fail(str(error))


def _factors(given: Mapping[str, Any], place: Place) -> dict[str, list[RuleValue]]:
    """The rules of a matrix, each with its values."""
    if not given:
        place.fail("no rule in it; name rules, each with its values")
    for name, values in given.items():
        at = place.at(name)
        at.check(RULE_SETS.too_many(len(as_list(values, at)), "values"))
        if not values:
            at.fail("no value; name at least one")
        for index, value in enumerate(values):
            check_rule(name, value, at.at(index))
            if value in values[:index]:
                at.at(index).fail(f"{shown(value)} is given twice")
    return dict(given)


def _entries(
    data: Mapping[str, Any], top: Place, matrix: Mapping[str, list[RuleValue]]
) -> list[Values]:
    """What the plan's `rule_sets` give beside the matrix; without them one that gives nothing."""
    if "rule_sets" not in data:
        return [{}]
    at = top.at("rule_sets")
    entries = as_list(data["rule_sets"], at)
    if not entries:
        at.fail("empty; leave it out, or give what each rule set has beside the matrix")
    for index, entry in enumerate(entries):
        for name, value in as_object(entry, at.at(index)).items():
            if name in matrix:
                at.at(index).at(name).fail("a rule of the matrix, too; give it in one of them")
            check_rule(name, value, at.at(index).at(name))
    return entries


def _cells(matrix: Mapping[str, list[RuleValue]]) -> Iterator[Values]:
    """Every combination, the first rule changing fastest."""
    names = list(matrix)
    for values in product(*(matrix[name] for name in reversed(names))):
        yield dict(zip(names, reversed(values), strict=True))


def _without(rule_sets: list[Values], data: Mapping[str, Any], top: Place) -> list[Values]:
    """The rule sets that no exclusion is about."""
    at = top.at(EXCLUDE)
    kept = rule_sets
    for index, given in enumerate(as_list(data.get(EXCLUDE, []), at)):
        unwanted = as_object(given, at.at(index))
        if not unwanted:
            at.at(index).fail("no rule in it; it would exclude everything")
        swept = list(dict.fromkeys(name for one in rule_sets for name in one))
        for name in unwanted:
            if name not in swept:
                at.at(index).at(name).fail(unknown_field(name, swept, what="swept rule"))
        if not any(_has(one, unwanted) for one in rule_sets):
            at.at(index).fail("excludes nothing: no rule set has these values")
        kept = [one for one in kept if not _has(one, unwanted)]
    if not kept:
        at.fail("no rule set is left")
    return kept


def _has(rule_set: Values, values: Mapping[str, Any]) -> bool:
    return all(name in rule_set and rule_set[name] == value for name, value in values.items())


def _labels(rule_sets: list[Values], data: Mapping[str, Any], place: Place) -> list[str]:
    """The label of each rule set, out of a text such as `{strategy}: {fix}`."""
    text = as_text(data[LABEL], place)
    swept = list(dict.fromkeys(name for one in rule_sets for name in one))
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        place.fail(f"{error}; a rule in braces is replaced by its value")
    for _text, name, form, conversion in parts:
        if name is not None and (name not in swept or form or conversion):
            place.fail(f"{{{name}}}: no swept rule; allowed: {listed(swept)}")
    common = data.get("rules")
    common = common if isinstance(common, dict) else {}
    try:
        base = settings_from(common)
    except BadInput:
        return []  # the plan itself says so, with its line
    labels = []
    for rule_set in rule_sets:
        values = {**settings_from(rule_set, base=base).as_dict(), "preset": common.get("preset")}
        values |= rule_set
        labels.append(text.format_map({name: rule_shown(values[name]) for name in swept}))
    return labels
