"""Two rule sets on the same cases: in how many cases do they disagree, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

from sim.report.sweep_folder import SweepFolder
from sim.sweeps import stats, wording
from sim.sweeps.stats import Interval

HEADLINE = ("leo_retention", "empty_batch")
"""The comparison that is asked for in advance; all other pairs are corrected for being many."""


@dataclass(frozen=True, slots=True)
class InvariantOfPair:
    """One invariant under two rule sets on the same cases."""

    invariant: str
    both: int
    only_left: int
    only_right: int
    difference: float
    """Share of left - share of right, of the cases judged under both."""
    interval: Interval
    """Two-sided, 95 %, not adjusted for the number of invariants."""
    adjusted_p: float
    """Of McNemar's exact test; Holm's, over the invariants of the pair."""


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Two rule sets on the same cases; the difference is rate(left) - rate(right)."""

    left: str
    right: str
    headline: bool
    both: int
    only_left: int
    only_right: int
    neither: int
    left_out: int
    """Cases in which one of the two runs was inconclusive or failed."""
    difference: float | None
    interval: Interval | None
    """Two-sided, 95 %, not adjusted for the number of pairs; without 0 where `p` < 0.05."""
    p: float
    """Of McNemar's exact test."""
    adjusted_p: float
    """Holm's, among those asked for in advance and among all others; one alone keeps its p."""
    other_weather: int
    invariants: tuple[InvariantOfPair, ...]
    """Those that either violated, the ones in which they disagree most first."""

    @property
    def text(self) -> str:
        """The comparison as a sentence."""
        if self.difference is None or self.interval is None:
            return f"{self.left} and {self.right} share no case in which both runs were judged."
        cases = self.both + self.only_left + self.only_right + self.neither
        start = (
            f"On the same {wording.count(cases)} cases, {self.left} violated alone in "
            f"{wording.count(self.only_left)}, {self.right} alone in "
            f"{wording.count(self.only_right)}, both in {wording.count(self.both)}"
        )
        interval = f"95 % interval {wording.interval_points(self.interval)}"
        if self.only_left == self.only_right == 0:
            return f"{start}: no difference seen ({interval})."
        return (
            f"{start}: a difference of {wording.points(self.difference)} ({interval}; "
            f"{wording.p_value(self.adjusted_p)})."
        )


def pairs_of(folder: SweepFolder) -> tuple[PairComparison, ...]:
    """Every pair, the headline pair first, then those that differ in one rule alone."""
    rule_sets = folder.plan["rule_sets"]
    ordered = sorted(
        (_placed(rule_sets, counted) for counted in folder.tallies["pairs"]), key=itemgetter(0)
    )
    pairs = [pair for _, pair in ordered]
    values = [pair.p for pair in pairs]
    asked_for = sum(pair.headline for pair in pairs)  # these come first
    adjusted = [*stats.holm(values[:asked_for]), *stats.holm(values[asked_for:])]
    return tuple(replace(pair, adjusted_p=p) for pair, p in zip(pairs, adjusted, strict=True))


def _placed(
    rule_sets: list[dict[str, Any]], counted: dict[str, Any]
) -> tuple[tuple[bool, int, int, int], PairComparison]:
    """A pair, the fixes in the order in which they are asked for, and where it belongs."""
    turned = _fixes(rule_sets, counted["left"], counted["right"]) == HEADLINE[::-1]
    pair = _turned(counted) if turned else counted
    left, right = pair["left"], pair["right"]
    differing = _differing(rule_sets[left]["rules"], rule_sets[right]["rules"])
    headline = differing == {"fix"} and _fixes(rule_sets, left, right) == HEADLINE
    labels = rule_sets[left]["label"], rule_sets[right]["label"]
    return (not headline, len(differing), left, right), _pair(pair, labels, headline=headline)


class Difference(NamedTuple):
    """A rule set against another one on the same cases."""

    value: float
    """Share of this - share of the other, of the cases judged under both."""
    interval: Interval
    """Two-sided, 95 %, not adjusted."""

    @property
    def text(self) -> str:
        """As in -0.87 points (-1.07 to -0.68)."""
        return f"{wording.points(self.value)} ({wording.bare_points(self.interval)})"


