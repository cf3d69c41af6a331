"""The page of a report in Markdown: the verdict, its grid, costs, then the evidence, folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sim.check.counters import COSTS
from sim.check.coverage import SITUATIONS
from sim.files import markdown
from sim.protocol.rules import shown
from sim.study.report.cells import grid_table, interval_text, rates_table
from sim.study.report.claims import verdict_of
from sim.study.report.grid import NAMES, RUNS, SEARCH, STORY, Grid, Unit, rules_searched
from sim.study.report.schedules import Schedule, anchors_of, schedules_in, schedules_of
from sim.study.sweep import numbers
from sim.study.sweep.runner import unjudged
from sim.study.sweep.table import SweepFolder

Section = tuple[str, Iterable[str]]
"""Title of a part of the page that is folded until a reader opens it, and its paragraphs."""


def page_of(folder: SweepFolder, grids: Sequence[Grid]) -> str:
    """The page: the first decision with its grid, the other decisions in sentences alone."""
    plan, first = folder.sweep.plan, grids[0]
    schedules = schedules_of(first)
    parts = [
        f"# {markdown.text(plan.title)}",
        *(_linked(one, first) for one in headline(folder, first)),
        grid_table(first, anchors_of(schedules)),
        _reading_of(folder),
        costs_of(folder, first),
        f"Source: {markdown.text(plan.source)}.",
    ]
    sections = (
        *_evidence(folder, first, schedules),
        *(_in_short(folder, grid) for grid in grids[1:]),
        *_about_the_sweep(folder),
    )
    for title, paragraphs in sections:
        parts += [f"<details><summary>{title}</summary>", *paragraphs, "</details>"]
    return "\n\n".join(filter(None, parts)) + "\n"


def _linked(sentence: str, grid: Grid) -> str:
    """A sentence in Markdown in which names of searches and stories lead to their rows."""
    names = {one.title for one in grid.units if one.kind != RUNS}
    return re.sub(
        r"\w+",
        lambda word: f"[{word[0]}](#{word[0]})" if word[0] in names else word[0],
        markdown.text(sentence),
    )


def headline(folder: SweepFolder, grid: Grid) -> list[str]:
    """The sentences of a verdict, and one more if some runs have no verdict.

    With one alternative there is no verdict; the sentences then say how often an invariant was
    violated in each environment.
    """
    said = [one.text for one in verdict_of(grid)]
    for one in folder.statistics if not said else ():
        entry = one["rule_sets"][0]
        runs, judged = entry["counts"]["verdict"]["violated"]["runs"], entry["judged"]
        rate = f"{numbers.count(runs)} of {numbers.counted(judged, 'judged run')}"
        interval = f" ({interval_text(runs, judged)})" if judged else ""
        said.append(f"An invariant was violated in {rate}{interval}, {Unit(RUNS, one['name'])}.")
    missing = unjudged(folder.statistics).in_words(folder.sweep.runs)
    return [*said, *([f"{missing.capitalize()}."] if missing else [])]


def _reading_of(folder: SweepFolder) -> str:
    """Legend of the cells of a grid."""
    names = ", then ".join(Unit(RUNS, one["name"]).title for one in folder.statistics)
    return (
        "In a cell: the fewest moves after which a search of every schedule breaks it; how many "
        f"runs met it ({markdown.text(names)}), under the rules with which most do; stories that "
        "show it. All alternatives have the same worlds, runs and stories."
    )


def _evidence(folder: SweepFolder, grid: Grid, schedules: Sequence[Schedule]) -> Iterator[Section]:
    """The evidence behind a grid."""
    if schedules:
        yield "The shortest schedules", schedules_in(schedules)
    if rates := rates_table(grid):
        command = markdown.text(folder.report_command)
        note = (
            "With the exact 95 % interval, under the other rules with which most runs met it; "
            f"{command} --json has all, with the command for the first such run."
        )
        yield "Rates", (rates, note, _cases(folder))
    if any(one.kind == STORY for one in grid.units):
        yield "Stories, and how many hazards each breaks", (_stories(grid),)
    if grid.plans:
        yield "What was searched", _worlds(folder, grid)
    yield "What was not examined", _not_examined(folder, grid)


def _cases(folder: SweepFolder) -> str:
    """The cases of each environment, counted over its runs rather than taken from the plan."""
    said = []
    for one in folder.statistics:
        entry = one["rule_sets"][0]
        targeted = numbers.share(entry["targeted"] / max(1, entry["runs"]))
        seeds = numbers.counted(entry["runs"], "seed")
        said.append(f"{Unit(RUNS, one['name'])}: {seeds}, {targeted} with targeted faults")
    return markdown.text(f"Cases, the same draws in each environment: {'; '.join(said)}.")


def _stories(grid: Grid) -> str:
    rows = []
    for unit in (one for one in grid.units if one.kind == STORY):
        broken = [one.alternative for one in grid.findings if one.unit == unit and one.broken]
        counts = [broken.count(one) for one in grid.alternatives]
        cells = [f"breaks {one}" if one else "holds" for one in counts]
        rows.append((f'<a id="{unit.title}"></a>{unit.name}', *cells))
    return markdown.table(("replog run", *map(markdown.text, grid.alternatives)), rows)


def _worlds(folder: SweepFolder, grid: Grid) -> Iterator[str]:
    runs = folder.sweep.rule_sets[0].rules.as_dict()
    rows, unlike = [], dict[str, None]()
    for name in grid.decision.searches:
        plan = grid.plans[name]
        first, *others = rules_searched(plan).values()
        named = {*plan["named"], *next(iter(grid.decision.alternatives.values()))}
        unlike |= {one: None for one in first if one not in named and runs[one] != first[one]}
        common = [
            f"{rule} {shown(first[rule])}"
            for rule in plan["named"]
            if all(one[rule] == first[rule] for one in others)
        ]
        counts = numbers.count(max(one["states"] for one in plan["answers"]))
        counts += "" if all(one["exhausted"] for one in plan["answers"]) else ", not exhausted"
        cells = (f"{plan['world']}; {plan['bounds']}", ", ".join(common), counts)
        rows.append((f'<a id="{name}"></a>{name}', *map(markdown.text, cells)))
    head = ("search", "world and budgets", "rules", "states at most")
    yield markdown.table(head, rows, numbers=1)
    yield (
        "States that differ in the names of replicas alone count once. What a world does not name "
        "did not happen there. Rules that no plan names and that differ from the runs: "
        f"{', '.join(unlike) or 'none'}."
    )


def _not_examined(folder: SweepFolder, grid: Grid) -> Iterator[str]:
    judged = {(one.unit.kind, one.hazard) for one in grid.findings}
    reached = {
        name
        for one in folder.statistics
        for entry in one["rule_sets"]
        for name in entry["counts"]["reached"]
    }
    compared = {one.unit for one in grid.comparisons}
    partly = [str(one) for one in grid.units if one not in compared]
    for what, missing in (
        ("Met by no search, run or story", [one for one in NAMES if one not in grid.hazards]),
        ("No search judges", [one for one in NAMES if (SEARCH, one) not in judged]),
        ("No story was run for", [one for one in NAMES if (STORY, one) not in judged]),
        ("Not examined under every alternative", partly),
        ("Situations that no run reached", [one for one in SITUATIONS if one not in reached]),
    ):
        if missing:
            yield markdown.text(f"{what}: {', '.join(missing)}.")


def _in_short(folder: SweepFolder, grid: Grid) -> Section:
    """The verdict of a decision that is not the page's own, and the command for its grid."""
    sentences = [markdown.text(one.text) for one in verdict_of(grid)]
    command = f"{folder.report_command} --decision {grid.decision.name}"
    title = f"Decision: {markdown.in_html(grid.decision.name)}"
    return title, (*sentences, markdown.block([command], language="console"))


