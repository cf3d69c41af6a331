"""What `plan.json` and `tallies.json` look like, whoever wrote them: fields, types, and sums.

A report, a gate or a replay goes by what these files say. So each field that is read is there, has
its type, and agrees with its neighbours; then no arithmetic on them can fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from sim.errors import BadInput
from sim.sweeps.inside import MIB, read_bytes
from sim.sweeps.segments import parts_in

SCHEMA_VERSION = 5
"""Of the columns of the tables (see `sim.sweeps.row`)."""
PLAN_BYTES_MAX = 16 * MIB
TALLIES_BYTES_MAX = 1024 * MIB

VERDICTS = ("holds", "violated", "inconclusive", "error")
MEASURES = (
    "verdict",
    "invariant",
    "first_invariant",
    "reached",
    "reason",
    "error",
    "family",
    "about",
    "hunted",
)
"""What runs are counted by."""
Natural = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Number = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Value = str | int | bool
T = TypeVar("T")


class PlanWords(Struct):
    """What a report reads of the plan itself."""

    title: str
    source: str
    about: list[str] = []
    notes: list[str] = []
    confirmation_seed: Natural | None = None
    generate: dict[str, Any] = {}


class EnvironmentFile(Struct):
    """An environment in `plan.json`."""

    name: str
    cases: Natural
    generate: dict[str, Any]


class RuleSetFile(Struct):
    """A rule set in `plan.json`."""

    index: Natural
    label: str
    swept: dict[str, Value]
    rules: dict[str, Value]


class PlanFile(Struct):
    """`plan.json`, as far as somebody reads it without the plan's own validation."""

    format: str
    schema_version: int
    package_version: str
    count: Number
    seed: Natural
    runs: Number
    rule_sets: Annotated[list[RuleSetFile], Meta(min_length=1)]
    plan: PlanWords
    plan_file: str | None = None
    revision: str | None = None
    plugins: list[str] = []
    environments: list[EnvironmentFile] | None = None


class Seen(Struct):
    """How often something was seen."""

    runs: Natural
    first_run: Natural | None


class ShortestRun(Struct):
    """One of the runs that fail earliest."""

    rule_set: Natural
    run_id: Natural
    case_id: Natural
    seed: Natural
    first_invariant: str
    first_violation_ms: Natural
    events: Natural
    violation_count: Natural
    sentence: str


class EarliestViolation(Struct):
    """The earliest violation of an invariant."""

    invariant: str
    at_ms: Natural
    run_id: Natural
    sentence: str


class Entry(Struct):
    """A rule set in `tallies.json`."""

    index: Natural
    label: str
    runs: Natural
    counts: dict[str, dict[str, Seen]]
    ended: Natural
    totals: dict[str, int]
    squares: dict[str, int]
    shortest: list[ShortestRun]
    earliest: list[EarliestViolation]


class Cases(Struct):
    """Cases in which both of a pair violated something, or one of them."""

    both: Natural
    only_left: Natural
    only_right: Natural


class PairFile(Struct):
    """A pair of rule sets in `tallies.json`."""

    left: Natural
    right: Natural
    verdicts: dict[str, Natural]
    other_weather: Natural
    ended: Natural
    differences: dict[str, int]
    squares: dict[str, int]
    invariants: dict[str, Cases]
    families: dict[str, Cases]
    about: Cases


class EnvironmentTallies(Struct):
    """The tallies of one environment."""

    name: str
    cases: Natural
    rule_sets: list[Entry]
    pairs: list[PairFile]


class Tallies(Struct):
    """`tallies.json`."""

    format: str
    cases: Number
    rule_sets: list[Entry]
    pairs: list[PairFile]
    environments: Annotated[list[EnvironmentTallies], Meta(min_length=1)]


def read_plan_file(out: Path, path: Path, formats: Collection[str]) -> dict[str, Any]:
    """The content of `plan.json`, checked.

    Raises:
        BadInput: It is not there, no `plan.json` of one of these formats, or contradicts itself.
    """
    return plan_document(str(path), read_bytes(out, path, at_most=PLAN_BYTES_MAX), formats)


def plan_document(name: str, content: bytes, formats: Collection[str]) -> dict[str, Any]:
    """The same of the bytes of the file, which messages call `name`. Raises as `read_plan_file`."""
    found = _decoded(name, content, PlanFile, formats)
    problem = _plan_problem(found)
    if problem is not None:
        raise BadInput(f"{name}: {problem}")
    document: dict[str, Any] = msgspec.json.decode(content)
    try:
        parts_in(document)
    except ValueError as error:
        raise BadInput(f"{name}: {error}") from None
    return document


