"""Blocks of a level for other processes: states by value, and what every move makes of them.

A process that is given a block thaws its states into tables of its own, which it keeps from block
to block, and answers with states by value. A replica is told by the parts in which it differs from
one at the start, and told once: whoever meets the same bytes again knows the number.
"""

from __future__ import annotations

import io
import multiprocessing
import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from sim.rules import Rules
from sim.schedules.expander import Rows
from sim.schedules.parts import LINEAGE, PLACE
from sim.schedules.search import Level, Search, as_bytes
from sim.schedules.space import Space
from sim.schedules.world import Rest, World

SCHEMA: Final = pa.schema(
    [
        ("hash", pa.binary()),
        ("state", pa.list_(pa.binary())),
        ("parent", pa.binary()),
        ("move", pa.int16()),
        ("order", pa.int8()),
        ("world", pa.int8()),
        ("invariant", pa.string()),
        ("depth", pa.int16()),
        ("ends_with", pa.string()),
        ("transitions", pa.int64()),
    ]
)
"""A state and how it was reached; or, without a hash, what breaks or how many moves there were."""
STATES: Final = 20_000
"""So many states are given to a process at once."""


class Searched(NamedTuple):
    """What is searched: a world under one set of rules, or under two side by side."""

    world: World
    rules: tuple[Rules, ...]

    def search(self) -> Search:
        """A search of it, at its start."""
        return Search(*[Space(self.world, rules) for rules in self.rules])