def _about_the_sweep(folder: SweepFolder) -> Iterator[Section]:
    labels = [markdown.text(one.label) for one in folder.sweep.rule_sets]
    if notes := folder.sweep.plan.notes:
        rows = zip(labels, map(markdown.text, notes), strict=False)
        yield "What each rule set promises", (markdown.table(("rule set", "promise"), rows),)
    made = (
        f"{folder.made_by}. The same plan, count and seed give the same runs. report.json has the "
        "plan, every rule and every number."
    )
    commands = markdown.block(folder.commands, language="console")
    yield "How this was made", (commands, markdown.text(made))


class Cost(NamedTuple):
    """A counter that is a cost, under one rule set, against a baseline on the same cases.

    Attributes:
        text: The mean over the runs that ended, then its ratio to the baseline's and the interval
            of the difference, as in 1,200 (×1.200, +180 to +220).
        difference: Mean of (this - baseline) over the cases whose runs ended under both; 0 for the
            baseline.
        differs: True where the 95 % interval of the difference leaves out 0.
    """

    text: str
    difference: float = 0.0
    differs: bool = False


def cost_of(environment: Mapping[str, Any], counter: str, place: int, baseline: int) -> Cost:
    """A cost of a rule set in one environment.

    Args:
        environment: Statistics of the environment.
        counter: Name of the counter.
        place: Place of the rule set.
        baseline: Place of the rule set to compare with; equal to `place` for no comparison.
    """
    mean, base = (_mean(environment["rule_sets"][one], counter) for one in (place, baseline))
    text = numbers.number(mean)
    if place == baseline:
        return Cost(text)
    pair = next(
        one for one in environment["pairs"] if {one["left"], one["right"]} == {place, baseline}
    )
    differing = pair["differing"][counter]
    if not differing:
        return Cost(f"{text} (same)")
    more = pair["differences"][counter] * (1 if pair["left"] == baseline else -1)
    interval = numbers.mean_difference(more, pair["squares"][counter], differing, pair["ended"])
    limits = f"other in {numbers.counted(differing, 'case')}"
    if interval is not None:
        limits = numbers.signed_numbers(interval)
    ratio = f"\u00d7{mean / base:.3f}, " if base else ""
    differs = interval is not None and not interval.low <= 0 <= interval.high
    return Cost(f"{text} ({ratio}{limits})", more / pair["ended"], differs)


