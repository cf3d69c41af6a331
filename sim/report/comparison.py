"""What a sweep says: the verdict, rates with intervals, paired differences, what rule sets cost.

Everything that the page, the Markdown and the terminal show is computed once, from the tallies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sim.causes.grouping import Causes
from sim.report.about import AboutPair, about_pairs
from sim.report.conditions import Conditions, conditions_of
from sim.report.costs import Cost, CostOfRuleSet, costs_of
from sim.report.families import Family, families_of
from sim.report.onset import Onset, onsets_of
from sim.report.pairs import PairComparison, pairs_of
from sim.report.rates import Rate, rate_of
from sim.report.standings import Standing, standings_of
from sim.report.sweep_folder import SweepFolder, read_folder
from sim.report.verdict import verdict_of
from sim.sweeps import wording
from sim.sweeps.unjudged import unjudged

INTERVALS = "in brackets the share and its two-sided 95 % interval"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it, over all cases of a sweep or over those of one environment."""

    environment: str
    """Empty for all cases together."""
    rates: tuple[Rate, ...]
    families: tuple[Family, ...]
    about: tuple[AboutPair, ...]
    """Empty where the plan does not say what it is about."""
    pairs: tuple[PairComparison, ...]
    costs: tuple[Cost, ...]
    conditions: Conditions
    standings: tuple[Standing, ...]
    onsets: tuple[Onset, ...]
    """Empty without the tables of runs."""


def compare(folder: SweepFolder, *, intervals: bool = True) -> Comparison:
    """Computes the comparison of a sweep, or of one environment of it.

    Without `intervals` the costs have none, and the tables of runs are not read.
    """
    rates = tuple(rate_of(entry) for entry in folder.tallies["rule_sets"])
    pairs, costs = pairs_of(folder), costs_of(folder, intervals=intervals)
    return Comparison(
        environment=folder.environment,
        rates=rates,
        families=families_of(folder),
        about=about_pairs(folder) if folder.plan["plan"].get("about") else (),
        pairs=pairs,
        costs=costs,
        conditions=conditions_of(folder),
        standings=standings_of(folder, costs),
        onsets=onsets_of(folder) if intervals else (),
    )


def headline(folder: SweepFolder, causes: Causes | None = None) -> tuple[str, ...]:
    """The verdict in a few sentences, and one more if the sweep is not green.

    Of one rule set it is how often it violated an invariant.
    """
    rates = [rate_of(entry) for entry in folder.tallies["rule_sets"]]
    verdict = verdict_of(folder, causes) if len(rates) > 1 else (_rate_sentence(rates[0]),)
    return (*verdict, *not_green(folder))


def not_green(folder: SweepFolder) -> list[str]:
    """One sentence on runs that should have a verdict and have none; nothing where all have one.

    A run that left the durability contract needs none.
    """
    missing = unjudged(folder.tallies)
    parts = [f"{wording.count(missing.errors)} ended in an exception"] if missing.errors else []
    parts += [f"{wording.count(missing.unfinished)} hit a bound"] if missing.unfinished else []
    if not parts:
        return []
    return [f"Not green: of {wording.count(folder.plan['runs'])} runs {' and '.join(parts)}."]


def _rate_sentence(rate: Rate) -> str:
    return f"An invariant was violated in {rate.text}; {INTERVALS}."


def comparison_table(out: Path) -> list[dict[str, str]]:
    """One row of text cells per rule set of a finished sweep, in the order of the plan.

    Where the plan has several environments, each has its rows. Columns: `environment` then,
    `rule set`, `runs`, `violated`, `rate` (with its exact 95 % interval), `not judged`
    (inconclusive and failed runs), and one per cost: the mean per run and how many times the
    baseline's.

    Raises:
        BadInput: The folder holds no finished sweep.
    """
    environments = read_folder(out).environments
    rows = []
    for folder in environments:
        named = {"environment": folder.environment} if len(environments) > 1 else {}
        rows += [{**named, **row} for row in _rows(folder)]
    return rows


def _rows(folder: SweepFolder) -> list[dict[str, str]]:
    costs = costs_of(folder, intervals=False)
    rows = []
    for place, entry in enumerate(folder.tallies["rule_sets"]):
        rate = rate_of(entry)
        row = {
            "rule set": rate.label,
            "runs": wording.count(sum(rate.verdicts.values())),
            "violated": wording.count(rate.violated),
            "rate": rate.share_text,
            "not judged": wording.count(rate.verdicts["inconclusive"] + rate.verdicts["error"]),
        }
        row |= {cost.title: _cost_cell(cost.rule_sets[place]) for cost in costs}
        rows.append(row)
    return rows


def _cost_cell(cost: CostOfRuleSet) -> str:
    if cost.mean is None:
        return "-"
    mean = wording.number(cost.mean)
    return mean if cost.ratio is None else f"{mean} (x{cost.ratio:.3f})"
