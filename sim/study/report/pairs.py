"""Two rule sets on the same cases: in how many cases do they disagree, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        """As in -0.87 points (-1.07 to -0.68)."""
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


def paired(pair: dict[str, Any], counted: Mapping[str, int]) -> Paired:
    """What the statistics of a pair counted of one name, such as an invariant."""
    return Paired(**counted, judged=pair["judged"])


def pair_of(folder: SweepFolder, left: int, right: int) -> dict[str, Any]:
    """The statistics of two rule sets on the same cases, by their places."""
    wanted = {left, right}
    pair = next(one for one in folder.tallies["pairs"] if {one["left"], one["right"]} == wanted)
    return pair if pair["left"] == left else _turned(pair)


def difference_of(folder: SweepFolder, place: int, other: int) -> Difference | None:
    """Two rule sets of a plan, by their places; None where no case was judged under both.

    Compared is what the plan is about, or else whether any invariant was violated.
    """
    pair = pair_of(folder, place, other)
    return paired(pair, _counted(folder, pair)).difference


def pairs_of(folder: SweepFolder) -> list[dict[str, Any]]:
    """Pairs of rule sets in which the first swept rule alone differs, on the same cases.

    Compared by what the plan is about, or else by any violation, with Holm's p values. Of many
    values each is compared with the first. Of each pair there are also its `invariants`, those in
    which it disagrees most first.
    """
    blocks = blocks_by_first_rule(folder)
    places = [
        (left, right)
        for block in blocks
        for left, right in combinations(block.places, 2)
        if left == block.places[0] or len(block.places) <= LISTED_MAX
    ]
    pairs = [pair_of(folder, *one) for one in places]
    counted = [paired(pair, _counted(folder, pair)) for pair in pairs]
    labels = [entry["label"] for entry in folder.tallies["rule_sets"]]
    return [
        {
            "left": labels[pair["left"]],
            "right": labels[pair["right"]],
            **found,
            "neither": found["judged"] - sum(found[side] for side in SIDES),
            "left_out": pair["cases"] - found["judged"],
            "invariants": _invariants(pair),
        }
        for pair, found in zip(pairs, _documents(counted), strict=True)
    ]


def _counted(folder: SweepFolder, pair: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = pair["about" if folder.about else "any"]
    return found


def _documents(found: Sequence[Paired]) -> list[dict[str, Any]]:
    """What tables have of comparisons that are looked at together."""
    adjusted = stats.holm([one.p for one in found])
    return [
        {
            **one._asdict(),
            "difference": None if one.difference is None else one.difference.value,
            "interval": None if one.difference is None else one.difference.interval,
            "p": one.p,
            "adjusted_p": p,
        }
        for one, p in zip(found, adjusted, strict=True)
    ]


def _invariants(pair: dict[str, Any]) -> list[dict[str, Any]]:
    counted = [paired(pair, cases) for cases in pair["invariants"].values()]
    found = [
        {"invariant": name, **one}
        for name, one in zip(pair["invariants"], _documents(counted), strict=True)
    ]
    return sorted(
        found,
        key=lambda one: (
            -abs(one["only_left"] - one["only_right"]),
            -one["both"],
            one["invariant"],
        ),
    )


def baselines_of(rule_sets: list[dict[str, Any]]) -> tuple[int, ...]:
    """The place of what each rule set of a plan is compared with; of a baseline, its own.

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
    """The same with left and right changed; a difference is right - left."""
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