def _mean(entry: Mapping[str, Any], counter: str) -> float:
    return float(entry["totals"][counter] / max(1, entry["ended"]))


def costs_of(folder: SweepFolder, grid: Grid) -> str:
    """The costs in the first environment, in Markdown; empty where no alternative differs."""
    environment, places = folder.statistics[0], _places(folder, grid)
    rows = [*_differing(environment, grid, places)]
    if not rows:
        return ""
    head = ("cost per run", *map(markdown.text, grid.alternatives))
    table = markdown.table(head, rows, numbers=len(grid.alternatives))
    note = (
        f"Mean per {markdown.text(environment['name'])} run; in brackets against the first "
        "alternative on the same cases, with Student's 95 % interval (same: in every case), under "
        "the other rules with which it differs most. Costs that do not differ are left out."
    )
    return f"### What it costs\n\n{table}\n\n{note}{_at_a_gigabyte(environment, grid, places)}"


Places = Mapping[str, Mapping[str, int]]
"""Values of the other rules -> the place of each alternative's rule set."""


def _places(folder: SweepFolder, grid: Grid) -> Places:
    found: dict[str, dict[str, int]] = {}
    for one in folder.sweep.rule_sets:
        label = grid.decision.alternative_of(one.rules.as_dict())
        if label is not None:
            found.setdefault(grid.decision.beside(one.values), {})[label] = one.index
    return {beside: own for beside, own in found.items() if grid.alternatives[0] in own}


def _differing(
    environment: Mapping[str, Any], grid: Grid, places: Places
) -> Iterator[tuple[str, ...]]:
    """A row for each cost that differs, under the other rules with which it differs most."""
    for counter, title in COSTS.items():
        found = []
        for beside, own in places.items():
            base = own[grid.alternatives[0]]
            costs = {name: cost_of(environment, counter, at, base) for name, at in own.items()}
            if any(cost.differs for cost in costs.values()):
                most = max(abs(cost.difference) for cost in costs.values())
                found.append((most, beside, costs))
        if found:
            _, beside, costs = max(found, key=lambda each: each[0])
            texts = [costs[name].text if name in costs else "" for name in grid.alternatives]
            yield (markdown.text(f"{title}, {beside}" if beside else title), *texts)


def _at_a_gigabyte(environment: Mapping[str, Any], grid: Grid, places: Places) -> str:
    """The bytes that a fix for the log end keeps more per pass, also as a share of 1 GB.

    Empty for a decision about another rule than `fix`.
    """
    if any({*values} != {"fix"} for values in grid.decision.alternatives.values()):
        return ""
    more = dict.fromkeys(grid.alternatives, 0.0)
    for own in places.values():
        for name, at in own.items():
            cost = cost_of(environment, "bytes_retained", at, own[grid.alternatives[0]])
            passes = _mean(environment["rule_sets"][at], "cleanings") or 1
            more[name] = max(more[name], cost.difference / passes)
    most = max(more, key=more.__getitem__)
    return (
        " A pass keeps at most one record or batch more at the log end, whatever the size of the "
        f"log: {numbers.number(more[most])} bytes per pass under {markdown.text(most)}, "
        f"{numbers.share(more[most] / 10**9)} of 1 GB of segments."
    )
