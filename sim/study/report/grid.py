"""The grid of a decision: its alternatives, and the evidence on each hazard.

Evidence comes from searches, runs and stories. A unit is one thing that was examined under every
alternative: a search of every schedule of a small world, the runs of an environment, a story. So
every alternative meets the same tests, and a sentence about units can be checked against the cells
(`sim.study.report.claims`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from sim.check.registry import declared_family
from sim.check.violation import DELETED_KEY_RETURNS, FAMILIES, LOG_DIVERGENCE
from sim.errors import BadInput, did_you_mean
from sim.files.formats import PROVEN_FORMAT
from sim.files.reading import read_text
from sim.files.shipped import shipped_folder, shipped_path
from sim.protocol.rules import Rules, rules_from, shown
from sim.simulate.run import conclusive, run_of
from sim.study.matrix import judged
from sim.study.suite.scenario_files import content_at
from sim.study.sweep import numbers
from sim.study.sweep.hazards import HAZARDS, hazard_of
from sim.study.sweep.plan import Sweep
from sim.study.sweep.plan_matrix import HUNTED
from sim.study.sweep.table import SweepFolder

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReportDecision:
    """The alternatives of a decision, and the evidence that bears on it.

    Attributes:
        name: The plan's name for it; empty for one that the plan does not name.
        alternatives: By label, what each sets of the rules in which they differ. The first is the
            one that the others would replace.
        searches: Names of the plans whose searches bear on it.
        stories: Names of shipped scenarios that bear on it.
    """

    name: str
    alternatives: Mapping[str, Values]
    searches: Sequence[str] = ()
    stories: Sequence[str] = ()

    def alternative_of(self, rules: Values) -> str | None:
        """The first alternative whose values these rules have; None without one."""
        return next(
            (one for one, own in self.alternatives.items() if own.items() <= rules.items()), None
        )

    def beside(self, values: Values) -> str:
        """Those of `values` that the alternatives do not set, as in `header, read_end`."""
        decided = next(iter(self.alternatives.values()))
        names = [name for name in values if name not in decided and name != "preset"]
        return ", ".join(shown(values[name]) for name in names)


def decisions_of(sweep: Sweep) -> tuple[ReportDecision, ...]:
    """The decisions that a plan names, or else one without a name.

    That one is about the first swept rule if its values met the same values of other rules, else
    between the rule sets.
    """
    by_label: dict[str, Values] = {one.label: one.rules.as_dict() for one in sweep.rule_sets}
    if not sweep.plan.decisions:
        alternatives = _differing(by_label)
        swept = [one.values for one in sweep.rule_sets]
        rule = next((name for name in sweep.swept if name != "preset"), None)
        if rule is not None and _is_whole(swept, rule):
            alternatives = {shown(one[rule]): {rule: one[rule]} for one in swept}
        return (ReportDecision("", alternatives),)
    base = rules_from(sweep.plan.rules)
    found = []
    for name, one in sweep.plan.decisions.items():
        named = {
            label: rules_from(own, base=base).as_dict() for label, own in one.alternatives.items()
        }
        found.append(ReportDecision(name, _differing(named or by_label), one.searches, one.stories))
    return tuple(found)


def decision_of(sweep: Sweep, name: str | None) -> ReportDecision:
    """The decision of a name, or the first one.

    Raises:
        BadInput: There is none of that name.
    """
    decisions = decisions_of(sweep)
    found = next((one for one in decisions if name in (None, one.name)), None)
    if found is None:
        known = [one.name for one in decisions if one.name]
        close = did_you_mean(name or "", known)
        allowed = f"allowed: {', '.join(known)}" if known else "the plan names none"
        raise BadInput(f"decision {name}: no such decision{close}; {allowed}")
    return found


def _is_whole(swept: Sequence[Values], rule: str) -> bool:
    """True where several values of a rule each met the same several combinations of others."""
    values = {one[rule] for one in swept}
    others = {tuple(value for name, value in one.items() if name != rule) for one in swept}
    return 1 < len(values) < len(swept) == len(values) * len(others)


def _differing(alternatives: Mapping[str, Values]) -> dict[str, Values]:
    """The alternatives without the rules that all of them set to the same value."""
    first, *others = alternatives.values()
    names = [name for name in first if any(one[name] != first[name] for one in others)]
    return {label: {name: one[name] for name in names} for label, one in alternatives.items()}


NAMES: Final = tuple(one.name for one in HAZARDS)
"""The names of all hazards, in the order of every grid."""
SEARCH, RUNS, STORY = "search", "runs", "story"
UNCLEAN: Final = "unclean elections"
"""Written beside a search in which replicas that are not in sync may be elected."""
TARGETED: Final = "targeted faults"
"""Title of the environment whose cases have faults that aim at an idle log."""
PROVEN: Final = "explore/proven.json"
"""The results of `make explore`, below the shipped scenarios."""
OWN_PROVEN: Final = "proven.json"
"""The same in the folder of a sweep, with a further alternative (`sim.study.report.further`)."""


class Unit(NamedTuple):
    """A search, an environment of runs or a story under which alternatives are examined.

    Attributes:
        kind: SEARCH, RUNS or STORY.
        name: The plan of the search, the environment of the runs, the id of the story.
        beside: Values of the other rules, where several were examined, such as `header`; ends with
            UNCLEAN for a search with such elections.
    """

    kind: str
    name: str
    beside: str = ""

    def __str__(self) -> str:
        """Returns the title with the other rules, as in `two_replicas, header, read_end`."""
        return f"{self.title}, {self.beside}" if self.beside else self.title

    @property
    def is_clean_search(self) -> bool:
        """True for a search in which only replicas in sync are elected."""
        return self.kind == SEARCH and UNCLEAN not in self.beside

    @property
    def title(self) -> str:
        """The name for readers: `finding_01` for a numbered story, TARGETED for `hunted`."""
        if self.kind == STORY and (numbered := re.match(r"[^_]+_\d+(?=_)", self.name)):
            return numbered[0]
        return TARGETED if (self.kind, self.name) == (RUNS, HUNTED) else self.name


class Finding(NamedTuple):
    """The evidence of one unit on one hazard under one alternative.

    Attributes:
        hazard: Name of the hazard.
        alternative: Label of the alternative.
        unit: The search, environment or story.
        broken: True where an invariant of the hazard was violated.
        invariant: Name of the invariant that was violated first, or after the fewest moves of a
            search; empty for runs and without any.
        moves: Moves of the shortest schedule of a search that violates it; None without one.
        states: Number of states of the world of a search.
        bound: Longest schedule, in moves, of a search that was stopped; None if it was exhausted,
            and for runs and stories.
        runs: Number of runs that met the hazard.
        judged: Number of runs that were judged.
        rule_set: Label of the rule set in the plan of the search or of the sweep; empty for
            stories.
        evidence: The plan of a search, the command for the first run that met the hazard, or the
            file of a story.
    """

    hazard: str
    alternative: str
    unit: Unit
    broken: bool
    invariant: str = ""
    moves: int | None = None
    states: int = 0
    bound: int | None = None
    runs: int = 0
    judged: int = 0
    rule_set: str = ""
    evidence: str = ""

    def as_row(self) -> dict[str, Any]:
        """The finding as a row of a table: texts and numbers."""
        row = self._asdict() | {"kind": self.unit.kind, "unit": self.unit.name}
        low, high = numbers.clopper_pearson(self.runs, self.judged) if self.judged else (None, None)
        return row | {"beside": self.unit.beside, "low": low, "high": high}


class Comparison(NamedTuple):
    """The findings of one unit on one hazard, under every alternative.

    Attributes:
        hazard: Name of the hazard.
        unit: The search, environment or story.
        findings: The finding under each alternative by its label, in the order of the grid.
    """

    hazard: str
    unit: Unit
    findings: Mapping[str, Finding]

    @property
    def breaking(self) -> tuple[str, ...]:
        """The alternatives under which the unit breaks the hazard."""
        return tuple(label for label, one in self.findings.items() if one.broken)

    @property
    def holding(self) -> tuple[str, ...]:
        """The alternatives under which the unit does not break the hazard."""
        return tuple(label for label, one in self.findings.items() if not one.broken)

    @property
    def is_decided(self) -> bool:
        """True unless a search was stopped before it broke the hazard under an alternative."""
        return all(one.broken or one.bound is None for one in self.findings.values())

    @property
    def runs(self) -> list[int]:
        """The number of runs that met the hazard under each alternative."""
        return [one.runs for one in self.findings.values()]


@dataclass(frozen=True)
class Grid:
    """All findings of a decision.

    Attributes:
        decision: The alternatives and the evidence that bears on them.
        findings: One per hazard, alternative and unit; none where an alternative lacks the unit.
        apart: (unit, hazard, one alternative, another) -> number of cases, judged under both, that
            met the hazard under the one alone.
        plans: The proven plans of its searches by their names.
    """

    decision: ReportDecision
    findings: Sequence[Finding]
    apart: Mapping[tuple[Unit, str, str, str], int]
    plans: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def alternatives(self) -> list[str]:
        """The labels of the alternatives; the first is what the others would replace."""
        return list(self.decision.alternatives)

    @cached_property
    def hazards(self) -> list[str]:
        """The hazards that something met, in order: the rows of the grid."""
        met = {one.hazard for one in self.findings if one.broken}
        return [one for one in NAMES if one in met]

    @cached_property
    def units(self) -> list[Unit]:
        """All searches, environments and stories, in this order."""
        return list(dict.fromkeys(one.unit for one in self.findings))

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """A comparison for each hazard and each unit that examined it under every alternative."""
        placed = {(one.hazard, one.unit, one.alternative): one for one in self.findings}
        return [
            Comparison(hazard, unit, {one: placed[hazard, unit, one] for one in self.alternatives})
            for hazard in NAMES
            for unit in self.units
            if all((hazard, unit, one) in placed for one in self.alternatives)
        ]

    def most_met(self, wanted: Callable[[Comparison], bool]) -> list[Comparison]:
        """For each hazard, the wanted comparison of runs in which an alternative met it most."""
        some = [one for one in self.comparisons[::-1] if one.unit.kind == RUNS and wanted(one)]
        found = {one.hazard: one for one in sorted(some, key=lambda one: max(one.runs))}
        return [found[hazard] for hazard in NAMES if hazard in found]

    def cell(self, hazard: str, alternative: str) -> list[Finding]:
        """All findings on a hazard under an alternative."""
        asked = (hazard, alternative)
        return [one for one in self.findings if (one.hazard, one.alternative) == asked]


def grids_of(folder: SweepFolder, name: str | None = None) -> tuple[Grid, ...]:
    """The grids of the decisions of a finished sweep, or of the one of a name.

    Raises:
        BadInput: There is no such decision, or one names a search or a story that is not there.
    """
    named = decisions_of(folder.sweep) if name is None else [decision_of(folder.sweep, name)]
    return tuple(grid_of(folder, decision) for decision in named)


def grid_of(folder: SweepFolder, decision: ReportDecision) -> Grid:
    """The grid of one decision: runs, searches and stories. Raises as `grids_of`."""
    apart: dict[tuple[Unit, str, str, str], int] = {}
    plans = plans_of(folder.path, decision)
    findings = [*_searched(plans, decision), *_met(folder, decision, apart), *_shown(decision)]
    return Grid(decision, findings, apart, plans)


def proven_plans(folder: Path) -> dict[str, dict[str, Any]]:
    """The proven plans by their names: those of a sweep's folder, and the shipped ones."""
    found: dict[str, dict[str, Any]] = {}
    for path in (shipped_folder() / PROVEN, folder / OWN_PROVEN):
        document: dict[str, Any] = json.loads(read_text(path)) if path.is_file() else {}
        if document.get("format") == PROVEN_FORMAT:
            found |= {plan["plan"]: plan for plan in document["plans"]}
    return found


