"""Statistics of a sweep: questions in SQL to its table of runs.

The text is the same on Spark, which asks a table wherever it is, and on DuckDB, which asks the
files of a folder here. It keeps to what both know; of all that is used DuckDB lacks `explode`
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

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Rows = list[tuple[Any, ...]]
Ask = Callable[[str], Rows]
"""Runs a statement of SQL; `runs` is the table."""

JUDGED: Final = ("holds", "violated")
"""Verdicts that say something about the rules."""
VERDICTS: Final = (*JUDGED, "inconclusive", "error")
MEASURES: Final = (
    "verdict",
    "invariant",
    "first_invariant",
    "reached",
    "reason",
    "error",
    "family",
    "about",
    "hunted",
)
"""Measures by which runs are counted."""
SHORTEST: Final = 3
NAMES_PER_MEASURE_MAX: Final = 100
"""The most frequent names kept per rule set and measure: error texts can differ in every run."""
SHORTEST_COLUMNS: Final = (
    "first_violation_ms",
    "events",
    "run_id",
    "case_id",
    "seed",
    "first_invariant",
    "violation_count",
    "sentence",
)
"""In the order by which the shortest of the violating runs are found."""
MEMORY: Final = "160MB"
"""Of DuckDB; what takes more goes through temporary files."""

_RUN: Final = "place, number, case_id, run_id"
VIEWS: Final = {
    # `place` is the number of the environment, which take turns; `number` that of the rule set.
    "numbered": """
        SELECT *, case_id % {turns} AS place, run_id % {rule_sets} AS number,
            verdict IN ('holds', 'violated') AS judged
        FROM runs""",
    "found": f"""
        SELECT {_RUN}, judged, v.invariant AS invariant, v.family AS family
        FROM (SELECT {_RUN}, judged, explode(violations) AS v FROM numbered) AS each""",
    # Of judged runs alone, since the others say nothing either way.
    "violated": f"""
        SELECT DISTINCT {_RUN}, measure, name
        FROM (
            SELECT {_RUN}, 'invariant' AS measure, invariant AS name FROM found WHERE judged
            UNION ALL SELECT {_RUN}, 'family', family FROM found WHERE judged
            UNION ALL SELECT {_RUN}, 'about', 'any' FROM found
            WHERE judged AND (invariant IN ({{about}}) OR family IN ({{about}}))
        ) AS each""",
    "named": """
        SELECT place, number, run_id, 'first_invariant' AS measure, first_invariant AS name
            FROM numbered
        UNION ALL SELECT place, number, run_id, 'hunted', 'hunted' FROM numbered WHERE hunted
        UNION ALL SELECT place, number, run_id, 'error',
            regexp_extract(error, '([^\n]+)\n*$', 1) FROM numbered
        UNION ALL SELECT place, number, run_id, 'reached', explode(split(reached, ' '))
            FROM numbered
        UNION ALL SELECT place, number, run_id, measure, name FROM violated""",
}
"""Views that the questions share; each may use those before it."""


def _sum(value: str) -> str:
    return f"coalesce(sum({value}), 0)"


def _costs() -> str:
    """Sums for each cost: of the differences, of their squares, and of those that are not 0."""
    columns = []
    for cost in COSTS:
        more = f"(b.{cost} - a.{cost})"
        columns += [_sum(more), _sum(f"CAST({more} AS DOUBLE) * {more}")]
        columns.append(_sum(f"CASE WHEN {more} <> 0 THEN 1 ELSE 0 END"))
    return ", ".join(columns)


QUESTIONS: Final = {
    "verdicts": """
        SELECT place, number, measure, name, count(*), min(run_id)
        FROM (
            SELECT place, number, run_id, 'verdict' AS measure, verdict AS name FROM numbered
            UNION ALL SELECT place, number, run_id, 'reason', reason FROM numbered
        ) AS each
        WHERE name <> '' GROUP BY place, number, measure, name""",
    "seen": f"""
        SELECT place, number, measure, name, runs, first_run
        FROM (
            SELECT *, row_number() OVER (
                PARTITION BY place, number, measure ORDER BY runs DESC, name) AS rank
            FROM (
                SELECT place, number, measure, name, count(*) AS runs, min(run_id) AS first_run
                FROM named WHERE name <> '' GROUP BY place, number, measure, name
            ) AS each
        ) AS ranked
        WHERE rank <= {NAMES_PER_MEASURE_MAX}""",
    "sums": f"""
        SELECT place, number, count(*), count(digest), sum(wall_ms),
            {", ".join(map(_sum, COUNTERS))}
        FROM numbered GROUP BY place, number""",
    "pairs": f"""
        SELECT a.place, a.number, b.number, count(*),
            sum(CASE WHEN a.judged AND b.judged THEN 1 ELSE 0 END),
            sum(CASE WHEN a.digest IS NOT NULL AND b.digest IS NOT NULL THEN 1 ELSE 0 END),
            sum(CASE WHEN a.weather <> b.weather THEN 1 ELSE 0 END),
            {_costs()}
        FROM numbered AS a JOIN numbered AS b ON a.case_id = b.case_id AND a.number < b.number
        GROUP BY a.place, a.number, b.number""",
    "shortest": f"""
        SELECT place, number, {", ".join(SHORTEST_COLUMNS)}
        FROM (
            SELECT *, row_number() OVER (
                PARTITION BY place, number ORDER BY first_violation_ms, events, run_id) AS rank
            FROM (
                SELECT *, v.sentence AS sentence, v.position AS position
                FROM (SELECT *, explode(violations) AS v FROM numbered) AS each
            ) AS named
            WHERE position = 0
        ) AS ranked
        WHERE rank <= {SHORTEST}""",
    # Runs whose seed was run in the first environment, too, and those that are not the same there.
    "twins": """
        SELECT b.place, b.number, count(*),
            sum(CASE WHEN a.digest <> b.digest THEN 1 ELSE 0 END)
        FROM numbered AS a JOIN numbered AS b
            ON a.seed = b.seed AND a.number = b.number AND a.place = 0 AND b.place > 0
        WHERE a.digest IS NOT NULL AND b.digest IS NOT NULL
        GROUP BY b.place, b.number""",
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
    plan: Mapping[str, Any], ask: Ask, *, questions: Collection[str] = tuple(QUESTIONS)
) -> dict[str, Any]:
    """Asks for the statistics of a sweep and of each of its environments.

    `rule_sets` and `pairs` are over all cases; each of `environments` has its own. The `twins` of a
    rule set are its runs whose seed was run in the first environment, too; some of them are
    `changed`, the others are the same run there. A difference is right - left.

    Args:
        plan: The content of `plan.json`.
        ask: What asks the table.
        questions: Those of QUESTIONS that are asked; of the others nothing is counted.
    """
    names = [one["name"] for one in plan["environments"]]
    about = ["'" + name.replace("'", "''") + "'" for name in plan["plan"].get("about", ())]
    for name, text in VIEWS.items():
        view = text.format(
            turns=len(names), rule_sets=len(plan["rule_sets"]), about=", ".join(about) or "''"
        )
        ask(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {view}")
    answers = {name: ask(text) if name in questions else [] for name, text in QUESTIONS.items()}
    labels = [one["label"] for one in plan["rule_sets"]]
    return {
        **_table(labels, answers, range(len(names))),
        "environments": [
            {"name": name, **_table(labels, answers, [place])} for place, name in enumerate(names)
        ],
    }


def _added(rows: Rows, places: Collection[int], keys: int) -> dict[tuple[Any, ...], list[Any]]:
    """Adds up the numbers of rows that agree in the first columns, over some environments."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for place, *row in rows:
        if place in places:
            key, numbers = tuple(row[:keys]), row[keys:]
            sums = found.setdefault(key, [0] * len(numbers))
            found[key] = [one + more for one, more in zip(sums, numbers, strict=True)]
    return found


