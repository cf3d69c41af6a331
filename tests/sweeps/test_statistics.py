"""Statistics are the same from DuckDB, from Spark, and from a slow loop over the rows."""

import random
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sim.check.counters import COSTS, COUNTERS
from sim.check.violation import READERS
from sim.study.sweep.folder import read_sweep
from sim.study.sweep.hazards import hazard_of
from sim.study.sweep.runner import run_sweep
from sim.study.sweep.statistics import JUDGED, MEASURES, VERDICTS, on_duckdb, statistics_of
from sim.study.sweep.table import open_table
from tests.sweeps.fakes import plan, quick, simulating_here

Row = dict[str, Any]
FIXES = ("none", "leo_retention", "empty_batch")


def swept(out: Path, seed: int) -> Path:
    """A sweep of a random plan: other rule sets, environments, and what it is about."""
    rng = random.Random(seed)
    environments = {name: {"tail_hunts": at / 9} for at, name in enumerate(("a", "b", "it's"))}
    names = list(environments)[: rng.randint(1, 3)]
    drawn = plan(
        count=rng.randint(1, 90),
        seed=seed,
        rule_sets=[{"fix": fix} for fix in rng.sample(FIXES, rng.randint(1, 3))],
        environments={name: environments[name] for name in names},
        about=rng.choice([[], [READERS], [READERS, "no-offset-reuse"]]),
    )
    with simulating_here():
        run_sweep(drawn, out=out, engine="process", partitions=2, open_case=quick)
    return out


def violated(row: Row, about: Collection[str]) -> set[tuple[str, str]]:
    if row["verdict"] not in JUDGED:
        return set()
    found: set[tuple[str, str]] = set()
    for one in row["violations"]:
        found |= {("invariant", one["invariant"]), ("family", one["family"])}
        found |= {("hazard", hazard_of(one["invariant"], one["family"]))}
        found |= {("about", "any")} if {one["invariant"], one["family"]} & {*about} else set()
    return found


def named(row: Row, about: Collection[str]) -> set[tuple[str, str]]:
    found = violated(row, about) | {(one, row[one]) for one in ("verdict", "reason") if row[one]}
    return found | {("reached", word) for word in (row["reached"] or "").split()}


def entry(rows: list[Row], about: Collection[str]) -> dict[str, Any]:
    counts: dict[str, dict[str, Any]] = {measure: {} for measure in MEASURES}
    counts["verdict"] = {one: {"runs": 0, "first_run": None} for one in VERDICTS}
    for row in rows:  # in order of run_id
        for measure, name in named(row, about):
            seen = counts[measure].setdefault(name, {"runs": 0, "first_run": None})
            seen["runs"] += 1
            if seen["first_run"] is None:
                seen["first_run"] = row["run_id"]
    ended = [row for row in rows if row["digest"]]
    failing = [row for row in rows if row["violations"]]
    failing.sort(key=lambda row: (row["first_violation_ms"], row["events"], row["run_id"]))
    columns = ("first_violation_ms", "events", "run_id", "case_id", "seed", "first_invariant")
    return {
        "runs": len(rows),
        "counts": counts,
        "ended": len(ended),
        "judged": sum(row["verdict"] in JUDGED for row in rows),
        "targeted": sum(row["hunted"] for row in rows),
        "totals": {name: sum(row[name] or 0 for row in rows) for name in COUNTERS},
        "shortest": [
            {name: row[name] for name in (*columns, "violation_count")}
            | {"sentence": row["violations"][0]["sentence"]}
            for row in failing[:3]
        ],
    }


def met_alone(cases: Iterable[tuple[Row, Row]]) -> dict[str, int]:
    """In how many cases, judged under both, the first alone met each hazard."""
    met = [
        [{name for measure, name in violated(row, ()) if measure == "hazard"} for row in two]
        for two in cases
        if {row["verdict"] for row in two} <= {*JUDGED}
    ]
    return Counter(name for first, second in met for name in first - second)


def pair(one: list[Row], other: list[Row]) -> dict[str, Any]:
    cases = list(zip(one, other, strict=True))
    ended = [(left, right) for left, right in cases if left["digest"] and right["digest"]]
    more = {cost: [right[cost] - left[cost] for left, right in ended] for cost in COSTS}
    return {
        "ended": len(ended),
        "only_left": met_alone(cases),
        "only_right": met_alone(zip(other, one, strict=True)),
        "differences": {cost: sum(values) for cost, values in more.items()},
        "squares": {cost: sum(value**2 for value in values) for cost, values in more.items()},
        "differing": {cost: sum(map(bool, values)) for cost, values in more.items()},
    }


def by_loop(out: Path) -> list[dict[str, Any]]:
    sweep = read_sweep(out)
    rows = [row for path in out.glob("runs/*") for row in pq.read_table(path).to_pylist()]
    rows.sort(key=lambda row: row["run_id"])
    about, labels = sweep.plan.about, [one.label for one in sweep.rule_sets]
    found = []
    for name in (one.name for one in sweep.environments):
        own = [row for row in rows if row["environment"] == name]
        of = [[row for row in own if row["rule_set"] == label] for label in labels]
        entries = [
            {"index": place, "label": label, **entry(of[place], about)}
            for place, label in enumerate(labels)
        ]
        pairs = [
            {"left": left, "right": right, **pair(of[left], of[right])}
            for left, right in combinations(range(len(labels)), 2)
        ]
        found.append({"name": name, "rule_sets": entries, "pairs": pairs})
    return found


def by_duckdb(out: Path) -> list[dict[str, Any]]:
    with on_duckdb(open_table(out).files) as ask:
        return statistics_of(read_sweep(out), ask)


INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""To compile a statement takes longer than to ask a table of a hundred rows."""


@pytest.fixture(scope="module")
def asking(spark: Any) -> Any:
    """Another session of the same Spark, for small tables."""
    session = spark.newSession()
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)
    return session


@pytest.mark.parametrize("seed", range(20))
def test_duckdb_counts_as_a_loop_does(tmp_path: Path, seed: int) -> None:
    out = swept(tmp_path / "out", seed)

    assert by_duckdb(out) == by_loop(out)


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(20))
def test_spark_counts_as_a_loop_does(tmp_path: Path, seed: int, asking: Any) -> None:
    out = swept(tmp_path / "out", seed)
    asking.read.parquet(str(out / "runs")).createOrReplaceTempView("runs")

    def ask(text: str) -> Any:
        return [tuple(row) for row in asking.sql(text).collect()]

    assert statistics_of(read_sweep(out), ask) == by_loop(out)