def _plan_problem(found: PlanFile) -> str | None:
    if not 1 <= found.schema_version <= SCHEMA_VERSION:
        return (
            f"schema_version {found.schema_version}; this version of Replog reads up to "
            f"{SCHEMA_VERSION}"
        )
    runs = found.count * len(found.rule_sets)
    if found.runs != runs:
        return f"runs {found.runs}, but {found.count} cases under all rule sets are {runs}"
    duration = found.plan.generate.get("duration_ms")
    if duration is not None and (type(duration) is not int or not 0 < duration < 2**53):
        return "plan.generate.duration_ms: expected a whole number above 0"
    return _rule_sets_problem(found.rule_sets) or _environments_problem(found)


def _rule_sets_problem(rule_sets: list[RuleSetFile]) -> str | None:
    first = rule_sets[0]
    for place, one in enumerate(rule_sets):
        if one.index != place:
            return f"rule_sets[{place}].index: {one.index}"
        if one.swept.keys() != first.swept.keys() or one.rules.keys() != first.rules.keys():
            return f"rule_sets[{place}]: has other rules than the first"
    if len({one.label for one in rule_sets}) < len(rule_sets):
        return "rule_sets: a label comes twice"
    missing = {"fix", "strategy", "delete_retention_ms"} - first.rules.keys()
    if missing:
        return f"rule_sets[0].rules: {min(missing)} is missing"
    if any(type(one.rules["delete_retention_ms"]) is not int for one in rule_sets):
        return "rule_sets: rules.delete_retention_ms is a whole number"
    return None


def _environments_problem(found: PlanFile) -> str | None:
    environments = found.environments
    if environments is None:
        return None
    if not environments or sum(one.cases for one in environments) != found.count:
        return "environments: their cases are not count"
    if len({one.name for one in environments}) < len(environments):
        return "environments: a name comes twice"
    return None


def read_tallies(out: Path, path: Path, formats: Collection[str], plan: dict[str, Any]) -> Any:
    """The content of `tallies.json`, checked, beside the `plan.json` it is of.

    Raises:
        BadInput: As `read_plan_file`, or it is of another sweep.
    """
    content = read_bytes(out, path, at_most=TALLIES_BYTES_MAX)
    problem = _of_this_sweep(_decoded(str(path), content, Tallies, formats), plan)
    if problem is not None:
        raise BadInput(f"{path}: {problem}")
    return msgspec.json.decode(content)


def _of_this_sweep(found: Tallies, plan: dict[str, Any]) -> str | None:
    if found.cases != plan["count"]:
        return f"cases {found.cases}, but plan.json has count {plan['count']}"
    labels = [one["label"] for one in plan["rule_sets"]]
    environments = plan.get("environments")
    if environments is not None:
        told = [(one["name"], one["cases"]) for one in environments]
        if told != [(one.name, one.cases) for one in found.environments]:
            return "environments: not those of plan.json"
    for where, table, cases in _tables(found):
        if [one.label for one in table.rule_sets] != labels:
            return f"{where}rule_sets: not those of plan.json, by their labels"
        for place, entry in enumerate(table.rule_sets):
            if entry.index != place or entry.runs != cases:
                return f"{where}rule_sets[{place}]: index {entry.index}, runs {entry.runs}"
    return None


def _tables(found: Tallies) -> Iterable[tuple[str, Tallies | EnvironmentTallies, int]]:
    yield "", found, found.cases
    for number, one in enumerate(found.environments):
        yield f"environments[{number}].", one, one.cases


def _decoded(name: str, content: bytes, kind: type[T], formats: Collection[str]) -> T:
    """A document as a type, its format first: that of another version may look otherwise."""
    try:
        found = msgspec.json.decode(content, type=_Format).format
        if found not in formats:
            allowed = " or ".join(map(repr, formats))
            raise BadInput(f"{name}: format {found!r:.80}; this version of Replog reads {allowed}")
        return msgspec.json.decode(content, type=kind)
    except RecursionError:
        raise BadInput(f"{name}: is nested too deeply") from None
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        place = where.strip("`.") or "the whole of it"
        raise BadInput(f"{name}: {place:.120}: {what[0].lower()}{what[1:]}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{name}: is not JSON: {error}") from None


class _Format(Struct):
    format: str
