"""Summing up a sweep in Spark: the rows stay where they are, only `Counts` reaches the driver."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as fn
from pyspark.sql.pandas.types import from_arrow_schema

from sim.check.counters import COSTS, COUNTERS
from sim.sweep.output import RUNS, VIOLATIONS
from sim.sweep.plan import Sweep
from sim.sweep.row import VIOLATIONS_SCHEMA, runs_schema
from sim.sweep.tally import (
    JUDGED,
    NAMES_MAX,
    SHORTEST,
    SHORTEST_COLUMNS,
    Agreement,
    Count,
    Counts,
    Earliest,
    Pair,
    Sums,
)

EXACT = "decimal(38,0)"
"""Sums of squares leave 64 bits behind; a double would depend on the order of addition."""


def count_in_spark(session: SparkSession, out: Path, sweep: Sweep) -> Counts:
    """Counts the tables of a finished sweep, in a few queries at once."""

    def table(folder: str, schema: Any) -> DataFrame:
        path = str((out / folder).absolute())
        return session.read.schema(from_arrow_schema(schema)).parquet(path)

    runs = table(RUNS, runs_schema(sweep))
    violations = table(VIOLATIONS, VIOLATIONS_SCHEMA)
    found = _placed(violations, len(sweep.rule_sets))
    with ThreadPoolExecutor() as queries:
        counts = queries.submit(_counts, runs, found)
        sums = queries.submit(_sums, runs)
        pairs = queries.submit(_pairs, runs)
        agreement = queries.submit(_agreement, runs, found)
        shortest = queries.submit(_shortest, runs, violations)
        earliest = queries.submit(_earliest, found)
        return Counts(
            counts=counts.result(),
            sums=sums.result(),
            pairs=pairs.result(),
            agreement=agreement.result(),
            shortest=shortest.result(),
            earliest=earliest.result(),
        )


def _placed(violations: DataFrame, rule_sets: int) -> DataFrame:
    """Violations with the case and the rule set that their run's number stands for."""
    return violations.withColumns(
        {
            "case_id": fn.expr(f"run_id div {rule_sets}"),
            "rule_set": fn.col("run_id") % rule_sets,
        }
    )


def _counts(runs: DataFrame, violations: DataFrame) -> list[Count]:
    last_line = fn.element_at(fn.split(fn.trim(fn.col("error"), fn.lit(" \n")), "\n"), -1)
    claims = fn.transform(fn.split(fn.coalesce("reached", fn.lit("")), " "), _seen("reached"))
    seen = fn.concat(
        fn.array(
            _seen("verdict")(fn.col("verdict")),
            _seen("first_invariant")(fn.col("first_invariant")),
            _seen("reason")(fn.col("reason")),
            _seen("error")(last_line),
        ),
        claims,
    )
    of_runs = runs.select("rule_set", "run_id", fn.explode(seen).alias("seen")).select(
        "rule_set", "run_id", "seen.*"
    )
    of_violations = violations.select(
        "rule_set",
        "run_id",
        fn.lit("invariant").alias("measure"),
        fn.col("invariant").alias("name"),
    ).distinct()
    counted = (
        of_runs.unionByName(of_violations)
        .where(fn.col("name") != "")
        .groupBy("rule_set", "measure", "name")
        .agg(fn.count("*").alias("runs"), fn.min("run_id").alias("first_run"))
    )
    frequent = counted.orderBy(fn.desc("runs"), "rule_set", "measure", "name").limit(NAMES_MAX)
    return [Count(*row) for row in frequent.collect()]


def _seen(measure: str) -> Any:
    def one(name: Column) -> Column:
        return fn.struct(fn.lit(measure).alias("measure"), name.alias("name"))

    return one


def _sums(runs: DataFrame) -> list[Sums]:
    totals = [fn.sum(name).alias(f"total_{name}") for name in COUNTERS]
    squares = [_sum_of_squares(fn.col(cost)).alias(f"square_{cost}") for cost in COSTS]
    ended = fn.count("digest").alias("ended")
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


def _sum_of_squares(number: Column) -> Column:
    exact = number.cast("decimal(19,0)")
    return fn.sum((exact * exact).cast(EXACT))


def _whole(row: Row, name: str) -> int:
    return int(row[name] or 0)


