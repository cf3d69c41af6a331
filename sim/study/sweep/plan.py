"""A sweep plan: random scenarios, the rule sets that run on them, and the numbers of runs.

The design is paired: case `c` is one random scenario, and every rule set of the plan runs on that
same scenario. Cases take turns in the environments of the plan, and those of one turn are one draw.
Runs are numbered without gaps, `run_id = case_id * len(rule_sets) + rule_set`, so a number alone
(with the plan beside it) says which scenario under which rules it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    field_validator,
)
from pydantic_core.core_schema import CoreSchema

from sim.check.checker import known_invariants
from sim.check.violation import FAMILIES
from sim.errors import BadInput, did_you_mean
from sim.files.bounds import Seed, Within
from sim.files.document import Document, listed
from sim.files.formats import PLAN_FORMAT
from sim.files.limits import CASES, CELLS, ENVIRONMENTS, RULE_SETS, SEED, TITLE
from sim.files.models import refused
from sim.files.reading import read_document
from sim.protocol.rules import DEFAULTS, Rules, RuleValue, rules_from, shown
from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix, Weights
from sim.study.sweep.numbers import counted
from sim.study.sweep.plan_matrix import (
    Environment,
    Plugins,
    RuleMap,
    changed,
    environments_of,
    read_plan,
)

PRESET = "preset"
FLAG_MARKS = ("magic", "flag")
"""Values of `tombstone_mark` that a plan with `mixed_clients` may have: new clients delete with the
flag. With `magic` the format of a record decides, with `flag` cleaners know the flag alone."""

Text = Annotated[str, Field(min_length=1), Within(TITLE)]


def _about(name: str) -> str:
    if name not in FAMILIES and name not in known_invariants():
        close = did_you_mean(name, [*FAMILIES, *known_invariants()])
        raise ValueError(
            f"{name}: no invariant (replog list invariants) and no family{close}; "
            f"families: {', '.join(FAMILIES)}"
        )
    return name


def _environment(changes: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Reports each wrong field at its place, even when `generate` is wrong itself."""
    changed(info.data.get("generate", BUILT_IN_MIXES["reference"]), changes)
    return changes


class _FieldsOfMix:
    """Schema of an object with any fields of a mix."""

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Returns the schema of the object; pydantic calls this."""
        fields: dict[str, Any] = {name: {} for name in Mix.model_fields if name != "mix"}
        fields["weights"] = handler(Weights.__pydantic_core_schema__)
        return {"type": "object", "properties": fields}


Changes = Annotated[dict[str, Any], AfterValidator(_environment), _FieldsOfMix()]


class Decision(BaseModel):
    """A decision for a report: its alternatives, and the searches and stories that bear on it."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    alternatives: dict[Text, RuleMap] = {}
    """By label, what each changes of `rules`; the first is what the others would replace. None =
    the rule sets."""
    searches: list[Text] = []
    """Names of plans in `scenarios/explore` whose searches bear on it."""
    stories: list[Text] = []
    """Ids of shipped stories and scenarios that bear on it; each runs under every alternative."""

    @field_validator("alternatives")
    @classmethod
    def _are_two(cls, alternatives: dict[str, RuleMap]) -> dict[str, RuleMap]:
        if len(alternatives) == 1:
            raise ValueError("one alternative; give two or more, or none for the rule sets")
        return alternatives


