"""`replog sweep check`: whether a folder is what the sweep wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sim.cli.arguments import Command, Parser, place, take_json
from sim.cli.output import (
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    complain,
    print_json,
    tell,
)
from sim.errors import BadInput

if TYPE_CHECKING:
    from sim.sweeps.storage import Storage
    from sim.sweeps.whole import State


def _check_takes(parser: Parser) -> None:
    parser.add_argument(
        "folder", type=place, metavar="DIR", help="A sweep's folder, or its address."
    )
    take_json(parser)


def check(folder: Path | str, *, as_json: bool) -> int:
    """Compare a sweep's folder with what the sweep wrote: names, rows, sizes, checksums.

    Status 0: it is whole. 1: something is missing, changed or foreign, or the sweep was not
    finished; --resume of the sweep mends both. 3: a folder of the first format has no checksums.
    """
    from sim.sweeps.output import clear_errors
    from sim.sweeps.places import storage_at
    from sim.sweeps.whole import state_of

    with storage_at(folder) as storage, clear_errors(folder):
        state = state_of(storage, thorough=True)
        if not state.checked:
            complain(_not_checked(storage, finished=state.finished))
            return EXIT_INCONCLUSIVE
    if as_json:
        print_json(_document(folder, state))
    else:
        for name, what in state.damage:
            tell(f"{folder}/{name}: {what}")
        tell(f"{folder}: {_verdict(state)}")
    return 0 if _is_whole(state) else EXIT_FAILED


def _is_whole(state: State) -> bool:
    return state.finished and not state.damage


def _not_checked(storage: Storage, *, finished: bool) -> str:
    from sim.sweeps.parts import UNCHECKED_FORMAT, plan_content

    folder = storage.label
    if plan_content(storage)["format"] == UNCHECKED_FORMAT:
        why = f"its format, {UNCHECKED_FORMAT}, has no checksums"
    elif finished:
        why = "there are the documents of a sweep, and no tables"
    else:
        raise BadInput(f"{folder}: a plan, and no table of runs; replog sweep makes them")
    return f"{folder}: cannot be checked: {why}"


def _verdict(state: State) -> str:
    there = f"{state.runs_there:,} of {state.runs:,} runs in {state.waves:,} waves"
    if state.damage:
        return f"damaged, {len(state.damage):,} found; --resume of the sweep mends it"
    if not state.finished:
        return f"not finished, {there} are there and whole; --resume of the sweep finishes it"
    return f"whole, {there}; all checksums are those that were written"


def _document(folder: Path | str, state: State) -> dict[str, object]:
    return {
        "folder": str(folder),
        "whole": _is_whole(state),
        "finished": state.finished,
        "runs": state.runs,
        "runs_there": state.runs_there,
        "waves": state.waves,
        "damage": [found._asdict() for found in state.damage],
    }


COMMANDS = {
    "sweep check": Command(check, _check_takes),
}
