"""Two rule sets on the same cases: in how many cases do they disagree, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from sim.check.families import (
    DELETED_KEY_RETURNS,
    FAMILIES,
    LATE_WRITE,
    LOG_DIVERGENCE,
    READERS,
    TRANSACTIONS,
)
from sim.errors import BadInput
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.statistics import ANY
from sim.study.sweep.stats import Interval

LISTED_MAX = 8
"""Values of a rule that one table or sentence shows beside each other."""


class Block(NamedTuple):
    """The rule sets that agree in all but the varied rule.

    Attributes:
        label: The other swept rules, where they differ from the first block; empty for that one.
        values: Values of the varied rule, in the order of the plan.
        places: The numbers of their rule sets.
    """

    label: str
    values: tuple[str, ...]
    places: tuple[int, ...]


def blocks_of(folder: SweepFolder, rule: str) -> tuple[Block, ...]:
    """Groups of rule sets that agree in all rules but `rule`.

    Raises:
        BadInput: The sweep does not vary the rule.
    """
    swept = [entry["swept"] for entry in folder.plan["rule_sets"]]
    if rule not in swept[0]:
        varied = ", ".join(swept[0])
        raise BadInput(f"{folder.name}: this sweep does not vary {rule}; it varies {varied}")
    rest = [{name: value for name, value in one.items() if name != rule} for one in swept]
    groups: dict[str, list[int]] = {}
    for place, others in enumerate(rest):
        changed = [f"{name}={value}" for name, value in others.items() if value != rest[0][name]]
        groups.setdefault(", ".join(changed), []).append(place)
    return tuple(
        Block(label, tuple(str(swept[place][rule]) for place in places), tuple(places))
        for label, places in groups.items()
    )


def blocks_by_first_rule(folder: SweepFolder) -> tuple[Block, ...]:
    """Blocks in which the first swept rule has the same values, or one of all rule sets."""
    entries = folder.plan["rule_sets"]
    swept = tuple(entries[0]["swept"])
    blocks = blocks_of(folder, swept[0]) if swept else ()
    if blocks and len(blocks[0].values) > 1 and len({block.values for block in blocks}) == 1:
        return blocks
    labels = tuple(entry["label"] for entry in entries)
    return (Block("", labels, tuple(range(len(labels)))),)


def title_of(folder: SweepFolder, block: Block) -> str:
    """The other rules of a block, as a title; empty for one of all rule sets."""
    rule_sets = folder.plan["rule_sets"]
    if len(block.places) == len(rule_sets):
        return ""
    others = [*rule_sets[block.places[0]]["swept"].values()][1:]
    return str(others[0]) if len(others) == 1 else block.label or "as planned"


CHANCES: dict[str, tuple[tuple[str, int, str], ...]] = {
    LOG_DIVERGENCE: (
        ("leader_changes", 1_000, "1,000 leader changes"),
        ("log_ends_cleaned", 1_000, "1,000 cleaned log ends"),
    ),
    DELETED_KEY_RETURNS: (("tombstones_removed", 1_000, "1,000 tombstones removed"),),
    LATE_WRITE: (("tombstones_removed", 1_000, "1,000 tombstones removed"),),
    TRANSACTIONS: (("markers_removed", 1_000, "1,000 markers removed"),),
    READERS: (("reads", 100_000, "100,000 records read"),),
}
"""Per family the counters that say how often it could have happened: runs are counted against so
many of them."""


@dataclass(frozen=True, slots=True)
class Share:
    """In how many of the judged runs of a rule set something was violated."""

    runs: int
    judged: int
    """Runs that held or violated; the others say nothing either way."""
    interval: Interval | None
    """Exact, two-sided, 95 %; None when no run was judged."""
    per_chance: tuple[str, ...] = ()
    """As in "4.1 per 1,000 leader changes"."""

    @property
    def text(self) -> str:
        """Runs and interval, as in 120 (10.1 to 14.2 %)."""
        if self.interval is None:
            return "-"
        return f"{wording.count(self.runs)} ({wording.shares(self.interval)})"

    @property
    def share_text(self) -> str:
        """Share and interval, as in 12.0 % (10.1 to 14.2 %); never a bare zero."""
        if self.interval is None:
            return "-"
        seen = wording.share(self.runs / self.judged) if self.runs else "none"
        return f"{seen} ({wording.shares(self.interval)})"

    @property
    def counted_text(self) -> str:
        """Runs and share, as in 120 of 998 (12.0 %)."""
        if not self.judged:
            return "not judged"
        counted = f"{wording.count(self.runs)} of {wording.count(self.judged)}"
        return f"{counted} ({wording.share(self.runs / self.judged)})" if self.runs else counted

    @property
    def rate_text(self) -> str:
        """All of it, as in 120 of 998 runs (12.0 %; 10.1 to 14.2 %); never a bare zero."""
        if self.interval is None:
            return "no run was judged"
        runs, limits = f"{wording.count(self.judged)} runs", wording.shares(self.interval)
        if not self.runs:
            return f"none of {runs} ({limits})"
        share = wording.share(self.runs / self.judged)
        return f"{wording.count(self.runs)} of {runs} ({share}; {limits})"


def share_of(entry: dict[str, Any], measure: str, name: str) -> Share:
    """How often a name of a measure was violated under a rule set."""
    seen = entry["counts"][measure].get(name, {"runs": 0})["runs"]
    verdicts = entry["counts"]["verdict"]
    judged = verdicts["holds"]["runs"] + verdicts["violated"]["runs"]
    chances = CHANCES.get(name, ()) if measure == "family" else ()
    return Share(
        seen,
        judged,
        stats.clopper_pearson(seen, judged) if judged else None,
        tuple(
            f"{wording.number(seen * size / entry['totals'][counter])} per {words}"
            for counter, size, words in chances
            if seen and entry["totals"][counter]
        ),
    )


def rate_of(entry: dict[str, Any]) -> Share:
    """How often a rule set violated any invariant."""
    return share_of(entry, "verdict", "violated")


def measure_of(name: str) -> str:
    """Where the statistics have a name that a plan is about."""
    return "family" if name in FAMILIES else "invariant"


def named_share(entry: dict[str, Any], name: str) -> Share:
    """How often a family or an invariant, such as a plan is about, was violated."""
    return share_of(entry, measure_of(name), name)


def counted_share(folder: SweepFolder, entry: dict[str, Any]) -> Share:
    """How often what the plan is about was violated, or else any invariant."""
    return share_of(entry, "about", ANY) if folder.about else rate_of(entry)


SIDES = ("both", "only_left", "only_right")


class Difference(NamedTuple):
    """A rule set against another one on the same cases."""

    value: float
    """Share of this - share of the other, of the cases judged under both."""
    interval: Interval
    """Two-sided, 95 %, not adjusted; without 0 where McNemar's p is below 0.05."""

    @property
    def text(self) -> str:
        """The value with its interval, as in -0.87 points (-1.07 to -0.68)."""
        return f"{wording.points(self.value)} ({wording.bare_points(self.interval)})"


