"""`replog draw`: a picture of a story, a timed scenario or a row of a sweep."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.cli.arguments import (
    Argument,
    GivenRules,
    Output,
    RunId,
    plugin_arguments,
    rule_values,
    run_at,
    shipped,
)
from sim.cli.output import EXIT_INCONCLUSIVE, complain, tell, width
from sim.errors import BadInput
from sim.files.foreign import command_line

if TYPE_CHECKING:
    from sim.api.timelines import Timeline

_KINDS = (".html", ".svg", ".png", ".txt")


def draw(
    source: Annotated[Path, Argument(shipped, "FILE|DIR")],
    run_id: RunId = None,
    *,
    output: Output = None,
    invariant: Annotated[str | None, Argument(metavar="NAME")] = None,
    against: Annotated[list[str] | None, Argument(metavar="NAME=VALUE")] = None,
    everything: Annotated[bool, Argument(flags=("--all",))] = False,
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
        everything: All events, not only those that led to the violation.
        step: SVG or PNG only: the logs after this step, or ms, with a caption; may be given more
            than once.
    """
    from sim.api.runs import Run
    from sim.api.scenarios import under
    from sim.files.atomic import check_writable, replace_text

    kind = _kind(output, against=against, step=step)
    if output is not None:
        check_writable(output, what=f"--output {output}", read=[source])
    made = run_at(source, run_id, rule=rule)
    others = rule_values(against, option="--against")
    other = Run(under(made.scenario, others, where="--against")) if others else None
    moments = _captions(step)
    words = [
        source,
        *([] if run_id is None else [run_id]),
        *(f"--rule={one}" for one in rule or ()),
    ]
    words += [f"--invariant={invariant}"] if invariant else []
    words += [f"--against={one}" for one in against or ()]
    drawn = replace(
        made.timeline(invariant, against=other),
        title="" if moments else made.title,
        decided=True,
        everything=everything,
        moments=moments,
        command=f"replog draw {command_line([*words, *plugin_arguments()])}",
    )
    if output is None:
        print(_strip(drawn, columns=width()))
    elif kind == ".txt":
        replace_text(output, f"{_strip(drawn, columns=100)}\n")
    else:
        drawn.save(output)
    if output is not None:
        tell(str(output))
    if not drawn.recorded.cut_off:
        return 0
    complain(f"inconclusive: {drawn.recorded.reason}; this is what happened until then")
    return EXIT_INCONCLUSIVE


def _kind(output: Path | None, *, against: object, step: object) -> str:
    """The kind of picture, by the suffix of the file."""
    kind = ".txt" if output is None else output.suffix.lower()
    if kind not in _KINDS:
        raise BadInput(f"--output {output}: expected a name that ends in {', '.join(_KINDS)}")
    if against and kind != ".html":
        raise BadInput("--against: only an HTML page shows two cases; give -o NAME.html")
    if step and kind not in (".svg", ".png"):
        raise BadInput("--step: only pictures show chosen steps; give -o NAME.svg or NAME.png")
    return kind


def _captions(step: list[str] | None) -> dict[int, str]:
    captions = {}
    for text in step or []:
        number, equals, caption = text.partition("=")
        if not equals or not number.isdecimal():
            raise BadInput(f"--step {text}: expected NUMBER=caption")
        captions[int(number)] = caption
    return captions


def _strip(drawn: Timeline, *, columns: int) -> str:
    from sim.diagnose.draw import strip

    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    text = strip(drawn.as_case(), columns, ascii_only=not encoding.startswith("utf"))
    about = drawn.violation
    return text if about is None else f"{about.invariant}: {about.sentence}\n{text}"