class _Unpickler(pickle.Unpickler):
    """Knows the classes that values of states are made of, and nothing that does anything else."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        ours = module.partition(".")[0] in ("sim", "builtins", "collections")
        if not ours or not isinstance(found, type):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a state")
        return found


class Values:
    """The states of a space by value: the members and rests of its tables, as bytes and back."""

    def __init__(self, space: Space) -> None:
        """None is told yet."""
        self._space = space
        members = [space.members[number] for number in space.start()[:-1]]
        self._start = {member[PLACE["name"]]: member for member in members}
        self._packed: list[dict[int, bytes]] = [{}, {}]
        self._numbers: list[dict[bytes, int]] = [{}, {}]

    def packed(self, number: int, *, rest: bool) -> bytes:
        """A member or a rest of the space."""
        found = self._packed[rest].get(number)
        if found is None:
            space, told = self._space, {}
            if rest:
                value: Any = tuple(space.rests.values[number])
                uids = space.rests.values[number].committed
            else:
                member = space.members[number]
                at_start = self._start[member[PLACE["name"]]]
                value = {
                    place: space.parts.values[part]
                    for place, part in enumerate(member)
                    if part != at_start[place] or place == PLACE["name"]
                }
                uids = space.parts.values[member[PLACE[LINEAGE]]]
            written = space.judge.history.written
            told = {uid: written[uid].batch for uid in uids if uid in written}
            found = self._packed[rest][number] = pickle.dumps((value, told), 5)
        return found

    def number(self, packed: bytes, *, rest: bool) -> int:
        """The number of a member or a rest that somebody tells."""
        found = self._numbers[rest].get(packed)
        if found is None:
            space = self._space
            value, told = _Unpickler(io.BytesIO(packed)).load()
            history = space.judge.history
            for uid, batch in told.items():
                if uid not in history.written:
                    history.enter(batch)
            if rest:
                found = space.rests.number(Rest(*value))
            else:
                name = space.parts.number(PLACE["name"], value[PLACE["name"]])
                member = list(self._start[name])
                for place, part in value.items():
                    member[place] = space.parts.number(place, part)
                found = space.members.number(tuple(member))
            self._numbers[rest][packed] = found
        return found


class Worker:
    """What a process keeps of a search from block to block."""

    def __init__(self, searched: Searched) -> None:
        """Nothing is met yet."""
        self.search = searched.search()
        self._values = [Values(one.space) for one in self.search.expanders]
        self._width = self.search.n + 1

    def start(self) -> pa.RecordBatch:
        """The state at the start."""
        hashes = self.search.hashes(self.search.rows)
        return self._batch(hashes, self.search.rows, [b""], [-1], [0])

    def expanded(self, block: pa.RecordBatch) -> pa.RecordBatch:
        """What comes of states: those after a move, each once, what breaks, how many moves."""
        given = dict(zip(block["hash"].to_pylist(), block["state"].to_pylist(), strict=True))
        parents = sorted(given)
        rows = np.array([self._row(given[parent]) for parent in parents], np.int32)
        transitions, found, (after, hashes, how) = self.search.expand(rows)
        by = [parents[row] for row in how.rows.tolist()]
        states = self._batch(as_bytes(hashes), after, by, how.moves.tolist(), how.orders.tolist())
        said = [
            {
                "parent": parents[one.row],
                "move": one.move,
                "world": world,
                "invariant": invariant,
                "depth": one.depth,
                "ends_with": one.ends_with,
            }
            for (world, invariant), one in found.items()
        ]
        more = pa.RecordBatch.from_pylist([*said, {"transitions": transitions}], SCHEMA)
        return pa.concat_batches([states, more])

    def _row(self, state: list[bytes]) -> list[int]:
        width = self._width
        numbers = []
        for place, packed in enumerate(state):
            world, column = divmod(place, width)
            if world < len(self._values):
                numbers.append(self._values[world].number(packed, rest=column == width - 1))
            else:
                numbers.append(int.from_bytes(packed, "big"))
        return numbers

    def _batch(
        self,
        hashes: Sequence[bytes],
        rows: Rows,
        parents: list[bytes],
        moves: list[int],
        orders: list[int],
    ) -> pa.RecordBatch:
        columns = []
        for place in range(rows.shape[1]):
            world, column = divmod(place, self._width)
            rest = column == self._width - 1
            numbers = rows[:, place].tolist()
            if world < len(self._values):
                columns.append([self._values[world].packed(one, rest=rest) for one in numbers])
            else:
                columns.append([one.to_bytes(4, "big") for one in numbers])
        states = [list(state) for state in zip(*columns, strict=True)]
        nothing = [None] * len(states)
        given = [hashes, states, parents, moves, orders, *[nothing] * 5]
        return pa.record_batch(
            [pa.array(one, field.type) for one, field in zip(given, SCHEMA, strict=True)], SCHEMA
        )


@cache
def worker(searched: bytes) -> Worker:
    """The worker of this process for what is searched."""
    return Worker(pickle.loads(searched))  # noqa: S301 - it comes from the process that started this


def expanded(searched: bytes, block: pa.RecordBatch) -> pa.RecordBatch:
    """What comes of a block of states, in this process."""
    return worker(searched).expanded(block)


def levels(
    searched: Searched, *, processes: int, states: int = STATES
) -> Iterator[tuple[Level, dict[tuple[int, str], tuple[Any, ...]]]]:
    """A level after the other, expanded by processes; what breaks first, by world and invariant.

    An invariant is told once, at the least depth: with the depth, the move (-1 = none), the hash of
    the state before it and the step that a story ends with.
    """
    spec = pickle.dumps(searched)
    level = pa.Table.from_batches([Worker(searched).start()])
    seen: set[bytes] = set(level["hash"].to_pylist())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        depth = 0
        while level.num_rows:
            states_here = level.num_rows
            size = max(1, min(states, -(-states_here // processes)))
            blocks = level.combine_chunks().to_batches(max_chunksize=size)
            answers = pa.Table.from_batches(pool.map(partial(expanded, spec), blocks), SCHEMA)
            new, transitions = [], 0
            found: dict[tuple[int, str], list[tuple[Any, ...]]] = defaultdict(list)
            plain = answers.drop_columns(["state"]).to_pylist()
            for place, row in enumerate(plain):
                if row["hash"] is None:
                    transitions += row["transitions"] or 0
                    if row["invariant"]:
                        at = (depth + row["depth"], row["move"], row["parent"], row["ends_with"])
                        found[row["world"], row["invariant"]].append(at)
                elif row["hash"] not in seen:
                    seen.add(row["hash"])
                    new.append(place)
            yield Level(depth, states_here, transitions), {k: min(v) for k, v in found.items()}
            level, depth = answers.take(pa.array(new, pa.int64())), depth + 1
