"""A search on Spark: each level is a table, for worlds that do not fit one machine.

A level is a table of the states that no shorter schedule leads to: the hash of each, of 128 bits,
and its schedule. Executors follow and lengthen schedules; what comes of it is written, and the
states of it that no earlier level has are the next level. Both are there once Spark has written
`_SUCCESS` beside them: a search that was stopped goes on behind what is there, and a task whose
worker dies runs anew. The driver sees counts and what breaks first.
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

from sim.schedules.blocks import SCHEMA, Breaks, Searched, beginning, breaks_of, expanded
from sim.schedules.search import Level
from sim.sweeps.engines.hadoop import HadoopFolder


class SparkSearch:
    """A search whose levels are tables below a folder."""

    def __init__(self, session: SparkSession, searched: Searched, folder: str) -> None:
        """Search on a session.

        Below `folder`, any address that Spark writes to, is one for each world and its rules.
        """
        self._session, self._searched = session, searched
        name = blake2b(repr(searched).encode(), digest_size=8).hexdigest()
        self._folder = f"{folder.rstrip('/')}/{name}"
        self._schema = from_arrow_schema(SCHEMA)

    def levels(self) -> Iterator[tuple[Level, Breaks]]:
        """As `blocks.levels`: those that are there, and those that come next."""
        if not self._is_there("level", 0):
            start = beginning(self._searched).to_pylist()
            self._write(self._session.createDataFrame(start, self._schema), "level", 0)
        depth = 0
        expanding = _expanding(pickle.dumps(self._searched))
        while states := self._read("level", depth).count():
            if not self._is_there("answers", depth):
                longer = self._read("level", depth).mapInArrow(expanding, self._schema)
                self._write(longer, "answers", depth)
            if not self._is_there("level", depth + 1):
                self._write(self._new(depth), "level", depth + 1)
            said = self._read("answers", depth).where("hash is null")
            transitions = said.agg(f.sum("transitions")).collect()[0][0]
            broken = [row.asDict() for row in said.where("invariant is not null").collect()]
            yield Level(depth, states, transitions), breaks_of(broken, depth)
            depth += 1

    def _new(self, depth: int) -> DataFrame:
        """The states that were never seen, each by the first of its schedules."""
        reached = self._read("answers", depth).where("hash is not null")
        seen = self._read("level", 0).select("hash")
        for level in range(1, depth + 1):
            seen = seen.unionAll(self._read("level", level).select("hash"))
        once = reached.groupBy("hash").agg(f.min("schedule").alias("schedule"))
        rest = [f.lit(None).cast(one.dataType).alias(one.name) for one in self._schema.fields[2:]]
        return once.join(seen, "hash", "left_anti").select("hash", "schedule", *rest)

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
