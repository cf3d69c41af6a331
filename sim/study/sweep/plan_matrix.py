"""The matrix of a plan, from which its rule sets are made, and the environments of a plan.

A matrix is shorthand, and gone once a plan is read: `Factorial` writes its combinations out as the
`rule_sets` that the rest of Replog knows, and a folder's `plan.json` holds.

Combinations are in the standard order of a factorial design: the first rule changes fastest, so
that neighbours differ in what the plan names first, which is what a report compares. With
`rule_sets` in the plan, each of them meets the whole matrix, one after the other.

A rate holds for one environment. Targeted faults (`tail_hunts`) make rare failures frequent; so a
plan names its environments, `plain` without them and `hunted` with them, and every table exists
for each. Every draw is a case of each environment: parts that differ between two environments have
random streams of their own, so the `hunted` case is the plain one with targeted faults. Splitting
the cases of one environment would not do: targeted faults need a long idle phase, so such cases
differ from others in more than these faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from string import Formatter
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationInfo,
    field_validator,
)

from sim.errors import BadInput, did_you_mean
from sim.files.document import Complaints, Document, Location, check_format, listed, shown
from sim.files.limits import RULE_SETS
from sim.files.models import refused, validate
from sim.plugins import require_plugins
from sim.protocol.rules import RULES, RuleValue, rules_from
from sim.protocol.rules import shown as rule_shown
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.runnable import rule_problem

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

    Without changes there is one, `generate` itself: `hunted` if it has targeted faults, else
    `plain`.

    Raises ValueError for what no mix has; pydantic's ValidationError is one.
    """
    if not changes:
        hunts = ("tail_hunts", "election_hunts", "disk_hunts", "mark_hunts")
        targeted = any(getattr(generate, name) for name in hunts)
        return (Environment(HUNTED if targeted else PLAIN, generate),)
    return tuple(Environment(name, changed(generate, own)) for name, own in changes.items())


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
_AS_WRITTEN = {"rule_sets": MATRIX, "labels": LABEL}
"""Fields of a plan whose matrix is written out, with those of the file that they are made from."""
M = TypeVar("M", bound=BaseModel)


def _loaded(plugins: list[str]) -> list[str]:
    try:
        require_plugins(plugins)
    except BadInput as error:
        raise ValueError(str(error)) from None
    return plugins


def _rules(given: Any) -> Any:
    """Reports each wrong rule at its place."""
    if isinstance(given, dict):
        found = ((name, rule_problem(name, value)) for name, value in given.items())
        refused(((name,), problem) for name, problem in found if problem is not None)
    return given


