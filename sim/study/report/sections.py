"""Sections of a report: costs, then the evidence behind the grid, folded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sim.check.counters import COSTS
from sim.check.coverage import SITUATIONS
from sim.protocol.rules.rules import shown
from sim.study.report.grid import (
    RUNS,
    SEARCH,
    STORY,
    Grid,
    Unit,
    proven_plans,
    rules_searched,
)
from sim.study.report.hazards import HAZARDS
from sim.study.report.parts import (
    Code,
    Heading,
    Lines,
    Note,
    Part,
    Piece,
    Section,
    Table,
    rates_table,
)
from sim.study.report.schedules import Schedule, schedule_parts
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.stats import Interval


class Cost(NamedTuple):
    """A counter that is a cost, under one rule set.

    Attributes:
        mean: Mean over the runs that ended; None without any.
        ratio: Mean divided by that of the baseline; None for the baseline itself, or if that is 0.
        difference: Mean of (this - baseline) over the cases that both ended; None for the baseline.
        interval: Student's 95 % interval of the difference; None if fewer than two cases differ.
        differing: Number of cases with another number than under the baseline.
    """

    mean: float | None
    ratio: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    differing: int = 0

    @property
    def differs(self) -> bool:
        """True where the interval of the difference leaves out 0."""
        return self.interval is not None and (self.interval.low > 0 or self.interval.high < 0)

    @property
    def text(self) -> str:
        """The mean and what there is more or less of it, as in 1,200 (×1.200, +180 to +220)."""
        mean = "-" if self.mean is None else wording.number(self.mean)
        if self.difference is None:
            return mean
        if not self.differing:
            return f"{mean} (same)"
        limits = f"other in {wording.counted(self.differing, 'case')}"
        if self.interval is not None:
            limits = wording.signed_numbers(self.interval)
        ratio = "" if self.ratio is None else f"\u00d7{self.ratio:.3f}, "
        return f"{mean} ({ratio}{limits})"


def cost_of(folder: SweepFolder, counter: str, place: int, baseline: int) -> Cost:
    """A cost of a rule set, against a baseline on the same cases.

    Args:
        folder: A sweep, or one environment of it.
        counter: Name of the counter.
        place: Place of the rule set.
        baseline: Place of the one it is compared with; its own for none.
    """
    entries = folder.statistics["rule_sets"]
    mean, base = (_mean(entries[one], counter) for one in (place, baseline))
    if place == baseline:
        return Cost(mean)
    pair = next(
        one
        for one in folder.statistics["pairs"]
        if {one["left"], one["right"]} == {place, baseline}
    )
    if not pair["ended"]:
        return Cost(mean)
    more = pair["differences"][counter] * (1 if pair["left"] == baseline else -1)
    squares, differing = pair["squares"][counter], pair["differing"][counter]
    return Cost(
        mean,
        ratio=mean / base if mean is not None and base else None,
        difference=more / pair["ended"],
        interval=stats.mean_difference(more, squares, differing, pair["ended"]),
        differing=differing,
    )


def _mean(entry: dict[str, Any], counter: str) -> float | None:
    return entry["totals"][counter] / entry["ended"] if entry["ended"] else None


def per_pass(folder: SweepFolder, counter: str, place: int, baseline: int) -> float | None:
    """How much larger a cost is than under a baseline, per cleaning pass; None without one.

    Args:
        folder: A sweep, or one environment of it.
        counter: Name of the counter.
        place: Place of the rule set.
        baseline: Place of the one it is compared with.
    """
    own, base = (folder.statistics["rule_sets"][one]["totals"] for one in (place, baseline))
    passes = own["cleanings"]
    return (own[counter] - base[counter]) / passes if passes else None


COST: Final = (
    "Mean per {environment} run; in brackets against the first alternative on the same cases, with "
    "Student's 95 % interval (same: in every case), under the other rules with which it differs "
    "most. Costs that differ under no alternative are left out."
)
GIGABYTE: Final = 10**9
AT_A_GIGABYTE: Final = (
    " A pass keeps at most one record or batch more at the log end, whatever the size of the log: "
    "the last row is calculated for 1 GB of segments from the bytes per pass."
)


def reading_of(folder: SweepFolder, grid: Grid) -> str:
    """How to read the cells of a grid, by the kinds of evidence in it."""
    kinds = {unit.kind for unit in grid.units}
    names = [Unit(RUNS, one.environment).title for one in folder.environments]
    varied = any(one.beside for one in grid.units if one.kind == RUNS)
    beside = ", under the other rules with which most do" if varied else ""
    parts = [
        "the fewest moves that break it in a search of every schedule of a small world",
        f"how many runs met it ({', then '.join(names)}{beside})",
        "stories that show it",
    ]
    shown = [part for part, kind in zip(parts, (SEARCH, RUNS, STORY), strict=True) if kind in kinds]
    return f"In a cell: {'; '.join(shown)}. All alternatives met the same of each."


def costs_of(folder: SweepFolder, grid: Grid) -> list[Part]:
    """The costs, in the first environment, in which an alternative differs beyond chance."""
    one, rows = folder.environments[0], []
    places = {beside: own for beside, own in _places(folder, grid).items() if len(own) > 1}
    for counter, title in COSTS.items():
        found = []
        for beside, own in places.items():
            base = own.get(grid.alternatives[0])
            if base is None:
                continue
            costs = {name: cost_of(one, counter, at, base) for name, at in own.items()}
            if any(cost.differs for cost in costs.values()):
                most = max(abs(cost.difference or 0) for cost in costs.values())
                found.append((most, beside, costs))
        if found:
            _, beside, costs = max(found, key=lambda each: each[0])
            texts = [costs[name].text if name in costs else "" for name in grid.alternatives]
            rows.append((", ".join(filter(None, (title, beside))), *texts))
    if not rows:
        return []
    larger = _at_a_gigabyte(one, grid, places)
    return [
        Heading("What it costs"),
        Table(("cost per run", *grid.alternatives), [*rows, *larger]),
        Note(COST.format(environment=one.environment) + (AT_A_GIGABYTE if larger else "")),
    ]


def _at_a_gigabyte(
    folder: SweepFolder, grid: Grid, places: Mapping[str, Mapping[str, int]]
) -> list[tuple[str, ...]]:
    """The bytes that a pass leaves more under a fix for the log end, also as a share of 1 GB."""
    rows: list[tuple[str, ...]] = []
    if any({*values} != {"fix"} for values in grid.decision.alternatives.values()):
        return rows
    first, *others = grid.alternatives
    more = {
        beside: [per_pass(folder, "bytes_retained", own[one], own[first]) for one in others]
        for beside, own in places.items()
        if {*own} == {*grid.alternatives}
    }
    if more:
        beside = max(more, key=lambda each: max(map(abs, filter(None, more[each])), default=0))
        texts = [
            "" if one is None else f"{wording.signed(one)} ({wording.share(abs(one) / GIGABYTE)})"
            for one in more[beside]
        ]
        title = ", ".join(filter(None, ("more bytes per cleaning pass (of 1 GB)", beside)))
        rows.append((title, "", *texts))
    return rows


def _places(folder: SweepFolder, grid: Grid) -> dict[str, dict[str, int]]:
    """Values of the other rules -> the place of each alternative's rule set."""
    found: dict[str, dict[str, int]] = {}
    for place, one in enumerate(folder.plan["rule_sets"]):
        label = grid.decision.alternative_of(one["rules"])
        if label is not None:
            found.setdefault(grid.decision.beside(one["swept"]), {})[label] = place
    return found


