"""Sections of a report: the grid and its costs, then what stands behind them, folded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sim.check.counters import COSTS
from sim.check.coverage import SITUATIONS
from sim.files.foreign.documents import json_text
from sim.protocol.rules.rules import shown
from sim.study.causes import Causes
from sim.study.report.causes import pictures
from sim.study.report.costs import cost_of
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
from sim.study.report.parts import Code, Note, Part, Picture, Section, Table
from sim.study.report.rates import judged_runs, rate_text
from sim.study.report.schedules import schedules_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording
from sim.study.sweep.statistics import VERDICTS

HOW_TO_READ = (
    "A cell: what a search of every schedule of a small world proves; runs that met it, of those "
    "judged, with the exact two-sided 95 % interval, from the lowest to the highest rate under the "
    "rules beside it; the stories that show it. Every alternative met the same writes and faults, "
    "worlds and stories; numbers in sentences are in the order of the columns. "
    "sim.open_sweep(DIR).verdict() has a row for each, with its evidence."
)
CAUSES = (
    "Failing runs are grouped by the cause of what they violate first. The smallest run is the "
    "smallest that was found with the same cause; nothing says that there is no smaller one. "
    "Commands are given from where {folder} is the folder of the sweep; its plan.json alone is "
    "enough for them."
)
COST = (
    "Mean per run that ended; in brackets against the first alternative on the same cases, with "
    "Student's two-sided 95 % interval. Left out: costs in which none differs beyond chance."
)


def grid_table(grid: Grid) -> Table:
    """A row per hazard that something met, a column per alternative."""
    rows, broken = [], []
    for at, hazard in enumerate(grid.hazards):
        cells = [grid.cell(hazard, one) for one in grid.alternatives]
        lines = [grid.lines(hazard, one) for one in grid.alternatives]
        rows.append((hazard, *map("\n".join, lines)))
        broken += [
            (at, column) for column, cell in enumerate(cells, 1) if any(one.broken for one in cell)
        ]
    head = ("hazard", *grid.alternatives)
    return Table(head, rows, len(head), frozenset(broken), is_grid=True)


def costs_table(folder: SweepFolder, grid: Grid) -> Table | None:
    """The costs, in the first environment, in which an alternative differs beyond chance."""
    rows, one = [], folder.environments[0]
    for beside, places in _places(folder, grid).items():
        base = places.get(grid.alternatives[0])
        if base is None:
            continue
        for counter, title in COSTS.items():
            costs = {name: cost_of(one, counter, at, base) for name, at in places.items()}
            if any(cost.differs for cost in costs.values()):
                texts = [costs[name].text if name in costs else "-" for name in grid.alternatives]
                rows.append((f"{title}, {Unit(RUNS, one.environment, beside)}", *texts))
    return Table(("cost per run", *grid.alternatives), rows) if rows else None


def _places(folder: SweepFolder, grid: Grid) -> dict[str, dict[str, int]]:
    """Values of the other rules -> the place of each alternative's rule set."""
    found: dict[str, dict[str, int]] = {}
    for place, one in enumerate(folder.plan["rule_sets"]):
        label = grid.decision.alternative_of(one["rules"])
        if label is not None:
            found.setdefault(grid.decision.beside(one["swept"]), {})[label] = place
    return found


def sections_of_grid(folder: SweepFolder, grid: Grid) -> Iterator[Section]:
    """The evidence behind a grid, each section folded."""
    if any(one.kind == SEARCH for one in grid.units):
        yield Section("The shortest schedule of each broken cell", [*schedules_of(folder, grid)])
        yield Section("What was searched", [*_worlds(folder, grid)])
    if any(one.kind == STORY for one in grid.units):
        yield Section("Each story", [_stories(grid)])
    yield Section("What was not looked at", [*_not_looked_at(folder, grid)])


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
        rows.append((name, plan["world"], plan["bounds"], ", ".join(common), counts))
    yield Table(("search", "world", "at most", "rules", "states"), rows, 5)
    yield Note(
        "Each state once, whatever the replicas are called; what a world does not name did not "
        f"happen there. Rules that no plan names and that differ from the runs: "
        f"{', '.join(unlike) or 'none'}."
    )


def _unlike(folder: SweepFolder, grid: Grid, plan: Mapping[str, Any]) -> list[str]:
    """The rules that no plan names and that are not in the search as in the runs."""
    decided = {rule for values in grid.decision.alternatives.values() for rule in values}
    named = {*plan["named"], *decided}
    runs = folder.plan["rule_sets"][0]["rules"]
    searched = next(iter(rules_searched(plan).values()))
    return [rule for rule, value in searched.items() if rule not in named and runs[rule] != value]


def _stories(grid: Grid) -> Table:
    rows = []
    for unit in grid.units:
        if unit.kind != STORY:
            continue
        cells = []
        for label in grid.alternatives:
            own = [one for one in grid.findings if one.unit == unit and one.alternative == label]
            cells.append(", ".join(one.hazard for one in own if one.broken) or "holds")
            evidence = own[0].evidence
        rows.append((evidence, *cells))
    return Table(("story", *grid.alternatives), rows, 1 + len(grid.alternatives))