def difference_of(folder: SweepFolder, place: int, other: int, *, about: bool) -> Difference | None:
    """Two rule sets of a plan, by their places; None where no case was judged under both.

    Compared is what the plan is `about`, or else whether any invariant was violated.
    """
    pair = pair_of(folder, place, other)
    both, only_left, only_right, neither = cells_of(pair)
    judged = both + only_left + only_right + neither
    if not judged:
        return None
    if about:
        only_left, only_right = pair["about"]["only_left"], pair["about"]["only_right"]
    interval = stats.paired_difference(only_left, only_right, judged)
    return Difference((only_left - only_right) / judged, interval)


def pair_of(folder: SweepFolder, left: int, right: int) -> dict[str, Any]:
    """What the tallies counted of two rule sets on the same cases, by their places."""
    wanted = {left, right}
    pair = next(one for one in folder.tallies["pairs"] if {one["left"], one["right"]} == wanted)
    return pair if pair["left"] == left else _turned(pair)


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


def _fixes(rule_sets: list[dict[str, Any]], left: int, right: int) -> tuple[str, str]:
    return rule_sets[left]["rules"]["fix"], rule_sets[right]["rules"]["fix"]


def _differing(left: dict[str, Any], right: dict[str, Any]) -> set[str]:
    return {name for name in left if left[name] != right.get(name)}


def _turned(pair: dict[str, Any]) -> dict[str, Any]:
    """The same with left and right changed; a difference is right - left."""
    verdicts = {
        "/".join(reversed(name.split("/"))): cases for name, cases in pair["verdicts"].items()
    }
    return {
        **pair,
        "left": pair["right"],
        "right": pair["left"],
        "verdicts": verdicts,
        "about": _sides_changed(pair["about"]),
        "invariants": {name: _sides_changed(one) for name, one in pair["invariants"].items()},
        "differences": {name: -value for name, value in pair["differences"].items()},
    }


def _sides_changed(cases: dict[str, int]) -> dict[str, int]:
    return {**cases, "only_left": cases["only_right"], "only_right": cases["only_left"]}


def cells_of(pair: dict[str, Any]) -> tuple[int, int, int, int]:
    """Judged cases: both violated, only left, only right, neither."""
    names = ("violated/violated", "violated/holds", "holds/violated", "holds/holds")
    both, only_left, only_right, neither = (pair["verdicts"].get(name, 0) for name in names)
    return both, only_left, only_right, neither


def _pair(pair: dict[str, Any], labels: tuple[str, str], *, headline: bool) -> PairComparison:
    """With its own p, not adjusted yet."""
    cells = cells_of(pair)
    both, only_left, only_right, neither = cells
    judged = sum(cells)
    p = stats.mcnemar_exact(only_left, only_right)
    return PairComparison(
        left=labels[0],
        right=labels[1],
        headline=headline,
        both=both,
        only_left=only_left,
        only_right=only_right,
        neither=neither,
        left_out=sum(pair["verdicts"].values()) - judged,
        difference=(only_left - only_right) / judged if judged else None,
        interval=stats.paired_difference(only_left, only_right, judged) if judged else None,
        p=p,
        adjusted_p=p,
        other_weather=pair["other_weather"],
        invariants=_invariants(pair["invariants"], judged),
    )


def _invariants(counted: dict[str, dict[str, int]], judged: int) -> tuple[InvariantOfPair, ...]:
    values = [stats.mcnemar_exact(one["only_left"], one["only_right"]) for one in counted.values()]
    found = [
        InvariantOfPair(
            name,
            **cases,
            difference=(cases["only_left"] - cases["only_right"]) / judged,
            interval=stats.paired_difference(cases["only_left"], cases["only_right"], judged),
            adjusted_p=adjusted_p,
        )
        for (name, cases), adjusted_p in zip(counted.items(), stats.holm(values), strict=True)
    ]
    return tuple(
        sorted(
            found,
            key=lambda one: (-abs(one.only_left - one.only_right), -one.both, one.invariant),
        )
    )
