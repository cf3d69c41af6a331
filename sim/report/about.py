"""What a plan is about, in sentences: which rule set violates that, and which does not.

A fix is measured by what it is meant to fix. The rate at which anything at all is violated hides it
behind what no fix touches; so a plan names families or invariants (`about`), and they come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sim.check.families import FAMILIES
from sim.report.costs import costs_of
from sim.report.families import Share, share_of
from sim.report.grid import Block, blocks_of
from sim.report.sweep_folder import SweepFolder
from sim.sweeps import stats, wording
from sim.sweeps.stats import Interval

ANY = "any"
"""The name in the measure `about` of `tallies.json`: something of it was violated."""
PRICES = {
    "bytes_retained": "{} bytes retained instead of {}",
    "tombstone_wait_ms": "a due tombstone waiting up to {} ms instead of {}",
    "marker_wait_ms": "a due marker waiting up to {} ms instead of {}",
}
"""Costs that the sentence about the best rule sets names: its mean and that of the baseline."""
LISTED_MAX = 8
"""Rule sets whose counts one sentence lists."""


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


def about_sentences(folder: SweepFolder) -> tuple[str, ...]:
    """The result in a few sentences; empty where the plan does not say what it is about."""
    about = folder.plan["plan"].get("about", [])
    if not about:
        return ()
    blocks = blocks_by_first_rule(folder)
    if len(blocks[0].places) > LISTED_MAX:
        return _best(folder, about)
    sentences = [_counts(folder, name, blocks) for name in about]
    return (*sentences, *_purpose(folder))


def measure_of(name: str) -> str:
    """Where the tallies have a name that a plan is about."""
    return "family" if name in FAMILIES else "invariant"


def blocks_by_first_rule(folder: SweepFolder) -> tuple[Block, ...]:
    """Blocks in which the first swept rule has the same values, or one of all rule sets."""
    entries = folder.plan["rule_sets"]
    swept = tuple(entries[0]["swept"])
    blocks = blocks_of(folder, swept[0]) if swept else ()
    if blocks and len(blocks[0].values) > 1 and len({block.values for block in blocks}) == 1:
        return blocks
    labels = tuple(entry["label"] for entry in entries)
    return (Block("", labels, tuple(range(len(labels)))),)


def _counts(folder: SweepFolder, name: str, blocks: Sequence[Block]) -> str:
    """Counts under each value of the varied rule, per environment and per set of other rules."""
    swept = tuple(folder.plan["rule_sets"][0]["swept"])
    rule = f"{swept[0]} " if len(blocks) > 1 or len(swept) == 1 else ""
    values = " / ".join(blocks[0].values)
    parts = []
    for one in folder.environments:
        shares = [
            [
                share_of(one.tallies["rule_sets"][place], measure_of(name), name)
                for place in b.places
            ]
            for b in blocks
        ]
        lists = [
            title_of(folder, block) + " / ".join(wording.count(share.runs) for share in of_block)
            for block, of_block in zip(blocks, shares, strict=True)
        ]
        judged = min(share.judged for of_block in shares for share in of_block)
        parts.append(
            f"of {wording.count(judged)} {one.environment} cases {', '.join(lists)}"
            f"{_bound(judged) if any(not s.runs for of in shares for s in of) else ''}"
        )
    return f"Cases of {name} under {rule}{values}: {'; '.join(parts)}."


def _purpose(folder: SweepFolder) -> tuple[str, ...]:
    """What a strategy is for, where strategies are swept: by the first rule set of each."""
    rule_sets = folder.plan["rule_sets"]
    first: dict[str, int] = {}
    for place, one in enumerate(rule_sets):
        first.setdefault(one["rules"]["strategy"], place)
    if len(first) == 1:
        return ()
    parts = []
    for one in folder.environments:
        entries = one.tallies["rule_sets"]
        shares = [f"{name} {unmeant_share(entries[place])}" for name, place in first.items()]
        parts.append(f"in {one.environment} cases {', '.join(shares)}")
    return (f"Keys that end on what their producer did not mean: {'; '.join(parts)}.",)


def unmeant_share(entry: dict[str, Any]) -> str:
    """Of all keys of a rule set, the share that ends on what its producer did not mean."""
    totals = entry["totals"]
    return wording.share(totals["unmeant_keys"] / totals["keys"]) if totals["keys"] else "-"


def _bound(judged: int) -> str:
    """What no event in so many cases leaves open, two-sided."""
    if not judged:
        return ""
    return f" (0 is at most {wording.share(stats.clopper_pearson(0, judged).high)})"


def title_of(folder: SweepFolder, block: Block) -> str:
    """What a block has beside the varied rule."""
    swept = folder.plan["rule_sets"][block.places[0]]["swept"]
    others = list(swept.values())[1:]
    if len(block.places) == len(folder.plan["rule_sets"]):
        return ""
    if len(others) == 1:
        return f"{others[0]} "
    return f"{block.label or 'as planned'} "


def _best(folder: SweepFolder, about: Sequence[str]) -> tuple[str, ...]:
    """Who violates least of what the plan is about, at what price, and who most."""
    entries = folder.tallies["rule_sets"]
    shares = [share_of(entry, "about", ANY) for entry in entries]
    fewest = min(share.runs for share in shares)
    best = [place for place, share in enumerate(shares) if share.runs == fewest]
    worst = max(range(len(shares)), key=lambda place: shares[place].runs)
    names = [entry["label"] for entry in entries]
    winner, *others = best
    sentence = (
        f"Fewest cases of {' or '.join(about)}: {names[winner]}, "
        f"{_cases(shares[winner], _by_environment(folder, winner))}, "
        f"at the price of {_price(folder, winner)}; "
        f"{names[worst]} has {_cases(shares[worst], _by_environment(folder, worst))}."
    )
    if not others:
        return (sentence,)
    more = "; ".join(f"{names[place]}, at {_price(folder, place)}" for place in others)
    return (sentence, f"As few: {more}.")


def _cases(share: Share, more: str) -> str:
    seen = wording.count(share.runs) if share.runs else "none"
    interval = "" if share.interval is None else f"{wording.shares(share.interval)}; "
    return f"{seen} of {wording.count(share.judged)} ({interval}{more})"


def _by_environment(folder: SweepFolder, place: int) -> str:
    parts = []
    for one in folder.environments:
        share = share_of(one.tallies["rule_sets"][place], "about", ANY)
        parts.append(f"{one.environment} {wording.count(share.runs)}")
    return ", ".join(parts)


def _price(folder: SweepFolder, place: int) -> str:
    """What a rule set costs, against what it is compared with."""
    parts = []
    for cost in costs_of(folder, intervals=False):
        one = cost.rule_sets[place]
        if cost.counter in PRICES and one.mean is not None and one.difference is not None:
            mean, before = wording.number(one.mean), wording.number(one.mean - one.difference)
            if mean != before:
                parts.append(PRICES[cost.counter].format(mean, before))
    return ", ".join(parts) if parts else "none of these: bytes, a longer wait"


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
        verdicts = pair["verdicts"]
        judged = sum(verdicts.get(f"{a}/{b}", 0) for a in _JUDGED for b in _JUDGED)
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


_JUDGED = ("holds", "violated")
