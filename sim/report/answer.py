"""The answer of a report: which rule set violates least, how sure that is, and at what price.

What counts as violated is what the plan is about, or any invariant where it does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.report.about import ANY
from sim.report.costs import Cost, CostOfRuleSet
from sim.report.families import Share, share_of
from sim.report.pairs import Difference, baselines_of, difference_of
from sim.report.rates import rate_of
from sim.report.sweep_folder import SweepFolder
from sim.sweeps import wording

LISTED_MAX = 3
"""Rule sets whose prices are told, where several violate least, and costs of each."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One rule set: how often it violated what counts, and against its baseline."""

    label: str
    share: Share
    is_baseline: bool
    against_baseline: Difference | None
    """None for a baseline, and where no case was judged under both."""

    @property
    def share_text(self) -> str:
        """As in 21 of 150 (14.0 %)."""
        runs, judged = self.share.runs, self.share.judged
        if not judged:
            return "not judged"
        counted = f"{wording.count(runs)} of {wording.count(judged)}"
        return f"{counted} ({wording.share(runs / judged)})" if runs else counted


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one environment."""

    environment: str
    standings: tuple[Standing, ...]
    """In the order of the plan."""
    fewest: str
    """Who violates least, in words."""
    certainty: str
    """Against its baseline and the next, on the same cases."""
    price: str
    """What it costs, against its baseline on the same cases."""


def answer_of(folder: SweepFolder, costs: Sequence[Cost]) -> Answer:
    """The answer of one environment, from its tallies and its costs."""
    about = bool(folder.plan["plan"].get("about"))
    baselines = baselines_of(folder.plan["rule_sets"])
    standings = tuple(
        Standing(
            entry["label"],
            _share(entry, about=about),
            is_baseline=place == baseline,
            against_baseline=None
            if place == baseline
            else difference_of(folder, place, baseline, about=about),
        )
        for place, (entry, baseline) in enumerate(
            zip(folder.tallies["rule_sets"], baselines, strict=True)
        )
    )
    judged = [place for place, one in enumerate(standings) if one.share.judged]
    if not judged:
        return Answer(folder.environment, standings, "no run was judged", "-", "-")
    order = sorted(judged, key=lambda place: _rate(standings[place].share))
    best = order[0]
    return Answer(
        folder.environment,
        standings,
        _fewest(standings, order),
        _certainty(folder, standings, order, baselines[best]),
        _prices(standings, [place for place in order if _same(standings, place, best)], costs),
    )


def _share(entry: dict[str, object], *, about: bool) -> Share:
    if about:
        return share_of(entry, "about", ANY)
    rate = rate_of(entry)
    return Share(rate.violated, rate.judged, rate.exact)


def _rate(share: Share) -> float:
    return share.runs / share.judged


def _fewest(standings: Sequence[Standing], order: Sequence[int]) -> str:
    best = standings[order[0]]
    as_few = [standings[place].label for place in order[1:] if _same(standings, place, order[0])]
    runs = wording.count(best.share.runs) if best.share.runs else "none"
    interval = "" if best.share.interval is None else f" ({wording.shares(best.share.interval)})"
    seen = f"{runs} of {wording.count(best.share.judged)} runs{interval}"
    if len(as_few) == len(standings) - 1 and as_few:
        return f"no difference: {seen} under each of the {len(standings)} rule sets"
    more = f"; as few: {', '.join(as_few)}" if as_few else ""
    return f"{best.label}: {seen}{more}"


def _same(standings: Sequence[Standing], one: int, other: int) -> bool:
    return _rate(standings[one].share) == _rate(standings[other].share)


def _certainty(
    folder: SweepFolder, standings: Sequence[Standing], order: Sequence[int], baseline: int
) -> str:
    """Against the baseline and the next that violates more, on the same cases."""
    about = bool(folder.plan["plan"].get("about"))
    best, *others = order
    worse = (place for place in others if not _same(standings, place, best))
    following = next(worse, others[0] if others else None)
    parts = []
    for other in dict.fromkeys([baseline, following]):
        if (
            other in (None, best)
            or (found := difference_of(folder, best, other, about=about)) is None
        ):
            continue
        low, high = found.interval
        told = "" if low > 0 or high < 0 else ": not told apart"
        parts.append(f"{found.text} against {standings[other].label}{told}")
    if not parts:
        return "nothing on the same cases to compare it with"
    return f"{'; '.join(parts)}; 95 % intervals on the same cases, not adjusted"


def _prices(standings: Sequence[Standing], places: Sequence[int], costs: Sequence[Cost]) -> str:
    """Of the best, and of the first few that violate as little."""
    titles = [cost.title for cost in costs]
    prices = [
        (standings[place].label, _price([cost.rule_sets[place] for cost in costs], titles))
        for place in places[:LISTED_MAX]
    ]
    if len(prices) == 1:
        return prices[0][1]
    more = len(places) - len(prices)
    listed = [f"{label}: {price}" for label, price in prices]
    return "; ".join([*listed, *([f"{more} more rule sets"] if more else [])])


def _price(costs: Sequence[CostOfRuleSet], titles: Sequence[str]) -> str:
    """Costs that differ from the baseline's beyond chance; without intervals, all that differ."""
    if all(one.difference is None for one in costs):
        return "nothing, as what the others are compared with"
    paid = [
        f"{title} {one.paired_text}"
        for one, title in zip(costs, titles, strict=True)
        if one.difference and _differs(one)
    ]
    if not paid:
        return "nothing that can be told from chance"
    more = len(paid) - LISTED_MAX
    return ", ".join([*paid[:LISTED_MAX], *([f"{more} more"] if more > 0 else [])])


def _differs(cost: CostOfRuleSet) -> bool:
    found = cost.difference_interval
    return cost.differing is None if found is None else found.low > 0 or found.high < 0
