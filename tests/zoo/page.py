"""The page `reports/zoo.md`: what detects planted defects, by group, and then each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from tests.zoo.planted import DEFECTS, OF_LOGS, Planted
from tests.zoo.results import Result, Results

ABOUT = (
    "Each defect is an error that a reader could overlook, planted by itself in the product"
    " (`tests/zoo/defects`). In a full trial the suite, `scenarios`, runs first; then random runs"
    " up to the first that shows the defect: every second one of the plan `far`, which draws"
    " widely, the others of other plans in `scenarios/sweeps`; tests of the package last, for what"
    " nothing else detects. A run shows a defect if it violates something that the same run"
    " without the defect does not, or ends in an exception, or does not come to rest. Those of"
    " `kafka logs` are there for the random logs of `make conformance`, which has to notice each;"
    " few of them show in a cluster."
)
MADE = (
    "All counts are of the last full trial of each defect: {versions} (`code` in `zoo.json` is a"
    " digest of the sources). `make zoo` plants each defect again and tries what detected it then;"
    " only where that detects it no longer, everything is tried, and its row here is new."
    ' `make zoo ARGS="--afresh"` tries everything for all of them.'
)
HALVES = (
    "The judged half, by a digest of the name, is of a second series of defects, written without"
    " knowing what random runs find. Whoever makes random runs find more looks at the others, the"
    " tuned ones; the judged half says what that is worth."
)
MISSED = (
    "Of these no random run shows anything, though some might. Where no run goes on otherwise, what"
    " would show the defect did not happen in so many runs. Where runs do go on otherwise, no"
    " invariant minds what comes of it, or it takes more."
)
SOON = "How many were shown by then, kafka logs apart; an empty cell: not all had so many runs."
UNSEEN = "These are not looked for in random runs: what they do is no violation, whatever happens."


class _Tried(NamedTuple):
    """A defect and the result of its last full trial."""

    defect: Planted
    result: Result

    @property
    def half(self) -> str:
        return "judged" if self.defect.judged else "tuned"

    @property
    def named(self) -> tuple[str, str]:
        """The first two cells of its row in a table of all groups."""
        return f"`{self.defect.group}/{self.defect.name}`: {self.defect.what}", self.half

    @property
    def suite(self) -> str:
        suite = self.result.suite
        return f"`{suite['file']}`: {suite['invariant']}" if suite else "none"

    @property
    def detected_by(self) -> str:
        if self.result.suite:
            return self.suite
        return f"`{self.result.test}`" if self.result.test else "nothing yet"

    @property
    def random(self) -> str:
        result = self.result
        if result.run:
            return f"{result.tries:,}: `{result.environment}`"
        return f"none of {result.tries:,}" if result.tries else "not run"


def page(results: Results) -> str:
    """The whole page."""
    tried = [_Tried(one, results[name]) for name, one in DEFECTS.items() if name in results]
    return "\n".join(_page(tried)).rstrip() + "\n"


def _page(tried: Sequence[_Tried]) -> Iterator[str]:
    yield from ("# What planted defects show", "", ABOUT, "")
    yield MADE.format(versions=_versions(tried))
    yield from ("", "## By group", "", HALVES, "")
    yield from _groups(tried)
    yield from ("", "## After how many runs", "", SOON, "")
    yield from _soon([one for one in tried if one.defect.group != OF_LOGS])
    yield from ("", "## By environment", "", "Where the first run that shows a defect is of.", "")
    shown = Counter(f"`{one.result.environment}`" for one in tried if one.result.run)
    yield from _table(("environment", "defects"), *shown.most_common())
    missed = [one for one in tried if one.result.tries and not one.result.run]
    yield from ("", "## What random runs miss", "", MISSED, "")
    yield from _table(
        ("defect", "half", "runs", "go on otherwise", "detected by"),
        *((*one.named, one.result.tries, one.result.touched, one.detected_by) for one in missed),
    )
    yield from ("", "## What no random run can show", "", UNSEEN, "")
    yield from _table(
        ("defect", "half", "why", "detected by"),
        *((*one.named, one.defect.unseen, one.detected_by) for one in tried if one.defect.unseen),
    )
    for group, those in groupby(tried, key=lambda one: one.defect.group):
        yield from ("", f"## {_words(group)}", "")
        yield from _each(those)


def _versions(tried: Sequence[_Tried]) -> str:
    """How many defects were last tried with which sources, so that no two counts seem one."""
    counts = Counter(one.result.code[:8] for one in tried)
    said = [f"{count} with sources `{code}`" for code, count in counts.most_common()]
    return ", ".join([*said, *[f"{len(DEFECTS) - len(tried)} never"] * (len(tried) < len(DEFECTS))])


def _groups(tried: Sequence[_Tried]) -> Iterator[str]:
    rows: dict[str, list[_Tried]] = {}
    for one in tried:
        half = f"{one.half} half"
        names = [_words(one.defect.group), f"**{half}**", "**all**"]
        if one.defect.group != OF_LOGS:
            names.insert(2, f"**{half} without kafka logs**")
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
        len(results) - detected,
    )


def _share(found: int, of: int) -> str:
    return f"{found} of {of} ({found / of:.0%})" if of else "none"


def _soon(tried: Sequence[_Tried]) -> Iterator[str]:
    """How many defects of each half were shown within so many runs."""
    halves = [[one.result for one in tried if one.half == half] for half in ("judged", "tuned")]
    rows = [
        (f"{runs:,}", *(_shown_by(runs, [one for one in half if one.tries]) for half in halves))
        for runs in (10, 30, 100, 300, 1_000)
    ]
    yield from _table(("runs", "judged half", "tuned half"), *rows)


def _shown_by(runs: int, results: Sequence[Result]) -> str:
    if not all(one.run or one.tries >= runs for one in results):
        return ""
    return _share(sum(bool(one.run) and one.tries <= runs for one in results), len(results))


def _each(tried: Iterable[_Tried]) -> Iterator[str]:
    yield from _table(
        ("defect", "half", "suite", "first random run", "by"),
        *(
            (
                f"**{one.defect.name}**: {one.defect.what}",
                one.half,
                one.suite,
                one.random,
                ", ".join(one.result.by[:3]),
            )
            for one in tried
        ),
    )


def _words(group: str) -> str:
    return group.replace("_", " ")


def _table(titles: tuple[str, ...], *rows: tuple[object, ...]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |"
