"""The table of a sweep in a folder: its blocks, damage, questions in SQL, and what all of it says.

Every Parquet file under `runs` is a block; its rows say which cases it holds. A file that is
damaged, doubled or of another sweep is named, and none of its rows are counted. Questions go to
DuckDB. A finished sweep is read with its statistics, by reports and gates.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from sim.errors import BadInput
from sim.plugins import command_of
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.model import Scenario
from sim.study.sweep.columns import VIOLATIONS, runs_schema
from sim.study.sweep.folder import RUNS, SET_ASIDE, PlanFile, clear_errors, plan_file_in, read_sweep
from sim.study.sweep.plan import Sweep
from sim.study.sweep.statistics import on_duckdb, session_on, statistics_of
from sim.version import Made

if TYPE_CHECKING:
    import pandas as pd

NUMBERS: Final = ("run_id", "seed")
"""Columns that identify a run."""


@dataclass(frozen=True, slots=True)
class TableState:
    """The state of a sweep in a folder.

    Attributes:
        out: The folder.
        sweep: The sweep.
        blocks: The sound files of the table by their paths in the folder, with the numbers of the
            cases that each holds.
        damage: The damage of each other file, in words. An interrupted sweep is not damaged.
    """

    out: Path
    sweep: Sweep
    blocks: dict[str, list[int]]
    damage: dict[str, str]

    @property
    def missing(self) -> list[int]:
        """Numbers of the cases that are in no block, in order."""
        return sorted({*range(self.sweep.count)}.difference(*self.blocks.values()))

    @property
    def files(self) -> list[Path]:
        """Paths of the sound files of the table."""
        return [self.out / name for name in self.blocks]

    def ask(self, statement: str) -> pa.Table:
        """Asks DuckDB a statement in SQL.

        `runs` is the table; `violations` has a row for each violation, beside the number, the case,
        the environment and the rules of its run.

        Raises:
            BadInput: DuckDB refuses the statement, or a file is damaged.
        """
        beside = ("case_id", "environment", "rule_set", *self.sweep.swept)
        of_run = ", ".join(f'"{name}"' for name in beside)
        each = f"unnest({VIOLATIONS}, recursive := true)"
        with session_on(self.files) as session:
            view = f"SELECT run_id, {each}, {of_run} FROM runs"  # noqa: S608
            session.execute(f"CREATE VIEW violations AS {view}")
            answer = session.sql(statement)
            if answer is None:
                raise BadInput("sql: expected a question to the table, as SELECT … FROM runs")
            return answer.to_arrow_table()

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Asks a statement in SQL as `ask` does; returns rows by column."""
        found: list[dict[str, Any]] = self.ask(statement).to_pylist()
        return found


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Converts a table of Arrow's to a DataFrame.

    Integer columns stay integers: int64, or pandas' nullable Int64 where values are missing.
    """
    import pandas as pd  # here alone: replaying a run needs no data frame

    nullable = {pa.int64(): pd.Int64Dtype()}
    frame: pd.DataFrame = table.to_pandas(types_mapper=nullable.get)
    whole = [name for name in frame if frame[name].dtype == "Int64" and frame[name].notna().all()]
    return frame.astype(dict.fromkeys(whole, "int64"))


def state_of(out: Path, *, thorough: bool = False) -> TableState:
    """Finds the blocks of a sweep in a folder, and damage.

    Args:
        out: The folder.
        thorough: True to read all rows with their checksums, false for run ids, seeds and rules.

    Raises:
        BadInput: It holds no sweep.
    """
    blocks: dict[str, list[int]] = {}
    damage: dict[str, str] = {}
    holder: dict[int, str] = {}
    with clear_errors(out):
        sweep = read_sweep(out)
        schema = runs_schema(sweep)
        columns = schema.names if thorough else [*NUMBERS, *sweep.swept]
        for name in names_in(out):
            if Path(name).name[0] in "._":
                continue  # drafts, and what Spark notes down
            try:
                cases = _cases_in(sweep, _checked(out / name, schema, columns))
                if doubled := sorted(holder.keys() & cases):
                    first = holder[doubled[0]]
                    raise ValueError(f"holds case {doubled[0]}, which {first} has, too")
            except ValueError as error:
                damage[name] = str(error)
            else:
                blocks[name] = cases
                holder |= dict.fromkeys(cases, name)
    return TableState(out, sweep, blocks, damage)


def _checked(path: Path, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """Reads some columns of a file. Raises ValueError with the damage in words."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            missing = [one for one in schema.names if one not in file.schema_arrow.names]
            if missing:
                raise ValueError(f"no column {missing[0]}; not the table of a sweep")
            rows = file.read(columns).select(columns)
            rows = rows.cast(pa.schema([schema.field(name) for name in columns]))
            rows.validate(full=True)
            return rows
    except (pa.ArrowException, KeyError, OSError) as error:
        words = " ".join(str(error).split())
        raise ValueError(f"cannot be read as Parquet: {words:.200}") from None


