"""Summing up a sweep in Spark: the rows stay where they are, only `Counts` reaches the driver."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as fn
from pyspark.sql.pandas.types import from_arrow_schema

from sim.check.counters import COSTS, COUNTERS
from sim.sweeps.layout import RUNS, VIOLATIONS
from sim.sweeps.manifest import Table
from sim.sweeps.parts import Parts, damaged
from sim.sweeps.plan import Sweep
from sim.sweeps.row import VIOLATIONS_SCHEMA, runs_schema
from sim.sweeps.tally import (
    ANY,
    COMPARED,
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


def count_in_spark(session: SparkSession, parts: Parts, sweep: Sweep) -> Counts:
    """Counts the tables of a finished sweep, in a few queries at once.

    Raises BadInput unless their runs are exactly those of the sweep.
    """

    def table(name: Table, schema: Any) -> DataFrame:
        paths = [parts.storage.url(part.path) for part in parts.of(name)]
        return session.read.schema(from_arrow_schema(schema)).parquet(*paths)

    runs = table(RUNS, runs_schema(sweep))
    runs = runs.withColumn("cell", _cell(sweep, "case_id", "rule_set"))
    violations = table(VIOLATIONS, VIOLATIONS_SCHEMA)
    found = _placed(violations, sweep)
    compared = _compared(found, sweep)
    with ThreadPoolExecutor() as queries:
        checked = queries.submit(_check_runs, runs, parts, sweep)
        counts = queries.submit(_counts, runs, compared)
        sums = queries.submit(_sums, runs)
        pairs = queries.submit(_pairs, runs)
        agreement = queries.submit(_agreement, runs, compared)
        shortest = queries.submit(_shortest, runs, violations)
        earliest = queries.submit(_earliest, found)
        checked.result()
        return Counts(
            counts=counts.result(),
            sums=sums.result(),
            pairs=pairs.result(),
            agreement=agreement.result(),
            shortest=shortest.result(),
            earliest=earliest.result(),
        )


def _check_runs(runs: DataFrame, parts: Parts, sweep: Sweep) -> None:
    """No count may be of other runs than the sweep's: each has to be there once."""
    found = runs.agg(
        fn.count("*").alias("rows"),
        fn.countDistinct("run_id").alias("runs"),
        fn.count_if(~fn.col("run_id").between(0, sweep.runs - 1)).alias("foreign"),
    ).first()
    if found is None or (found["rows"], found["runs"], found["foreign"]) != (
        sweep.runs,
        sweep.runs,
        0,
    ):
        raise damaged(parts.storage, RUNS, f"not every run from 0 to {sweep.runs - 1} once")


def _cell(sweep: Sweep, case_id: str, rule_set: str) -> Column:
    """`Sweep.cell_of`."""
    size, environments = len(sweep.rule_sets), len(sweep.environments)
    return fn.expr(f"{case_id} % {environments} * {size} + {rule_set}")


def _placed(violations: DataFrame, sweep: Sweep) -> DataFrame:
    """Violations with the case and the cell that their run's number stands for."""
    size = len(sweep.rule_sets)
    case_id = fn.expr(f"run_id div {size}")
    return violations.withColumn("case_id", case_id).withColumn(
        "cell", _cell(sweep, "case_id", f"run_id % {size}")
    )


def _compared(violations: DataFrame, sweep: Sweep) -> DataFrame:
    """Whatever pairs are compared by, once per run: measure and name."""
    of_plan = fn.col("invariant").isin(sweep.plan.about) | fn.col("family").isin(sweep.plan.about)
    names = {
        "invariant": fn.col("invariant"),
        "family": fn.col("family"),
        "about": fn.when(of_plan, fn.lit(ANY)),
    }
    seen = fn.array(*(_seen(measure)(names[measure]) for measure in COMPARED))
    of_violations = violations.select("case_id", "cell", "run_id", fn.explode(seen).alias("seen"))
    return (
        of_violations.select("case_id", "cell", "run_id", "seen.*")
        .where(fn.col("name").isNotNull())
        .distinct()
    )


