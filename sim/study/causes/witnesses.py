"""The witnesses of a sweep's causes, one each, made in several processes and kept in its folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import as_completed
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec

from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.reading import read_json, read_text
from sim.plugins import Plugins, in_use, load_in_worker
from sim.study.causes.grouping import TRIES, Cause, Causes, Witness, make_witness
from sim.study.sweep.folder import clear_errors, write_json
from sim.study.workers import pool_of
from sim.version import __version__

WITNESSES: Final = "witnesses"
"""Name of the folder of witnesses in the folder of a sweep."""
PROCESSES: Final = 2
NAME_LENGTH_MAX: Final = 60


OnWitness = Callable[[int, int, Cause], None]
"""Called with the number of witnesses made, the number of all, and the cause of the last one."""


def add_witnesses(
    causes: Causes, *, on_witness: OnWitness | None = None, kept_only: bool = False
) -> Causes:
    """Adds to each cause its witness, where one is found.

    A witness is kept in the folder of the sweep and made again only for another run, cause, number
    of tries or version of Replog. Its cost is limited by tries, not by seconds: the same sweep has
    the same witnesses.

    Args:
        causes: The causes of a sweep.
        on_witness: Called after every witness that is made.
        kept_only: True to make none and add only those that are kept already.

    Raises:
        BadInput: The folder cannot be written.
    """
    found: dict[str, Witness | None] = {}
    for cause in causes.causes:
        with suppress(BadInput, OSError, LookupError, TypeError, msgspec.ValidationError):
            found |= _kept(causes.folder, cause)
    missing = [cause for cause in causes.causes if cause.text not in found]
    if missing and not kept_only:
        with clear_errors(causes.folder):
            (causes.folder / WITNESSES).mkdir(exist_ok=True)
        found |= _made(causes.folder, missing, on_witness)
    return replace(
        causes,
        causes=tuple(replace(each, witness=found.get(each.text)) for each in causes.causes),
    )


def _made(
    out: Path, causes: list[Cause], on_witness: OnWitness | None
) -> dict[str, Witness | None]:
    made: dict[str, Witness | None] = {}
    for cause, witness in _witnesses(out, causes):
        made[cause.text] = witness
        _keep(out, cause, witness)
        if on_witness is not None:
            on_witness(len(made), len(causes), cause)
    return made


def _witnesses(out: Path, causes: list[Cause]) -> Iterator[tuple[Cause, Witness | None]]:
    """Yields each cause with its witness when that is made; a single one in this process."""
    if len(causes) == 1:
        yield causes[0], _witness(in_use(), out, causes[0])
        return
    with pool_of(PROCESSES) as pool:
        futures = {pool.submit(_witness, in_use(), out, cause): cause for cause in causes}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _witness(plugins: Plugins, out: Path, cause: Cause) -> Witness | None:
    load_in_worker(plugins)
    return make_witness(out, cause.example.run_id, cause.text, _file(out, cause))


def _file(out: Path, cause: Cause) -> Path:
    """The path of a witness, with words of its cause and a hash of it."""
    words = re.sub(r"[^a-z0-9]+", "_", cause.text.lower()).strip("_")[:NAME_LENGTH_MAX]
    mark = blake2b(cause.text.encode(), digest_size=3).hexdigest()
    return out / WITNESSES / f"{words}_{mark}.yaml"


def _about(cause: Cause) -> dict[str, Any]:
    """The origin of a witness; one that is kept from another origin is made again."""
    return {
        "cause": cause.text,
        "run_id": cause.example.run_id,
        "tries": TRIES,
        "package_version": __version__,
    }


def _keep(out: Path, cause: Cause, witness: Witness | None) -> None:
    """Writes a witness, or the note that none was found."""
    file = _file(out, cause)
    with clear_errors(out):
        if witness is not None:
            replace_text(file, witness.text)
        content = None if witness is None else witness.as_json()
        write_json(file.with_suffix(".json"), {"about": _about(cause), "witness": content})


def _kept(out: Path, cause: Cause) -> dict[str, Witness | None]:
    """Reads the kept witness of a cause; empty when none is kept, or one of another origin.

    Raises BadInput, OSError, LookupError, TypeError or ValidationError for a damaged file.
    """
    file = _file(out, cause)
    content = read_json(file.with_suffix(".json")).data
    if content["about"] != _about(cause):
        return {}
    kept = content["witness"]
    if kept is not None:
        kept = {**kept, "file": file, "text": read_text(file)}
    witness = msgspec.convert(kept, Witness | None, dec_hook=lambda kind, value: kind(value))
    return {cause.text: witness}
