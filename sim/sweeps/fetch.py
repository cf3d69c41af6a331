"""Bringing a sweep from where it was written to a folder here, where reports read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.json import decode

from sim.errors import BadInput
from sim.sweeps.layout import FINISHED_FILE, LOCK_FILE, PLAN_FILE, STAGING
from sim.sweeps.lock import this_process
from sim.sweeps.manifest import Checked, Finished, checked
from sim.sweeps.output import clear_errors
from sim.sweeps.parts import parts_there
from sim.sweeps.storage import LocalStorage, Storage
from sim.sweeps.whole import State, state_of


def fetch_sweep(source: Storage, out: Path, *, tell: Callable[[int, int], None]) -> int:
    """Copies a finished sweep into a folder here; how many files there were to copy.

    Each file is compared with the checksum that was written with it. One that is here already, as
    after a copy that was interrupted, is not read again. `tell` is told how many of how many files
    are here.

    Raises:
        BadInput: The sweep is not finished or not whole, `out` holds something else, or a file
            changed on its way.
    """
    with clear_errors(source.label):
        state = state_of(source, thorough=False)
        _require_whole(source.label, state)
        files = _files(source)
    target = LocalStorage(out)
    with clear_errors(out), target.lock(this_process()):
        there = set(_names(target))
        foreign = sorted(there - files.keys())
        if foreign:
            raise BadInput(f"{out}: holds {foreign[0]!r}, which is not of this sweep; name another")

        def same(name: str) -> bool:
            return checked(target.read(name)) == files[name]

        wanting = [name for name in files if name not in there or not same(name)]
        for number, name in enumerate(wanting, start=len(files) - len(wanting)):
            tell(number, len(files))
            with clear_errors(source.label):
                content = source.read(name)
            if checked(content) != files[name]:
                raise BadInput(
                    f"{source.label}/{name}: has other content than was written; --resume of the "
                    "sweep mends it"
                )
            target.write(name, content)
        target.remove(STAGING)
        tell(len(files), len(files))
        _require_whole(str(out), state_of(target, thorough=True))
    return len(wanting)


def _require_whole(label: str, state: State) -> None:
    if not state.checked:
        raise BadInput(f"{label}: holds no sweep with checksums to be copied by")
    for name, what in state.damage:
        raise BadInput(f"{label}/{name}: {what}; --resume of the sweep mends it")
    if not state.finished:
        raise BadInput(
            f"{label}: not finished, {state.runs_there:,} of {state.runs:,} runs are there; "
            "--resume of the sweep finishes it"
        )


def _files(source: Storage) -> dict[str, Checked]:
    """The files of a sweep with their checksums, those last that say that the others are there."""
    parts = [part for wave in parts_there(source).waves for part in wave.parts]
    finished = source.read(FINISHED_FILE)
    documents = decode(finished, type=Finished).files
    return {
        **{part.path: Checked(part.size, part.sha256) for part in parts},
        **{name: documents[name] for name in sorted(documents, key=lambda name: name == PLAN_FILE)},
        FINISHED_FILE: checked(finished),
    }


def _names(target: LocalStorage) -> list[str]:
    """The names of all files there, but for what a sweep needs while it is written."""
    found = []
    for name in target.entries():
        if name not in (STAGING, LOCK_FILE):
            found += target.names(name) if (target.root / name).is_dir() else [name]
    return found