class Plan(BaseModel):
    """A sweep plan file, `format: replog-sweep/1`; unknown fields and wrong types are errors."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    format: Literal["replog-sweep/1"]
    title: Text
    source: Text
    count: Annotated[int, Field(ge=1), Within(CASES)]
    """Number of random cases, those of all environments together; every rule set runs on each."""
    seed: Seed
    about: list[Annotated[Text, AfterValidator(_about)]] = []
    """Families or invariants in which rule sets are meant to differ; gates call them `about`."""
    plugins: Plugins = Field(default_factory=list)
    """Modules that it needs, which register strategies, fixes or the like; `--plugin` names them,
    too."""
    generate: Mix
    environments: Annotated[dict[Text, Changes], Within(ENVIRONMENTS)] = {}
    """Changes to `generate` by the name of an environment; cases take turns
    (`sim.study.sweep.plan_matrix`)."""
    rules: RuleMap = {}
    """Common to every rule set; may name a `preset`."""
    rule_sets: Annotated[list[RuleMap], Field(min_length=1), Within(RULE_SETS)]
    """Changes to `rules`, an entry for each rule set. The keys that occur are the swept rules.

    A plan file may give a `matrix` instead, or beside it (`sim.study.sweep.plan_matrix`)."""
    labels: list[Text] = []
    """Short names of the rule sets, in their order; none = their swept values."""
    decisions: dict[Text, Decision] = {}
    """By name, what a report decides between; none = between the rule sets, by the runs alone."""
    notes: list[Text] = []
    """Promise of each rule set, a sentence each, for the report; may be empty."""

    @field_validator("rule_sets")
    @classmethod
    def _can_be_compared(cls, rule_sets: list[RuleMap], info: ValidationInfo) -> list[RuleMap]:
        cells = len(rule_sets) * len(info.data.get("environments", {}))
        problem = CELLS.too_many(cells, "rule sets in environments")
        if problem is not None:
            raise ValueError(problem)
        if "rules" not in info.data:
            return rule_sets
        base, mix = rules_from(info.data["rules"]), info.data.get("generate")
        allowed = FLAG_MARKS if mix is not None and mix.mixed_clients else None
        seen: dict[Rules, int] = {}
        for index, values in enumerate(rule_sets):
            rules = rules_from(values, base=base)
            mark = rules.cleaner.tombstone_mark
            if allowed is not None and mark not in allowed:
                raise ValueError(
                    f"entry {index} (from 0): mixed_clients, but tombstone_mark is {mark}; "
                    f"allowed: {listed(allowed)}"
                )
            same = seen.setdefault(rules, index)
            if same != index:  # the first pair is enough: with a matrix there may be many
                raise ValueError(f"entries {same} and {index} (from 0) are the same rules")
        return rule_sets

    @field_validator("environments")
    @classmethod
    def _are_different(
        cls, environments: dict[str, dict[str, Any]], info: ValidationInfo
    ) -> dict[str, dict[str, Any]]:
        mix = info.data.get("generate")
        if isinstance(mix, Mix):
            drawn: dict[Mix, str] = {}
            one_by_one = [(e.name, e.mix) for e in environments_of(mix, environments)]
            refused(
                ((name,), f"{same} and {name} are the same")
                for name, of_it in one_by_one
                if (same := drawn.setdefault(of_it, name)) != name
            )
        return environments

    @field_validator("labels", "notes")
    @classmethod
    def _one_each(cls, texts: list[str], info: ValidationInfo) -> list[str]:
        rule_sets = info.data.get("rule_sets", texts)
        if texts and len(texts) != len(rule_sets):
            raise ValueError(f"{len(texts)} given for {len(rule_sets)} rule sets")
        if info.field_name == "labels" and len(set(texts)) != len(texts):
            raise ValueError("a label is given twice")
        return texts


def load_plan(path: Path) -> Plan:
    """The plan in a YAML file.

    Raises BadInput, `file:line: field: what is wrong, what is allowed`.
    """
    return plan_in(read_document(path))


def plan_in(document: Document) -> Plan:
    """The plan that a document holds; a `matrix` in it is written out as `rule_sets`.

    Raises BadInput as `load_plan` does.
    """
    return read_plan(document, PLAN_FORMAT, Plan)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of one run of every case."""

    index: int
    label: str
    """The plan's label, else the swept values: one alone, several as `rule=value` joined by spaces;
    `rules 0` without any."""
    values: dict[str, RuleValue]
    """One entry per swept rule of the plan, whether this rule set names it or not."""
    rules: Rules
    """All rules, those that are the same in every rule set included."""
    preset: str | None = None
    """Preset that named the rules; None without one."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A plan with its seed and count fixed: the complete description of a table of runs."""

    plan: Plan
    seed: int
    count: int
    """Number of cases, not of runs."""
    rule_sets: tuple[RuleSet, ...]
    environments: tuple[Environment, ...]

    @property
    def swept(self) -> tuple[str, ...]:
        """The swept rules, in the order in which the plan first names them."""
        return tuple(self.rule_sets[0].values)

    @property
    def drawn(self) -> str:
        """The seeds and the environments, if several: `200 seeds in plain and hunted`."""
        seeds = counted(-(-self.count // len(self.environments)), "seed")
        *others, last = (one.name for one in self.environments)
        return f"{seeds} in {', '.join(others)} and {last}" if others else seeds

    @property
    def runs(self) -> int:
        """The number of runs of all cases under all rule sets."""
        return self.count * len(self.rule_sets)

    def run_id(self, case_id: int, rule_set: int) -> int:
        """The number of a case's run under a rule set."""
        return case_id * len(self.rule_sets) + rule_set

    def place_of(self, run_id: int) -> tuple[int, RuleSet]:
        """The case and the rule set of a run. Raises BadInput when there is no such run."""
        if not 0 <= run_id < self.runs:
            raise BadInput(f"run {run_id}: no such run; this sweep has runs 0 to {self.runs - 1}")
        case_id, rule_set = divmod(run_id, len(self.rule_sets))
        return case_id, self.rule_sets[rule_set]

    def environment_of(self, case_id: int) -> Environment:
        """The environment of a case: environments take turns."""
        return self.environments[case_id % len(self.environments)]

    def cases_in(self, environment: int) -> int:
        """Number of cases in an environment, by its index."""
        others = len(self.environments) - 1 - environment
        return (self.count + others) // len(self.environments)

    def case_seed(self, case_id: int) -> int:
        """The seed of a case's scenario, in [0, 2**63); the cases of a draw share it.

        It is a hash of (seed of the sweep, draw): a case is the same however many others there are.
        """
        draw = case_id // len(self.environments)
        digest = blake2b(f"{self.seed}/{draw}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1


def number_runs(plan: Plan, *, count: int | None = None, seed: int | None = None) -> Sweep:
    """The runs of a plan; `count` (cases) and `seed` replace the plan's own when given.

    Raises BadInput when either is out of range.
    """
    cases, first = plan.count if count is None else count, plan.seed if seed is None else seed
    if not 1 <= cases <= CASES.most:
        raise BadInput(f"count {cases}: a sweep has between 1 and {CASES.most} cases")
    if not 0 <= first <= SEED.most:
        raise BadInput(f"seed {first}: a seed is between 0 and {SEED.most}")
    environments = environments_of(plan.generate, plan.environments)
    return Sweep(plan, first, cases, _rule_sets(plan), environments)


def _rule_sets(plan: Plan) -> tuple[RuleSet, ...]:
    swept = dict.fromkeys(name for values in plan.rule_sets for name in values)
    base = rules_from(plan.rules)
    found = []
    for index, given in enumerate(plan.rule_sets):
        rules = rules_from(given, base=base)
        named = given.get(PRESET, plan.rules.get(PRESET))
        preset = None if named is None else str(named)
        known = {**rules.as_dict(), PRESET: preset or ""}
        values = {name: known[name] for name in swept}
        label = plan.labels[index] if plan.labels else label_of(values, f"rules {index}")
        found.append(RuleSet(index, label, values, rules, preset))
    return tuple(found)


def label_of(values: Mapping[str, RuleValue], without: str) -> str:
    """The label of a rule set by its values: one alone, several as `rule=value`; `without` any."""
    if len(values) == 1:
        return shown(*values.values())
    return " ".join(f"{name}={shown(value)}" for name, value in values.items()) or without


def swept_type(name: str) -> type:
    """The Python type of a swept rule's column: str, int or bool."""
    return str if name == PRESET else type(DEFAULTS[name])