def _pairs(runs: DataFrame) -> list[Pair]:
    """Every pair of rule sets on the cases they share: a self-join on `case_id`."""

    def side(name: str) -> DataFrame:
        facts = ("rule_set", "verdict", "digest", "weather", *COSTS)
        return runs.select("case_id", *(fn.col(fact).alias(f"{name}_{fact}") for fact in facts))

    joined = side("left").join(side("right"), "case_id").where("left_rule_set < right_rule_set")
    ended = fn.col("left_digest").isNotNull() & fn.col("right_digest").isNotNull()
    sums = []
    for cost in COSTS:
        difference = fn.when(ended, fn.col(f"right_{cost}") - fn.col(f"left_{cost}"))
        sums.append(fn.sum(difference).alias(f"difference_{cost}"))
        sums.append(_sum_of_squares(difference).alias(f"square_{cost}"))
    other_weather = ended & (fn.col("left_weather") != fn.col("right_weather"))
    keys = ("left_rule_set", "right_rule_set", "left_verdict", "right_verdict")
    counted = joined.groupBy(*keys).agg(
        fn.count("*").alias("cases"),
        fn.count_if(other_weather).alias("other_weather"),
        fn.count_if(ended).alias("ended"),
        *sums,
    )
    parts: dict[tuple[int, int], list[Row]] = {}
    for row in counted.collect():
        parts.setdefault((row["left_rule_set"], row["right_rule_set"]), []).append(row)
    return [_pair(left, right, rows) for (left, right), rows in parts.items()]


def _pair(left: int, right: int, rows: list[Row]) -> Pair:
    """A pair out of its rows, one per combination of verdicts."""
    return Pair(
        left=left,
        right=right,
        verdicts={f"{row['left_verdict']}/{row['right_verdict']}": row["cases"] for row in rows},
        other_weather=sum(row["other_weather"] for row in rows),
        ended=sum(row["ended"] for row in rows),
        differences={
            cost: sum(_whole(row, f"difference_{cost}") for row in rows) for cost in COSTS
        },
        squares={cost: sum(_whole(row, f"square_{cost}") for row in rows) for cost in COSTS},
    )


def _agreement(runs: DataFrame, violations: DataFrame) -> list[Agreement]:
    """Per ordered pair of rule sets and invariant: did the other violate it too?"""
    place = ("case_id", "rule_set", "invariant")
    judged = runs.where(fn.col("verdict").isin(*JUDGED)).select("case_id", "rule_set")
    violated = violations.select(*place).distinct().join(judged, ["case_id", "rule_set"])
    others = judged.select("case_id", fn.col("rule_set").alias("other"))
    too = violated.select(
        "case_id", fn.col("rule_set").alias("other"), "invariant", fn.lit(1).alias("too")
    )
    faced = violated.join(others, "case_id").where("rule_set <> other")
    counted = (
        faced.join(too, ["case_id", "other", "invariant"], "left")
        .groupBy("rule_set", "other", "invariant")
        .agg(fn.count_if(fn.col("too").isNull()).alias("alone"), fn.count("too").alias("both"))
    )
    return [Agreement(*row) for row in counted.collect()]


def _earliest(violations: DataFrame) -> list[Earliest]:
    first = fn.min(fn.struct("at_ms", "run_id", "position", "sentence")).alias("first")
    found = violations.groupBy("rule_set", "invariant").agg(first)
    columns = [name if name in found.columns else f"first.{name}" for name in Earliest._fields]
    return [Earliest(*row) for row in found.select(*columns).collect()]


def _shortest(runs: DataFrame, violations: DataFrame) -> list[dict[str, Any]]:
    order = Window.partitionBy("rule_set").orderBy("first_violation_ms", "events", "run_id")
    first = (
        runs.where(fn.col("first_invariant").isNotNull())
        .select(*SHORTEST_COLUMNS, fn.row_number().over(order).alias("rank"))
        .where(fn.col("rank") <= SHORTEST)
        .drop("rank")
    )
    sentences = violations.where("position = 0").select("run_id", "sentence")
    found = fn.broadcast(first).join(sentences, "run_id").select(*SHORTEST_COLUMNS, "sentence")
    return [row.asDict() for row in found.collect()]