def _table(
    labels: Sequence[str], answers: Mapping[str, Rows], places: Collection[int]
) -> dict[str, Any]:
    """Makes the statistics of some environments together."""
    counts: list[dict[str, dict[str, Any]]] = [
        {measure: {} for measure in MEASURES} for _ in labels
    ]
    for one in counts:
        one["verdict"] = {verdict: {"runs": 0, "first_run": None} for verdict in VERDICTS}
    for place, rule_set, measure, name, runs, first in sorted(
        [*answers["verdicts"], *answers["seen"]], key=_most_first
    ):
        if place in places:
            known = counts[rule_set][measure].setdefault(name, {"runs": 0, "first_run": None})
            known["runs"] += runs
            known["first_run"] = min(first, first if known["runs"] == runs else known["first_run"])
    sums, twins = _added(answers["sums"], places, 1), _added(answers["twins"], places, 1)
    pairs = _added(answers["pairs"], places, 2)
    entries = []
    for index, label in enumerate(labels):
        runs, ended, _, *totals = sums.get((index,), [0] * (3 + len(COUNTERS)))
        met, changed = twins.get((index,), (0, 0))
        shortest = sorted(
            row[2:] for row in answers["shortest"] if row[0] in places and row[1] == index
        )
        entries.append(
            {
                "index": index,
                "label": label,
                "runs": runs,
                "counts": counts[index],
                "ended": ended,
                "twins": met,
                "changed": changed,
                "totals": dict(zip(COUNTERS, totals, strict=True)),
                "shortest": [
                    dict(zip(SHORTEST_COLUMNS, run, strict=True)) for run in shortest[:SHORTEST]
                ],
            }
        )
    return {
        "busy_ms": sum(one[2] for one in sums.values()),
        "rule_sets": entries,
        "pairs": [_pair(pairs, *pair) for pair in combinations(range(len(labels)), 2)],
    }


def _most_first(row: tuple[Any, ...]) -> tuple[int, str]:
    return -row[4], row[3]


def _pair(pairs: Mapping[tuple[Any, ...], list[Any]], left: int, right: int) -> dict[str, Any]:
    """Two rule sets on the same cases."""
    cases, judged, ended, weather, *costs = pairs.get((left, right), [0] * (4 + 3 * len(COSTS)))
    return {
        "left": left,
        "right": right,
        "cases": cases,
        "judged": judged,
        "ended": ended,
        "other_weather": weather,
        "differences": dict(zip(COSTS, costs[::3], strict=True)),
        "squares": dict(zip(COSTS, costs[1::3], strict=True)),
        "differing": dict(zip(COSTS, costs[2::3], strict=True)),
    }