def _not_looked_at(folder: SweepFolder, grid: Grid) -> Iterator[Part]:
    never = [one.name for one in HAZARDS if one.name not in grid.hazards]
    if never:
        yield Note(f"Met by nothing that was looked at: {', '.join(never)}.")
    for kind, what in ((SEARCH, "No search judges"), (STORY, "No story was run for")):
        looked = {one.hazard for one in grid.findings if one.unit.kind == kind}
        missing = [one.name for one in HAZARDS if one.name not in looked]
        if missing:
            yield Note(f"{what}: {', '.join(missing)}.")
    partly = [
        f"{unit} ({', '.join(missing)})"
        for unit in grid.units
        for known in [{one.alternative for one in grid.findings if one.unit == unit}]
        if (missing := [one for one in grid.alternatives if one not in known])
    ]
    if partly:
        yield Note(f"Not looked at under every alternative: {'; '.join(partly)}.")
    counts = [one["counts"]["reached"] for one in folder.statistics["rule_sets"]]
    unseen = [name for name in SITUATIONS if not any(name in one for one in counts)]
    if unseen:
        yield Note(f"Situations that no run reached: {', '.join(unseen)}.")


def cases_text(folder: SweepFolder) -> str:
    """The cases of an environment, counted over its runs, not read off the plan."""
    entries, first = folder.statistics["rule_sets"], folder.plan["environments"][0]["name"]
    counts, runs = entries[0]["counts"], entries[0]["runs"]
    targeted = counts["hunted"].get("hunted", {"runs": 0})["runs"]
    totals, ended = entries[0]["totals"], max(1, entries[0]["ended"])
    share = wording.share(targeted / runs) if targeted else "none"
    same = "" if folder.environment == first else "the same "
    told = [
        f"{Unit(RUNS, folder.environment)}: {same}{wording.counted(runs, 'seed')}",
        f"{share} with targeted faults",
        f"{wording.number(totals['outages'] / ended)} outages per case",
    ]
    if totals["outages"]:
        beyond = totals["outages_beyond_retention"] / totals["outages"]
        told.append(f"{wording.share(beyond)} of them longer than tombstones are retained")
    if totals["sends"]:
        told.append(f"{wording.share(totals['late_sends'] / totals['sends'])} of sends late")
    twins = sum(one["twins"] for one in entries)
    if twins:
        changed = wording.count(sum(one["changed"] for one in entries))
        told.append(f"{changed} of {wording.counted(twins, 'run')} are not as in {first}")
    return ", ".join(told)


def sections_of(folder: SweepFolder, causes: Causes, told: Mapping[str, Any]) -> Iterator[Section]:
    """The sections about the sweep as a whole; `told` is the result of `causes_content`."""
    entries, plan = folder.statistics["rule_sets"], folder.plan["plan"]
    labels = [entry["label"] for entry in entries]
    if plan.get("notes"):
        notes = list(zip(labels, plan["notes"], strict=False))
        yield Section("What each rule set promises", [Table(("rule set", "promise"), notes, 2)])
    yield Section("Why runs fail", _causes(folder, told, pictures(causes)))
    verdicts = [
        (
            entry["label"],
            *(wording.count(entry["counts"]["verdict"][name]["runs"]) for name in VERDICTS),
            rate_text(entry["counts"]["verdict"]["violated"]["runs"], judged_runs(entry)),
        )
        for entry in entries
    ]
    head = ("rule set", "held", *VERDICTS[1:], "violated, of those judged")
    parts: list[Part] = [Table(head, verdicts)]
    for measure in ("invariant", "reason", "error"):
        seen = _seen(folder, measure)
        if seen:
            parts.append(Table((f"runs, by {measure}", *labels), seen))
    yield Section("How runs ended", parts)
    made = (
        f"{folder.made_by}. The table of runs is a function of plan, count and seed; report.json "
        "has every number and every rule."
    )
    commands = Code(f"{folder.sweep_command}\n{folder.report_command}", "console")
    yield Section(
        "How this was made", [commands, Note(made), Code(json_text(plan, indent=2), "json")]
    )


def _causes(folder: SweepFolder, causes: Mapping[str, Any], drawn: Mapping[str, str]) -> list[Part]:
    """A row per cause, and the picture of each witness."""
    labels = [one["label"] for one in folder.plan["rule_sets"]]
    rows = []
    for cause in causes["causes"]:
        runs = dict.fromkeys(labels, 0)
        for share in cause["shares"]:
            runs[share["label"]] += share["runs"]
        story = "not known" if cause["story"] is None else cause["story"]["path"]
        see = (cause["witness"] or cause["example"])["command"]
        rows.append((cause["cause"], story, see, *map(wording.count, runs.values())))
    pictures_of = [
        Section(cause["cause"], [Note(witness["sentence"]), Picture(drawn[cause["cause"]])])
        for cause in causes["causes"]
        for witness in [cause["witness"]]
        if witness
    ]
    table = Table(("cause", "story", "its smallest run", *labels), rows, 3)
    note = Note(f"{causes['text']}. {CAUSES.format(folder=folder.name)}")
    return [note, *([table] if rows else []), *pictures_of]


def _seen(folder: SweepFolder, measure: str) -> list[tuple[str, ...]]:
    """In how many runs each name of a measure was seen, under each rule set; most runs first."""
    counts = [entry["counts"][measure] for entry in folder.statistics["rule_sets"]]
    runs = {
        name: [one.get(name, {"runs": 0})["runs"] for one in counts]
        for name in sorted({name for one in counts for name in one})
    }
    return [
        (name, *map(wording.count, runs[name]))
        for name in sorted(runs, key=lambda name: -sum(runs[name]))
    ]
