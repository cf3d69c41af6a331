"""`replog phases`: how likely a failure is over the quantities that decide it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.cli.arguments import Argument, Json, Number
from sim.cli.output import LINE_EVERY_S, StatusLine, print_answer, print_table, tell
from sim.errors import BadInput, did_you_mean
from sim.foreign import shell
from sim.foreign.documents import json_text
from sim.limits import SEED as SEEDS

if TYPE_CHECKING:
    from sim.studies.phases.question import Found

CASES = 100
SEED = 5_280
"""Not one that was looked at while the diagrams were designed."""
PAGE, DOCUMENT = "phases.md", "phases.json"


def phases(
    names: Annotated[list[str], Argument(metavar="NAME")],
    *,
    cases: Annotated[int, Argument(Number(1, 100_000), "N")] = CASES,
    seed: Annotated[int, Argument(Number(0, limit=SEEDS), "N")] = SEED,
    out: Annotated[Path | None, Argument(metavar="DIR")] = None,
    as_json: Json = False,
) -> int:
    """Say how often a failure happens over the two or three quantities that decide it.

    A deleted key that returns by outage and cleaner period, a late write that outlives its delete
    by lateness, an offset given twice by rolls, pause and outage, a record that waits longer than
    KIP-354 says by disorder. Everything else is held still.

    Args:
        names: Diagrams to make (default: all there are).
        cases: Cases in each cell.
        seed: Seed.
        out: Write phases.md, phases.json and a figure for each into this folder.
    """
    from sim.studies.phases import QUESTIONS, page
    from sim.studies.phases.question import measure
    from sim.sweeps.runs_progress import progress_of

    for name in names:
        if name not in QUESTIONS:
            hint = did_you_mean(name, list(QUESTIONS))
            raise BadInput(f"no such diagram: {name}{hint}; there are {', '.join(QUESTIONS)}")
    if out is not None and not out.is_dir():
        raise BadInput(f"--out {out}: no such folder")
    words = ["replog", "phases", *names, "--cases", str(cases), "--seed", str(seed)]
    command = shell.command([*words, "--out", out])
    asked = [QUESTIONS[name] for name in dict.fromkeys(names or QUESTIONS)]
    found: list[Found] = []
    total = cases * sum(len(question.points) for question in asked)
    with StatusLine(lines_every_s=LINE_EVERY_S) as line:
        report = progress_of(line, total=total)
        for question in asked:
            before = sum(cases * len(one.question.points) for one in found)

            def told(done: int, before: int = before) -> None:
                report(before + done)

            found.append(measure(question, cases=cases, seed=seed, report=told))
            if out is not None:  # after each, so that Ctrl-C keeps what is finished
                _write(out, found, command=command)

    def show() -> None:
        for one in found:
            _show(one)
        if out is not None:
            tell(str(out / PAGE))

    return print_answer(as_json, page.as_document(found), show)


def _write(out: Path, found: Sequence[Found], *, command: str) -> None:
    from sim.files.atomic import replace_text
    from sim.studies.phases import page
    from sim.studies.phases.figure import phase_figure

    files = {f"phases_{one.question.name}.svg": phase_figure(one) for one in found[-1:]}
    files[DOCUMENT] = json_text(page.as_document(found), indent=2) + "\n"
    files[PAGE] = page.as_markdown(found, command=command)
    for name, text in files.items():
        replace_text(out / name, text)


def _show(found: Found) -> None:
    from sim.studies.phases import page
    from sim.studies.phases.figure import share_in_words

    question = found.question
    print(f"{question.title}: share of {question.rate_of}. {page.answer(found)}")
    for title, panel in found.panels.items():
        if title:
            print(title)
        print(f"across: {question.columns.title}")
        print_table(
            found.table(panel, question.rows.title, partial(share_in_words, cases=found.cases))
        )
        print()
