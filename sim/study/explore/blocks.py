"""Levels of a search in blocks, for other processes.

A worker follows the schedules of a block in tables of its own, which it keeps from block to block,
and returns longer ones, each with the hash of its state, which is the same in every process.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sim.study.explore.search import NO_MOVE, Search, Searched, as_bytes

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

A row without a hash has what breaks after a schedule, or a number of transitions.
"""
Schedules = dict[tuple[int, str], tuple[int, tuple[int, ...], str]]
"""By world and invariant: the depth, the schedule, the step after it by which it is judged."""


@cache
def _search(searched: bytes) -> Search:
    """The search that this process keeps."""
    what: Searched = pickle.loads(searched)  # noqa: S301 - from the process that started this one
    return what.search()


def beginning(searched: Searched) -> pa.RecordBatch:
    """The state at the start."""
    search = searched.search()
    return _states(search.hashes(search.rows), [[]])


def expanded(searched: bytes, block: pa.RecordBatch) -> pa.RecordBatch:
    """Expands states: the states after a move, each once, with what breaks and the transitions."""
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


def breaks_of(rows: list[dict[str, Any]], depth: int) -> Schedules:
    """The first schedule that breaks each invariant, from the rows of a level."""
    found: Schedules = {}
    for row in rows:
        at = (depth + row["depth"], tuple(row["schedule"]), row["ends_with"])
        key = row["world"], row["invariant"]
        found[key] = min(at, found.get(key, at))
    return found


def expand_blocks(searched: bytes, blocks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Expands blocks of states, one after the other."""
    for block in blocks:
        yield expanded(searched, block)
