"""The short form of a report: its sentences, and the tables for a terminal.

A README quotes what the plan is about between two comments, and so says what the last
sweep said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.check.families import FAMILIES
from sim.errors import BadInput
from sim.files.atomic import replacing
from sim.files.foreign import markdown
from sim.files.opening import read_text
from sim.study.causes.grouping import Causes
from sim.study.report.conditions import hunts_text
from sim.study.report.costs import costs_of
from sim.study.report.pairs import (
    LISTED_MAX,
    Block,
    blocks_by_first_rule,
    named_share,
    rate_of,
    title_of,
)
from sim.study.report.parts import Table
from sim.study.report.sweep_folder import SweepFolder
from sim.study.report.verdict import verdict_of
from sim.study.sweep import wording
from sim.study.sweep.runner import unjudged

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


def short_table(folder: SweepFolder, *, about_alone: bool = False) -> Table | None:
    """How many cases of an environment violated what; None where it does not fit.

    There is a column per set of other rules; in a cell are the values of the first swept rule.
    With `about_alone` there is only what the plan is about.
    """
    blocks, entries = blocks_by_first_rule(folder), folder.statistics["rule_sets"]
    values = blocks[0].values
    if len(values) > LISTED_MAX:
        return None
    head = (" / ".join(values), *(title_of(folder, block) or "cases" for block in blocks))
    others = [name for name in folder.about if name not in FAMILIES]
    rows = [
        (name, *(_cell(entries, block, name) for block in blocks))
        for name in (folder.about if about_alone else [*others, *FAMILIES])
        if any(named_share(entry, name).runs for entry in entries)
    ]
    if not about_alone:
        title = f"keys that end on what their producer did not mean, under {values[0]}"
        rows.append((title, *(_unmeant_share(entries[b.places[0]]) for b in blocks)))
    return Table(head, rows)


def _cell(entries: Sequence[dict[str, Any]], block: Block, name: str) -> str:
    shares = [named_share(entries[place], name) for place in block.places]
    return " / ".join(wording.count(share.runs) for share in shares)


def _unmeant_share(entry: dict[str, Any]) -> str:
    """Of all keys of a rule set, the share that ends on what its producer did not mean."""
    totals = entry["totals"]
    return wording.share(totals["unmeant_keys"] / totals["keys"]) if totals["keys"] else "-"


def quote(folder: SweepFolder, page: Path) -> None:
    """Put the short table of a finished sweep into a Markdown file.

    Raises BadInput as `quoted` does, and where the file cannot be written; then it is as it was.
    """
    text = quoted(folder, page)
    with replacing(page) as file:
        file.write(text.encode())


def quoted(folder: SweepFolder, page: Path) -> str:
    """A Markdown file with the short table of a finished sweep in it, as it would be written.

    It goes between the lines `<!-- short table of PLAN -->` and `<!-- end -->`, PLAN being the
    file name of the plan, in the place of what is there.

    Raises:
        BadInput: There is no such file or place.
    """
    mark = f"<!-- short table of {Path(folder.plan['plan_file'] or '').name} -->"
    text = read_text(page)
    place = re.compile(f"(?<={re.escape(mark)}\n).*?(?=<!-- end -->)", re.DOTALL)
    if place.search(text) is None:
        raise BadInput(f"{page}: no lines {mark} and <!-- end --> in it")
    tables = {hunts_text(one): short_table(one, about_alone=True) for one in folder.environments}
    parts = [f"{markdown.text(name)}\n\n{one.markdown}" for name, one in tables.items() if one]
    table = "".join(f"\n{one}\n" for one in parts) + "\n"
    return place.sub(lambda _found: table, text, count=1)
