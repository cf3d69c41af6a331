"""Two rule sets on the same cases: in how many cases do they disagree, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.study.report.blocks import LISTED_MAX, blocks_by_first_rule
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.stats import Interval

HEADLINE = ("leo_retention", "empty_batch")
"""The comparison that is asked for in advance; all other pairs are corrected for being many."""
_JUDGED = ("violated/violated", "violated/holds", "holds/violated", "holds/holds")


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

    def told(self, adjusted_p: float) -> dict[str, Any]:
        """What a table has of it; `adjusted_p` is Holm's."""
        found = self.difference
        return {
            "both": self.both,
            "only_left": self.only_left,
            "only_right": self.only_right,
            "difference": None if found is None else found.value,
            "interval": None if found is None else found.interval,
            "adjusted_p": adjusted_p,
        }


def paired(pair: dict[str, Any], counted: Mapping[str, int] | None = None) -> Paired:
    """What was counted of a pair in the tallies, such as an invariant; None = any violation."""
    both, left, right, neither = (pair["verdicts"].get(name, 0) for name in _JUDGED)
    any_of = Paired(both, left, right, both + left + right + neither)
    return any_of if counted is None else any_of._replace(**counted)


def pair_of(folder: SweepFolder, left: int, right: int) -> dict[str, Any]:
    """What the tallies counted of two rule sets on the same cases, by their places."""
    wanted = {left, right}
    pair = next(one for one in folder.tallies["pairs"] if {one["left"], one["right"]} == wanted)
    return pair if pair["left"] == left else _turned(pair)


def difference_of(folder: SweepFolder, place: int, other: int) -> Difference | None:
    """Two rule sets of a plan, by their places; None where no case was judged under both.

    Compared is what the plan is about, or else whether any invariant was violated.
    """
    pair = pair_of(folder, place, other)
    return paired(pair, pair["about"] if folder.about else None).difference


def pairs_of(folder: SweepFolder) -> list[dict[str, Any]]:
    """Every pair, the headline pair first, then those that differ in one rule alone.

    p values are Holm's, among those asked for in advance and among all others; one alone keeps its
    own. Of each pair there are also its `invariants`, those in which it disagrees most first.
    """
    rule_sets = folder.plan["rule_sets"]
    pairs = [_as_asked(rule_sets, counted) for counted in folder.tallies["pairs"]]
    pairs.sort(key=lambda pair: _place(rule_sets, pair))
    headlines = sum(_is_headline(rule_sets, pair) for pair in pairs)
    values = [paired(pair).p for pair in pairs]
    adjusted = [*stats.holm(values[:headlines]), *stats.holm(values[headlines:])]
    return [_told(rule_sets, *one) for one in zip(pairs, adjusted, strict=True)]


def about_pairs(folder: SweepFolder) -> list[dict[str, Any]]:
    """Pairs of rule sets of one environment in which only the varied rule differs, in their order.

    Compared by what the plan is about; none where it does not say. Of many rule sets that differ in
    several rules, each against the first.
    """
    if not folder.about:
        return []
    blocks = blocks_by_first_rule(folder)
    many = len(blocks[0].places) > LISTED_MAX
    found = []
    for pair in folder.tallies["pairs"]:
        together = any({pair["left"], pair["right"]} <= set(block.places) for block in blocks)
        counted = paired(pair, pair["about"])
        if together and counted.judged and (pair["left"] == 0 or not many):
            found.append((pair, counted))
    adjusted = stats.holm([counted.p for _, counted in found])
    return [
        {**_labels(folder.plan["rule_sets"], pair), **counted.told(p)}
        for (pair, counted), p in zip(found, adjusted, strict=True)
    ]


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


def _as_asked(rule_sets: list[dict[str, Any]], pair: dict[str, Any]) -> dict[str, Any]:
    """A pair with the fixes in the order in which they are asked for."""
    return _turned(pair) if _fixes(rule_sets, pair) == HEADLINE[::-1] else pair


def _place(rule_sets: list[dict[str, Any]], pair: dict[str, Any]) -> tuple[bool, int, int, int]:
    headline = _is_headline(rule_sets, pair)
    return not headline, len(_differing(rule_sets, pair)), pair["left"], pair["right"]


def _is_headline(rule_sets: list[dict[str, Any]], pair: dict[str, Any]) -> bool:
    return _differing(rule_sets, pair) == {"fix"} and _fixes(rule_sets, pair) == HEADLINE


def _fixes(rule_sets: list[dict[str, Any]], pair: dict[str, Any]) -> tuple[str, ...]:
    return tuple(rule_sets[pair[side]]["rules"]["fix"] for side in ("left", "right"))


def _differing(rule_sets: list[dict[str, Any]], pair: dict[str, Any]) -> set[str]:
    left, right = (rule_sets[pair[side]]["rules"] for side in ("left", "right"))
    return {name for name in left if left[name] != right.get(name)}


def _labels(rule_sets: list[dict[str, Any]], pair: dict[str, Any]) -> dict[str, str]:
    return {side: rule_sets[pair[side]]["label"] for side in ("left", "right")}


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


def _told(
    rule_sets: list[dict[str, Any]], pair: dict[str, Any], adjusted_p: float
) -> dict[str, Any]:
    found, labels = paired(pair), _labels(rule_sets, pair)
    return {
        **labels,
        "headline": _is_headline(rule_sets, pair),
        **found.told(adjusted_p),
        "neither": found.judged - found.both - found.only_left - found.only_right,
        "left_out": sum(pair["verdicts"].values()) - found.judged,
        "p": found.p,
        "other_weather": pair["other_weather"],
        "invariants": _invariants(pair),
        "text": _text(found, adjusted_p, **labels),
    }


def _text(found: Paired, adjusted_p: float, left: str, right: str) -> str:
    """The comparison as a sentence."""
    if found.difference is None:
        return f"{left} and {right} share no case in which both runs were judged."
    value, interval = found.difference
    start = (
        f"On the same {wording.count(found.judged)} cases, {left} violated alone in "
        f"{wording.count(found.only_left)}, {right} alone in {wording.count(found.only_right)}, "
        f"both in {wording.count(found.both)}"
    )
    limits = f"95 % interval {wording.interval_points(interval)}"
    if found.only_left == found.only_right == 0:
        return f"{start}: no difference seen ({limits})."
    p = wording.p_value(adjusted_p)
    return f"{start}: a difference of {wording.points(value)} ({limits}; {p})."


def _invariants(pair: dict[str, Any]) -> list[dict[str, Any]]:
    counted = {name: paired(pair, cases) for name, cases in pair["invariants"].items()}
    adjusted = stats.holm([one.p for one in counted.values()])
    found = [
        {"invariant": name, **one.told(p)}
        for (name, one), p in zip(counted.items(), adjusted, strict=True)
    ]
    return sorted(
        found,
        key=lambda one: (
            -abs(one["only_left"] - one["only_right"]),
            -one["both"],
            one["invariant"],
        ),
    )
