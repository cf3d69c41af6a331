"""What a plan is about: how rule sets are laid out for it, and compared by it.

A fix is measured by what it is meant to fix. The rate at which anything at all is violated hides it
behind what no fix touches; so a plan names families or invariants (`about`), and they come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.check.families import FAMILIES
from sim.report.grid import Block, blocks_of
from sim.report.pairs import cells_of
from sim.report.sweep_folder import SweepFolder
from sim.sweeps import stats, wording
from sim.sweeps.stats import Interval

ANY = "any"
"""The name in the measure `about` of `tallies.json`: something of it was violated."""
LISTED_MAX = 8
"""Values of a rule that one table or sentence shows beside each other."""


@dataclass(frozen=True, slots=True)
class AboutPair:
    """Two rule sets on the same cases, by what the plan is about."""

    left: str
    right: str
    both: int
    only_left: int
    only_right: int
    difference: float
    """Share of left - share of right, of the cases judged under both."""
    interval: Interval
    """Two-sided, 95 %, not adjusted for the number of pairs."""
    adjusted_p: float
    """Of McNemar's exact test; Holm's, over the pairs of the environment."""


def measure_of(name: str) -> str:
    """Where the tallies have a name that a plan is about."""
    return "family" if name in FAMILIES else "invariant"


def counted_in(folder: SweepFolder) -> tuple[str, str]:
    """Measure and name in the tallies of what the plan is about, else of any violation."""
    return ("about", ANY) if folder.plan["plan"].get("about") else ("verdict", "violated")


def blocks_by_first_rule(folder: SweepFolder) -> tuple[Block, ...]:
    """Blocks in which the first swept rule has the same values, or one of all rule sets."""
    entries = folder.plan["rule_sets"]
    swept = tuple(entries[0]["swept"])
    blocks = blocks_of(folder, swept[0]) if swept else ()
    if blocks and len(blocks[0].values) > 1 and len({block.values for block in blocks}) == 1:
        return blocks
    labels = tuple(entry["label"] for entry in entries)
    return (Block("", labels, tuple(range(len(labels)))),)


def unmeant_share(entry: dict[str, Any]) -> str:
    """Of all keys of a rule set, the share that ends on what its producer did not mean."""
    totals = entry["totals"]
    return wording.share(totals["unmeant_keys"] / totals["keys"]) if totals["keys"] else "-"


def title_of(folder: SweepFolder, block: Block) -> str:
    """What a block has beside the varied rule."""
    swept = folder.plan["rule_sets"][block.places[0]]["swept"]
    others = list(swept.values())[1:]
    if len(block.places) == len(folder.plan["rule_sets"]):
        return ""
    if len(others) == 1:
        return f"{others[0]} "
    return f"{block.label or 'as planned'} "


def about_pairs(folder: SweepFolder) -> tuple[AboutPair, ...]:
    """Pairs of rule sets of one environment in which only the varied rule differs, in their order.

    Of many rule sets that differ in several rules, each against the first.
    """
    rule_sets = folder.plan["rule_sets"]
    blocks = blocks_by_first_rule(folder)
    many = len(blocks[0].places) > LISTED_MAX
    found = []
    for pair in folder.tallies["pairs"]:
        left, right = (rule_sets[pair[side]]["label"] for side in ("left", "right"))
        together = any({pair["left"], pair["right"]} <= set(block.places) for block in blocks)
        judged = sum(cells_of(pair))
        if together and judged and (pair["left"] == 0 or not many):
            found.append((left, right, pair["about"], judged))
    values = [stats.mcnemar_exact(one["only_left"], one["only_right"]) for *_, one, _ in found]
    return tuple(
        AboutPair(
            left,
            right,
            one["both"],
            one["only_left"],
            one["only_right"],
            (one["only_left"] - one["only_right"]) / judged,
            stats.paired_difference(one["only_left"], one["only_right"], judged),
            p,
        )
        for (left, right, one, judged), p in zip(found, stats.holm(values), strict=True)
    )
