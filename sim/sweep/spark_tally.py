"""Summing up a sweep in Spark: the rows stay where they are, only `Counts` reaches the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from sim.check.counters import COUNTERS
from sim.sweep.layout import waves_of
from sim.sweep.output import RUNS, VIOLATIONS
from sim.sweep.plan import Sweep
from sim.sweep.row import VERDICTS, VIOLATIONS_SCHEMA, runs_schema
from sim.sweep.tally import (
    COSTS,
    NAMES_PER_MEASURE_MAX,
    SHORTEST,
    SHORTEST_COLUMNS,
    Count,
    Counts,
    Pair,
    Sums,
)

EXACT = "decimal(38,0)"
"""Sums of squares leave 64 bits behind; a double would depend on the order of addition."""


def count_in_spark(session: SparkSession, out: Path, sweep: Sweep) -> Counts:
    """Counts the tables of a finished sweep: four jobs, whatever the number of runs."""
    names = [wave.file_name for wave in waves_of(sweep)]

    def table(folder: str, schema: Any) -> DataFrame:
        paths = [str((out / folder / name).absolute()) for name in names]
        return session.read.schema(from_arrow_schema(schema)).parquet(*paths)

    runs = table(RUNS, runs_schema(sweep))
    violations = table(VIOLATIONS, VIOLATIONS_SCHEMA)
    return Counts(
        counts=_counts(runs, violations, len(sweep.rule_sets)),
        sums=_sums(runs),
        pairs=_pairs(runs),
        shortest=_shortest(runs, violations),
    )


def _counts(runs: DataFrame, violations: DataFrame, rule_sets: int) -> list[Count]:
    last_line = F.element_at(F.split(F.trim(F.col("error"), F.lit(" \n")), "\n"), -1)
    claims = F.transform(F.split(F.coalesce("reached", F.lit("")), " "), _seen("reached"))
    seen = F.concat(
        F.array(
            _seen("verdict")(F.col("verdict")),
            _seen("first_invariant")(F.col("first_invariant")),
            _seen("reason")(F.col("reason")),
            _seen("error")(last_line),
        ),
        claims,
    )
    of_runs = runs.select("rule_set", "run_id", F.explode(seen).alias("seen")).select(
        "rule_set", "run_id", "seen.*"
    )
    of_violations = violations.select(
        (F.col("run_id") % rule_sets).alias("rule_set"),
        "run_id",
        F.lit("invariant").alias("measure"),
        F.col("invariant").alias("name"),
    ).distinct()
    counted = (
        of_runs.unionByName(of_violations)
        .where(F.col("name") != "")
        .groupBy("rule_set", "measure", "name")
        .agg(F.count("*").alias("runs"), F.min("run_id").alias("first_run"))
    )
    frequent = Window.partitionBy("rule_set", "measure").orderBy(F.desc("runs"), "name")
    kept = counted.withColumn("rank", F.row_number().over(frequent)).where(
        F.col("rank") <= NAMES_PER_MEASURE_MAX
    )
    return [Count(*row) for row in kept.drop("rank").collect()]


def _seen(measure: str) -> Any:
    def one(name: Column) -> Column:
        return F.struct(F.lit(measure).alias("measure"), name.alias("name"))

    return one


def _sums(runs: DataFrame) -> list[Sums]:
    totals = [F.sum(F.col(name).cast(EXACT)).alias(f"total_{name}") for name in COUNTERS]
    squares = [F.sum(_square(F.col(cost))).alias(f"square_{cost}") for cost in COSTS]
    ended = F.count("digest").alias("ended")
    rows = runs.groupBy("rule_set").agg(ended, *totals, *squares).collect()
    return [
        Sums(
            row["rule_set"],
            row["ended"],
            {name: _whole(row, f"total_{name}") for name in COUNTERS},
            {cost: _whole(row, f"square_{cost}") for cost in COSTS},
        )
        for row in rows
    ]


def _square(number: Column) -> Column:
    exact = number.cast("decimal(19,0)")
    return (exact * exact).cast(EXACT)


def _whole(row: Row, name: str) -> int:
    return int(row[name] or 0)


def _pairs(runs: DataFrame) -> list[Pair]:
    """Every pair of rule sets on the cases they share: a self-join on `case_id`."""

    def side(name: str) -> DataFrame:
        facts = ("rule_set", "verdict", "digest", "weather", *COSTS)
        return runs.select("case_id", *(F.col(fact).alias(f"{name}_{fact}") for fact in facts))

    joined = side("left").join(side("right"), "case_id").where("left_rule_set < right_rule_set")
    ended = F.col("left_digest").isNotNull() & F.col("right_digest").isNotNull()
    verdicts = [
        F.count_if((F.col("left_verdict") == left) & (F.col("right_verdict") == right)).alias(
            f"{left}/{right}"
        )
        for left in VERDICTS
        for right in VERDICTS
    ]
    differences, squares = [], []
    for cost in COSTS:
        difference = F.when(ended, F.col(f"right_{cost}") - F.col(f"left_{cost}"))
        differences.append(F.sum(difference.cast(EXACT)).alias(f"difference_{cost}"))
        squares.append(F.sum(_square(difference)).alias(f"square_{cost}"))
    other_weather = ended & (F.col("left_weather") != F.col("right_weather"))
    rows = (
        joined.groupBy("left_rule_set", "right_rule_set")
        .agg(
            F.count_if(other_weather).alias("other_weather"),
            F.count_if(ended).alias("ended"),
            *verdicts, *differences, *squares,
        )
        .collect()
    )
    return [_pair(row) for row in rows]


def _pair(row: Row) -> Pair:
    verdicts = {f"{left}/{right}": row[f"{left}/{right}"] for left in VERDICTS for right in VERDICTS}
    return Pair(
        left=row["left_rule_set"],
        right=row["right_rule_set"],
        verdicts={name: cases for name, cases in verdicts.items() if cases},
        other_weather=row["other_weather"],
        ended=row["ended"],
        differences={cost: _whole(row, f"difference_{cost}") for cost in COSTS},
        squares={cost: _whole(row, f"square_{cost}") for cost in COSTS},
    )


def _shortest(runs: DataFrame, violations: DataFrame) -> list[dict[str, Any]]:
    order = Window.partitionBy("rule_set").orderBy("first_violation_ms", "events", "run_id")
    first = (
        runs.where(F.col("first_invariant").isNotNull())
        .select(*SHORTEST_COLUMNS, F.row_number().over(order).alias("rank"))
        .where(F.col("rank") <= SHORTEST)
        .drop("rank")
    )
    sentences = violations.where("position = 0").select("run_id", "sentence")
    found = F.broadcast(first).join(sentences, "run_id").select(*SHORTEST_COLUMNS, "sentence")
    return [row.asDict() for row in found.collect()]
