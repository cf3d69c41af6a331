"""`replog causes`: why the runs of a sweep fail, grouped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sim.cli.arguments import Folder, Json, plugin_arguments
from sim.cli.output import print_answer, print_table, tell, width
from sim.files.foreign import shell
from sim.files.foreign.lines import one_line

if TYPE_CHECKING:
    from sim.study.causes import Cause, Causes

WIDTH_MAX = 100
"""Columns that sentences fill at most."""
LISTED_MAX = 6
"""Most rule sets that are listed for each cause; with more, those with the most runs."""


def causes(folder: Folder, *, shrink: bool = False, as_json: Json = False) -> int:
    """Why the runs of a sweep fail: grouped by cause, each with an example and a known story.

    A cause is a family of invariants and the mechanism that broke one, read from the events of each
    run. Exit status 0: told, whatever there is to tell; 2: no such sweep.

    Args:
        shrink: Also shrink one run of each cause; the witnesses are kept in DIR/witnesses.
    """
    from sim.study.causes import add_witnesses, causes_of

    found = causes_of(folder)
    found = add_witnesses(found, told=tell_witness, kept_only=not shrink)
    return print_answer(as_json, found.as_json(), partial(_show, found))


def tell_witness(done: int, causes: int, cause: Cause) -> None:
    """A line for each witness that was made."""
    tell(f"witness {done} of {causes}: {cause.text}", sys.stderr)


def _show(found: Causes) -> None:
    tell(found.text)
    for number, cause in enumerate(found.causes, 1):
        print()
        tell(f"{number}. {cause.text}")
        first = ", ".join(f"{name} {runs:,}" for name, runs in cause.invariants.items())
        print(*_wrapped(f"first violated: {first}"), sep="\n")
        print_table(list(_shares(cause)))
        print(*map(one_line, _facts(found, cause)), sep="\n")


def _shares(cause: Cause) -> Iterator[dict[str, str]]:
    """Where it was met, most runs first."""
    from sim.study.sweep.wording import shares

    met = sorted((share for share in cause.shares if share.runs), key=lambda one: -one.runs)
    for share in met[:LISTED_MAX]:
        interval = "-" if share.interval is None else shares(share.interval)
        yield {
            "   rule set": f"   {share.label}",
            "environment": share.environment,
            "runs": f"{share.runs:,} of {share.judged:,}",
            "95 %": interval,
        }
    if met[LISTED_MAX:]:
        runs = sum(share.runs for share in met[LISTED_MAX:])
        others = f"   and {len(met) - LISTED_MAX} more"
        yield {"   rule set": others, "environment": "", "runs": f"{runs:,}", "95 %": ""}


def _facts(found: Causes, cause: Cause) -> Iterator[str]:
    from sim.study.causes import NOT_KNOWN

    example, story, witness = cause.example, cause.story, cause.witness
    words = shell.command([found.folder, str(example.run_id), *plugin_arguments()])
    yield from _wrapped(f"earliest: after {example.at_ms:,} ms: {example.sentence}")
    yield f"     replog run {words}"
    if story is None:
        yield f"   {NOT_KNOWN}"
    else:
        yield f"   known: {story.path} ({story.size})"
    if witness is not None:
        cut = "" if witness.complete else "; the tries ran out"
        yield f"   witness: {witness.size} (the run had {witness.run_events:,}){cut}"
        yield f"     replog run {shell.command([witness.file, *plugin_arguments()])}"


def _wrapped(text: str) -> list[str]:
    """A sentence in lines of a screen."""
    from textwrap import wrap

    return wrap(
        text,
        min(width(), WIDTH_MAX),
        initial_indent="   ",
        subsequent_indent="     ",
        break_long_words=False,
        break_on_hyphens=False,
    )
