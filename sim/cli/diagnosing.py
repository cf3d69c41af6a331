"""`replog explain`, `shrink` and `draw`: why a run fails, its shortest form, its picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.bounds import Inconclusive
from sim.cli.arguments import (
    Argument,
    GivenRules,
    IntRange,
    Json,
    Output,
    RunId,
    RunOf,
    Seconds,
    SeedOf,
    rule_values,
    run_at,
    shipped,
)
from sim.cli.output import (
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    LINE_EVERY_S,
    StatusLine,
    complain,
    explanation_in_json,
    print_explanation,
    print_json,
    tell,
    width,
)
from sim.errors import BadInput
from sim.files.limits import TRIES
from sim.plugins import command_of

if TYPE_CHECKING:
    from sim.api.runs import Run
    from sim.check import Violation
    from sim.diagnose.shrink.smallest import ShrinkCase, SmallestExample
    from sim.diagnose.what_if import Healings, NearMiss, NoReturn, Point

WITHIN_S = 60.0
"""Default of `--within`, in seconds; most runs need a few."""


def explain(
    file: RunOf,
    about: Annotated[list[str], Argument(metavar="[RUN_ID] [INVARIANT]")],
    *,
    what_if: bool = False,
    within: Seconds = WITHIN_S,
    tries: Annotated[int, Argument(IntRange(2, TRIES.most), "N")] = 20,
    seed: SeedOf = None,
    rule: GivenRules = None,
    as_json: Json = False,
) -> int:
    """Explain why an invariant was violated: the deciding fact, the committed records, the events.

    FILE is a story or a timed scenario, or the folder of a sweep with the number of a run behind
    it. With --what-if random futures are simulated from later and later moments of the run: the
    share of them that violates the invariant shows when the violation became unavoidable. And each
    single change is tried: another value of one rule, one fault or one step less.

    Args:
        about: The number of a run, in the folder of a sweep; the invariant (default: the first
            that is violated).
        what_if: Also find the event after which the violation was unavoidable, and the single
            changes that avoid it.
        within: With --what-if: seconds after which it stops, with the results so far.
        tries: With --what-if: number of futures from each moment.
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
        from sim.diagnose.what_if import heals

        sealed = _no_return(run, violation, within / 2, tries, show=not as_json)
        left = within if sealed is None else within / 2
        healings = heals(scenario.content, violation.invariant, within_s=left)
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
    """The run, and the invariant to explain; empty for the first that is violated."""
    words = list(about)
    number = int(words.pop(0)) if words and words[0].isdecimal() else None
    if len(words) > 1:
        raise BadInput(f"unexpected argument: {words[1]}; see replog explain --help")
    return run_at(file, number, seed=seed, rule=rule), words[0] if words else ""


