"""`replog shrink`: what violates an invariant, made small."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.cli.arguments import Argument, Json, Number, Output, RunOf, Seconds, plugin_arguments
from sim.cli.opening import run_at
from sim.cli.output import (
    EXIT_INTERRUPTED,
    LINE_EVERY_S,
    StatusLine,
    complain,
    print_json,
    tell,
)
from sim.errors import BadInput
from sim.files.foreign import shell
from sim.files.limits import RUN

if TYPE_CHECKING:
    from sim.diagnose.shrink.smallest import Case, SmallestExample
    from sim.diagnose.what_if.heals import NearMiss
    from sim.study.explore.shorter import Shortest

WITHIN_S = 60.0
"""Seconds without `--within`; a story of 600 steps takes a few."""


def shrink(
    file: RunOf,
    run_id: Annotated[int | None, Argument(Number(0, limit=RUN))] = None,
    *,
    output: Output = None,
    within: Seconds = WITHIN_S,
    invariant: Annotated[str | None, Argument(metavar="NAME")] = None,
    shortest: bool = False,
    as_json: Json = False,
) -> int:
    """Make a failing run small: the same invariant is violated for the same cause.

    Steps, replicas, keys, rules that do not matter and large numbers go, until no single step can
    be left out. The result is a story that expects its violation; where the change of one rule
    heals it, the story under that rule is written beside it, as its near miss.

    The output file holds the best so far at any time. What was interrupted (status 130) or out of
    time (status 0) goes on when that file is shrunk. Status 2: nothing is violated, so there is
    nothing to shrink.

    Args:
        run_id: The number of a run, in the folder of a sweep.
        output: The file to write, also while it goes on; a folder gets a file named after the case.
            Default: the result is printed.
        within: Stop then, with the best found.
        invariant: The invariant whose first violation counts. Default: the first one violated, of
            those that the file expects if it expects any.
        shortest: Search every schedule of the result's world for a shorter one, within the same
            time again; one that is found is written beside the result.
    """
    from sim.diagnose.shrink.engine import Budget
    from sim.diagnose.shrink.smallest import Case
    from sim.files.atomic import replace_text

    words: list[object] = [file, *([] if run_id is None else [run_id])]
    words += ["--invariant", invariant] if invariant else []
    command = f"replog shrink {shell.command([*words, *plugin_arguments()])}"
    out = None if output is None else _checked_output(output, file)
    content: Any = run_at(file, run_id).scenario.content
    where = None if file.is_dir() else str(file)
    case = Case(content, invariant, command=command, where=where)
    if out is not None and out.is_dir():
        out = out / f"{case.id}.yaml"
    budget = Budget(within)
    with StatusLine(lines_every_s=LINE_EVERY_S) as line:

        def report(improved: bool) -> None:
            if out is not None and improved:  # it holds the best so far at any time
                replace_text(out, case.draft())
            line.show(f"{case.left} {case.unit} of {case.size}, {budget.tries:,} tries")

        found = case.shrink(budget, report=report)
    near = case.near_miss() if found.complete else None
    searched = _searched(found, within) if shortest and found.complete else None
    document = _document(case, found, near, searched, out)
    if out is not None:
        replace_text(out, found.text)
        if near is not None:
            replace_text(_beside(out, "near_miss"), document["near_miss"]["text"])
        if "shorter" in document:
            replace_text(_beside(out, "shortest"), document["shorter"])
    elif not as_json:
        print(found.text, end="")
    for said in () if as_json else filter(None, _lines(document, case, found, within)):
        (complain if out is None else tell)(said)
    if as_json:
        print_json(document)
    return EXIT_INTERRUPTED if found.interrupted else 0


def _searched(found: SmallestExample, within: float) -> Shortest:
    from sim.study.explore import check_installation

    check_installation()
    from sim.files.reading import document_in
    from sim.simulate.story.format import story_in
    from sim.study.explore.answers import Bounds
    from sim.study.explore.shorter import Shortest, shortest

    if found.kind != "story":
        return Shortest("a search follows the steps of stories")
    story = story_in(document_in(found.text, Path("shrunk.yaml")), default_id="shrunk")
    return shortest(story, found.invariant, Bounds(seconds=within))


def _checked_output(output: Path, file: Path) -> Path:
    from sim.files.atomic import check_writable

    if output.exists() and file.exists() and output.samefile(file) and not output.is_dir():
        raise BadInput(f"--output {output}: is the file to shrink; give another one")
    if not output.is_dir() and output.suffix not in (".yaml", ".yml"):
        raise BadInput(f"--output {output}: expected a folder, or a file .yaml or .yml")
    check_writable(output / "a" if output.is_dir() else output, what=f"--output {output}")
    return output


def _beside(out: Path, what: str) -> Path:
    """The file of something else that was found."""
    return out.with_name(f"{out.stem}_{what}{out.suffix}")


def _document(
    case: Case,
    found: SmallestExample,
    near: NearMiss | None,
    searched: Shortest | None,
    out: Path | None,
) -> dict[str, Any]:
    """What was found, as JSON has it; `out` is the file that is written."""
    from sim.diagnose.shrink.writing import file_of

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
    }
    if searched is not None:
        document["shortest"] = searched.sentence()
        if searched.story is not None:
            document["shorter"] = file_of(searched.story, found.invariant, "")
    document |= {"output": None if out is None else str(out), "near_miss": None}
    if near is not None:
        document["near_miss"] = {
            "change": near.change,
            "heals_origin": near.heals_origin,
            "text": case.near_miss_text(near),
            "output": None if out is None else str(_beside(out, "near_miss")),
        }
    return document


def _lines(
    document: dict[str, Any], case: Case, found: SmallestExample, within: float
) -> Iterator[str]:
    """What there is to say of the result beside its file; some lines are empty."""
    yield document["output"] or ""
    yield f"{found.invariant}: {found.sentence}"
    size = f"{case.left} {case.unit} of {case.whole}, {found.tries:,} tries"
    if found.complete:
        one = "single step" if case.unit == "steps" else "part of it"
        yield f"{size}; no {one} can be left out (1-minimal)"
    else:
        why = "interrupted" if found.interrupted else f"out of time after {within:g} s"
        yield f"{size}; {why}: it may get smaller; shrink this to go on"
    yield found.remark
    near = document["near_miss"]
    if near is not None:
        where = "" if near["output"] is None else f": {near['output']}"
        but = "" if near["heals_origin"] else f"; it does not heal {case.value.id} itself"
        yield f"near miss, with {near['change']}{where}{but}"
    elif found.complete:
        yield "no change of a single rule heals it"
    yield document.get("shortest", "")