def _cases_in(sweep: Sweep, rows: pa.Table) -> list[int]:
    """Finds the cases that some rows hold, in the order of the rows.

    Raises:
        ValueError: A case is not whole, or there twice, or the sweep has no such runs.
    """
    run_ids, seeds = (rows.column(name).to_pylist() for name in NUMBERS)
    size = len(sweep.rule_sets)
    cases = [run_id // size for run_id in run_ids[::size]]
    whole = [sweep.run_id(case, index) for case in cases for index in range(size)]
    if run_ids != whole or len({*cases}) < len(cases):
        wrong = (one // size for one, other in zip(run_ids, whole, strict=False) if one != other)
        raise ValueError(f"case {next(wrong, cases[-1])} is not whole, or holds a run twice")
    for case_id, seed in zip(cases, seeds[::size], strict=True):
        if not 0 <= case_id < sweep.count:
            raise ValueError(f"case {case_id} is none of the sweep's")
        if seed != sweep.case_seed(case_id):
            raise ValueError(f"case {case_id} is of another sweep, by its seed")
    rules = [{name: one[name] for name in sweep.swept} for one in rows[:size].to_pylist()]
    if rules != [one.values for one in sweep.rule_sets][: len(rules)]:
        raise ValueError("is of another sweep, by its rules")
    return cases


def mended(out: Path, tell: Callable[[str], None]) -> TableState:
    """Prepares the table of a folder for more blocks, and returns its state.

    Removes unfinished files of killed workers, and sets damaged ones aside; `tell` gets a line for
    each of the latter. Raises BadInput where the folder holds no sweep.
    """
    aside = f"{SET_ASIDE}/{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    for path in (out / RUNS).glob(".*.part"):
        path.unlink()
    # The next job of Spark's would commit what a killed one has left there.
    shutil.rmtree(out / RUNS / "_temporary", ignore_errors=True)
    state = state_of(out, thorough=True)
    for name, what in state.damage.items():
        target = out / aside / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (out / name).replace(target)
        tell(f"{out}/{name}: {what}; its runs are made again, it is kept in {aside}")
    return replace(state, damage={})


def open_table(out: Path) -> TableState:
    """Opens the table of a finished or interrupted sweep.

    Raises:
        BadInput: It holds no sweep, or something in it is damaged, doubled or missing.
    """
    state = state_of(out)
    if state.damage:
        (name, what), *others = state.damage.items()
        more = f" (and {len(others)} more)" if others else ""
        raise BadInput(f"{out}/{name}: {what}{more}; --resume of the sweep mends it")
    return state


def open_rows(out: Path) -> TableState:
    """Opens a table as `open_table` does. Raises BadInput without rows."""
    state = open_table(out)
    if not state.blocks:
        raise BadInput(f"{out}: no block of this sweep is finished yet; --resume continues it")
    return state


def has_table(out: Path) -> bool:
    """True when the folder has a table; a kept report may be without one."""
    with clear_errors(out):
        return bool(names_in(out))


def names_in(out: Path) -> list[str]:
    """Lists the files in the folder of the table, in order; none without it."""
    top = out / RUNS
    return sorted(f"{RUNS}/{path.name}" for path in top.iterdir()) if top.is_dir() else []


def find_run(out: Path, run_id: int) -> dict[str, Any]:
    """Reads the row of a run by column, without its violations.

    Raises BadInput when there is no such run, it has not been run yet, or the table is damaged.
    """
    table = open_table(out)
    table.sweep.place_of(run_id)
    found = f"SELECT * EXCLUDE ({VIOLATIONS}) FROM runs WHERE run_id = {run_id}"  # noqa: S608
    rows = table.rows(found) if table.blocks else []
    if not rows:
        raise BadInput(f"{out}: run {run_id} was not run yet; --resume of the sweep runs it")
    return rows[0]


def scenario_of_run(out: Path | str, run_id: int) -> Scenario:
    """Makes the scenario of a run, with its rules, from `plan.json` and the number of the run.

    Raises BadInput when the folder holds no sweep or the sweep no such run.
    """
    sweep = read_sweep(Path(out))
    case_id, rule_set = sweep.place_of(run_id)
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    return replace(scenario.with_rules(rule_set.rules), preset=rule_set.preset)


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """A finished sweep: where it is, how commands name it, its plan and its statistics."""

    path: Path
    name: str
    """The folder as the user gave it, or the last part of an absolute path."""
    sweep: Sweep
    made: PlanFile
    """The content of its `plan.json`: version, plugins and plan file that it was made with."""
    statistics: list[dict[str, Any]]
    """The statistics of each environment (`sim.study.sweep.statistics`)."""

    @property
    def made_by(self) -> str:
        """The version of Replog that made the sweep, with its revision if that is known."""
        return str(Made(self.made.package_version, self.made.revision))

    @property
    def report_command(self) -> str:
        """The command that makes its report."""
        return self._command("report", self.name)

    @property
    def commands(self) -> list[str]:
        """The commands that make the sweep, its report and the causes of its failing runs."""
        file = _without_folders(self.made.plan_file or "PLAN")
        drawn = ("--count", self.sweep.count, "--seed", self.sweep.seed)
        return [
            self._command("sweep", file, *drawn, "--out", self.name),
            self.report_command,
            self._command("causes", self.name),
        ]

    def replay_command(self, run_id: int) -> str:
        """The command that does one of its runs again."""
        return self._command("run", self.name, run_id)

    def _command(self, *words: object) -> str:
        """A command with the plugins that the sweep was made with."""
        return command_of(*words, modules=self.made.plugins)


def read_folder(out: Path) -> SweepFolder:
    """Reads a finished sweep.

    Raises:
        BadInput: There is none, it was not finished, or something in the folder is not as the sweep
            left it.
    """
    table = open_table(out)
    if table.missing:
        first = table.missing[0]
        raise BadInput(
            f"{out}: this sweep is not finished, case {first} is missing; `replog sweep ... "
            "--resume` finishes it"
        )
    with clear_errors(out):
        made = plan_file_in(out)
    with on_duckdb(table.files) as ask:
        found = statistics_of(table.sweep, ask)
    return SweepFolder(out, _without_folders(out.as_posix()), table.sweep, made, found)


def _without_folders(name: str) -> str:
    """An absolute path by its last part: a page travels, and the folders of one machine do not."""
    path = Path(name)
    return path.name if path.is_absolute() else name