def _factors(matrix: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Reports each wrong rule and value of a matrix at its place."""
    if not matrix:
        raise ValueError("no rule in it; name rules, each with its values")
    problem = RULE_SETS.too_many(prod(map(len, matrix.values())), "rule sets")
    refused([((), problem)] if problem else _wrong_factors(matrix))
    return matrix


def _wrong_factors(matrix: dict[str, list[Any]]) -> Iterator[tuple[Location, str]]:
    for name, values in matrix.items():
        if not values:
            yield [name], "no value; name at least one"
        elif name not in RULES and name != "preset":
            yield [name], str(rule_problem(name, values[0]))
        else:
            for index, value in enumerate(values):
                twice = f"{shown(value)} is given twice" if value in values[:index] else None
                if problem := rule_problem(name, value) or twice:
                    yield [name, index], problem


Plugins = Annotated[list[str], AfterValidator(_loaded)]
"""Modules that are imported before anything that they register is named."""
RuleMap = Annotated[dict[str, RuleValue], BeforeValidator(_rules)]
"""Rules by name, with an optional `preset`."""


class Factorial(BaseModel):
    """The fields of a plan by which a matrix is written out as its rule sets."""

    model_config = ConfigDict(strict=True, frozen=True)

    plugins: Plugins = []
    rules: RuleMap = {}
    matrix: Annotated[dict[str, list[Any]], AfterValidator(_factors)]
    rule_sets: list[dict[str, Any]] = [{}]
    labels: Any = None
    label: str = ""

    @field_validator("rule_sets")
    @classmethod
    def _are_beside_the_matrix(
        cls, entries: list[dict[str, Any]], info: ValidationInfo
    ) -> list[dict[str, Any]]:
        if not entries:
            raise ValueError(
                "empty; leave it out, or give each rule set values that are not in the matrix"
            )
        both = dict.fromkeys(
            info.data.get(MATRIX, ()), "a rule of the matrix, too; give it in one of them"
        )
        found = (
            ((index, name), both.get(name) or rule_problem(name, value))
            for index, entry in enumerate(entries)
            for name, value in entry.items()
        )
        refused((way, problem) for way, problem in found if problem is not None)
        return entries

    @field_validator("label")
    @classmethod
    def _names_swept_rules(cls, label: str, info: ValidationInfo) -> str:
        if info.data.get("labels") is not None:
            raise ValueError("labels is given, too; give one of them")
        known = [*info.data.get(MATRIX, (*RULES, "preset"))]
        swept = [*known, *(name for entry in info.data.get("rule_sets", ()) for name in entry)]
        try:
            parts = list(Formatter().parse(label))
        except ValueError as error:
            raise ValueError(f"{error}; a rule in braces is replaced by its value") from None
        for _text, name, form, conversion in parts:
            if name is not None and (name not in swept or form or conversion):
                hint = f"no swept rule{did_you_mean(name, swept)}; allowed: {listed(swept)}"
                raise ValueError(f"{{{name}}}: {hint}")
        return label

    def written_out(self) -> dict[str, Any]:
        """Combines each entry of `rule_sets` with every cell of the matrix.

        Returns the `rule_sets`, and with a template such as `{strategy}: {fix}` their `labels`.
        """
        combined = product(*reversed(self.matrix.values()))  # the first rule changes fastest
        cells = [dict(zip(self.matrix, reversed(one), strict=True)) for one in combined]
        rule_sets = [{**cell, **entry} for entry in self.rule_sets for cell in cells]
        if not self.label:
            return {"rule_sets": rule_sets}
        base = rules_from(self.rules)
        labels = []
        for one in rule_sets:
            values = {**rules_from(one, base=base).as_dict(), "preset": self.rules.get("preset")}
            named = {name: rule_shown(value) for name, value in (values | one).items()}
            labels.append(self.label.format_map(named))
        return {"rule_sets": rule_sets, "labels": labels}


class _WrittenOut(Document):
    """A plan with its rule sets written out; mistakes in them are reported at its matrix."""

    __slots__ = ()

    def __init__(self, written: Document, data: Any) -> None:
        super().__init__(written.name, data, lambda steps: written.line_of(_as_written(steps)))

    def problem(self, location: Location, text: str, *, path: str | None = None) -> str:
        """Makes one line for the user, at the place in the file."""
        as_written = _as_written(location)
        moved = None if as_written == location else str(as_written[0])
        return super().problem(location, text, path=moved or path)


def _as_written(location: Location) -> Location:
    """The place in the file of a place in the plan that is written out."""
    field = _AS_WRITTEN.get(str(location[0])) if location else None
    return location if field is None else [field]


def read_plan(document: Document, plan_format: str, model: type[M]) -> M:
    """The plan in a document, as a model with the matrix written out as rule sets.

    Raises:
        BadInput: With all that is wrong, in the order of the file, a line each: `file:line: field:
            what is wrong, what is allowed`.
    """
    check_format(document, (plan_format,))
    wrong, plan, unread = Complaints(), None, list[str]()
    data = {name: value for name, value in document.data.items() if name not in (MATRIX, LABEL)}
    written_out = Document(document.name, data, document.line_of)
    if MATRIX in document.data:
        with wrong:
            data |= validate(document, Factorial).written_out()
            written_out = _WrittenOut(document, data)
        if wrong.lines:
            unread = ["rule_sets", "labels", "compare"]
    elif LABEL in document.data:
        wrong.add(document.top.at(LABEL).problem("only with matrix"))
    with wrong:
        plan = validate(written_out, model, reported=unread)
    wrong.end(document)
    assert plan is not None
    return plan
