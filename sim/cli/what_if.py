"""`replog explain`: why an invariant was violated, and what could have been otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.bounds import Inconclusive
from sim.cli.arguments import Argument, GivenRules, Json, Number, RunOf, Seconds, SeedOf
from sim.cli.opening import run_at
from sim.cli.output import explanation_in_json, print_explanation, print_json, tell
from sim.errors import BadInput
from sim.files.limits import TRIES

if TYPE_CHECKING:
    from sim.api.runs import Run
    from sim.check import Violation
    from sim.diagnose.what_if.heals import Healings
    from sim.diagnose.what_if.no_return import NoReturn, Point

WITHIN_S = 60.0
"""Seconds without `--within`, shared by both questions; most runs need a few."""


def explain(
    file: RunOf,
    about: Annotated[list[str], Argument(metavar="[RUN_ID] [INVARIANT]")],
    *,
    what_if: bool = False,
    within: Seconds = WITHIN_S,
    tries: Annotated[int, Argument(Number(2, TRIES.most), "N")] = 20,
    seed: SeedOf = None,
    rule: GivenRules = None,
    as_json: Json = False,
) -> int:
    """Tell why an invariant was violated: what decided, the truth, what led to it.

    FILE is a story or a timed scenario, or the folder of a sweep with the number of a run behind
    it. With --what-if the future is drawn anew from ever later moments of the run: how often the
    same invariant is violated then shows from when on it could not be avoided any more. And each
    single change is tried: another value of one rule, one fault or one step less.

    Args:
        about: The number of a run, in the folder of a sweep; the invariant, without one the first
            that is violated.
        what_if: Also find out after which event it could not be avoided any more, and which single
            changes avoid it.
        within: With --what-if: stop then, with what is known.
        tries: With --what-if: so many futures are drawn from each moment.
    """
    run, wanted = _opened(file, about, seed, rule)
    found, scenario = run.recorded, run.scenario
    if found.cut_off:
        raise Inconclusive(f"{found.id}: {found.reason}")
    if not wanted and not found.violations:
        raise BadInput(f"{file}: nothing is violated, so there is nothing to explain")
    violation, explanation = run.violation(wanted or None), run.explain(wanted or None)
    document: dict[str, Any] = {"id": found.id, **explanation_in_json(explanation)}
    if not as_json:
        tell(found.id)
        print_explanation(explanation, found.seen, found)
    if what_if:
        from sim.diagnose.what_if.heals import heals

        sealed = _no_return(run, violation, within / 2, tries, show=not as_json)
        healings = heals(scenario.content, violation.invariant, within_s=within / 2)
        document["no_return"] = None if sealed is None else _as_data(sealed)
        document["heals"] = [each._asdict() for each in healings.found]
        document["failed"] = [each._asdict() for each in healings.failed]
        document["complete"] = healings.complete and (sealed is None or sealed.complete)
        if not as_json:
            _show_healings(healings)
    if as_json:
        print_json(document)
    return 0


def _opened(
    file: Path, about: list[str], seed: int | None, rule: list[str] | None
) -> tuple[Run, str]:
    """The run, and the invariant that was asked about; empty = the first."""
    words = list(about)
    number = int(words.pop(0)) if words and words[0].isdecimal() else None
    if len(words) > 1:
        raise BadInput(f"unexpected argument: {words[1]}; see replog explain --help")
    return run_at(file, number, seed=seed, rule=rule), words[0] if words else ""


def _no_return(
    run: Run, violation: Violation, within_s: float, tries: int, *, show: bool
) -> NoReturn | None:
    """The point of no return of a timed run, told as it is found; None = a story has none."""
    from sim.diagnose.what_if.no_return import point_of_no_return

    if run.scenario.kind == "story":
        if show:
            print("  no point of no return: what comes next in a story is its author's choice")
        return None
    if show:
        print("  how often it is violated when all after a moment is drawn anew:", flush=True)
    content: Any = run.scenario.content
    sealed = point_of_no_return(
        content,
        run.recorded.events,
        violation,
        mix=run.scenario.mix,
        tries=tries,
        within_s=within_s,
    )
    if show:
        for point in sealed.points:
            print(f"    {_point(point)}")
        for line in _sealed(sealed):
            tell(f"  {line}")
    return sealed


def _point(point: Point) -> str:
    when = "start" if point.position is None else f"{point.at_ms:,} ms"
    share = f"{point.violated} of {point.tries}"
    low, high = point.interval
    return f"{when:>10}  {share:>10}  ({low:.0%} to {high:.0%})  {point.sentence}"


def _sealed(sealed: NoReturn) -> Iterator[str]:
    first = sealed.first
    if first.position is None:
        yield "it could not be avoided from the start: every such run violates it"
        return
    least = first.interval.low
    yield (
        f"point of no return: {first.at_ms:,} ms, {first.sentence}; after it "
        f"{first.violated} of {first.tries} futures violate it (at least {least:.0%})"
    )
    if not sealed.complete:
        yield "the time was over before it was found for sure: it may be earlier"


def _as_data(sealed: NoReturn) -> dict[str, Any]:
    return {
        "at_ms": sealed.first.at_ms,
        "event": sealed.first.sentence,
        "complete": sealed.complete,
        "curve": [{**point._asdict(), "interval": list(point.interval)} for point in sealed.points],
    }


def _show_healings(healings: Healings) -> None:
    passing = [each.change for each in healings.found if not each.still]
    others = [each for each in healings.found if each.still]
    print(
        f"  healed by a single change, of {healings.tried} tried:"
        if passing
        else f"  no single change of {healings.tried} tried makes it pass"
    )
    for line in _by_rule(passing):
        tell(f"    {line}")
    if others:
        print("  avoided, but something else is violated then:")
        for each in others:
            tell(f"    {each.change} ({', '.join(each.still)})")
    if healings.failed:
        print("  not known, as the run ends in an error:")
        for failed in healings.failed:
            tell(f"    {failed.change} ({failed.error})")
    if not healings.complete:
        print("  the time was over before all changes were tried: see --within")


def _by_rule(changes: Iterable[str]) -> Iterator[str]:
    """The values of one rule in one line."""
    values: dict[str, list[str]] = {}
    for change in changes:
        rule, colon, value = change.partition(": ")
        values.setdefault(rule, []).extend([value] if colon else [])
    for rule, named in values.items():
        yield f"{rule}: {', '.join(named)}" if named else rule
