"""The short form of a report: its sentences, and the table for a terminal."""

from __future__ import annotations

from sim.study.causes.grouping import Causes
from sim.study.report.costs import costs_of
from sim.study.report.shares import rate_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.report.verdict import verdict_of
from sim.study.sweep import wording
from sim.study.sweep.unjudged import unjudged

INTERVALS = "in brackets the share and its two-sided 95 % interval"


def headline(folder: SweepFolder, causes: Causes | None = None) -> tuple[str, ...]:
    """The verdict in a few sentences, and one more if the sweep is not green.

    Of one rule set it is how often it violated an invariant, in each environment, since they have
    the same seeds. A run that left the durability contract needs no verdict.
    """
    missing = unjudged(folder.statistics).in_words(folder.plan["runs"])
    not_green = [f"{missing.capitalize()}."] if missing else []
    if len(folder.statistics["rule_sets"]) > 1:
        return (*verdict_of(folder, causes), *not_green)
    several = len(folder.environments) > 1
    told = [
        f"{rate_of(one.statistics['rule_sets'][0]).rate_text}"
        + (f" in {one.environment}" if several else "")
        for one in folder.environments
    ]
    return (f"An invariant was violated in {', '.join(told)}; {INTERVALS}.", *not_green)


def comparison_table(sweep: SweepFolder) -> list[dict[str, str]]:
    """Rows of text, one per rule set of a finished sweep, in the order of the plan.

    Where the plan has several environments, each has its rows. Columns: `environment` then,
    `rule set`, `runs`, `violated`, `rate` (with its exact 95 % interval), `not judged`
    (inconclusive and failed runs), and one per cost: the mean per run and how many times the
    baseline's.
    """
    rows = []
    for folder in sweep.environments:
        named = {"environment": folder.environment} if len(sweep.environments) > 1 else {}
        costs = costs_of(folder)
        for place, entry in enumerate(folder.statistics["rule_sets"]):
            rate = rate_of(entry)
            row = {
                **named,
                "rule set": entry["label"],
                "runs": wording.count(entry["runs"]),
                "violated": wording.count(rate.runs),
                "rate": rate.share_text,
                "not judged": wording.count(entry["runs"] - rate.judged),
            }
            for cost in costs:
                own = cost.rule_sets[place]
                times = "" if own.ratio is None else f" (x{own.ratio:.3f})"
                row[cost.title] = f"{own.mean_text}{times}"
            rows.append(row)
    return rows