class Paired(NamedTuple):
    """In how many cases two rule sets violated something."""

    both: int
    only_left: int
    only_right: int
    judged: int
    """Cases that were judged under both."""

    @property
    def difference(self) -> Difference | None:
        """The left one against the right one; None where no case was judged under both."""
        if not self.judged:
            return None
        interval = stats.paired_difference(self.only_left, self.only_right, self.judged)
        return Difference((self.only_left - self.only_right) / self.judged, interval)

    @property
    def p(self) -> float:
        """Of McNemar's exact test."""
        return stats.mcnemar_exact(self.only_left, self.only_right)


def paired(pair: Mapping[str, Any], counted: Mapping[str, int]) -> Paired:
    """The cases of a pair that violated one name, such as an invariant."""
    return Paired(**counted, judged=pair["judged"])


def pair_of(folder: SweepFolder, left: int, right: int) -> dict[str, Any]:
    """The statistics of two rule sets on the same cases, by their places."""
    wanted = {left, right}
    pair = next(one for one in folder.statistics["pairs"] if {one["left"], one["right"]} == wanted)
    return pair if pair["left"] == left else _turned(pair)


def counted_in(folder: SweepFolder, pair: dict[str, Any]) -> dict[str, int]:
    """Cases of a pair that violated what the plan is about, or else any invariant."""
    found: dict[str, int] = pair["about" if folder.about else "any"]
    return found


def difference_of(folder: SweepFolder, place: int, other: int) -> Difference | None:
    """Two rule sets of a plan, by their places; None where no case was judged under both."""
    pair = pair_of(folder, place, other)
    return paired(pair, counted_in(folder, pair)).difference


def pairs_within(folder: SweepFolder) -> list[dict[str, Any]]:
    """The statistics of pairs of rule sets in which the first swept rule alone differs.

    Of many values each is compared with the first.
    """
    return [
        pair_of(folder, left, right)
        for block in blocks_by_first_rule(folder)
        for left, right in combinations(block.places, 2)
        if left == block.places[0] or len(block.places) <= LISTED_MAX
    ]


def baselines_of(rule_sets: list[dict[str, Any]]) -> tuple[int, ...]:
    """Places of the baselines that rule sets are compared with; a baseline has its own.

    Where fixes are compared: the rule set with the same rules and no fix, or the first without. The
    first of all rule sets otherwise.
    """
    return tuple(_baseline(rule_sets, place) for place in range(len(rule_sets)))


def _baseline(rule_sets: list[dict[str, Any]], place: int) -> int:
    if "fix" not in rule_sets[place]["swept"]:
        return 0
    plain = {**rule_sets[place]["rules"], "fix": "none"}
    places = range(len(rule_sets))
    same = [one for one in places if rule_sets[one]["rules"] == plain]
    unfixed = [one for one in places if rule_sets[one]["rules"]["fix"] == "none"]
    return (same + unfixed + [0])[0]


def _turned(pair: dict[str, Any]) -> dict[str, Any]:
    """A pair with left and right changed; a difference is right - left."""
    return {
        **pair,
        "left": pair["right"],
        "right": pair["left"],
        "any": _sides_changed(pair["any"]),
        "about": _sides_changed(pair["about"]),
        "invariants": {name: _sides_changed(one) for name, one in pair["invariants"].items()},
        "differences": {name: -value for name, value in pair["differences"].items()},
    }


def _sides_changed(cases: Mapping[str, int]) -> dict[str, int]:
    return dict(zip(SIDES, (cases["both"], cases["only_right"], cases["only_left"]), strict=True))
