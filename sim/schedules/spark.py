"""A search on Spark, for worlds that do not fit one machine.

A level is a table: the states that no shorter schedule leads to, by value, each with its hash of
128 bits and how it was reached. Executors expand it; what comes of it is written, and the states of
it that no earlier level has are the next level. Both are there once Spark has written `_SUCCESS`
beside them: a search that was stopped goes on behind what is there, and a task whose worker dies
runs anew. The driver sees counts, what breaks first, and the way to it.

When it wins. Measured on a world of 200,000 states, a state by value costs 1.9 times the processor
time of one that stays in its process. On a busy machine a level cost 2 to 4 s besides: a search of
36,000 states took 78 s on two cores of Spark, 15 s on two processes and 4 s on one. A state took
130 to 300 B of Parquet, since replicas repeat in its dictionaries (2.7 KB in Arrow). From that
follows, which was not measured, that more than four cores are needed to be faster than one process,
and that Spark is for worlds whose states and hashes do not fit the memory of one machine.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from sim.schedules.blocks import SCHEMA, Searched, Worker, expanded
from sim.schedules.search import Level
from sim.sweeps.engines.hadoop import HadoopFolder

COLUMNS = ("hash", "state", "parent", "move", "order")


class SparkSearch:
    """A search whose levels are tables below a folder."""

    def __init__(self, session: SparkSession, searched: Searched, folder: str) -> None:
        """Search on a session.

        Below `folder`, any address that Spark writes to, is one for each world and its rules.
        """
        self._session, self._searched = session, searched
        name = blake2b(repr(searched).encode(), digest_size=8).hexdigest()
        self._folder = f"{folder.rstrip('/')}/{name}"
        self._spec = pickle.dumps(searched)
        self._schema = from_arrow_schema(SCHEMA)

    def levels(self) -> Iterator[tuple[Level, dict[tuple[int, str], tuple[Any, ...]]]]:
        """As `blocks.levels`: those that are there, and those that come next."""
        if not self._is_there("level", 0):
            start = Worker(self._searched).start().to_pylist()
            self._write(self._session.createDataFrame(start, self._schema), "level", 0)
        depth = 0
        while states := self._read("level", depth).count():
            if not self._is_there("answers", depth):
                given = self._read("level", depth).select("hash", "state")
                self._write(
                    given.mapInArrow(_expanding(self._spec), self._schema), "answers", depth
                )
            if not self._is_there("level", depth + 1):
                self._write(self._new(depth), "level", depth + 1)
            told = self._read("answers", depth).where("hash is null")
            transitions = told.agg(f.sum("transitions")).first()
            yield (
                Level(depth, states, transitions[0] if transitions else 0),
                self._found(told, depth),
            )
            depth += 1

    def way_to(self, depth: int, state: bytes) -> list[tuple[int, int]]:
        """By which moves a state of a level was reached, each with how replicas were renamed."""
        way: list[tuple[int, int]] = []
        for level in range(depth, 0, -1):
            row = self._read("level", level).where(f.col("hash") == f.lit(state)).first()
            assert row is not None, f"no such state at depth {level}"
            way.append((row["move"], row["order"]))
            state = bytes(row["parent"])
        return way[::-1]

    def _new(self, depth: int) -> DataFrame:
        """The states that were never seen, each as it was reached by the first of its moves."""
        how = f.min(f.struct("move", "parent", "order", "state")).alias("how")
        reached = self._read("answers", depth).where("hash is not null").groupBy("hash").agg(how)
        seen = self._read("level", 0).select("hash")
        for level in range(1, depth + 1):
            seen = seen.unionAll(self._read("level", level).select("hash"))
        return reached.join(seen, "hash", "left_anti").select("hash", "how.*").select(*COLUMNS)

    def _found(self, told: DataFrame, depth: int) -> dict[tuple[int, str], tuple[Any, ...]]:
        first = f.min(f.struct("depth", "move", "parent", "ends_with")).alias("first")
        rows = (
            told.where("invariant is not null").groupBy("world", "invariant").agg(first).collect()
        )
        return {
            (row["world"], row["invariant"]): (
                depth + row["first"]["depth"],
                row["first"]["move"],
                bytes(row["first"]["parent"]),
                row["first"]["ends_with"],
            )
            for row in rows
        }

    def _path(self, what: str, depth: int) -> str:
        return f"{self._folder}/{what}-{depth:03}"

    def _is_there(self, what: str, depth: int) -> bool:
        context = self._session.sparkContext
        return "_SUCCESS" in HadoopFolder(context, self._path(what, depth)).entries()

    def _read(self, what: str, depth: int) -> DataFrame:
        return self._session.read.schema(self._schema).parquet(self._path(what, depth))

    def _write(self, table: DataFrame, what: str, depth: int) -> None:
        table.write.mode("overwrite").parquet(self._path(what, depth))


def _expanding(spec: bytes) -> Any:
    def answers(blocks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block in blocks:
            yield expanded(spec, block)

    return answers