def sections_of_grid(
    folder: SweepFolder, grid: Grid, schedules: Sequence[Schedule]
) -> Iterator[Section]:
    """The evidence behind a grid, each section folded."""
    if schedules:
        note = Note(
            "No schedule of fewer moves breaks in its world what is judged at once; before what is "
            "judged at rest, the fetches of resting are not counted. A hazard that an earlier move "
            "breaks stands beside the schedule that goes on."
        )
        parts = [note, *schedule_parts(folder, schedules)]
        yield Section("The shortest schedules", parts)
    rates = rates_table(grid)
    if rates is not None:
        note = Note(
            "With the exact 95 % interval, where most runs met it; "
            f"{folder.report_command} --json has all, with the command for the first such run."
        )
        yield Section("Rates", [rates, note, Note(cases_text(folder))])
    if any(one.kind == STORY for one in grid.units):
        yield Section("Stories, and how many hazards each breaks", [_stories(grid)])
    if any(one.kind == SEARCH for one in grid.units):
        yield Section("What was searched", [*_worlds(folder, grid)])
    yield Section("What was not examined", [*_not_examined(folder, grid)])


def _worlds(folder: SweepFolder, grid: Grid) -> Iterator[Part]:
    plans, rows, unlike = proven_plans(folder.path), [], dict[str, None]()
    for name in dict.fromkeys(one.name for one in grid.units if one.kind == SEARCH):
        plan = plans[name]
        unlike |= dict.fromkeys(_unlike(folder, grid, plan))
        states = [one.states for one in grid.findings if one.unit[:2] == (SEARCH, name)]
        first, *others = rules_searched(plan).values()
        common = [
            f"{rule} {shown(first[rule])}"
            for rule in plan["named"]
            if all(one[rule] == first[rule] for one in others)
        ]
        counts = " to ".join(f"{one:,}" for one in dict.fromkeys((min(states), max(states))))
        every = all(one["exhausted"] for one in plan["answers"])
        counts += "" if every else ", not exhausted"
        rows.append((name, f"{plan['world']}; {plan['bounds']}", ", ".join(common), counts))
    yield Table(("search", "world and budgets", "rules", "states"), rows, 3)
    yield Note(
        "States that differ in the names of replicas alone count once. What a world does not name "
        "did not happen there. Rules that no plan names and that differ from the runs: "
        f"{', '.join(unlike) or 'none'}."
    )


