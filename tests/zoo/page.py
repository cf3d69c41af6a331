"""The page `reports/zoo.md`: how many planted defects are detected, and which are missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tests.zoo.planted import CLASSES, DEFECTS, NEWEST, UNDETECTED, Planted, Undetected
from tests.zoo.results import Result, Results

ABOUT = (
    "Each defect is an error that a reader could overlook, planted by itself in the product"
    " (`tests/zoo/defects` has the patches). In a full trial the suite runs first, then random runs"
    " up to the first that shows the defect: every second one of the plan `far`, which draws"
    " widely, the others of the other plans in `scenarios/sweeps`; tests of the package run last,"
    " where neither shows it. A run shows a defect if it violates an invariant that the same run"
    " without the defect does not, ends in an exception, or does not come to rest. Defects of the"
    " group `kafka logs` are planted for the random logs of `make conformance`, which has to notice"
    " each."
)
MADE = (
    "All counts are of the last full trial of each defect: {versions}. `reports/zoo.json` has the"
    " result of each, with the file, run or test that detected it; `code` there is a digest of the"
    " sources. `make zoo` plants each defect again and tries what detected it; where that does not"
    ' any more, it is tried in full. `make zoo ARGS="--afresh"` tries all of them in full.'
)
NEW = (
    "The newest series was written from the list of modules, without knowledge of what detects"
    " anything. Its share at first sight is the measure of audits and plans; the share of now is of"
    " audits that were extended after it was judged.\n\n"
    "* At first sight: random runs showed 56 of 80 in the model (70%), runs, suite or tests 68"
    " (85%); of ten in the checks, which no random run touches, suite or tests showed 8.\n"
    "* Now: random runs show {shown} in the model, runs, the suite or tests {detected} of both."
)
MISSED = (
    "No random run showed these, though one might: the situation that shows it did not occur, or no"
    " invariant minds the effect (`touched` in `zoo.json` counts the runs that differed)."
)
NOT_DETECTED = (
    "Neither random runs nor the suite nor tests of the package notice these. "
    + "; ".join(f"*{name}*: {what}" for name, what in CLASSES.items())
    + "."
)
UNKNOWN = Undetected("not looked into", "")
UNSEEN = "Random runs are not tried for these: the behaviour with the defect violates no promise."


class _Tried(NamedTuple):
    """A defect and the result of its last full trial."""

    defect: Planted
    result: Result


def page(results: Results) -> str:
    """The whole page."""
    tried = [_Tried(one, results[name]) for name, one in DEFECTS.items() if name in results]
    return "\n".join(_page(tried)).rstrip() + "\n"


def _page(tried: Sequence[_Tried]) -> Iterator[str]:
    yield from ("# What planted defects show", "", ABOUT, "")
    yield MADE.format(versions=_versions(tried))
    newest = [one for one in tried if one.defect.series == NEWEST]
    in_model = [one.result for one in newest if one.defect.group != "checks"]
    yield from ("", "## By group", "")
    yield NEW.format(
        shown=_share(sum(bool(one.run) for one in in_model), len(in_model)),
        detected=_share(sum(one.result.detected for one in newest), len(newest)),
    )
    yield ""
    yield from _groups(tried)
    missed = [
        one.defect
        for one in tried
        if one.result.tries and not one.result.run and not _is_equivalent(one)
    ]
    yield from ("", "## What random runs miss", "", MISSED, "")
    yield from _names("group", missed, lambda one: _words(one.group))
    unseen = [one.defect for one in tried if one.defect.unseen]
    yield from ("", "## What no random run can show", "", UNSEEN, "")
    yield from _names("why", unseen, lambda one: one.unseen)
    undetected = [one for one in tried if not one.result.detected]
    if undetected:
        yield from ("", "## What nothing detects", "", NOT_DETECTED, "")
        yield from _table(("class", "defect", "runs that differed", "why"), *_reasons(undetected))


def _is_equivalent(one: _Tried) -> bool:
    return not one.result.detected and UNDETECTED.get(one.defect.name, UNKNOWN).kind == "equivalent"


def _reasons(undetected: Sequence[_Tried]) -> Iterator[tuple[object, ...]]:
    """The class of each defect that nothing detects, and why, in the order of the classes."""
    order = [*CLASSES, UNKNOWN.kind]
    rows = [(UNDETECTED.get(one.defect.name, UNKNOWN), one) for one in undetected]
    for said, one in sorted(rows, key=lambda row: order.index(row[0].kind)):
        touched = f"{one.result.touched} of {one.result.tries}"
        yield said.kind, f"`{one.defect.name}`", touched, said.why


def _names(title: str, defects: Sequence[Planted], by: Callable[[Planted], str]) -> Iterator[str]:
    """The names of defects, a row for each value of `by`."""
    rows: dict[str, list[str]] = {}
    for one in defects:
        rows.setdefault(by(one), []).append(f"`{one.name}`")
    yield from _table((title, "defects"), *((name, ", ".join(rows[name])) for name in rows))


def _versions(tried: Sequence[_Tried]) -> str:
    """The number of defects whose last full trial was with each version of the sources."""
    counts = Counter(one.result.code[:8] for one in tried)
    said = [f"{count} with sources `{code}`" for code, count in counts.most_common()]
    return ", ".join([*said, *[f"{len(DEFECTS) - len(tried)} never"] * (len(tried) < len(DEFECTS))])


def _groups(tried: Sequence[_Tried]) -> Iterator[str]:
    rows: dict[str, list[_Tried]] = {}
    for one in tried:
        series = "earlier series"
        if one.defect.series == NEWEST:
            series = "newest series"
        names = [_words(one.defect.group), f"**{series}**", "**all**"]
        for name in names:
            rows.setdefault(name, []).append(one)
    ordered = sorted(rows, key=lambda name: (name.startswith("**"), name == "**all**", name))
    yield from _table(
        ("group", "defects", "suite", "random runs", "either", "tests alone", "nothing yet"),
        *((name, *_counts([one.result for one in rows[name]])) for name in ordered),
    )


def _counts(results: Sequence[Result]) -> tuple[object, ...]:
    drawn = [one for one in results if one.tries]
    either = sum(bool(one.suite or one.run) for one in results)
    detected = sum(one.detected for one in results)
    return (
        len(results),
        sum(bool(one.suite) for one in results),
        _share(sum(bool(one.run) for one in drawn), len(drawn)),
        either,
        detected - either,
        _share(len(results) - detected, len(results)),
    )


def _share(found: int, of: int) -> str:
    return f"{found} of {of} ({found / of:.0%})" if of else "none"


def _words(group: str) -> str:
    return group.replace("_", " ")


def _table(titles: tuple[str, ...], *rows: tuple[object, ...]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |"
