"""A search on Spark: each level is a table, for worlds that do not fit one machine.

A level is a table of the states that no shorter schedule leads to: the hash of each, of 128 bits,
and its schedule. Executors follow and lengthen schedules; the answers are written as a table, and
the states in it that no level has yet are the next level. A table is complete once Spark has
written `_SUCCESS` in its folder: a stopped search resumes after it, and a task whose worker dies
runs again. The driver sees counts and what breaks first.

A worker follows the schedules of a block in tables of its own, which it keeps from block to block,
and returns longer ones, each with the hash of its state, which is the same in every process.

Every level costs Spark a second or two, and each move of a schedule a look-up: one process is
faster as long as its memory and its time are enough.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from shutil import rmtree
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from sim.plugins import in_use, load_in_worker
from sim.study.explore.levels import Engine, Reached, name_of
from sim.study.explore.search import NO_MOVE, Level, Search, Searched, as_bytes
from sim.study.explore.witness import Break, named_moves
from sim.study.sweep.spark import spark_session

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

A row without a hash has what breaks after a schedule, with `depth` 1 if the last move breaks it and
0 if the state does; or it has a number of transitions.
"""
Schedules = dict[tuple[int, str], tuple[int, tuple[int, ...], str]]
"""World and invariant -> the depth, the schedule, and the step that judges it; empty for none."""


def packed(searched: Searched) -> bytes:
    """A search for workers, with the plugins that they load first."""
    return pickle.dumps((in_use(), searched))


@lru_cache(maxsize=1)
def _search(work: bytes) -> Search:
    """The search that this process keeps, from what `packed` returned."""
    plugins, searched = pickle.loads(work)  # noqa: S301 - from the process that started this one
    load_in_worker(plugins)
    found: Search = searched.search()
    return found


def beginning(searched: Searched) -> pa.RecordBatch:
    """The state at the start."""
    search = searched.search()
    return _states(search.hashes(search.rows), [[]])


def expanded(work: bytes, block: pa.RecordBatch) -> pa.RecordBatch:
    """Expands states: the states after a move, each once, with what breaks and the transitions."""
    search = _search(work)
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
    """The first schedule that breaks each invariant, from the rows without hash of a level."""
    found: Schedules = {}
    for row in rows:
        at = (depth + row["depth"], tuple(row["schedule"]), row["ends_with"])
        key = row["world"], row["invariant"]
        found[key] = min(at, found.get(key, at))
    return found


def expand_blocks(work: bytes, blocks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Expands blocks of states, one after the other."""
    for block in blocks:
        yield expanded(work, block)


@contextmanager
def on_spark(
    folder: str, *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Engine]:
    """An engine that searches on a session of Spark's, with levels below a folder or an address.

    `master` and `settings` are for `spark_session`, which raises BadInput.
    """
    with spark_session(master=master, settings=settings) as session:
        yield lambda searched, *rest: SparkSearch(session, searched, folder).levels(*rest)


def _break(search: Search, depth: int, schedule: Sequence[int], ends_with: str) -> Break:
    taken = list(zip(schedule[::2], schedule[1::2], strict=True))
    return Break(depth, named_moves(search, taken), ends_with)


class SparkSearch:
    """A search whose levels are tables below a folder or an address."""

    def __init__(self, session: SparkSession, searched: Searched, folder: str) -> None:
        """Starts a search on a session.

        Its tables are below `folder`, any address that Spark writes to, by world and rules.
        """
        self._session, self._searched = session, searched
        self._above, self._name = folder.rstrip("/"), name_of(searched)
        self._schema = from_arrow_schema(SCHEMA)

    def levels(self, depth: int | None, invariants: Collection[str]) -> Iterator[Reached]:
        """Yields each level up to and including `depth`, first those of an earlier search."""
        if not self._is_there("level", 0):
            start = beginning(self._searched).to_pylist()
            self._write(self._session.createDataFrame(start, self._schema), "level", 0)
        search, reported = self._searched.search(), set[tuple[int, str]]()
        at, states = 0, 1
        while states and (depth is None or at <= depth):
            resumed = self._is_there("level", at + 1) and not self._is_there("level", at + 2)
            self._make(at)
            said = self._read("answers", at).where("hash is null")
            transitions = said.agg(f.sum("transitions")).collect()[0][0]
            rows = [row.asDict() for row in said.where("invariant is not null").collect()]
            broken = {
                key: _break(search, *one)
                for key, one in breaks_of(rows, at).items()
                if key[1] in invariants and key not in reported
            }
            reported.update(broken)
            frontier = self._read("level", at + 1).count()
            if not frontier or at == depth:
                self.remove()
            yield Reached(Level(at, states, transitions), broken, frontier, resumed)
            at, states = at + 1, frontier

    def _make(self, depth: int) -> None:
        """Writes the answers of a level and the level after it, unless they exist."""
        if not self._is_there("answers", depth):
            expanding = partial(expand_blocks, packed(self._searched))
            longer = self._read("level", depth).mapInArrow(expanding, self._schema)
            self._write(longer, "answers", depth)
        if not self._is_there("level", depth + 1):
            self._write(self._new(depth), "level", depth + 1)

    def _new(self, depth: int) -> DataFrame:
        """The states that a level leads to and no level has, each with the least schedule."""
        reached = self._read("answers", depth).where("hash is not null")
        seen = self._read("level", 0).select("hash")
        for level in range(1, depth + 1):
            seen = seen.unionAll(self._read("level", level).select("hash"))
        once = reached.groupBy("hash").agg(f.min("schedule").alias("schedule"))
        rest = [f.lit(None).cast(one.dataType).alias(one.name) for one in self._schema.fields[2:]]
        return once.join(seen, "hash", "left_anti").select("hash", "schedule", *rest)

    def _path(self, what: str, depth: int) -> str:
        return f"{self._above}/{self._name}/{what}-{depth:03}"

    def remove(self) -> None:
        """Removes the levels of a finished search from a folder; at an address they stay."""
        if "://" not in self._above:
            rmtree(f"{self._above}/{self._name}", ignore_errors=True)

    def _is_there(self, what: str, depth: int) -> bool:
        """Returns True if Spark finished a table: it refuses to read a missing file."""
        try:
            self._session.read.text(f"{self._path(what, depth)}/_SUCCESS")
        except AnalysisException:
            return False
        return True

    def _read(self, what: str, depth: int) -> DataFrame:
        return self._session.read.schema(self._schema).parquet(self._path(what, depth))

    def _write(self, table: DataFrame, what: str, depth: int) -> None:
        table.write.mode("overwrite").parquet(self._path(what, depth))
