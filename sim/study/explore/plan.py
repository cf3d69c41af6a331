"""Plans of searches, `replog-explore/1`: a world, budgets and rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from sim.files.bounds import Within
from sim.files.document import Document, unknown_value
from sim.files.formats import EXPLORE_FORMAT
from sim.files.limits import RULE_SETS, VERSION
from sim.files.models import refused
from sim.files.reading import read_document
from sim.protocol.rules import Rules, rules_from
from sim.simulate.story.format import STORY_DEFAULTS
from sim.study.explore.judging import JUDGED, searchable
from sim.study.explore.world import Budgets, World, replica_names
from sim.study.sweep.plan import Text, label_of
from sim.study.sweep.plan_matrix import RuleMap, read_plan

MOST_REPLICAS, MOST_TIMES = 5, 12
Times = Annotated[int, Field(ge=0, le=MOST_TIMES)]
"""Number of times that something may happen."""
STRICT = ConfigDict(strict=True, frozen=True, extra="forbid")
_ALONE = "rules"
"""Label of a rule set without values of its own."""


class WorldModel(BaseModel):
    """The start of every schedule, and the records and elections in it."""

    model_config = STRICT

    replicas: Annotated[int, Field(ge=1, le=MOST_REPLICAS)]
    """Number of replicas; they are called r1, r2, ..."""
    isr: Annotated[list[str], Field(min_length=1)] | None = None
    """Replicas in sync at the start; all of them when not given."""
    keys: Annotated[list[Text], Field(min_length=1, max_length=4)] = ["k"]
    """The keys of records."""
    versions: Annotated[
        list[Annotated[int, Within(VERSION)]], Field(min_length=1, max_length=4)
    ] = [0, 9]
    """The versions of records, in the header or as timestamps, as the strategy reads them."""
    tombstones: bool = False
    """True if records may be tombstones, too."""
    elections: Literal["clean", "unclean"] = "clean"
    """`clean` elects members of the in-sync set alone; with `commit: majority` votes decide."""

    @field_validator("isr")
    @classmethod
    def _exist(cls, isr: list[str] | None, info: ValidationInfo) -> list[str] | None:
        names = replica_names(info.data.get("replicas", 0))
        refused(
            ((index,), unknown_value(name, names, what="replica"))
            for index, name in enumerate(isr or ())
            if names and name not in names
        )
        if isr is not None and len({*isr}) < len(isr):
            raise ValueError("a replica is given twice")
        return isr

    @field_validator("keys", "versions")
    @classmethod
    def _once(cls, values: list[Any], info: ValidationInfo) -> list[Any]:
        names = replica_names(info.data.get("replicas", 0))
        if any(value in names for value in values):
            raise ValueError(f"{', '.join(names)} are replicas; name keys otherwise")
        if len({*values}) < len(values):
            raise ValueError("a value is given twice")
        return values


class BudgetsModel(BaseModel):
    """Bounds of how often each thing happens in a schedule; null for no bound."""

    model_config = STRICT

    appends: Times
    """Records that leaders write."""
    epochs: Annotated[int, Field(ge=1, le=MOST_TIMES)]
    """Elections."""
    cleanings: Times | None = None
    """Cleaning passes."""
    crashes: Times = 0
    """Replicas that go down; each may come back."""
    shrinks: Times = 0
    """Replicas that are taken out of the in-sync set."""
    grows: Times | None = None
    """Replicas that are admitted to it."""
    passes: Times = 0
    """Times that the retention of tombstones passes."""
    snapshots: Times = 0
    """Snapshots that are taken (KIP-630)."""


class SearchPlan(BaseModel):
    """A plan file, `format: replog-explore/1`; unknown fields and wrong types are errors."""

    model_config = STRICT

    format: Literal["replog-explore/1"]
    title: Text
    source: Text
    world: WorldModel
    budgets: BudgetsModel
    rules: RuleMap = Field(default_factory=dict)
    """Rules of every rule set, on top of those of stories; may name a `preset`."""
    rule_sets: Annotated[list[RuleMap], Field(min_length=1), Within(RULE_SETS)] = [{}]
    """Rule sets: each entry is laid over `rules`. A file may give a `matrix` instead."""
    labels: list[Text] = []
    """Short names of the rule sets, in their order; their values when not given."""
    compare: list[Text] = []
    """Labels of rule sets that are compared pair by pair, for what breaks in one alone."""
    invariants: Annotated[list[str], Field(min_length=1)] = list(JUDGED)
    """Invariants to judge; all of Replog's own that a search can judge when not given."""
    depth: Annotated[int, Field(ge=0, le=200)] | None = None
    """Largest number of moves of a schedule; no bound when not given."""

    @field_validator("rules", "rule_sets")
    @classmethod
    def _can_be_searched(cls, given: Any, info: ValidationInfo) -> Any:
        common = info.data.get("rules", {}) if isinstance(given, list) else {}
        refused(
            (() if given is values else (index,), problem)
            for index, values in enumerate(given if isinstance(given, list) else [given])
            for problem in beyond(_rules({**common, **values}))
        )
        return given

    @field_validator("labels")
    @classmethod
    def _one_each(cls, labels: list[str], info: ValidationInfo) -> list[str]:
        sets = info.data.get("rule_sets", labels)
        if labels and (len(labels) != len(sets) or len({*labels}) < len(labels)):
            raise ValueError(f"{len(labels)} given for {len(sets)} rule sets; one each, none twice")
        return labels

    @field_validator("compare")
    @classmethod
    def _are_labels(cls, compare: list[str], info: ValidationInfo) -> list[str]:
        known = info.data.get("labels") or [
            label_of(values, _ALONE) for values in info.data.get("rule_sets", ())
        ]
        refused(
            ((index,), unknown_value(name, known, what="label of a rule set"))
            for index, name in enumerate(compare)
            if name not in known and "rule_sets" in info.data
        )
        if len({*compare}) != len(compare) or len(compare) == 1:
            raise ValueError("two labels or more, none twice")
        return compare

    @field_validator("invariants")
    @classmethod
    def _are_judged(cls, names: list[str]) -> list[str]:
        refused(
            ((index,), unknown_value(name, searchable(), what="invariant of a search"))
            for index, name in enumerate(names)
            if name not in searchable()
        )
        return names

    def world_of(self) -> World:
        """The world of the plan."""
        world = self.world
        names = replica_names(world.replicas)
        return World(
            world.replicas,
            tuple(names.index(name) for name in (world.isr or names)),
            tuple(world.keys),
            tuple(world.versions),
            world.tombstones,
            world.elections == "clean",
            Budgets(**self.budgets.model_dump()),
        )

    def searched(self) -> list[tuple[str, Rules]]:
        """The label and the rules of each rule set."""
        labels = self.labels or [label_of(values, _ALONE) for values in self.rule_sets]
        sets = [_rules({**self.rules, **values}) for values in self.rule_sets]
        return list(zip(labels, sets, strict=True))


def _rules(values: dict[str, Any]) -> Rules:
    return rules_from(values, base=STORY_DEFAULTS)


def beyond(rules: Rules) -> list[str]:
    """Complaints about values of rules that a search does not support."""
    found = []
    if rules.replication.offset_assignment != "leader_assigned":
        found.append("offset_assignment: a search knows leader_assigned alone")
    return found


def load_plan(path: Path) -> SearchPlan:
    """The plan in a file.

    Raises:
        BadInput: `file:line: field: what is wrong, what is allowed`.
    """
    return plan_in(read_document(path))


def plan_in(document: Document) -> SearchPlan:
    """The plan that a document holds. Raises BadInput as `load_plan` does."""
    return read_plan(document, EXPLORE_FORMAT, SearchPlan)
