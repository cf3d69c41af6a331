"""Searches in this process, level by level, with their levels in a folder.

A file of the folder is a level: how the states of the next one were reached, and what was found so
far. States themselves are not written: a resumed search takes one move for each of them and tries
no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np

from sim.bounds import BoundReached, uninterrupted
from sim.errors import BadInput
from sim.study.explore.search import FirstBreak, Level, Parents, Search, Searched
from sim.study.explore.witness import Break, Breaks, schedule_of
from sim.version import made_by


class Reached(NamedTuple):
    """A finished level of a search.

    Attributes:
        level: Its counts; None if the search was stopped within it.
        breaks: Schedules of the invariants that break first in it; the first level of a resumed
            search has those of all levels in the folder.
        frontier: Number of states in the next level, or in the one in which the search was stopped.
        resumed: True for the last level that an earlier search left in the folder.
    """

    level: Level | None
    breaks: Breaks
    frontier: int
    resumed: bool = False


Engine = Callable[[Searched, int | None, Sequence[str]], Iterator[Reached]]
"""Yields the levels of a search up to a depth, for some invariants."""


def in_this_process(
    searched: Searched,
    depth: int | None,
    invariants: Sequence[str],
    *,
    keep: Path | None = None,
) -> Iterator[Reached]:
    """The `Engine` of this process. It keeps levels below the folder `keep` until it is done."""
    search = searched.search()
    search.only(invariants)
    folder = None if keep is None else KeptLevels(keep, (searched, depth, sorted(invariants)))
    if folder is not None:
        folder.take_up(search)
    reported: set[tuple[int, str]] = set()

    def reached(level: Level | None, frontier: int, *, resumed: bool = False) -> Reached:
        new = {
            key: Break(one.depth, schedule_of(search, one), one.ends_with)
            for key, one in search.found.items()
            if key not in reported
        }
        reported.update(new)
        return Reached(level, new, frontier, resumed)

    there = [*search.done]
    for level, after in zip_longest(there, there[1:]):
        frontier = len(search.rows) if after is None else after.states
        yield reached(level, frontier, resumed=after is None)
    try:
        for level in search.levels(depth):
            if folder is not None:
                if search.exhausted or level.depth == depth:
                    folder.remove()
                else:
                    folder.write(search)
            yield reached(level, len(search.rows))
    except (KeyboardInterrupt, BoundReached):
        yield reached(None, len(search.rows))
        raise


def name_of(searched: object) -> str:
    """The name of the folder of a search's levels: a hash of its parameters and of the version.

    So levels that another version of Replog made are of another search.
    """
    return blake2b(repr((searched, made_by())).encode(), digest_size=8).hexdigest()


class KeptLevels:
    """The folder with the levels of one search."""

    def __init__(self, folder: Path, searched: object) -> None:
        """Names a folder below `folder` after the search."""
        self._folder = folder / name_of(searched)

    def take_up(self, search: Search) -> None:
        """Resumes a search that is at its start after the last level in the folder.

        Raises:
            BadInput: A file there is damaged, or of another search.
        """
        for path in sorted(self._folder.glob("*.npz")):
            try:
                with path.open("rb") as file, np.load(file) as level:
                    kept = json.loads(str(level["told"]))
                    how = Parents(*(level[name] for name in ("rows", "moves", "orders")))
                search.take_up(Level(*kept["level"]), how)
            except (OSError, ValueError, KeyError, TypeError, IndexError, BadZipFile) as error:
                why = f"cannot be gone on with: {error}; remove {self._folder} to begin anew"
                raise BadInput(f"{path}: {why}") from error
            search.remember({(world, name): FirstBreak(*one) for world, name, one in kept["found"]})

    def write(self, search: Search) -> None:
        """Adds the level that a search has just finished."""
        how = search.parents[-1]
        found = [[*key, tuple(one)] for key, one in search.found.items()]
        kept = json.dumps({"level": search.done[-1], "found": found})
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(search.done) - 1:03}.npz"
        draft = path.with_suffix(".draft")
        with uninterrupted(), draft.open("wb") as file:
            np.savez(file, told=kept, rows=how.rows, moves=how.moves, orders=how.orders)
        draft.replace(path)

    def remove(self) -> None:
        """Removes the levels of a finished search."""
        rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):  # that of another search is there
            self._folder.parent.rmdir()
