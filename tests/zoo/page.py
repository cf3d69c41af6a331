"""The page `reports/zoo.md`: what tells planted defects, by group, and then each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from sim.diagnose.what_if.futures import Interval, clopper_pearson
from tests.zoo.draws import WIDE
from tests.zoo.kept import Result, Results, in_groups
from tests.zoo.planted import DEFECTS, OF_LOGS, Planted

ABOUT = (
    "Each defect is an error that a reader could overlook, planted by itself in a copy of the"
    " product (`tests/zoo/defects`). The suite, `scenarios`, runs first; then random runs: every"
    " second one of the plan `far`, which draws widely, the others of other plans in"
    " `scenarios/sweeps`; tests of the package last, for what nothing else tells. Random runs end"
    " with the first that shows the defect, so the interval of its share is wide. A run shows a"
    " defect if it violates something that the same run without the defect does not, or ends in an"
    " exception, or does not come to rest. Intervals are exact (Clopper and Pearson), 95 %,"
    " two-sided. The median run is that by which half of all searches have met the defect, by the"
    " share that was seen. Those of `kafka logs` are there for the random logs of"
    " `make conformance`, which has to notice each; few of them show in a cluster."
)
HALVES = (
    "The judged half, by a digest of the name, is of a second series of defects, which was planted"
    " by who did not know what random runs find. Who makes random runs find more looks at the"
    " others, the tuned ones; the judged half says what that is worth."
)
MISSED = (
    "Of these no random run shows anything, though some might. Where no run goes on otherwise, what"
    " would show the defect did not happen in so many runs. Where runs do go on otherwise, no"
    " invariant minds what comes of it, or it takes more."
)
SOON = (
    "How many were shown by then, kafka logs apart; nothing stands where not all have had so many"
    " runs."
)
RACE = (
    "Runs of `far` and of the others take turns, so that each search is a race between what draws"
    " widely and what does not. Of {races} that ended after the first two runs `far` won {won}: a"
    " run of it shows a defect {low:.1f} to {high:.1f} times as often as one of the others (95 %,"
    " exact)."
)
UNSEEN = "These are not looked for in random runs: what they do is no violation, whatever happens."


class _Tried(NamedTuple):
    """A defect and what came of it."""

    defect: Planted
    result: Result


def page(results: Results) -> str:
    """The whole page."""
    tried = [_Tried(one, results[one.name]) for one in DEFECTS if one.name in results]
    return "\n".join(_page(tried)).rstrip() + "\n"


def _page(tried: Sequence[_Tried]) -> Iterator[str]:
    yield from ("# What planted defects show", "", ABOUT, "", "Made by `make zoo`.")
    yield from ("", _progress(tried))
    yield from ("", "## By group", "", HALVES, "")
    yield from _groups(tried)
    yield from ("", "## After how many runs", "", SOON, "")
    yield from _soon(tried)
    yield from ("", "## By environment", "")
    yield from _environments(tried)
    missed = [one for one in tried if one.result.tries and not one.result.found]
    yield from ("", "## What random runs miss", "", MISSED, "")
    yield from _table(
        ("defect", "half", "runs", "go on otherwise", "told by"),
        *((*_named(one), one.result.tries, one.result.touched, _told_by(one)) for one in missed),
    )
    yield from ("", "## What no random run can show", "", UNSEEN, "")
    yield from _table(
        ("defect", "half", "why", "told by"),
        *((*_named(one), one.defect.unseen, _told_by(one)) for one in tried if one.defect.unseen),
    )
    for group, defects in in_groups(one.defect for one in tried).items():
        names = {one.name for one in defects}
        yield from ("", f"## {_words(group)}", "")
        yield from _each(one for one in tried if one.defect.name in names)


def _progress(tried: Sequence[_Tried]) -> str:
    """How far it has come, so that nobody takes what is missing for a result."""
    suites = sum(one.result.suite is not None for one in tried)
    looked_for = sum(not one.unseen for one in DEFECTS)
    drawn = [one.result for one in tried if one.result.tries]
    missed = [one.tries for one in drawn if not one.found]
    runs = f", those that none shows {min(missed)} to {max(missed)}" if missed else ""
    versions = len({one.result.code for one in tried})
    return (
        f"So far: of {len(DEFECTS)} defects the suite has run on {suites}, and of {looked_for} that"
        f" random runs might show {len(drawn)} have had some{runs}, with {versions} version(s) of"
        " the sources (`code` in `zoo.json`). `make zoo` goes on from there."
    )


def _groups(tried: Sequence[_Tried]) -> Iterator[str]:
    rows: dict[str, list[_Tried]] = {}
    for one in tried:
        half = "judged half" if one.defect.judged else "tuned half"
        names = [_words(one.defect.group), f"**{half}**", "**all**"]
        if one.defect.group != OF_LOGS:
            names.insert(2, f"**{half} without kafka logs**")
        for name in names:
            rows.setdefault(name, []).append(one)
    ordered = sorted(rows, key=lambda name: (name.startswith("**"), name == "**all**", name))
    yield from _table(
        ("group", "defects", "suite", "random runs", "either", "tests alone", "nothing yet"),
        *(_group(name, rows[name]) for name in ordered),
    )


def _group(name: str, tried: Sequence[_Tried]) -> tuple[object, ...]:
    drawn = [one.result for one in tried if one.result.tries]
    by_suite = sum(bool(one.result.suite) for one in tried)
    found = sum(bool(one.found) for one in drawn)
    run = sum(one.result.suite is not None for one in tried)
    either = sum(bool(one.result.suite or one.result.found) for one in tried)
    by_test = sum(one.result.killed for one in tried) - either
    random = f"{found} of {len(drawn)}" + (f" ({found / len(drawn):.0%})" if drawn else "")
    suite = f"{by_suite} of {run}"
    return name, len(tried), suite, random, either, by_test, len(tried) - either - by_test


def _soon(tried: Sequence[_Tried]) -> Iterator[str]:
    """How many defects of each half were shown within so many runs; "" = not all have had them."""
    rows = []
    for runs in (10, 30, 100, 300, 1_000):
        found = []
        for judged in (True, False):
            half = [
                one.result
                for one in tried
                if one.defect.judged == judged and one.result.tries and one.defect.group != OF_LOGS
            ]
            by_then = sum(one.first is not None and one.first <= runs for one in half)
            all_had = bool(half) and all(one.found or one.tries >= runs for one in half)
            share = f"{by_then} of {len(half)} ({by_then / len(half):.0%})" if all_had else ""
            found.append(share)
        rows.append((f"{runs:,}", *found))
    yield from _table(("runs", "judged half", "tuned half"), *rows)


def _environments(tried: Sequence[_Tried]) -> Iterator[str]:
    names = list(dict.fromkeys(name for one in tried for name in one.result.runs))
    rows = []
    for name in names:
        those = [one.result for one in tried if one.result.runs[name]]
        found = [one for one in those if one.shown[name]]
        alone = sum(one.found == one.shown[name] for one in found)
        runs = median(one.runs[name] for one in those)
        rows.append((f"`{name}`", f"{runs:g}", f"{len(found)} of {len(those)}", alone))
    yield from _table(("environment", "runs of each", "defects shown", "shown there alone"), *rows)
    races = [one.result for one in tried if one.result.first is not None and one.result.first > 2]
    won = sum(any(name.startswith(f"{WIDE}/") for name in one.shown) for one in races)
    if 0 < won < len(races):
        low, high = (share / (1 - share) for share in clopper_pearson(won, len(races)))
        yield from ("", RACE.format(races=len(races), won=won, low=low, high=high))


def _each(tried: Iterable[_Tried]) -> Iterator[str]:
    yield from _table(
        ("defect", "half", "suite", "random runs", "interval", "median run", "most", "by"),
        *(
            (
                f"**{one.defect.name}**: {one.defect.what}",
                "judged" if one.defect.judged else "tuned",
                _suite(one.result),
                f"{one.result.found} of {one.result.tries}" if one.result.tries else "not run",
                _interval(one.result.share()) if one.result.tries else "",
                one.result.median() or "",
                _most(one.result),
                _by(one.result),
            )
            for one in tried
        ),
    )


def _named(one: _Tried) -> tuple[str, str]:
    half = "judged" if one.defect.judged else "tuned"
    return f"`{one.defect.group}/{one.defect.name}`: {one.defect.what}", half


def _told_by(one: _Tried) -> str:
    if one.result.suite:
        return _suite(one.result)
    return f"`{one.result.test}`" if one.result.test else "nothing yet"


def _suite(result: Result) -> str:
    if result.suite is None:
        return "not run"
    return f"`{result.suite['file']}`: {result.suite['invariant']}" if result.suite else "none"


def _interval(share: Interval) -> str:
    return f"{100 * share.low:.2g} to {100 * share.high:.2g} %"


def _most(result: Result) -> str:
    """The environment in which most runs show it, with its share."""
    if not result.found:
        return ""
    name = max(result.shown, key=lambda one: (result.shown[one] / result.runs[one], one))
    shown, runs = result.shown[name], result.runs[name]
    return f"`{name}` {shown} of {runs} ({_interval(clopper_pearson(shown, runs))})"


def _by(result: Result) -> str:
    return ", ".join(f"{name} {count}" for name, count in result.by.most_common(3))


def _words(group: str) -> str:
    return group.replace("_", " ")


def _table(titles: tuple[str, ...], *rows: tuple[object, ...]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |"
