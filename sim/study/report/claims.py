"""The verdict of a decision: three sentences at most, each made of claims that the grid supports.

A claim is about one hazard in named units. Sentences are written from claims alone and every claim
is looked up in the grid again (`contradictions`), so none says what a cell does not. Where a
hazard that a sentence calls closed is open elsewhere, the sentence says where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import permutations
from typing import Final, NamedTuple

from sim.diagnose.explain.case import listed
from sim.study.report.grid import RUNS, SEARCH, Grid, Unit
from sim.study.sweep import stats, wording

SURE: Final = 0.05
"""Below this p value, corrected for their number (Holm), rates of two alternatives differ."""
SAME: Final = 0.1
"""Where a sentence says that no alternative changes a hazard, at most this share of the runs that
meet it do so under one of two alternatives alone."""
FEW: Final = 3
"""So many alternatives are compared each with each."""
NAMED_MAX: Final = 3
"""Hazards that a sentence names for one alternative, the gravest; the grid has all."""
PLACES_MAX: Final = 4
"""Searches or stories that a sentence names for one hazard."""


Differing = set[tuple[Unit, str, str, str]]
"""Unit, hazard and two alternatives, in their order, whose rates differ beyond chance."""


class Claim(NamedTuple):
    """The part of a sentence that is about one hazard.

    Attributes:
        hazard: Name of the hazard.
        breaks: The alternatives under which each of the units breaks it.
        holds: The alternatives under which none of the units breaks it.
        units: The units; empty = all in which it was looked for.
    """

    hazard: str
    breaks: tuple[str, ...]
    holds: tuple[str, ...]
    units: tuple[Unit, ...]


class Sentence(NamedTuple):
    """A sentence of the verdict and what it claims."""

    text: str
    claims: tuple[Claim, ...]


def contradictions(grid: Grid, sentences: Iterable[Sentence]) -> list[str]:
    """Every claim that a cell of the grid contradicts, in words; empty for none."""
    found = []
    for claim in (claim for sentence in sentences for claim in sentence.claims):
        for unit in claim.units or grid.units:
            broken = grid.breaking(claim.hazard, unit)
            wrong = [one for one in claim.breaks if claim.units and one not in broken]
            found += [f"{claim.hazard}: {unit} does not break it under {one}" for one in wrong]
            wrong = [one for one in claim.holds if one in broken]
            found += [f"{claim.hazard}: {unit} breaks it under {one}" for one in wrong]
    return found


def verdict_of(grid: Grid) -> list[Sentence]:
    """The three sentences: what the others close, in what they differ, what none of them closes.

    A grid of one alternative has no verdict.
    """
    if len(grid.alternatives) < 2:
        return []
    differing = _differing_rates(grid)
    made = (_closed(grid, differing), _apart(grid, differing), _unchanged(grid, differing))
    return [one for one in made if one is not None]


def _differing_rates(grid: Grid) -> Differing:
    """The units and hazards in which the rates of two alternatives differ beyond chance."""
    tests = [
        (
            (unit, hazard, one, other),
            stats.mcnemar_exact(cases, grid.apart[unit, hazard, other, one]),
        )
        for (unit, hazard, one, other), cases in grid.apart.items()
        if grid.alternatives.index(one) < grid.alternatives.index(other)
        and (cases or grid.apart[unit, hazard, other, one])
    ]
    adjusted = stats.holm([p for _, p in tests])
    return {key for (key, _), p in zip(tests, adjusted, strict=True) if p < SURE}


def _closed(grid: Grid, differing: Differing) -> Sentence | None:
    """The searches in which the others hold all that the first breaks, and the rates that fell."""
    first, *others = grid.alternatives
    worlds = _closed_worlds(grid)
    claims, parts = [], []
    for hazard in grid.hazards:
        units = [unit for unit in worlds if grid.breaking(hazard, unit)]
        claims += [Claim(hazard, (first,), tuple(others), tuple(units))] if units else []
    if worlds:
        closed = _few([one.hazard for one in claims])
        parts = [f"in every schedule of {_named(worlds)}, all that breaks under {first}: {closed}"]
    shut = _of_runs(grid, lambda hazard, unit: grid.breaking(hazard, unit) == [first])
    claims += [Claim(hazard, (first,), tuple(others), (unit,)) for hazard, unit in shut]
    parts += _rates(grid, shut)
    fell = _of_runs(grid, partial(_fell, grid, differing))
    claims += [Claim(hazard, (first,), (), (unit,)) for hazard, unit in fell]
    rarer = "; ".join(_rates(grid, fell))
    same_runs = rarer.partition(")")[0]
    if any(one.startswith(f"{same_runs})") for one in parts):
        rarer = rarer.removeprefix(f"{same_runs}) ")
    if not parts and not rarer:
        return None
    close = "close" if len(others) > 1 else "closes"
    under = _all_of(others) if len(others) <= FEW else f"all but {_quoted(first)}"
    said = [f"{under} {close}, {'; '.join(parts)}"] if parts else []
    said += [f"rarer under {'each' if said else under}: {rarer}"] if rarer else []
    text = "; ".join(said)
    return Sentence(f"{text[0].upper()}{text[1:]}.", tuple(claims))


def _closed_worlds(grid: Grid) -> list[Unit]:
    """The searches that break under the first alternative, of plans that break under no other."""
    first, *others = grid.alternatives
    breaks = {
        unit: {one for hazard in grid.hazards for one in grid.breaking(hazard, unit)}
        for unit in grid.units
        if unit.kind == SEARCH
    }
    open_plans = {unit.name for unit, labels in breaks.items() if labels & {*others}}
    return [
        unit
        for unit, labels in breaks.items()
        if labels == {first}
        and unit.name not in open_plans
        and len(grid.labels_of(unit)) == len(grid.alternatives)
        and all(one.bound is None for one in grid.findings if one.unit == unit)
    ]


def _fell(grid: Grid, differing: Differing, hazard: str, unit: Unit) -> bool:
    """True where a rate is lower under every alternative than under the first, and not zero."""
    first, *others = grid.alternatives
    return len(grid.breaking(hazard, unit)) > 1 and all(
        _is_lower(grid, differing, hazard, unit, one, first) for one in others
    )


def _is_lower(
    grid: Grid, differing: Differing, hazard: str, unit: Unit, one: str, other: str
) -> bool:
    """True where the rate under one alternative is beyond chance lower than under the other."""
    pairs = {(unit, hazard, one, other), (unit, hazard, other, one)}
    fewer = grid.at(hazard, one, unit).runs < grid.at(hazard, other, unit).runs
    return fewer and bool(pairs & differing)


def _of_runs(grid: Grid, wanted: Callable[[str, Unit], bool]) -> list[tuple[str, Unit]]:
    """Of each hazard the environment in which most runs met it, of those that are wanted."""
    found = []
    for hazard in grid.hazards:
        units = [unit for unit in grid.shared(hazard) if unit.kind == RUNS and wanted(hazard, unit)]
        if units:
            found.append((hazard, max(units, key=partial(_most, grid, hazard))))
    return found


def _most(grid: Grid, hazard: str, unit: Unit) -> int:
    return max(grid.at(hazard, one, unit).runs for one in grid.alternatives)


def _rates(grid: Grid, of_runs: Sequence[tuple[str, Unit]]) -> list[str]:
    """Counts of runs, as in `of 1,000 runs (plain, header) offset given twice in 11, 0, 0`.

    Of the environment with the most hazards; how many more there are is said.
    """
    if not of_runs:
        return []
    units = Counter(unit for _, unit in of_runs)
    unit = max(units, key=lambda one: units[one])
    told = []
    for hazard, place in sorted(of_runs, key=lambda one: one[1] != unit):
        runs = [grid.at(hazard, one, place).runs for one in grid.alternatives]
        told.append(f"{hazard} in {', '.join(map(wording.count, runs))}")
    judged = wording.count(_judged(grid, unit))
    return [f"of {judged} runs ({unit}) {_few(told, min(NAMED_MAX, units[unit]))}"]


def _judged(grid: Grid, unit: Unit) -> int:
    """The fewest judged runs of an alternative in an environment."""
    return min(one.judged for one in grid.findings if one.unit == unit)


def _apart(grid: Grid, differing: Differing) -> Sentence:
    """The sentence on differences, each direction by itself.

    Two or three are compared with each other, the first one only if there are no more than two.
    Of many it is said under which a hazard is met and under which it is not.
    """
    compared = grid.alternatives[1:] if len(grid.alternatives) > 2 else grid.alternatives
    if len(compared) > FEW:
        return _met_and_not_met(grid)
    claims: list[Claim] = []
    parts, alone_of_two = [], " alone" if len(compared) == 2 else ""
    for one in compared:

        def alone(hazard: str, unit: Unit, one: str = one) -> bool:
            broken = grid.breaking(hazard, unit)
            return one in broken and not {*compared} <= {*broken}

        found = _by_gravest(grid, alone)
        claims += [
            Claim(hazard, (one,), tuple(o for o in compared if o not in broken), (unit,))
            for hazard, units in found.items()
            for unit in units
            for broken in [grid.breaking(hazard, unit)]
        ]
        told = [
            f"{hazard} ({_places(grid, hazard, (one,), units)})" for hazard, units in found.items()
        ]
        told = [_few(told)] if told else []

        def higher(hazard: str, unit: Unit, one: str = one) -> bool:
            return any(_is_lower(grid, differing, hazard, unit, low, one) for low in compared)

        told += _rates(grid, _of_runs(grid, higher))
        parts.append(f"under {one}{alone_of_two} {'; '.join(told) or 'nothing'}")
    if all(part.endswith(" nothing") for part in parts):
        return Sentence(f"No search, story or rate tells {listed(compared)} apart.", ())
    return Sentence(f"They differ: {'; '.join(parts)}.", tuple(claims))


def _met_and_not_met(grid: Grid) -> Sentence:
    """Of each hazard the alternatives that meet it nowhere: no search, no run, no story."""
    claims, told = [], []
    for hazard in grid.hazards:
        never = [
            one
            for one in grid.alternatives
            if not any(each.broken for each in grid.cell(hazard, one))
        ]
        if not never:
            continue
        claims.append(Claim(hazard, (), tuple(never), ()))
        met = [one for one in grid.alternatives if one not in never]
        side = f"under {listed([*map(_quoted, met)])} alone"
        if len(never) <= len(met):
            side = f"under all but {listed([*map(_quoted, never)])}"
        told.append(f"{hazard} {side}")
    if not told:
        return Sentence("Every hazard is met under each of them.", ())
    return Sentence(f"They differ: {'; '.join(told)}.", tuple(claims))


def _quoted(label: str) -> str:
    return f'"{label}"' if "," in label else label


def _unchanged(grid: Grid, differing: Differing) -> Sentence | None:
    """The sentence on what every alternative breaks: searches, stories, the same runs.

    A hazard that is rarer somewhere is none that they do not change.
    """
    everyone = tuple(grid.alternatives)
    changed = {hazard for _, hazard, *_ in differing}

    def by_all(hazard: str, unit: Unit) -> bool:
        return len(grid.breaking(hazard, unit)) == len(everyone)

    found = _by_gravest(
        grid,
        lambda hazard, unit: (
            by_all(hazard, unit)
            and (
                unit.kind == SEARCH
                or all(by_all(one, unit) or not grid.breaking(one, unit) for one in grid.hazards)
            )
        ),
    )
    runs = _of_runs(
        grid,
        lambda hazard, unit: (
            hazard not in changed and by_all(hazard, unit) and _are_same(grid, hazard, unit)
        ),
    )
    claims = [Claim(hazard, everyone, (), tuple(units)) for hazard, units in found.items()]
    claims += [Claim(hazard, everyone, (), (unit,)) for hazard, unit in runs]
    told = [
        f"{hazard} ({_places(grid, hazard, everyone, units)})" for hazard, units in found.items()
    ]
    told = [_few(told)] if told else []
    told += _rates(grid, runs)
    if not told:
        return None
    return Sentence(f"None of them closes: {'; '.join(told)}.", tuple(claims))


def _are_same(grid: Grid, hazard: str, unit: Unit) -> bool:
    """True where nearly the same runs meet a hazard under each alternative."""
    least = min(grid.at(hazard, one, unit).runs for one in grid.alternatives)
    pairs = permutations(grid.alternatives, 2)
    return all(grid.apart[unit, hazard, *pair] <= SAME * least for pair in pairs)


def _by_gravest(grid: Grid, wanted: Callable[[str, Unit], bool]) -> dict[str, list[Unit]]:
    """Searches and stories by the first hazard, in order, for which they are wanted."""
    found: dict[str, list[Unit]] = {}
    for unit in grid.units:
        shared = [one for one in grid.hazards if unit in grid.shared(one)]
        gravest = next((one for one in shared if unit.kind != RUNS and wanted(one, unit)), None)
        if gravest is not None:
            found.setdefault(gravest, []).append(unit)
    return {hazard: found[hazard] for hazard in grid.hazards if hazard in found}


def _places(grid: Grid, hazard: str, labels: Sequence[str], units: Sequence[Unit]) -> str:
    """The units in which some alternatives break a hazard, the soonest search with its moves."""
    searches = [one for one in units if one.kind == SEARCH]
    if not searches:
        return _named(units)
    moves = {one: [grid.at(hazard, each, one).moves or 0 for each in labels] for one in searches}
    first = min(searches, key=lambda one: min(moves[one]))
    counts = moves[first] if len({*moves[first]}) > 1 else moves[first][:1]
    rest = [one for one in units if one.name != first.name]
    soonest = f"after {', '.join(map(str, counts))} moves in {first}"
    return "; ".join([soonest, *([_named(rest)] if rest else [])])


def _named(units: Sequence[Unit]) -> str:
    """Searches by their plans, stories by their numbers."""
    names = dict.fromkeys(one.title for one in units)
    return _few([*names], PLACES_MAX)


def _few(texts: Sequence[str], most: int = NAMED_MAX) -> str:
    """The first of some texts, and how many more there are."""
    more = len(texts) - most
    return listed([*texts[:most], *([f"{more} more"] if more > 0 else [])])


def _all_of(names: Sequence[str]) -> str:
    """a; both a and b; all of a, b and c."""
    return f"{('', 'both ', 'all of ')[min(len(names), 3) - 1]}{listed([*map(_quoted, names)])}"
