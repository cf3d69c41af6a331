"""What a sweep says: rates with intervals, paired differences, what each rule set costs.

Everything that the page, the Markdown and the terminal show is computed once, from the tallies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.report.about import AboutPair, about_pairs, about_sentences
from sim.report.answer import Answer, answer_of
from sim.report.conditions import Conditions, conditions_of
from sim.report.costs import Cost, CostOfRuleSet, costs_of
from sim.report.families import Family, families_of
from sim.report.onset import Onset, onsets_of
from sim.report.pairs import PairComparison, pairs_of
from sim.report.rates import Rate, rate_of
from sim.report.sweep_folder import SweepFolder, read_folder
from sim.sweeps import wording
from sim.timed_run import LEFT_THE_CONTRACT

LISTED_MAX = 4
"""Rule sets that one sentence names."""
INTERVALS = "in brackets the share and its two-sided 95 % interval"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it, over all cases of a sweep or over those of one environment."""

    environment: str
    """Empty for all cases together."""
    headline: tuple[str, ...]
    """Empty for one environment."""
    rates: tuple[Rate, ...]
    families: tuple[Family, ...]
    about: tuple[AboutPair, ...]
    """Empty where the plan does not say what it is about."""
    pairs: tuple[PairComparison, ...]
    costs: tuple[Cost, ...]
    conditions: Conditions
    answer: Answer
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
        headline=() if folder.environment else _headline(folder, rates, pairs),
        rates=rates,
        families=families_of(folder),
        about=about_pairs(folder) if folder.plan["plan"].get("about") else (),
        pairs=pairs,
        costs=costs,
        conditions=conditions_of(folder),
        answer=answer_of(folder, costs),
        onsets=onsets_of(folder) if intervals else (),
    )


def _headline(
    folder: SweepFolder, rates: Sequence[Rate], pairs: Iterable[PairComparison]
) -> tuple[str, ...]:
    """The result in a few sentences: what the plan is about, else how often anything happened.

    And one more if the sweep is not green.
    """
    about = about_sentences(folder)
    if about:
        return (*about, *not_green(folder))
    swept = list(folder.plan["rule_sets"][0]["swept"])
    rule = f"{swept[0]} " if len(swept) == 1 else ""
    sentences = [_rates_sentence(rates, rule)]
    sentences.extend(pair.text for pair in pairs if pair.headline)
    sentences += not_green(folder)
    return tuple(sentences)


def not_green(folder: SweepFolder) -> list[str]:
    """One sentence on runs that should have a verdict and have none; nothing where all have one.

    A run that left the durability contract needs none.
    """
    counts = [entry["counts"] for entry in folder.tallies["rule_sets"]]
    errors = sum(count["verdict"]["error"]["runs"] for count in counts)
    cut_off = sum(
        count["verdict"]["inconclusive"]["runs"]
        - count["reason"].get(LEFT_THE_CONTRACT, {"runs": 0})["runs"]
        for count in counts
    )
    parts = [f"{wording.count(errors)} ended in an exception"] if errors else []
    parts += [f"{wording.count(cut_off)} hit a bound"] if cut_off else []
    if not parts:
        return []
    return [f"Not green: of {wording.count(folder.plan['runs'])} runs {' and '.join(parts)}."]


def _rates_sentence(rates: Sequence[Rate], rule: str) -> str:
    """All rates of a few rule sets; of many, the worst and how many never violated."""
    if len(rates) <= LISTED_MAX:
        parts = [f"{rule}{rate.label} in {rate.text}" for rate in rates]
        return f"An invariant was violated under {'; '.join(parts)}; {INTERVALS}."
    worst = sorted((rate for rate in rates if rate.violated), key=lambda rate: -(rate.rate or 0))
    never = [rate.exact for rate in rates if rate.exact and not rate.violated]
    sentence = f"{len(worst)} of {len(rates)} rule sets violated an invariant"
    if worst:
        parts = [f"{rule}{rate.label} in {rate.text}" for rate in worst[:LISTED_MAX]]
        sentence += f"; most often {'; '.join(parts)}"
    if never:
        widest = max(never, key=lambda interval: interval.high)
        sentence += f"; {len(never)} never did (each {wording.shares(widest)})"
    return f"{sentence}; {INTERVALS}."


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


def headline(out: Path) -> tuple[str, ...]:
    """The result of a finished sweep in one to four sentences. Raises BadInput."""
    folder = read_folder(out)
    rates = tuple(rate_of(entry) for entry in folder.tallies["rule_sets"])
    return _headline(folder, rates, pairs_of(folder))


def _cost_cell(cost: CostOfRuleSet) -> str:
    if cost.mean is None:
        return "-"
    mean = wording.number(cost.mean)
    return mean if cost.ratio is None else f"{mean} (x{cost.ratio:.3f})"
