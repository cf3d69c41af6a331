"""`replog sweep check`: whether a folder is what the sweep wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.cli.arguments import Command, Json, place
from sim.cli.output import (
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    complain,
    print_json,
    tell,
)
from sim.cli.signatures import Argument
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
    if as_json:
        print_json(_document(folder, state))
    else:
        for name, what in state.damage:
            tell(f"{folder}/{name}: {what}")
        tell(f"{folder}: {_verdict(state)}")
    return 0 if _is_whole(state) else EXIT_FAILED


def _is_whole(state: State) -> bool:
    return state.finished and not state.damage


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


def _document(folder: Path | str, state: State) -> dict[str, object]:
    return {
        "folder": str(folder),
        "whole": _is_whole(state),
        "finished": state.finished,
        "runs": state.shape.runs,
        "runs_there": state.runs_there,
        "blocks": len(state.blocks),
        "damage": [found._asdict() for found in state.damage],
    }


COMMANDS = {"sweep check": Command(check, has_bounds=False, has_plugins=False)}
