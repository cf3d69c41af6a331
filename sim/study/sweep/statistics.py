"""Statistics of a sweep: questions in SQL to its table of runs.

Commands ask DuckDB, which reads the files of a folder; the same text runs on Spark, for a table
that is somewhere else. It keeps to what both know; of all that is used DuckDB lacks `explode`
alone, and a macro of one line adds it. SQLGlot or Ibis would translate that one word, for another
dependency and a text that could not be pasted into a notebook.

Sums of squares are sums of DOUBLE: exact below 2**53, so they are equal in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Final

from sim.check.counters import COSTS, COUNTERS
from sim.errors import BadInput
from sim.study.sweep.hazards import hazard_in_sql
from sim.study.sweep.plan import Sweep

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Rows = list[tuple[Any, ...]]
Ask = Callable[[str], Rows]
"""Runs a statement of SQL; `runs` is the table."""

JUDGED: Final = ("holds", "violated")
"""Verdicts that say something about the rules."""
VERDICTS: Final = (*JUDGED, "inconclusive", "error")
MEASURES: Final = ("verdict", "reason", "reached", "invariant", "family", "hazard", "about")
"""Measures by which runs are counted."""
SHORTEST: Final = 3
"""Largest number of violating runs kept per rule set and environment: the earliest to fail."""
SHORTEST_COLUMNS: Final = (
    *("first_violation_ms", "events", "run_id", "case_id", "seed"),
    *("first_invariant", "violation_count", "sentence"),
)
MEMORY: Final = "160MB"
"""Largest memory of DuckDB; what takes more goes through temporary files."""

_RUN: Final = "place, number, case_id, run_id"
VIEWS: Final = {
    # `place` is the number of the environment (they take turns), `number` that of the rule set.
    "numbered": """
        SELECT *, case_id % {turns} AS place, run_id % {rule_sets} AS number,
            verdict IN ('holds', 'violated') AS judged
        FROM runs""",
    # Of judged runs alone, since the others say nothing either way.
    "found": f"""
        SELECT {_RUN}, v.invariant AS invariant, v.family AS family
        FROM (SELECT {_RUN}, explode(violations) AS v FROM numbered WHERE judged) AS each""",
    "violated": f"""
        SELECT DISTINCT {_RUN}, measure, name
        FROM (
            SELECT {_RUN}, 'invariant' AS measure, invariant AS name FROM found
            UNION ALL SELECT {_RUN}, 'family', family FROM found
            UNION ALL SELECT {_RUN}, 'hazard', {hazard_in_sql()} FROM found
            UNION ALL SELECT {_RUN}, 'about', 'any' FROM found
            WHERE invariant IN ({{about}}) OR family IN ({{about}})
        ) AS each""",
    "named": """
        SELECT place, number, run_id, 'reached' AS measure,
            explode(split(reached, ' ')) AS name FROM numbered
        UNION ALL SELECT place, number, run_id, measure, name FROM violated""",
}
"""Views that the questions share; each may use those before it."""


def _sum(value: str) -> str:
    return f"coalesce(sum({value}), 0)"


def _costs() -> str:
    """For each cost: the sum of differences, that of their squares, the number that are not 0."""
    columns = []
    for cost in COSTS:
        more = f"(b.{cost} - a.{cost})"
        columns += [_sum(more), _sum(f"CAST({more} AS DOUBLE) * {more}"), f"count_if({more} <> 0)"]
    return ", ".join(columns)


QUESTIONS: Final = {
    "verdicts": """
        SELECT place, number, measure, name, count(*), min(run_id)
        FROM (
            SELECT place, number, run_id, 'verdict' AS measure, verdict AS name FROM numbered
            UNION ALL SELECT place, number, run_id, 'reason', reason FROM numbered
        ) AS each
        WHERE name <> '' GROUP BY ALL ORDER BY 5 DESC, name""",
    "seen": """
        SELECT place, number, measure, name, count(*), min(run_id)
        FROM named WHERE name <> '' GROUP BY ALL ORDER BY 5 DESC, name""",
    "sums": f"""
        SELECT place, number, count(*), count(digest), count_if(judged), count_if(hunted),
            {", ".join(map(_sum, COUNTERS))}
        FROM numbered GROUP BY ALL""",
    "pairs": f"""
        SELECT a.place, a.number, b.number,
            count_if(a.digest IS NOT NULL AND b.digest IS NOT NULL), {_costs()}
        FROM numbered AS a JOIN numbered AS b ON a.case_id = b.case_id AND a.number < b.number
        GROUP BY ALL""",
    # Of each ordered pair: cases judged under both in which the first alone met a hazard.
    "alone": """
        SELECT e.place, e.number, j.number, e.name, count(*)
        FROM violated AS e
        JOIN numbered AS j ON j.case_id = e.case_id AND j.number <> e.number AND j.judged
        LEFT JOIN violated AS o
            ON o.run_id = j.run_id AND o.measure = e.measure AND o.name = e.name
        WHERE e.measure = 'hazard' AND o.run_id IS NULL
        GROUP BY ALL ORDER BY e.name""",
    "shortest": f"""
        SELECT place, number, {", ".join(SHORTEST_COLUMNS)}
        FROM (
            SELECT *, v.sentence AS sentence, row_number() OVER (
                PARTITION BY place, number ORDER BY first_violation_ms, events, run_id) AS rank
            FROM (SELECT *, explode(violations) AS v FROM numbered) AS each WHERE v.position = 0
        ) AS ranked
        WHERE rank <= {SHORTEST} ORDER BY first_violation_ms, events, run_id""",
}
"""Each answer begins with the number of the environment."""
BRIEF: Final = ("verdicts", "sums")
"""The questions that a sweep asks when it ends."""


@contextmanager
def session_on(files: Sequence[Path]) -> Iterator[DuckDBPyConnection]:
    """Opens a session of DuckDB with the view `runs` of some files of one table.

    Raises BadInput where one cannot be read, or DuckDB refuses a statement.
    """
    import duckdb

    settings: dict[str, Any] = {"memory_limit": MEMORY, "temp_directory": gettempdir()}
    with duckdb.connect(config=settings) as session:
        session.execute("CREATE MACRO explode(list) AS unnest(list)")
        try:
            session.read_parquet([*map(str, files)]).create_view("runs")
            yield session
        except duckdb.Error as error:
            raise BadInput(f"{files[0].parent}: {str(error).splitlines()[0]:.300}") from None


@contextmanager
def on_duckdb(files: Sequence[Path]) -> Iterator[Ask]:
    """Gives a function that asks some files of one table, see `session_on`."""
    with session_on(files) as session:
        yield lambda statement: session.execute(statement).fetchall()


def statistics_of(
    sweep: Sweep, ask: Ask, *, questions: Collection[str] = tuple(QUESTIONS)
) -> list[dict[str, Any]]:
    """Asks for the statistics of a sweep: those of each of its environments.

    An entry of `rule_sets` has the number of `runs`, of those that `ended`, of those `judged` (they
    held or violated something) and of those with `targeted` faults, `totals` of counters, the
    `shortest` violating runs, and `counts` by measure and name: how many runs, and the first one.
    A pair of rule sets is compared on the same cases: `only_left` counts, of the cases judged under
    both, those that met a hazard under the left one alone. A pair's `ended` counts the cases whose
    runs ended under both; for each cost it has the sum of the differences (right - left) and of
    their `squares`, and the number of `differing` cases.

    Args:
        sweep: The sweep.
        ask: What asks the table.
        questions: The names of QUESTIONS that are asked; what others count is 0 or empty.
    """
    names = [one.name for one in sweep.environments]
    about = ["'" + name.replace("'", "''") + "'" for name in sweep.plan.about]
    for name, text in VIEWS.items():
        view = text.format(
            turns=len(names), rule_sets=len(sweep.rule_sets), about=", ".join(about) or "''"
        )
        ask(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {view}")
    answers = {name: ask(text) if name in questions else [] for name, text in QUESTIONS.items()}
    labels = [one.label for one in sweep.rule_sets]
    return [
        {
            "name": name,
            **_environment(
                labels,
                {
                    question: [row[1:] for row in rows if row[0] == place]
                    for question, rows in answers.items()
                },
            ),
        }
        for place, name in enumerate(names)
    ]


def _environment(labels: Sequence[str], answers: Mapping[str, Rows]) -> dict[str, Any]:
    """The statistics of one environment, from the answers about it."""
    sums = {number: values for number, *values in answers["sums"]}
    entries: list[dict[str, Any]] = []
    for index, label in enumerate(labels):
        runs, ended, judged, targeted, *totals = sums.get(index, [0] * (4 + len(COUNTERS)))
        counts: dict[str, Any] = {measure: {} for measure in MEASURES}
        counts["verdict"] = {verdict: {"runs": 0, "first_run": None} for verdict in VERDICTS}
        entries.append(
            {
                "index": index,
                "label": label,
                "runs": runs,
                "ended": ended,
                "judged": judged,
                "targeted": targeted,
                "totals": dict(zip(COUNTERS, totals, strict=True)),
                "counts": counts,
                "shortest": [
                    dict(zip(SHORTEST_COLUMNS, run, strict=True))
                    for number, *run in answers["shortest"]
                    if number == index
                ],
            }
        )
    for number, measure, name, count, first in [*answers["verdicts"], *answers["seen"]]:
        entries[number]["counts"][measure][name] = {"runs": count, "first_run": first}
    pairs = {(left, right): values for left, right, *values in answers["pairs"]}
    alone: dict[tuple[int, int], dict[str, int]] = {}
    for number, other, hazard, count in answers["alone"]:
        alone.setdefault((number, other), {})[hazard] = count
    return {
        "rule_sets": entries,
        "pairs": [
            {
                "left": left,
                "right": right,
                "only_left": alone.get((left, right), {}),
                "only_right": alone.get((right, left), {}),
                **_costs_of(pairs.get((left, right), [0] * (1 + 3 * len(COSTS)))),
            }
            for left, right in combinations(range(len(labels)), 2)
        ],
    }


def _costs_of(pair: Sequence[Any]) -> dict[str, Any]:
    ended, *costs = pair
    return {
        "ended": ended,
        "differences": dict(zip(COSTS, costs[::3], strict=True)),
        "squares": dict(zip(COSTS, costs[1::3], strict=True)),
        "differing": dict(zip(COSTS, costs[2::3], strict=True)),
    }
