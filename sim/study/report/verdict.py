"""The verdict of a sweep in a few sentences: what is closed, what differs, what remains.

Rule sets are compared value by value of the first rule that the plan sweeps; the first value is
what the others are measured by. Where more values are compared than a reader can hold, the
sentences say which rule sets violate least.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from sim.check.families import FAMILIES
from sim.diagnose.explain.case import listed
from sim.study.causes.grouping import Cause, Causes
from sim.study.report.pairs import (
    Block,
    Paired,
    Share,
    blocks_by_first_rule,
    counted_share,
    difference_of,
    named_share,
    pair_of,
    paired,
    rate_of,
    title_of,
)
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording

SURE = 0.05
"""Below this p value, corrected for their number, two rule sets differ."""
FEW = 3
"""Values that are compared each with each."""
TOLD_MAX = 3
"""Differences and causes that a sentence names."""


class Differing(NamedTuple):
    """One invariant under two rule sets on the same cases, where they disagree in some."""

    invariant: str
    left: str
    right: str
    where: str
    """The other rules and the environment; empty where there is one of each."""
    cases: Paired
    p: float
    """Of McNemar's exact test, corrected for all that were compared (Holm)."""

    @property
    def text(self) -> str:
        """As in `no-resurrection: 50 cases under both, 4 under a alone, 0 under b alone`."""
        where = f"{self.where}; " if self.where else ""
        return (
            f"{self.invariant}: {wording.counted(self.cases.both, 'case')} under both, "
            f"{wording.count(self.cases.only_left)} under {self.left} alone, "
            f"{wording.count(self.cases.only_right)} under {self.right} alone "
            f"({where}{wording.p_value(self.p)})"
        )


def verdict_of(folder: SweepFolder, causes: Causes | None) -> tuple[str, ...]:
    """The sentences, for a page; without `causes` none says what remains.

    One rule set has nothing to be compared with, and no sentence.
    """
    if not all(rate_of(entry).judged for entry in folder.statistics["rule_sets"]):
        return ("No run was judged.",)
    blocks = blocks_by_first_rule(folder)
    count = len(blocks[0].values)
    if count == 1:
        return ()
    labels = [entry["label"] for entry in folder.statistics["rule_sets"]]
    if count > FEW:
        best = _best(folder)
        found = [*_among_many(folder, best)]
        left = {labels[place]: {labels[place]} for place in best}
    else:
        found = [_closed(folder, blocks), _differences(folder, blocks)]
        values = enumerate(blocks[0].values)
        left = {value: {labels[b.places[n]] for b in blocks} for n, value in values if n}
    if causes is not None:
        found.append(_remains(left, causes))
    return tuple(found)


def _closed(folder: SweepFolder, blocks: Sequence[Block]) -> str:
    """What only the first value violates, of families and of what the plan is about."""
    first, *others = blocks[0].values
    fixes = "fix" in folder.plan["rule_sets"][0]["swept"]
    under = "without a fix" if fixes and first == "none" else f"under {first}"
    closed = []
    for name in dict.fromkeys([*folder.about, *FAMILIES]):
        before, *after = (
            [*_shares(folder, blocks, number, name)] for number in range(1 + len(others))
        )
        if any(one.runs for _, one in before) and not any(
            one.runs for of in after for _, one in of
        ):
            closed.append(f"{name} ({_by_environment(before)})")
    if not closed:
        return f"Closed under {_all_of([*others])}: nothing of what is violated {under}."
    least = _least_cases(folder)
    most = wording.share(stats.clopper_pearson(0, least).high)
    return (
        f"Closed under {_all_of([*others])}: {listed(closed)} {under}; "
        f"none of {wording.counted(least, 'seed')} is at most {most}."
    )


def _shares(
    folder: SweepFolder, blocks: Sequence[Block], number: int, name: str
) -> Iterator[tuple[str, Share]]:
    """How often a name was violated under a value, in each environment, under the other rules."""
    for one in folder.environments:
        for block in blocks:
            entry = one.statistics["rule_sets"][block.places[number]]
            yield one.environment, named_share(entry, name)


def _by_environment(shares: Sequence[tuple[str, Share]]) -> str:
    """As in `0 of 3,000 plain runs, 21 of 3,000 hunted runs`."""
    told = []
    for environment in dict.fromkeys(name for name, _ in shares):
        own = [share for name, share in shares if name == environment]
        runs, judged = sum(share.runs for share in own), sum(share.judged for share in own)
        told.append(f"{wording.count(runs)} of {wording.count(judged)} {environment} runs")
    return ", ".join(told)


def _least_cases(folder: SweepFolder) -> int:
    """The cases that were judged under some rule set in some environment; the fewest.

    In one environment each has a seed of its own.
    """
    return min(
        rate_of(entry).judged
        for one in folder.environments
        for entry in one.statistics["rule_sets"]
    )


def _best(folder: SweepFolder) -> list[int]:
    """The places of the rule sets that violate least of what the plan is about, in its order."""
    shares = _standing(folder)
    least = min(share.runs for share in shares)
    return [place for place, share in enumerate(shares) if share.runs == least]


def _standing(folder: SweepFolder) -> list[Share]:
    return [counted_share(folder, entry) for entry in folder.statistics["rule_sets"]]


