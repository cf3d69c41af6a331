"""Two rule sets on the same cases: in how many cases do they disagree, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

from sim.study.report.blocks import LISTED_MAX, blocks_by_first_rule
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.stats import Interval

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
