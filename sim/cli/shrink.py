"""`replog shrink`: what violates an invariant, made small."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.cli.arguments import Argument, Json, Number, Output, RunOf, Seconds, plugin_arguments
from sim.cli.opening import run_at
from sim.cli.output import (
    EXIT_INTERRUPTED,
    LINE_EVERY_S,
    StatusLine,
    complain,
    print_answer,
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

        def told(improved: bool) -> None:
            if out is not None and improved:  # it holds the best so far at any time
                replace_text(out, case.draft())
            line.show(f"{case.left} {case.unit} of {case.size}, {budget.tries:,} tries")

        found = case.shrink(budget, told=told)
    near = case.near_miss() if found.complete else None
    searched = _searched(found, within) if shortest and found.complete else None
    shown = _Shown(case, found, near, out, searched)
    shown.write()
    status = EXIT_INTERRUPTED if found.interrupted else 0
    return print_answer(as_json, shown.document(), partial(shown.tell, within), status=status)


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


class _Shown:
    """What was found, as it is written and told; `out` is the file to write, None = it is told."""

    def __init__(
        self,
        case: Case,
        found: SmallestExample,
        near: NearMiss | None,
        out: Path | None,
        searched: Shortest | None,
    ) -> None:
        self.case, self.found, self.near, self.out = case, found, near, out
        self.searched = searched
        self.near_text = "" if near is None else case.near_miss_text(near)
        self.near_out: Path | None = None
        if near is not None and out is not None:
            self.near_out = out.with_name(f"{out.stem}_near_miss{out.suffix}")

    def write(self) -> None:
        from sim.files.atomic import replace_text

        if self.out is not None:
            replace_text(self.out, self.found.text)
        if self.near_out is not None:
            replace_text(self.near_out, self.near_text)
        if self.out is not None and self.shorter:
            replace_text(self.out.with_name(f"{self.out.stem}_shortest.yaml"), self.shorter)

    @property
    def shorter(self) -> str:
        """The file of a shorter schedule; empty = none was found."""
        from sim.diagnose.shrink.writing import file_of

        story = None if self.searched is None else self.searched.story
        return "" if story is None else file_of(story, self.found.invariant, "")

    def tell(self, within: float) -> None:
        """The result on stdout; what there is to say of it beside the file goes to stderr."""
        found = self.found
        lines = [f"{found.invariant}: {found.sentence}", self._how_small(within), found.remark]
        lines += [self._nearly()] if found.complete else []
        lines += [self.searched.sentence()] if self.searched else []
        if self.out is None:
            print(found.text, end="")
        for line in filter(None, lines if self.out is None else (str(self.out), *lines)):
            (complain if self.out is None else tell)(line)

    def _nearly(self) -> str:
        if self.near is None:
            return "no change of a single rule heals it"
        where = "" if self.near_out is None else f": {self.near_out}"
        line = f"near miss, with {self.near.change}{where}"
        if self.near.heals_origin:
            return line
        return f"{line}; it does not heal {self.case.value.id} itself"

    def _how_small(self, within: float) -> str:
        found, unit = self.found, self.case.unit
        size = f"{self.case.left} {unit} of {self.case.whole}, {found.tries:,} tries"
        if found.complete:
            one = "single step" if unit == "steps" else "part of it"
            return f"{size}; no {one} can be left out (1-minimal)"
        why = "interrupted" if found.interrupted else f"out of time after {within:g} s"
        return f"{size}; {why}: it may get smaller; shrink this to go on"

    def document(self) -> dict[str, object]:
        found, near = self.found, self.near
        return {
            "id": self.case.id,
            "invariant": found.invariant,
            "sentence": found.sentence,
            "unit": self.case.unit,
            "size": self.case.left,
            "size_before": self.case.size,
            "tries": found.tries,
            "complete": found.complete,
            "interrupted": found.interrupted,
            "text": found.text,
            "remark": found.remark,
            **({"shortest": self.searched.sentence()} if self.searched else {}),
            **({"shorter": self.shorter} if self.shorter else {}),
            "output": None if self.out is None else str(self.out),
            "near_miss": None
            if near is None
            else {
                "change": near.change,
                "heals_origin": near.heals_origin,
                "text": self.near_text,
                "output": None if self.near_out is None else str(self.near_out),
            },
        }