def plans_of(folder: Path, decision: ReportDecision) -> dict[str, dict[str, Any]]:
    """The proven plans of a decision's searches. Raises BadInput where one is missing."""
    known = proven_plans(folder) if decision.searches else {}
    for name in decision.searches:
        if name not in known:
            close = did_you_mean(name, known)
            raise BadInput(f"decision {decision.name}: {name}: no search in {PROVEN}{close}")
    return {name: known[name] for name in decision.searches}


def rules_searched(plan: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Label -> all rules of each rule set that a search was made under."""
    return {
        label: Rules().with_values({**plan["rules"], **own}).as_dict()
        for label, own in plan["own_rules"].items()
    }


def _searched(plans: Mapping[str, Any], decision: ReportDecision) -> Iterator[Finding]:
    for name, plan in plans.items():
        rules = rules_searched(plan)
        varied = [rule for rule in plan["named"] if len({one[rule] for one in rules.values()}) > 1]
        for answer in plan["answers"]:
            own = rules[answer["label"]]
            label = decision.alternative_of(own)
            if label is not None:
                beside = decision.beside({rule: own[rule] for rule in varied})
                if not plan["clean"]:
                    beside = ", ".join(filter(None, (beside, UNCLEAN)))
                yield from _answered(plan, answer, label, Unit(SEARCH, name, beside))


def _answered(
    plan: Mapping[str, Any], answer: Mapping[str, Any], label: str, unit: Unit
) -> Iterator[Finding]:
    breaks = answer["breaks"]
    judged: dict[str, list[str]] = {}
    for name in plan["judged"]:
        judged.setdefault(_hazard_searched(plan, name), []).append(name)
    for hazard, names in judged.items():
        broken = [name for name in names if name in breaks]
        first = min(broken, key=lambda name: int(breaks[name]["moves"]), default="")
        yield Finding(
            hazard,
            label,
            unit,
            broken=bool(first),
            invariant=first,
            moves=breaks[first]["moves"] if first else None,
            states=answer["states"],
            bound=None if answer["exhausted"] else answer["depth"],
            rule_set=answer["label"],
            evidence=f"scenarios/explore/{unit.name}.yaml",
        )


def _hazard_searched(plan: Mapping[str, Any], invariant: str) -> str:
    """The hazard of an invariant.

    Where the cause of a violation decides the family, it is that of returning keys in a world with
    deletes, else that of diverging logs.
    """
    family = declared_family(invariant)
    if family not in FAMILIES:
        family = DELETED_KEY_RETURNS if plan["deletes"] else LOG_DIVERGENCE
    return hazard_of(invariant, family)


def _met(
    folder: SweepFolder, decision: ReportDecision, apart: dict[tuple[Unit, str, str, str], int]
) -> Iterator[Finding]:
    placed = {
        one.index: (label, decision.beside(one.values))
        for one in folder.sweep.rule_sets
        if (label := decision.alternative_of(one.rules.as_dict())) is not None
    }
    for of in folder.statistics:
        for place, (label, beside) in placed.items():
            unit, entry = Unit(RUNS, of["name"], beside), of["rule_sets"][place]
            for hazard in NAMES:
                met = entry["counts"]["hazard"].get(hazard)
                yield Finding(
                    hazard,
                    label,
                    unit,
                    broken=met is not None,
                    runs=0 if met is None else met["runs"],
                    judged=entry["judged"],
                    rule_set=entry["label"],
                    evidence="" if met is None else folder.replay_command(met["first_run"]),
                )
        for pair in of["pairs"]:
            if not {pair["left"], pair["right"]} <= {*placed}:
                continue
            (one, beside), (other, beside_it) = placed[pair["left"]], placed[pair["right"]]
            if beside == beside_it:
                unit = Unit(RUNS, of["name"], beside)
                for hazard in NAMES:
                    apart[unit, hazard, one, other] = pair["only_left"].get(hazard, 0)
                    apart[unit, hazard, other, one] = pair["only_right"].get(hazard, 0)


def _shown(decision: ReportDecision) -> Iterator[Finding]:
    for name in decision.stories:
        path = shipped_path(name)
        if not path.is_file():
            raise BadInput(f"decision {decision.name}: {name}: no shipped story")
        see = f"scenarios/{path.relative_to(shipped_folder()).as_posix()}"
        for label, values in decision.alternatives.items():
            violated = [*reversed(violated_in(str(path), tuple(values.items())))]
            soonest = {hazard_of(*one): one[0] for one in violated}
            for hazard in NAMES:
                first = soonest.get(hazard, "")
                unit = Unit(STORY, path.stem)
                yield Finding(hazard, label, unit, bool(first), invariant=first, evidence=see)


@lru_cache(maxsize=1_000)
def violated_in(path: str, values: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, str], ...]:
    """The invariants that a story or a timed scenario violates under some rules, with families.

    They are in order of detection.
    """
    case: Any = content_at(Path(path))
    changed = case.with_rules(case.rules.with_values(dict(values)))
    run = conclusive(run_of(changed, keep_events=False))
    return tuple((one.invariant, one.family) for one in judged(run, case.expect.checked or ()))