def _counts(runs: DataFrame, compared: DataFrame) -> list[Count]:
    last_line = fn.element_at(fn.split(fn.trim(fn.col("error"), fn.lit(" \n")), "\n"), -1)
    claims = fn.transform(fn.split(fn.coalesce("reached", fn.lit("")), " "), _seen("reached"))
    seen = fn.concat(
        fn.array(
            _seen("verdict")(fn.col("verdict")),
            _seen("first_invariant")(fn.col("first_invariant")),
            _seen("reason")(fn.col("reason")),
            _seen("error")(last_line),
            _seen("hunted")(fn.when(fn.col("hunted"), fn.lit("hunted"))),
        ),
        claims,
    )
    of_runs = runs.select("cell", "run_id", fn.explode(seen).alias("seen")).select(
        "cell", "run_id", "seen.*"
    )
    judged = runs.where(fn.col("verdict").isin(*JUDGED)).select("run_id")
    of_violations = (
        compared.where("measure = 'invariant'")
        .unionByName(compared.where("measure <> 'invariant'").join(judged, "run_id", "left_semi"))
        .drop("case_id")
    )
    counted = (
        of_runs.unionByName(of_violations)
        .where(fn.col("name") != "")
        .groupBy("cell", "measure", "name")
        .agg(fn.count("*").alias("runs"), fn.min("run_id").alias("first_run"))
    )
    frequent = counted.orderBy(fn.desc("runs"), "cell", "measure", "name").limit(NAMES_MAX)
    return [Count(*row) for row in frequent.collect()]


def _seen(measure: str) -> Any:
    def one(name: Column) -> Column:
        return fn.struct(fn.lit(measure).alias("measure"), name.alias("name"))

    return one


def _sums(runs: DataFrame) -> list[Sums]:
    totals = [fn.sum(name).alias(f"total_{name}") for name in COUNTERS]
    squares = [_sum_of_squares(fn.col(cost)).alias(f"square_{cost}") for cost in COSTS]
    ended = fn.count("digest").alias("ended")
    rows = runs.groupBy("cell").agg(ended, *totals, *squares).collect()
    return [
        Sums(
            row["cell"],
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
        facts = ("cell", "verdict", "digest", "weather", *COSTS)
        return runs.select("case_id", *(fn.col(fact).alias(f"{name}_{fact}") for fact in facts))

    joined = side("left").join(side("right"), "case_id").where("left_cell < right_cell")
    ended = fn.col("left_digest").isNotNull() & fn.col("right_digest").isNotNull()
    sums = []
    for cost in COSTS:
        difference = fn.when(ended, fn.col(f"right_{cost}") - fn.col(f"left_{cost}"))
        sums.append(fn.sum(difference).alias(f"difference_{cost}"))
        sums.append(_sum_of_squares(difference).alias(f"square_{cost}"))
    other_weather = ended & (fn.col("left_weather") != fn.col("right_weather"))
    keys = ("left_cell", "right_cell", "left_verdict", "right_verdict")
    counted = joined.groupBy(*keys).agg(
        fn.count("*").alias("cases"),
        fn.count_if(other_weather).alias("other_weather"),
        fn.count_if(ended).alias("ended"),
        *sums,
    )
    parts: dict[tuple[int, int], list[Row]] = {}
    for row in counted.collect():
        parts.setdefault((row["left_cell"], row["right_cell"]), []).append(row)
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


def _agreement(runs: DataFrame, compared: DataFrame) -> list[Agreement]:
    """Per ordered pair of cells and whatever is compared: did the other violate it too?"""
    judged = runs.where(fn.col("verdict").isin(*JUDGED)).select("case_id", "cell")
    violated = compared.drop("run_id").join(judged, ["case_id", "cell"])
    others = judged.select("case_id", fn.col("cell").alias("other"))
    too = violated.select(
        "case_id", fn.col("cell").alias("other"), "measure", "name", fn.lit(1).alias("too")
    )
    faced = violated.join(others, "case_id").where("cell <> other")
    counted = (
        faced.join(too, ["case_id", "other", "measure", "name"], "left")
        .groupBy("cell", "other", "measure", "name")
        .agg(fn.count_if(fn.col("too").isNull()).alias("alone"), fn.count("too").alias("both"))
    )
    return [Agreement(*row) for row in counted.collect()]


def _earliest(violations: DataFrame) -> list[Earliest]:
    first = fn.min(fn.struct("at_ms", "run_id", "position", "evidence")).alias("first")
    found = violations.groupBy("cell", "invariant").agg(first)
    columns = [name if name in found.columns else f"first.{name}" for name in Earliest._fields]
    return [Earliest(*row) for row in found.select(*columns).collect()]


def _shortest(runs: DataFrame, violations: DataFrame) -> list[dict[str, Any]]:
    order = Window.partitionBy("cell").orderBy("first_violation_ms", "events", "run_id")
    first = (
        runs.where(fn.col("first_invariant").isNotNull())
        .select("cell", *SHORTEST_COLUMNS, fn.row_number().over(order).alias("rank"))
        .where(fn.col("rank") <= SHORTEST)
        .drop("rank")
    )
    evidence = violations.where("position = 0").select("run_id", "evidence")
    found = (
        fn.broadcast(first).join(evidence, "run_id").select("cell", *SHORTEST_COLUMNS, "evidence")
    )
    return [row.asDict() for row in found.collect()]
