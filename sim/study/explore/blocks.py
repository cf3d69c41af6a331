"""Levels of a search in blocks: for other processes, and in a folder from which a search goes on.

Who is given a block follows its schedules in tables of its own, which it keeps from block to block,
and answers with longer ones; each comes with the hash of its state, which is the same everywhere.

A file is a level: how the states of the next one were reached, and what was found so far. States
themselves are not written: whoever goes on takes one move for each and tries no other.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import astuple
from functools import cache
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa

from sim.errors import BadInput
from sim.study.explore.search import NO_MOVE, Found, Level, Parents, Search, Searched, as_bytes
from sim.study.sweep.revision import made_by

SCHEMA: Final = pa.schema(
    [
        ("hash", pa.binary()),
        ("schedule", pa.list_(pa.int16())),
        ("world", pa.int8()),
        ("invariant", pa.string()),
        ("depth", pa.int16()),
        ("ends_with", pa.string()),
        ("transitions", pa.int64()),
    ]
)
"""A state: its hash, and each move of its schedule with the order that renames replicas after it.

Without a hash: what breaks after a schedule, or how many transitions there were.
"""
Breaks = dict[tuple[int, str], tuple[int, tuple[int, ...], str]]
"""By world and invariant: the depth, the schedule, the step after it by which it is judged."""


@cache
def _search(searched: bytes) -> Search:
    """The search of this process."""
    what: Searched = pickle.loads(searched)  # noqa: S301 - from the process that started this one
    return what.search()


def beginning(searched: Searched) -> pa.RecordBatch:
    """The state at the start."""
    search = searched.search()
    return _states(search.hashes(search.rows), [[]])


def expanded(searched: bytes, block: pa.RecordBatch) -> pa.RecordBatch:
    """What comes of states: those after a move, each once, what breaks, how many transitions."""
    search = _search(searched)
    schedules = sorted(block["schedule"].to_pylist())
    transitions, found, (_, hashes, how) = search.expand(search.follow(np.array(schedules)))
    longer = [
        [*schedules[row], move, order]
        for row, move, order in zip(
            how.rows.tolist(), how.moves.tolist(), how.orders.tolist(), strict=True
        )
    ]
    said: list[dict[str, Any]] = [
        {
            "schedule": schedules[one.row] + ([one.move, 0] if one.move != NO_MOVE else []),
            "world": world,
            "invariant": invariant,
            "depth": one.depth,
            "ends_with": one.ends_with,
        }
        for (world, invariant), one in found.items()
    ]
    more = pa.RecordBatch.from_pylist([*said, {"transitions": transitions}], SCHEMA)
    return pa.concat_batches([_states(as_bytes(hashes), longer), more])


def _states(hashes: list[bytes], schedules: list[list[int]]) -> pa.RecordBatch:
    rows = zip(hashes, schedules, strict=True)
    return pa.RecordBatch.from_pylist(
        [{"hash": one, "schedule": schedule} for one, schedule in rows], SCHEMA
    )


def breaks_of(rows: list[dict[str, Any]], depth: int) -> Breaks:
    """What breaks first, of what was said of a level."""
    found: Breaks = {}
    for row in rows:
        at = (depth + row["depth"], tuple(row["schedule"]), row["ends_with"])
        key = row["world"], row["invariant"]
        found[key] = min(at, found.get(key, at))
    return found


def expand_blocks(searched: bytes, blocks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What comes of blocks of states, one after the other."""
    for block in blocks:
        yield expanded(searched, block)


def name_of(searched: object) -> str:
    """What the folder of the levels of a search is called, by how the search is written.

    Levels that another version of Replog made are of another search.
    """
    return blake2b(repr((searched, made_by())).encode(), digest_size=8).hexdigest()


class Kept:
    """The levels of one search."""

    def __init__(self, folder: Path, searched: object) -> None:
        """Below a folder; `searched` says which search it is, by how it is written."""
        self._folder = folder / name_of(searched)

    def take_up(self, search: Search) -> None:
        """Bring a search that is at its start to where it was stopped.

        Raises:
            BadInput: A file there is damaged, or of another search.
        """
        for path in sorted(self._folder.glob("*.npz")):
            try:
                with path.open("rb") as file, np.load(file) as level:
                    told = json.loads(str(level["told"]))
                    how = Parents(*(level[name] for name in ("rows", "moves", "orders")))
                search.take_up(Level(*told["level"]), how)
            except (OSError, ValueError, KeyError, TypeError, IndexError, BadZipFile) as error:
                why = f"cannot be gone on with: {error}; remove {self._folder} to begin anew"
                raise BadInput(f"{path}: {why}") from error
            search.remember({(world, name): Found(*one) for world, name, one in told["found"]})

    def write(self, search: Search) -> None:
        """Add the level that a search has just been through."""
        result, how = search.result, search.parents[-1]
        found = [[*key, astuple(one)] for key, one in result.found.items()]
        told = json.dumps({"level": result.levels[-1], "found": found})
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(result.levels) - 1:03}.npz"
        draft = path.with_suffix(".draft")
        with draft.open("wb") as file:
            np.savez(file, told=told, rows=how.rows, moves=how.moves, orders=how.orders)
        draft.replace(path)

    def remove(self) -> None:
        """The search is done: nobody goes on with it."""
        rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):  # that of another search is there
            self._folder.parent.rmdir()
