"""What `plan.json` and `tallies.json` look like, whoever wrote them: fields, types, and sums.

A report, a gate or a replay goes by what these files say. So each field that is read is there, has
its type, and agrees with its neighbours; then no arithmetic on them can fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from sim.errors import BadInput

SCHEMA_VERSION = 5
"""Of the columns of the tables (see `sim.sweeps.columns`)."""
FOLDER_FORMAT = "replog-sweep-output/3"
TALLIES_FORMAT = "replog-tallies/2"

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


class Drawn(Struct, frozen=True):
    """What a report reads of a plan's `generate`."""

    duration_ms: Number | None = None


class PlanWords(Struct):
    """What a report reads of the plan itself."""

    title: str
    source: str
    about: list[str] = []
    notes: list[str] = []
    confirmation_seed: Natural | None = None
    generate: Drawn = Drawn()


class JudgedBy(Struct):
    """What a report reads of the rules of a rule set."""

    fix: str
    strategy: str
    delete_retention_ms: int


class SegmentFile(Struct, forbid_unknown_fields=True):
    """A seed with its cases in `plan.json`."""

    seed: Natural
    cases: Number


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
    rules: JudgedBy


class PlanFile(Struct):
    """`plan.json`, as far as somebody reads it without the plan's own validation."""

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
    segments: Annotated[list[SegmentFile], Meta(min_length=1)] | None = None
    environments: Annotated[list[EnvironmentFile], Meta(min_length=1)] | None = None

    def problems(self) -> Iterator[str]:
        """What is wrong with it; in what it contradicts itself."""
        if self.schema_version > SCHEMA_VERSION:
            yield (
                f"schema_version {self.schema_version}; this version of Replog reads up to "
                f"{SCHEMA_VERSION}"
            )
        runs = self.count * len(self.rule_sets)
        if self.runs != runs:
            yield f"runs {self.runs}, but {self.count} cases under all rule sets are {runs}"
        if [one.index for one in self.rule_sets] != [*range(len(self.rule_sets))]:
            yield "rule_sets: their index is not their place"
        if len({one.label for one in self.rule_sets}) < len(self.rule_sets):
            yield "rule_sets: a label comes twice"
        if any(one.swept.keys() != self.rule_sets[0].swept.keys() for one in self.rule_sets):
            yield "rule_sets: not all have the same swept rules"
        seeds = self.segments or [SegmentFile(self.seed, self.count)]
        if seeds[0].seed != self.seed or sum(one.cases for one in seeds) != self.count:
            yield "segments: do not add up to count, or begin with another seed"
        if self.environments and sum(one.cases for one in self.environments) != self.count:
            yield "environments: their cases are not count"


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

    cases: Number
    rule_sets: list[Entry]
    pairs: list[PairFile]
    environments: Annotated[list[EnvironmentTallies], Meta(min_length=1)]


def plan_document(name: str, content: bytes) -> dict[str, Any]:
    """The content of `plan.json`, checked; messages call it `name`.

    Raises:
        BadInput: It is no `plan.json` of this format, or contradicts itself.
    """
    for problem in _decoded(name, content, PlanFile, FOLDER_FORMAT).problems():
        raise BadInput(f"{name}: {problem}")
    document: dict[str, Any] = msgspec.json.decode(content)
    return document


def tallies_document(name: str, content: bytes, plan: dict[str, Any]) -> dict[str, Any]:
    """The content of `tallies.json`, checked, beside the `plan.json` it is of.

    Raises:
        BadInput: As `plan_document`, or it is of another sweep.
    """
    found = _decoded(name, content, Tallies, TALLIES_FORMAT)
    rule_sets = [(place, one["label"]) for place, one in enumerate(plan["rule_sets"])]
    environments = [(one["name"], one["cases"]) for one in plan.get("environments") or ()]
    there = [(one.name, one.cases) for one in found.environments]
    tables = [(found.rule_sets, found.cases)]
    tables += [(one.rule_sets, one.cases) for one in found.environments]
    if (
        found.cases != plan["count"]
        or (environments and environments != there)
        or any([(one.index, one.label) for one in table] != rule_sets for table, _ in tables)
        or any(one.runs != cases for table, cases in tables for one in table)
    ):
        raise BadInput(f"{name}: is of another sweep than plan.json, by its cases or rule sets")
    document: dict[str, Any] = msgspec.json.decode(content)
    return document


def _decoded(name: str, content: bytes, kind: type[T], wanted: str) -> T:
    """A document as a type, its format first: that of another version may look otherwise."""
    try:
        found = msgspec.json.decode(content, type=_Format).format
        if found != wanted:
            reads = f"this version of Replog reads {wanted!r}"
            raise BadInput(f"{name}: format {found!r:.80}; {reads}")
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
