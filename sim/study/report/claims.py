"""The verdict of a decision: three sentences at most, each about comparisons of the grid.

The alternatives that break a search or a story decide which sentence it belongs to: they differ,
all that would replace the first alternative prevent the hazard, or all allow it. Runs belong to
the sentences by their rates. Every sentence keeps the comparisons that it is about, its claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from typing import Final, NamedTuple

from sim.diagnose.explain.case import listed
from sim.study.report.grid import RUNS, SEARCH, STORY, TARGETED, Comparison, Grid, Unit
from sim.study.sweep import numbers
from sim.study.sweep.hazards import PHRASES
from sim.study.sweep.plan_matrix import PLAIN

SURE: Final = 0.05
"""Below this p value, corrected for their number (Holm), rates of two alternatives differ."""
SAME: Final = 0.1
"""A sentence says that about as many runs meet a hazard under all alternatives if, of any two, at
most this share meets it under one alone; the share is of the fewest runs that met it."""
NAMED_MAX: Final = 2
"""Largest number of hazards, and of searches or stories for them, that a part of a sentence names;
the gravest hazards come first."""
ALTERNATIVES_MAX: Final = 12
"""Most alternatives that are named where none differs from another; of more, their number."""
WORDS_MAX: Final = 60
"""Largest number of words of a sentence; a single thing in a clause may have more."""

Apart = set[tuple[Unit, str, str, str]]
"""Unit, hazard, the alternative with the lower rate and the other one: different beyond chance."""
Clauses = dict[str, list[tuple[str, Sequence[Comparison]]]]
"""The beginning of a clause -> the things that it lists, each with its comparisons."""


class Sentence(NamedTuple):
    """A sentence of the verdict.

    Attributes:
        text: Its words.
        claims: The comparisons that it is about, of the grid from which it was written.
    """

    text: str
    claims: Sequence[Comparison]


def verdict_of(grid: Grid) -> list[Sentence]:
    """The sentences: in what alternatives differ, what all others prevent, and what all allow.

    A grid of one alternative has no verdict.
    """
    if len(grid.alternatives) < 2:
        return []
    apart = _rates_apart(grid)
    differences, prevented = _differences(grid, apart), _prevented(grid, apart)
    if not differences and (len(grid.alternatives) > 2 or not prevented):
        labels = grid.alternatives[len(grid.alternatives) > 2 :]
        named = _list(labels) if len(labels) <= ALTERNATIVES_MAX else f"{len(labels)} alternatives"
        prevented |= {"nothing in the grid distinguishes": [(named, [])]}
    return [_sentence(one) for one in (differences, prevented, _kept(grid)) if one]


def _rates_apart(grid: Grid) -> Apart:
    """The units and hazards in which the rates of two alternatives differ beyond chance."""
    tests: dict[tuple[Unit, str, str, str], float] = {}
    for (unit, hazard, one, other), fewer in grid.apart.items():
        more = grid.apart[unit, hazard, other, one]
        if fewer <= more and more and (unit, hazard, other, one) not in tests:
            tests[unit, hazard, one, other] = numbers.mcnemar_exact(fewer, more)
    adjusted = numbers.holm([*tests.values()])
    return {key for key, p in zip(tests, adjusted, strict=True) if p < SURE}


def _differences(grid: Grid, apart: Apart) -> Clauses:
    """The differences of the alternatives, first what others break where the first one holds."""
    first, *others = grid.alternatives
    proven = [one for one in grid.comparisons if one.unit.kind != RUNS and one.is_decided]
    split = [one for one in proven if {*others} & {*one.holding}]
    stories = [one for one in proven if one.unit.kind == STORY]
    number = len({one.unit for one in stories})

    def shown(labels: Sequence[str], found: Sequence[Comparison]) -> str:
        breaking = len({one.unit for one in found})
        example = f"{found[0].unit.title}: {PHRASES[found[0].hazard]}"
        held = [one for one in others if one not in labels]
        under = f"all others but {_list(held)}" if len(held) < len(labels) - 1 else _list(labels)
        return f"{breaking} break{'s' if breaking == 1 else ''} more under {under} ({example})"

    clauses = _by_breaking(
        f"where {_list([first])} holds,",
        [one for one in proven if first in one.holding],
        others,
        lambda labels, found: f"{_do(grid, labels, 'add')} {_named(found, 1)}",
    )
    clauses |= _against_first(grid, apart, "raise")
    clauses |= _by_breaking(
        "searches find",
        [one for one in split if one.unit.kind == SEARCH and first in one.breaking],
        others,
        lambda labels, found: (
            f"{_named(found, 1)} under {_list(labels)}, "
            f"not {_list([one for one in others if one not in labels])}"
        ),
    )
    clauses |= _by_breaking(
        f"of {number} {'story' if number == 1 else 'stories'}",
        [one for one in stories if one in split],
        others,
        shown,
    )
    for one in grid.most_met(lambda one: (one.unit, one.hazard, *_extremes(one)) in apart):
        texts = [f"{numbers.count(one.findings[at].runs)} under {at}" for at in _extremes(one)]
        rates = f"{PHRASES[one.hazard]} in {listed(texts)}"
        clauses.setdefault(f"of {_of_runs(one)}", []).append((rates, [one]))
    return clauses


def _prevented(grid: Grid, apart: Apart) -> Clauses:
    """The hazards that searches with clean elections break under the first alternative alone.

    A hazard is left out if such a search breaks it under another alternative, or was stopped before
    it could. Hazards with lower rates under the others follow.
    """
    first, *others = grid.alternatives
    clean = [one for one in grid.comparisons if one.unit.is_clean_search and one.breaking]
    open_ = {one.hazard for one in clean if one.breaking != (first,) or not one.is_decided}
    closed = [one for one in clean if one.hazard not in open_]
    lowered = _against_first(grid, apart, "lower")
    if not closed:
        return lowered
    prevented = f"in searches with clean elections {_do(grid, others, 'prevent')}"
    subject, they = _do(grid, others, "lower"), "they lower" if len(others) > 1 else "it lowers"
    clauses: Clauses = {prevented: [(_named(closed), closed)]}
    return clauses | {lead.replace(subject, they): things for lead, things in lowered.items()}


def _against_first(grid: Grid, apart: Apart, verb: str) -> Clauses:
    """The hazards that other alternatives `lower` or `raise` in the runs in which most met them."""
    first, *others = grid.alternatives

    def moving(one: Comparison) -> list[str]:
        """The alternatives that lower, or raise, the rate of the first one."""
        pairs = {each: (each, first) if verb == "lower" else (first, each) for each in others}
        return [each for each in others if (one.unit, one.hazard, *pairs[each]) in apart]

    clauses: Clauses = {}
    most = grid.most_met(lambda one: bool(moving(one)))
    for one in most:
        gravest = next(each for each in most if each.unit.name == one.unit.name)
        beside = "" if one.unit == gravest.unit else f", {one.unit.beside}"
        to = _range([one.findings[each].runs for each in moving(one)])
        text = f"{PHRASES[one.hazard]} ({numbers.count(one.runs[0])} to {to}{beside})"
        lead = f"in {_of_runs(gravest)} {_do(grid, moving(one), verb)}"
        clauses.setdefault(lead, []).append((text, [one]))
    return clauses


def _kept(grid: Grid) -> Clauses:
    """The hazards that every alternative allows, in searches or in about as many runs."""
    searches = [one for one in grid.comparisons if one.unit.kind == SEARCH and not one.holding]
    clean = [one for one in searches if one.unit.is_clean_search]
    said = {one.hazard for one in clean}
    unclean = [one for one in searches if one.hazard not in said]
    clauses: Clauses = {}
    for elections, found in (("clean", clean), ("unclean", unclean)):
        if found:
            clauses[f"in searches with {elections} elections"] = [(_named(found), found)]
    apart = {
        one.hazard
        for one in grid.comparisons
        if one.unit.kind == RUNS and one.breaking
        for pair in permutations(grid.alternatives, 2)
        if grid.apart[one.unit, one.hazard, *pair] > SAME * min(one.runs)
    }
    for one in grid.most_met(lambda one: bool(one.breaking) and one.hazard not in said | apart):
        lead = f"in about as many of {_of_runs(one)}"
        clauses.setdefault(lead, []).append((f"{PHRASES[one.hazard]} ({_range(one.runs)})", [one]))
    return {
        lead if number else f"{lead} all of them allow": things
        for number, (lead, things) in enumerate(clauses.items())
    }


def _by_breaking(
    lead: str,
    found: Iterable[Comparison],
    among: Sequence[str],
    text: Callable[[Sequence[str], Sequence[Comparison]], str],
) -> Clauses:
    """A clause on comparisons, grouped by the alternatives that break the hazard; empty for none.

    All groups are one thing, which a sentence has whole or not at all: none of the alternatives is
    left out.
    """
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for one in found:
        labels = tuple(each for each in among if each in one.breaking)
        if labels:
            groups.setdefault(labels, []).append(one)
    about = [one for group in groups.values() for one in group]
    return {lead: [(listed([text(*group) for group in groups.items()]), about)]} if about else {}


def _extremes(one: Comparison) -> list[str]:
    """The alternatives after the first under which the fewest and the most runs met a hazard."""
    in_order = sorted([*one.findings][1:], key=lambda label: one.findings[label].runs)
    return [in_order[0], in_order[-1]]


def _of_runs(one: Comparison) -> str:
    """The judged runs of an environment, as in `1,000 plain runs`: the fewest of an alternative."""
    judged = numbers.count(min(each.judged for each in one.findings.values()))
    beside = f" ({one.unit.beside})" if one.unit.beside else ""
    names = {TARGETED: "runs with targeted faults", PLAIN: "plain runs"}
    return f"{judged} {names.get(one.unit.title, f'runs of {one.unit.title}')}{beside}"


def _sentence(clauses: Clauses) -> Sentence:
    """A sentence of the first things, up to WORDS_MAX words, and the number of the others."""
    count = sum(map(len, clauses.values()))
    for number in range(count, 0, -1):
        left, said, texts = number, list[Comparison](), []
        for lead, things in clauses.items():
            if some := things[:left]:
                texts.append(f"{lead} {listed([text for text, _ in some])}")
                said += [one for _, about in some for one in about]
            left -= len(some)
        text = "; ".join([*texts, *([f"{count - number} more in the grid"] * (number < count))])
        if len(text.split()) <= WORDS_MAX:
            break
    return Sentence(f"{text[0].upper()}{text[1:]}.", said)


def _do(grid: Grid, labels: Sequence[str], verb: str) -> str:
    """Some of the alternatives after the first as the subject of a verb."""
    named = "all others" if len(labels) == len(grid.alternatives) - 1 > 2 else _list(labels)
    return f"{named} {verb}{'s' if len(labels) == 1 else ''}"


def _range(counts: Sequence[int]) -> str:
    """The fewest and the most of some counts: 137\u2013138, or 138."""
    return "\u2013".join(map(numbers.count, sorted({min(counts), max(counts)})))


def _named(found: Sequence[Comparison], most: int = NAMED_MAX) -> str:
    """The first hazards with the searches or stories that meet them, and the number of others."""
    units: dict[str, list[str]] = {}
    for one in found:
        units.setdefault(one.hazard, []).append(one.unit.title)
    by_units: dict[str, list[str]] = {}
    for hazard in [*units][:most]:
        titles = [*dict.fromkeys(units[hazard])]
        few = titles if len(titles) <= NAMED_MAX else [titles[0], f"{len(titles) - 1} more"]
        by_units.setdefault(listed(few), []).append(PHRASES[hazard])
    named = [f"{listed(phrases)} ({shown})" for shown, phrases in by_units.items()]
    more = len(units) - most
    return listed([*named, *([f"{more} more"] if more > 0 else [])])


def _list(labels: Sequence[str]) -> str:
    """Labels joined by commas, in quotes where a sentence would misread one."""
    return listed([f'"{one}"' if "," in one or one == "none" else one for one in labels])
