"""The levels of a search in a folder, so that one that was stopped goes on behind them.

A file is a level: how the states of the next one were reached, and what was found so far. States
themselves are not written: whoever goes on takes one move for each and tries no other.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import astuple
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from zipfile import BadZipFile

import numpy as np

from sim.errors import BadInput
from sim.study.explore.search import Found, Level, Parents, Search
from sim.study.sweep.revision import made_by


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