def _among_many(folder: SweepFolder, best: Sequence[int]) -> Iterator[str]:
    """Who violates least, all that tie for it, and who is told apart from that."""
    about, shares = folder.about, _standing(folder)
    labels = [_quoted(entry["label"]) for entry in folder.statistics["rule_sets"]]
    what = f"cases of {' or '.join(about)}" if about else "violating runs"
    names = listed([labels[place] for place in best])
    tie = f"a tie of {names}, each" if len(best) > 1 else f"{names},"
    least = shares[best[0]]
    several = len(folder.environments) > 1
    of = wording.counted(least.judged, "case" if several else "seed")
    yield (
        f"Fewest {what}: {tie} {wording.count(least.runs) if least.runs else 'none'} of "
        f"{of}{f' ({folder.drawn})' if several else ''}."
    )
    worse = [place for place in range(len(labels)) if place not in best]
    apart = [place for place in worse if _is_apart(folder, place, best[0])]
    told = [f"{labels[place]} ({wording.count(shares[place].runs)})" for place in apart]
    near = [labels[place] for place in worse if place not in apart]
    more = f"More under {listed(told)}" if told else "No other is told apart from it"
    rest = f"; too near to tell: {listed(near)}" if near and told else ""
    yield f"{more}{rest}; 95 % intervals on the same seeds; {_could_show(folder)}."


def _quoted(label: str) -> str:
    return f'"{label}"' if "," in label else label


def _is_apart(folder: SweepFolder, place: int, best: int) -> bool:
    """Whether a rule set violates more; a seed counts once, so in some environment by itself."""
    found = (difference_of(one, place, best) for one in folder.environments)
    return any(one is not None and one.interval.low > 0 for one in found)


def _differences(folder: SweepFolder, blocks: Sequence[Block]) -> str:
    """In what the values differ on the same cases: all but the first, if there are two more."""
    values = blocks[0].values
    compared = range(1, len(values)) if len(values) > 2 else range(2)
    found = sorted(
        _differing_in(folder, blocks, [*combinations(compared, 2)]),
        key=lambda one: (
            one.p,
            -abs(one.cases.only_left - one.cases.only_right),
            -one.cases.both,
            one.invariant,
        ),
    )
    names = listed([values[number] for number in compared])
    if not found:
        same = "violate the same invariants in the same cases"
        return f"A tie: {names} {same}; {_could_show(folder)}."
    sure = [one for one in found if one.p < SURE]
    if not sure:
        return (
            f"A tie, as far as the cases tell: {names} disagree in "
            f"{wording.counted(len(found), 'comparison')}, in none beyond chance; most in "
            f"{found[0].text}; {_could_show(folder)}."
        )
    more = len(sure) - TOLD_MAX
    rest = f"; and {wording.count(more)} more" if more > 0 else ""
    told = "; ".join(one.text for one in sure[:TOLD_MAX])
    return f"{names} differ in {told}{rest}; {_could_show(folder)}."


def _could_show(folder: SweepFolder) -> str:
    """What the number of cases could have shown."""
    least = _least_cases(folder)
    return (
        f"of {wording.counted(least, 'seed')} fewer than {_TOLD_FROM} that differ "
        f"({wording.points(_TOLD_FROM / least).lstrip('+')}) cannot be told from chance"
    )


_TOLD_FROM = next(n for n in range(1, 99) if stats.mcnemar_exact(n, 0) < SURE)
"""Cases that must be violated under one of two rule sets alone for a single test to notice."""


def _differing_in(
    folder: SweepFolder, blocks: Sequence[Block], sides: Sequence[tuple[int, int]]
) -> list[Differing]:
    """Every invariant in which two values disagree, in each environment and under the other rules.

    `sides` are places in the blocks' values.
    """
    found = []
    for one in folder.environments:
        for block in blocks:
            for left, right in sides:
                pair = pair_of(one, block.places[left], block.places[right])
                alone = [title_of(folder, block)] if len(blocks) > 1 else []
                alone += [one.environment] if len(folder.environments) > 1 else []
                names = block.values[left], block.values[right], ", ".join(alone)
                counted = {name: paired(pair, each) for name, each in pair["invariants"].items()}
                found += [
                    Differing(name, *names, cases, cases.p)
                    for name, cases in counted.items()
                    if cases.only_left or cases.only_right
                ]
    adjusted = stats.holm([each.p for each in found])
    return [each._replace(p=p) for each, p in zip(found, adjusted, strict=True)]


def _remains(labels: Mapping[str, set[str]], causes: Causes) -> str:
    """The causes of failing runs that are met under every one of some values, by their labels."""
    left = [
        (runs, cause)
        for cause in causes.causes
        if all(runs := [_runs(cause, of_value) for of_value in labels.values()])
    ]
    left.sort(key=lambda one: -sum(one[0]))
    under = _all_of([*map(_quoted, labels)])
    if not left:
        return f"No cause of a failing run is met under {under}."
    told = "; ".join(_told(runs, cause) for runs, cause in left[:TOLD_MAX])
    more = len(left) - TOLD_MAX
    rest = f"; and {wording.counted(more, 'cause')} more" if more > 0 else ""
    return f"What remains under {under}: {told}{rest}."


def _runs(cause: Cause, labels: set[str]) -> int:
    return sum(share.runs for share in cause.shares if share.label in labels)


def _told(runs: Sequence[int], cause: Cause) -> str:
    story = "not known" if cause.story is None else cause.story.path.stem
    return f"{cause.text} ({' and '.join(map(wording.count, runs))} runs; {story})"


def _all_of(names: list[str]) -> str:
    """a; both a and b; all of a, b and c."""
    return f"{('', 'both ', 'all of ')[min(len(names), 3) - 1]}{listed(names)}"
