"""The verdict of a decision: three sentences at most, each made of claims that the grid supports.

A claim is about one hazard in named units. Sentences are written from claims alone and every claim
is compared with the grid again (`contradictions`). A sentence names hazards and counts worlds; the
grid has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Final, NamedTuple

from sim.diagnose.explain.case import listed
from sim.study.report.grid import RUNS, SEARCH, STORY, TARGETED, Grid, Unit
from sim.study.sweep import stats, wording
from sim.study.sweep.hazards import PHRASES
from sim.study.sweep.plan_matrix import PLAIN

SURE: Final = 0.05
"""Below this p value, corrected for their number (Holm), rates of two alternatives differ."""
SAME: Final = 0.1
"""At most this share of the runs that meet a hazard do so under one of two alternatives alone,
where a sentence says that it stays as frequent."""
FEW: Final = 3
"""Up to so many alternatives are compared pair by pair."""
NAMED_MAX: Final = 2
"""Number of hazards that a part of a sentence names, the gravest first."""
WORDS_MAX: Final = 60
"""Number of words of a sentence that can be read aloud."""

Differing = set[tuple[Unit, str, str, str]]
"""Unit, hazard, the alternative with the lower rate and the other one: different beyond chance."""


class Claim(NamedTuple):
    """The part of a sentence that is about one hazard.

    Attributes:
        hazard: Name of the hazard.
        breaks: The alternatives under which each of the units breaks it.
        holds: The alternatives under which none of the units breaks it.
        units: The units; empty for all in which the hazard was looked for.
    """

    hazard: str
    breaks: tuple[str, ...]
    holds: tuple[str, ...]
    units: tuple[Unit, ...]


class Sentence(NamedTuple):
    """A sentence of the verdict with the claims that it makes."""

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
    """The sentences on the hazards that all others prevent, that differ, and that all allow.

    A grid of one alternative has no verdict.
    """
    if len(grid.alternatives) < 2:
        return []
    differing = _differing_rates(grid)
    many = len(grid.alternatives) > FEW + 1
    differences = _met_and_not_met(grid, differing) if many else _differences(grid, differing)
    made = (_prevented(grid, differing), differences, _kept(grid))
    return [one for one in made if one is not None]


def _differing_rates(grid: Grid) -> Differing:
    """The units and hazards in which the rates of two alternatives differ beyond chance."""
    tests: dict[tuple[Unit, str, str, str], float] = {}
    for (unit, hazard, one, other), fewer in grid.apart.items():
        more = grid.apart[unit, hazard, other, one]
        if fewer <= more and more and (unit, hazard, other, one) not in tests:
            tests[unit, hazard, one, other] = stats.mcnemar_exact(fewer, more)
    adjusted = stats.holm([*tests.values()])
    return {key for key, p in zip(tests, adjusted, strict=True) if p < SURE}


def _prevented(grid: Grid, differing: Differing) -> Sentence | None:
    """The hazards that no other alternative breaks in a search with clean elections; rates below.

    Of rates it has the gravest hazard that is rarer under every other alternative.
    """
    first, *others = grid.alternatives
    under = f"{('', 'both ', 'all of ')[min(len(others), 3) - 1]}{listed(_quoted(others))}"
    worlds = {hazard: _closed_worlds(grid, hazard) for hazard in grid.hazards}
    worlds = {hazard: units for hazard, units in worlds.items() if units}
    claims = [Claim(one, (first,), tuple(others), tuple(units)) for one, units in worlds.items()]
    parts = []
    if worlds:
        sizes = sorted({len(units) for units in worlds.values()})
        where = "the search" if sizes == [1] else f"all {_from_to(sizes)} searches"
        parts.append(
            f"{under} prevent{'s' if len(others) == 1 else ''} {_named([*worlds])} in {where} of "
            f"small worlds with clean elections where {_quoted([first])[0]} does not"
        )
    rarer = _runs_where(
        grid,
        lambda hazard, unit: all((unit, hazard, one, first) in differing for one in others),
    )
    for hazard, unit in rarer[:1]:
        runs = [grid.at(hazard, one, unit).runs for one in grid.alternatives]
        most = ("" if len({*runs[1:]}) == 1 else "at most ") + wording.count(max(runs[1:]))
        fall = f"{PHRASES[hazard]} falls from {wording.count(runs[0])} to {most}"
        parts.append(f"in {_of_runs(grid, unit)}, {fall}{'' if parts else f' under {under}'}")
        holds = tuple(one for one, count in zip(others, runs[1:], strict=True) if not count)
        claims.append(Claim(hazard, (first,), holds, (unit,)))
    return _sentence(parts, claims)


def _closed_worlds(grid: Grid, hazard: str) -> list[Unit]:
    """The clean searches that meet a hazard under the first alternative only.

    There are none if such a search meets it under another one, too, or was not exhausted.
    """
    first, *others = grid.alternatives
    clean = [one for one in grid.shared(hazard) if one.is_clean_search]
    if any({*grid.breaking(hazard, one)} & {*others} for one in clean):
        return []
    broken = [one for one in clean if first in grid.breaking(hazard, one)]
    findings = (grid.at(hazard, one, unit) for unit in broken for one in others)
    return [] if any(one.bound is not None for one in findings) else broken


def _differences(grid: Grid, differing: Differing) -> Sentence | None:
    """In what two or three alternatives differ, each direction by itself.

    The first one is compared with the others only if there are no more than two.
    """
    compared = grid.alternatives[1:] if len(grid.alternatives) > 2 else grid.alternatives
    claims: list[Claim] = []
    parts = [
        *_apart_in_searches(grid, compared, claims),
        *_apart_in_runs(grid, compared, differing, claims),
        *_apart_in_stories(grid, compared, claims),
    ]
    if not parts:
        return _undistinguished(grid, listed(compared))
    return _sentence([f"they differ: {parts[0]}", *parts[1:]], claims)


def _apart_in_searches(grid: Grid, compared: Sequence[str], claims: list[Claim]) -> list[str]:
    """The hazards that searches with clean elections break under some of the alternatives alone.

    Then the gravest one that they break under all, after different numbers of moves. Where there is
    neither, the hazards that single worlds break under some alone.
    """
    only: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, int]] = {}
    sooner: list[str] = []
    elsewhere: list[str] = []
    for hazard in grid.hazards:
        clean = tuple(one for one in grid.shared(hazard) if one.is_clean_search)
        fewest = {one: _fewest_moves(grid, hazard, one, clean) for one in compared}
        found = {one: least for one, least in fewest.items() if least is not None}
        held = tuple(one for one in compared if one not in found)
        exhausted = all(grid.at(hazard, one, unit).bound is None for one in held for unit in clean)
        shown_by = [Claim(hazard, (one,), (), (unit,)) for one, (_, unit) in found.items()]
        if found and held and exhausted:
            least = min(moves for moves, _ in found.values())
            only.setdefault((tuple(found), held), {})[hazard] = least
            claims += [*shown_by, Claim(hazard, (), held, clean)]
        elif not held and len({moves for moves, _ in found.values()}) > 1 and not sooner:
            (one, (moves, _)), *others = found.items()
            more = ", ".join(f"{count} under {other}" for other, (count, _) in others)
            sooner = [f"{PHRASES[hazard]} takes {moves} moves under {one}, {more}"]
            claims += shown_by
        elif any(0 < len({*grid.breaking(hazard, u)} & {*compared}) < len(compared) for u in clean):
            elsewhere.append(hazard)
    parts = [*(_only_under(*labels, moves) for labels, moves in only.items()), *sooner]
    if elsewhere and not parts:
        parts = [f"{_named(elsewhere)} occurs in other worlds under each"]
    return [f"in small worlds with clean elections {parts[0]}", *parts[1:]] if parts else []


def _only_under(met: Sequence[str], held: Sequence[str], moves: Mapping[str, int]) -> str:
    """Says under which alternatives hazards occur, the gravest by name, and under which not."""
    allows, do = ("allows" if len(met) == 1 else "allow"), ("does" if len(held) == 1 else "do")
    least = min(moves.values())
    named = f"{_named([*moves], 1)} ({least} moves or more)"
    return f"{listed(met)} {allows} {named}, {listed(held)} {do} not"


def _fewest_moves(
    grid: Grid, hazard: str, label: str, units: Sequence[Unit]
) -> tuple[int, Unit] | None:
    """Fewest moves that break a hazard in some searches, and the first one that does so."""
    found = [(grid.at(hazard, label, unit).moves, unit) for unit in units]
    broken = [(moves, unit) for moves, unit in found if moves is not None]
    return min(broken, key=lambda one: one[0], default=None)


def _apart_in_runs(
    grid: Grid, compared: Sequence[str], differing: Differing, claims: list[Claim]
) -> list[str]:
    """The gravest hazard that is rarer under an alternative than under another, for each pair."""
    rarer = []
    for one, other in permutations(compared, 2):
        for hazard, unit in _runs_where(grid, partial(_is_rarer, differing, one, other))[:1]:
            runs = [wording.count(grid.at(hazard, each, unit).runs) for each in (one, other)]
            phrase = f"{PHRASES[hazard]} in {runs[0]} under {one} and {runs[1]} under {other}"
            rarer.append(f"of {_of_runs(grid, unit)} {phrase}")
            claims.append(Claim(hazard, (other,), (), (unit,)))
    return [", ".join(rarer)] if rarer else []


def _apart_in_stories(grid: Grid, compared: Sequence[str], claims: list[Claim]) -> list[str]:
    """Of each alternative the gravest hazard that a story breaks under no other one compared."""
    shown: dict[str, list[str]] = {}
    for one in compared:
        found = [
            (hazard, unit)
            for hazard in grid.hazards
            for unit in grid.shared(hazard)
            if unit.kind == STORY and {*grid.breaking(hazard, unit)} & {*compared} == {one}
        ]
        for hazard, unit in found[:1]:
            held = tuple(other for other in compared if other != one)
            claims.append(Claim(hazard, (one,), held, (unit,)))
            verb = "" if hazard in shown else f" shows {PHRASES[hazard]}"
            shown.setdefault(hazard, []).append(f"{unit.title}{verb} under {one} only")
    stories = [text for texts in shown.values() for text in texts]
    number = {2: "two", 3: "three"}[len(compared)]
    return [f"of the {number}, {', '.join(stories)}"] if stories else []


def _undistinguished(grid: Grid, labels: str) -> Sentence:
    kinds = {unit.kind for unit in grid.units}
    names = {SEARCH: "search", STORY: "story", RUNS: "rate"}
    *others, last = [name for kind, name in names.items() if kind in kinds]
    either = f"{', '.join(others)} or {last}" if others else last
    return Sentence(f"No {either} distinguishes {labels}.", ())


def _is_rarer(differing: Differing, one: str, other: str, hazard: str, unit: Unit) -> bool:
    """True where a rate is lower under one alternative than under the other beyond chance."""
    return (unit, hazard, one, other) in differing


def _met_and_not_met(grid: Grid, differing: Differing) -> Sentence | None:
    """Of the hazards whose rates differ most: the alternatives under which nothing meets them.

    Alternatives that no search, no story and no rate beyond chance distinguishes are left out.
    """
    never = {
        hazard: [
            one
            for one in grid.alternatives
            if not any(each.broken for each in grid.cell(hazard, one))
        ]
        for hazard in grid.hazards
    }
    never = {
        hazard: labels
        for hazard, labels in never.items()
        if labels and _is_distinguished(grid, differing, hazard)
    }
    in_order = sorted(never, key=lambda hazard: -_spread(grid, hazard))
    clauses = []
    for hazard in in_order[:NAMED_MAX]:
        met = [one for one in grid.alternatives if one not in never[hazard]]
        under = f"only under {listed(_quoted(met))}"
        if len(never[hazard]) <= len(met):
            under = f"under all but {listed(_quoted(never[hazard]))}"
        clauses.append(f"{PHRASES[hazard]} occurs {under}")
    if not clauses:
        return _undistinguished(grid, "them")
    more = [f"{len(never) - NAMED_MAX} more hazards differ"] if len(never) > NAMED_MAX else []
    claims = tuple(Claim(one, (), tuple(labels), ()) for one, labels in never.items())
    return _sentence([f"they differ: {clauses[0]}", *clauses[1:], *more], claims)


def _is_distinguished(grid: Grid, differing: Differing, hazard: str) -> bool:
    """True where a search, a story or a rate beyond chance distinguishes some alternatives."""
    proven = [one for one in grid.shared(hazard) if one.kind != RUNS]
    some = any(0 < len(grid.breaking(hazard, one)) < len(grid.alternatives) for one in proven)
    return some or any(hazard == other for _, other, *_ in differing)


def _spread(grid: Grid, hazard: str) -> int:
    """How far the rates of a hazard are apart in an environment at most, in runs."""
    runs = {
        unit: [grid.at(hazard, one, unit).runs for one in grid.alternatives]
        for unit in grid.shared(hazard)
    }
    return max((max(one) - min(one) for one in runs.values()), default=0)


def _kept(grid: Grid) -> Sentence | None:
    """The hazards that every alternative allows: in searches, and in nearly the same runs."""
    everyone = tuple(grid.alternatives)
    claims: list[Claim] = []

    def allowed(*, clean: bool) -> list[str]:
        found = []
        for hazard in grid.hazards:
            units = tuple(
                unit
                for unit in grid.shared(hazard)
                if unit.kind == SEARCH
                and unit.is_clean_search == clean
                and len(grid.breaking(hazard, unit)) == len(everyone)
            )
            if units:
                found.append(hazard)
                claims.append(Claim(hazard, everyone, (), units))
        return found

    with_clean = allowed(clean=True)
    with_unclean = [one for one in allowed(clean=False) if one not in with_clean]
    same = [one for one in grid.hazards if one not in with_clean and _is_same(grid, one)]
    claims += [Claim(hazard, everyone, (), _met_in(grid, hazard)) for hazard in same]
    named = {
        f"{_named(with_clean)} in small worlds": with_clean,
        f"{_named(with_unclean, 1)} with unclean elections": with_unclean,
        f"as often in runs {_named(same, 1)}": same,
    }
    parts = [text for text, hazards in named.items() if hazards]
    return _sentence([f"all of them allow {', and '.join(parts)}"] if parts else [], claims)


def _met_in(grid: Grid, hazard: str) -> tuple[Unit, ...]:
    """The environments in which a run met a hazard under some alternative."""
    shared = (one for one in grid.shared(hazard) if one.kind == RUNS)
    return tuple(one for one in shared if grid.breaking(hazard, one))


def _is_same(grid: Grid, hazard: str) -> bool:
    """True where nearly the same runs of each environment meet a hazard under all alternatives."""
    units = _met_in(grid, hazard)
    for unit in units:
        least = min(grid.at(hazard, one, unit).runs for one in grid.alternatives)
        pairs = permutations(grid.alternatives, 2)
        if not least or any(grid.apart[unit, hazard, *pair] > SAME * least for pair in pairs):
            return False
    return bool(units)


def _runs_where(grid: Grid, wanted: Callable[[str, Unit], bool]) -> list[tuple[str, Unit]]:
    """Of each hazard the wanted environment in which most runs met it."""
    found = []
    for hazard in grid.hazards:
        units = [unit for unit in grid.shared(hazard) if unit.kind == RUNS and wanted(hazard, unit)]
        most = {
            unit: max(grid.at(hazard, one, unit).runs for one in grid.alternatives)
            for unit in units
        }
        found += [(hazard, max(units, key=lambda unit: most[unit]))] if units else []
    return found


def _of_runs(grid: Grid, unit: Unit) -> str:
    """An environment with the fewest judged runs of an alternative."""
    judged = wording.count(min(one.judged for one in grid.findings if one.unit == unit))
    beside = f" ({unit.beside})" if unit.beside else ""
    if unit.title == TARGETED:
        return f"{judged} runs with targeted faults{beside}"
    return f"{judged} {'plain ' if unit.title == PLAIN else ''}runs" + (
        beside if unit.title == PLAIN else f" ({unit})"
    )


def _sentence(parts: Sequence[str], claims: Sequence[Claim]) -> Sentence | None:
    """A sentence of as many parts as one can read aloud, the first ones."""
    if not parts:
        return None
    text = parts[0]
    for part in parts[1:]:
        longer = f"{text}; {part}"
        text = longer if len(longer.split()) <= WORDS_MAX else text
    return Sentence(f"{text[0].upper()}{text[1:]}.", tuple(claims))


def _from_to(sizes: Sequence[int]) -> str:
    """8; or 8 to 16."""
    return " to ".join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))


def _named(hazards: Sequence[str], most: int = NAMED_MAX) -> str:
    """The first of some hazards, and the number of the others."""
    more = len(hazards) - most
    named = [PHRASES[one] for one in hazards[:most]]
    return listed([*named, *([f"{more} more"] if more > 0 else [])])


def _quoted(labels: Sequence[str]) -> list[str]:
    """Labels in quotes where a sentence would read them otherwise."""
    return [f'"{one}"' if "," in one or one == "none" else one for one in labels]