def _no_return(
    run: Run, violation: Violation, within_s: float, tries: int, *, show: bool
) -> NoReturn | None:
    """The point of no return of a timed run, printed when it is found; None for a story."""
    from sim.diagnose.what_if import point_of_no_return

    if run.scenario.kind == "story":
        if show:
            print("  no point of no return: the next step of a story is its author's choice")
        return None
    if show:
        print("  how often random futures violate it, from later and later moments:", flush=True)
    content: Any = run.scenario.content
    sealed = point_of_no_return(
        content,
        run.recorded.events,
        violation,
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
        yield "it was unavoidable from the start: every such run violates it"
        return
    least = first.interval.low
    yield (
        f"point of no return: {first.at_ms:,} ms, {first.sentence}; after it "
        f"{first.violated} of {first.tries} futures violate it (at least {least:.0%})"
    )
    if not sealed.complete:
        yield "out of time before it was found for sure: it may be earlier"


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
        print("  not known, since the run ends early or in an error:")
        for failed in healings.failed:
            tell(f"    {failed.change} ({failed.error})")
    if not healings.complete:
        print("  out of time before all changes were tried: see --within")


def _by_rule(changes: Iterable[str]) -> Iterator[str]:
    """Changes as lines, the values of one rule in one line."""
    values: dict[str, list[str]] = {}
    for change in changes:
        rule, colon, value = change.partition(": ")
        values.setdefault(rule, []).extend([value] if colon else [])
    for rule, named in values.items():
        yield f"{rule}: {', '.join(named)}" if named else rule


def shrink(
    file: RunOf,
    run_id: RunId = None,
    *,
    output: Output = None,
    within: Seconds = WITHIN_S,
    invariant: Annotated[str | None, Argument(metavar="NAME")] = None,
    as_json: Json = False,
) -> int:
    """Shrink a failing run to a small story that violates the same invariant for the same cause.

    Steps, replicas, keys, rules that do not matter and large numbers are removed until no single
    step can be left out. The result, a story or else a scenario, expects its violation; where the
    change of one rule heals it, the story under that rule is written, too, as its near miss.

    The output file has the best result so far at any time. After an interruption (status 130), or
    out of time (status 0), shrink that file to go on. Status 2: nothing is violated.

    Args:
        run_id: The number of a run, in the folder of a sweep.
        output: The file to write, also during the search; a folder gets a file named after the
            case (default: print the result).
        within: Seconds after which it stops, with the best result so far.
        invariant: The invariant whose first violation counts (default: the first one violated, of
            those that the file expects if it expects any).
    """
    from sim.diagnose.shrink.engine import ShrinkBudget
    from sim.files.atomic import replace_text

    out = None if output is None else _checked_output(output, file)
    folder = Path() if out is None else out if out.is_dir() else out.parent
    case = _case_to_shrink(file, run_id, invariant, folder)
    if out is not None and out.is_dir():
        out = out / f"{case.id}.yaml"
    budget = ShrinkBudget(within)
    with StatusLine(lines_every_s=LINE_EVERY_S) as line:

        def report(improved: bool) -> None:
            if out is not None and improved:
                replace_text(out, case.draft())
            line.show(f"{case.left} {case.unit} of {case.whole}, {budget.tries:,} tries")

        found = case.shrink(budget, report=report)
    near = case.near_miss() if found.complete else None
    document = _document(case, found, near, out)
    if out is not None:
        replace_text(out, found.text)
        if document["near_miss"] is not None:
            replace_text(_beside(out), document["near_miss"]["text"])
    elif not as_json:
        print(found.text, end="")
    for said in () if as_json else filter(None, _lines(document, case, found, within)):
        (complain if out is None else tell)(said)
    if as_json:
        print_json(document)
    return EXIT_INTERRUPTED if found.interrupted else 0


def _case_to_shrink(
    file: Path, run_id: int | None, invariant: str | None, folder: Path
) -> ShrinkCase:
    """The run to shrink, with the command that shrinks it again."""
    from sim.diagnose.shrink.smallest import ShrinkCase

    words: list[object] = [file, *([] if run_id is None else [run_id])]
    words += ["--invariant", invariant] if invariant else []
    content: Any = run_at(file, run_id).scenario.content
    return ShrinkCase(
        content,
        invariant,
        command=command_of("shrink", *words),
        where=None if file.is_dir() else str(file),
        folder=folder,
    )


def _checked_output(output: Path, file: Path) -> Path:
    from sim.files.atomic import check_writable

    if output.exists() and file.exists() and output.samefile(file) and not output.is_dir():
        raise BadInput(f"--output {output}: is the file to shrink; give another one")
    if not output.is_dir() and output.suffix not in (".yaml", ".yml"):
        raise BadInput(f"--output {output}: expected a folder, or a file .yaml or .yml")
    check_writable(output / "a" if output.is_dir() else output, what=f"--output {output}")
    return output


def _beside(out: Path) -> Path:
    """The path of the near miss, beside that of the result."""
    return out.with_name(f"{out.stem}_near_miss{out.suffix}")


def _document(
    case: ShrinkCase,
    found: SmallestExample,
    near: NearMiss | None,
    out: Path | None,
) -> dict[str, Any]:
    """The result as JSON; `out` is the file that is written, None without one."""
    document: dict[str, Any] = {
        "id": case.id,
        "invariant": found.invariant,
        "sentence": found.sentence,
        "unit": case.unit,
        "size": case.left,
        "size_before": case.size,
        "tries": found.tries,
        "complete": found.complete,
        "interrupted": found.interrupted,
        "text": found.text,
        "remark": found.remark,
        "output": None if out is None else str(out),
        "near_miss": None,
    }
    if near is not None:
        document["near_miss"] = {
            "change": near.change,
            "heals_origin": near.heals_origin,
            "text": case.near_miss_text(near),
            "output": None if out is None else str(_beside(out)),
        }
    return document


def _lines(
    document: dict[str, Any], case: ShrinkCase, found: SmallestExample, within: float
) -> Iterator[str]:
    """Lines about the result; some are empty."""
    yield document["output"] or ""
    yield f"{found.invariant}: {found.sentence}"
    size = f"{case.left} {case.unit} of {case.whole}, {found.tries:,} tries"
    if found.complete:
        one = "single step" if case.unit == "steps" else "part of it"
        yield f"{size}; no {one} can be left out (1-minimal)"
    else:
        why = "interrupted" if found.interrupted else f"out of time after {within:g} s"
        yield f"{size}; {why}: it may get smaller; shrink this result to go on"
    yield found.remark
    near = document["near_miss"]
    if near is not None:
        where = "" if near["output"] is None else f": {near['output']}"
        but = "" if near["heals_origin"] else f"; it does not heal {case.value.id} itself"
        yield f"near miss, with {near['change']}{where}{but}"
    elif found.complete:
        yield "no change of a single rule heals it"


def draw(
    source: Annotated[Path, Argument(shipped, "FILE|DIR")],
    run_id: RunId = None,
    *,
    output: Output = None,
    invariant: Annotated[str | None, Argument(metavar="NAME")] = None,
    against: Annotated[list[str] | None, Argument(metavar="NAME=VALUE")] = None,
    step: Annotated[list[str] | None, Argument(metavar="NUMBER=CAPTION")] = None,
    rule: GivenRules = None,
) -> int:
    """Draw the log of every replica at the violation or at chosen steps, and the events before.

    Without -o a text of a dozen lines is printed.

    Args:
        source: A story or a timed scenario, or the id of a shipped one; or the folder of a sweep.
        run_id: The number of a run, in the folder of a sweep.
        output: The file to write: .html steps through the run in a browser, .svg and .png are for
            documents, .txt has the text.
        invariant: Draw the first violation of this one (default: the first violation, or the end).
        against: HTML only: compare with the same case under another rule, or preset=NAME; may be
            given more than once.
        step: SVG or PNG only: the logs after this step, or ms, with a caption; may be given more
            than once.
    """
    from sim.api.runs import Run
    from sim.api.scenarios import under
    from sim.files.atomic import check_writable

    _check_kind(output, against=against, step=step)
    if output is not None:
        check_writable(output, what=f"--output {output}", read=[source])
    made = run_at(source, run_id, rule=rule)
    others = rule_values(against, option="--against")
    other = Run(under(made.scenario, others, where="--against")) if others else None
    moments = _captions(step)
    words = [source, *([] if run_id is None else [run_id])]
    words += [f"--invariant={invariant}"] if invariant else []
    repeated = {"rule": rule or (), "against": against or ()}
    words += [f"--{option}={one}" for option, values in repeated.items() for one in values]
    drawn = replace(
        made.timeline(invariant, against=other),
        title="" if moments else made.title,
        decided=True,
        moments=moments,
        command=command_of("draw", *words),
    )
    if output is None:
        print(drawn.as_text(width()))
    else:
        tell(str(drawn.save(output)))
    if not made.recorded.cut_off:
        return 0
    complain(f"inconclusive: {made.recorded.reason}; this is what happened until then")
    return EXIT_INCONCLUSIVE


def _check_kind(output: Path | None, *, against: object, step: object) -> None:
    """Raises BadInput for a file whose ending is no kind of picture, or not one for the options."""
    from sim.api.answers import SUFFIXES

    kind = ".txt" if output is None else output.suffix.lower()
    if kind not in SUFFIXES:
        raise BadInput(f"--output {output}: expected a name that ends in {', '.join(SUFFIXES)}")
    if against and kind != ".html":
        raise BadInput("--against: only an HTML page shows two cases; give -o NAME.html")
    if step and kind not in (".svg", ".png"):
        raise BadInput("--step: only pictures show chosen steps; give -o NAME.svg or NAME.png")


def _captions(step: list[str] | None) -> dict[int, str]:
    captions = {}
    for text in step or []:
        number, equals, caption = text.partition("=")
        if not equals or not number.isdecimal():
            raise BadInput(f"--step {text}: expected NUMBER=caption")
        captions[int(number)] = caption
    return captions