def _unlike(folder: SweepFolder, grid: Grid, plan: Mapping[str, Any]) -> list[str]:
    """The rules that no plan names and that differ between the search and the runs."""
    decided = {rule for values in grid.decision.alternatives.values() for rule in values}
    named = {*plan["named"], *decided}
    runs = folder.plan["rule_sets"][0]["rules"]
    searched = next(iter(rules_searched(plan).values()))
    return [rule for rule, value in searched.items() if rule not in named and runs[rule] != value]


def _stories(grid: Grid) -> Table:
    rows: list[list[str | Lines]] = []
    for unit in (one for one in grid.units if one.kind == STORY):
        hazards = {
            one: sum(one in grid.breaking(hazard, unit) for hazard in grid.hazards)
            for one in grid.alternatives
        }
        cells = [f"breaks {one}" if one else "holds" for one in hazards.values()]
        rows.append([[[Piece(unit.name, anchor=unit.title)]], *cells])
    return Table(("replog run", *grid.alternatives), rows, 1 + len(grid.alternatives))


def _not_examined(folder: SweepFolder, grid: Grid) -> Iterator[Part]:
    never = [one.name for one in HAZARDS if one.name not in grid.hazards]
    if never:
        yield Note(f"Met by no search, run or story: {', '.join(never)}.")
    for kind, what in ((SEARCH, "No search judges"), (STORY, "No story was run for")):
        judged = {one.hazard for one in grid.findings if one.unit.kind == kind}
        missing = [one.name for one in HAZARDS if one.name not in judged]
        if missing:
            yield Note(f"{what}: {', '.join(missing)}.")
    partly = [
        f"{unit} ({', '.join(missing)})"
        for unit in grid.units
        for known in [grid.labels_of(unit)]
        if (missing := [one for one in grid.alternatives if one not in known])
    ]
    if partly:
        yield Note(f"Not examined under every alternative: {'; '.join(partly)}.")
    counts = [one["counts"]["reached"] for one in folder.statistics["rule_sets"]]
    unseen = [name for name in SITUATIONS if not any(name in one for one in counts)]
    if unseen:
        yield Note(f"Situations that no run reached: {', '.join(unseen)}.")


def cases_text(folder: SweepFolder) -> str:
    """The cases of each environment, counted over its runs rather than taken from the plan."""
    said = []
    for one in folder.environments:
        entry = one.statistics["rule_sets"][0]
        totals, runs, ended = entry["totals"], entry["runs"], max(1, entry["ended"])
        targeted = entry["counts"]["hunted"].get("hunted", {"runs": 0})["runs"]
        parts = [
            f"{Unit(RUNS, one.environment)}: {wording.counted(runs, 'seed')}",
            f"{wording.share(targeted / runs) if targeted else 'none'} with targeted faults",
            f"{wording.number(totals['outages'] / ended)} outages per case",
        ]
        if totals["outages"]:
            beyond = totals["outages_beyond_retention"] / totals["outages"]
            parts.append(f"{wording.share(beyond)} of them longer than tombstones are retained")
        if totals["sends"]:
            parts.append(f"{wording.share(totals['late_sends'] / totals['sends'])} of sends late")
        said.append(", ".join(parts))
    return f"Cases, the same draws in each environment: {'; '.join(said)}."


def sections_of(
    folder: SweepFolder,
) -> Iterator[Section]:
    """The sections about the sweep as a whole."""
    entries, plan = folder.statistics["rule_sets"], folder.plan["plan"]
    labels = [entry["label"] for entry in entries]
    if plan.get("notes"):
        notes = list(zip(labels, plan["notes"], strict=False))
        yield Section("What each rule set promises", [Table(("rule set", "promise"), notes, 2)])
    unjudged: list[Part] = [
        Table((f"runs, by {measure}", *labels), seen)
        for measure in ("reason", "error")
        if (seen := _seen(folder, measure))
    ]
    if unjudged:
        yield Section("Runs without a verdict", unjudged)
    made = (
        f"{folder.made_by}. The same plan, count and seed give the same runs. report.json has the "
        "plan, every rule and every number."
    )
    commands = Code("\n".join(folder.commands), "console")
    yield Section("How this was made", [commands, Note(made)])


def _seen(folder: SweepFolder, measure: str) -> list[tuple[str, ...]]:
    """In how many runs each name of a measure was seen under each rule set, most runs first."""
    counts = [entry["counts"][measure] for entry in folder.statistics["rule_sets"]]
    runs = {
        name: [one.get(name, {"runs": 0})["runs"] for one in counts]
        for name in sorted({name for one in counts for name in one})
    }
    return [
        (name, *map(wording.count, runs[name]))
        for name in sorted(runs, key=lambda name: -sum(runs[name]))
    ]
