"""`replog sweep check`: whether a folder is what the sweep wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.cli.arguments import Argument, Json, place
from sim.cli.output import EXIT_FAILED, EXIT_INCONCLUSIVE, complain, print_answer, tell
from sim.errors import BadInput

if TYPE_CHECKING:
    from sim.sweeps.table import State


def check(folder: Annotated[Path | str, Argument(place, "DIR")], *, as_json: Json = False) -> int:
    """Compare a sweep's folder with its plan: every run once, in files that can be read.

    Status 0: it is whole. 1: something is missing, damaged, doubled or foreign, or the sweep was
    not finished; --resume of the sweep mends both. 3: there is no table to check.

    Args:
        folder: A sweep's folder.
    """
    from sim.sweeps.storage import require_here
    from sim.sweeps.table import has_table, state_of

    out = require_here(folder, what="check")
    state = state_of(out, thorough=True)
    if not has_table(out):
        return _nothing_to_check(out, finished=state.finished)
    whole = state.finished and not state.damage
    document = {
        "folder": str(folder),
        "whole": whole,
        "finished": state.finished,
        "runs": state.shape.runs,
        "runs_there": state.runs_there,
        "blocks": len(state.blocks),
        "damage": [found._asdict() for found in state.damage],
    }

    def show() -> None:
        for name, what in state.damage:
            tell(f"{folder}/{name}: {what}")
        tell(f"{folder}: {_verdict(state)}")

    return print_answer(as_json, document, show, status=0 if whole else EXIT_FAILED)


def _nothing_to_check(out: Path, *, finished: bool) -> int:
    if not finished:
        raise BadInput(f"{out}: a plan, and no table of runs; replog sweep makes them")
    complain(f"{out}: cannot be checked: there are the documents of a sweep, and no table")
    return EXIT_INCONCLUSIVE


def _verdict(state: State) -> str:
    there = f"{state.runs_there:,} of {state.shape.runs:,} runs in {len(state.blocks):,} blocks"
    if state.damage:
        return f"damaged, {len(state.damage):,} found; --resume of the sweep mends it"
    if not state.finished:
        return f"not finished, {there} are there and whole; --resume of the sweep finishes it"
    return f"whole, {there}"
