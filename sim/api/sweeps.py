"""Sweeps and searches of every schedule, for notebooks: their tables, failures and levels."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Literal
from weakref import finalize

from sim.api.failures import Failures
from sim.api.runs import Run
from sim.api.scenarios import Row, Scenario, document_of, load
from sim.api.tables import check_pandas, frame, grid
from sim.errors import BadInput
from sim.plugins import load_plugins

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from sim.study.explore.answers import SearchAnswer
    from sim.study.explore.plan import SearchPlan as PlanOfSearch
    from sim.study.explore.witness import SearchWitness
    from sim.study.sweep.plan import Plan
    from sim.study.sweep.plan import Sweep as NumberedSweep


class Sweep:
    """A sweep in its folder: its tables, its failures, and any of its runs again.

    Attributes:
        folder: Folder of the sweep.
    """

    def __init__(self, folder: Path, *, temporary: bool = False) -> None:
        """Opens the sweep in a folder; a temporary folder is removed with this object.

        Raises:
            BadInput: The folder holds no sweep, or one of another version.
        """
        from sim.study.sweep.folder import read_sweep

        self.folder = folder
        self._temporary = temporary
        if temporary:
            finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._sweep: NumberedSweep = read_sweep(folder)

    @property
    def title(self) -> str:
        """The title of the plan."""
        return self._sweep.plan.title

    @property
    def rule_sets(self) -> dict[str, dict[str, Any]]:
        """The swept rules with their values, by label."""
        return {one.label: dict(one.values) for one in self._sweep.rule_sets}

    @property
    def axes(self) -> list[str]:
        """The swept rules, in the order of the plan."""
        return list(self._sweep.swept)

    def runs(self, *, where: str = "", columns: Iterable[str] = ()) -> pd.DataFrame:
        """The runs that are asked for, a row each.

        `replog list columns` prints the meaning of each column.

        `runs(where="verdict = 'violated'", columns=["fix", "events"])` reads three columns of the
        failing runs. `rule_set` is the label; the swept rules are columns of their own. These
        columns, `verdict` and `environment` are categories.

        Args:
            where: A condition in SQL on the columns of the table; empty for all runs.
            columns: Columns to read, after `run_id` and in this order; empty for all of them.

        Raises:
            BadInput: No part of the sweep is finished, or there is no such column.
        """
        return self._asked("runs", where, columns, "run_id")

    def violations(self, *, where: str = "", columns: Iterable[str] = ()) -> pd.DataFrame:
        """The violations that are asked for, a row each, with the axes of the run.

        Of a run with very many there are the first of each invariant and some more. The
        arguments are those of `runs`; a condition may be on the columns of a violation, and on the
        case, environment, rule set and axes of its run.
        """
        return self._asked("violations", where, columns, "run_id, position")

    def sql(self, statement: str) -> pd.DataFrame:
        """The answer of DuckDB to a statement in SQL about the tables `runs` and `violations`.

        In `runs` each run has its violations as a list, too.

        Raises:
            BadInput: No part of the sweep is finished, or DuckDB refuses the statement.
        """
        check_pandas()
        from sim.study.sweep.table import frame_of, open_rows

        return frame_of(open_rows(self.folder).ask(statement))

    def _asked(self, table: str, where: str, columns: Iterable[str], order: str) -> pd.DataFrame:
        check_pandas()
        import pandas as pd

        from sim.check.violation import FAMILIES
        from sim.study.sweep.statistics import VERDICTS

        chosen = [f'"{name}"' for name in columns]
        everything = "* EXCLUDE (violations)" if table == "runs" else "*"
        named = ", ".join(dict.fromkeys(('"run_id"', *chosen))) if chosen else everything
        condition = f"WHERE {where}" if where else ""
        statement = f"SELECT {named} FROM {table} {condition} ORDER BY {order}"  # noqa: S608
        found = self.sql(statement)
        categories = {
            "rule_set": list(self.rule_sets),
            "verdict": VERDICTS,
            "environment": [one.name for one in self._sweep.environments],
            "family": list(FAMILIES),
            **{
                rule: list(dict.fromkeys(one.values[rule] for one in self._sweep.rule_sets))
                for rule in self.axes
            },
        }
        for name in found.columns.intersection(list(categories)):
            found[name] = found[name].astype(pd.CategoricalDtype(list(categories[name])))
        return found

    def run(self, run_id: int) -> Run:
        """A run of the sweep by its number.

        It is simulated again when something is asked that its row does not say.

        Raises:
            BadInput: There is no such run.
        """
        return self._run(run_id, "", "")

    def _run(self, run_id: int, about: str, sentence: str) -> Run:
        from sim.study.sweep.table import find_run, has_table, scenario_of_run

        case_id, rule_set = self._sweep.place_of(run_id)
        row = Row(
            folder=self.folder,
            run_id=run_id,
            case_id=case_id,
            rule_set=rule_set.label,
            digest=find_run(self.folder, run_id)["digest"] if has_table(self.folder) else None,
            sentence=sentence,
            lasting=not self._temporary,
        )
        mix = self._sweep.environment_of(case_id).mix
        scenario = Scenario(scenario_of_run(self.folder, run_id), mix=mix)
        return Run(scenario, row=row, about=about)

    def failures(self) -> Failures:
        """The runs that violate something, those with the fewest events first."""
        violations = self.violations()
        table = self.runs(where="verdict = 'violated'").sort_values(["events", "run_id"])

        @cache
        def sentences(about: str) -> dict[int, str]:
            """run_id -> its first violation, of an invariant if `about` names one."""
            found = violations[violations.invariant == about] if about else violations
            firsts = found.drop_duplicates("run_id")
            return dict(zip(firsts.run_id.tolist(), firsts.sentence.tolist(), strict=True))

        def failure(run_id: int, about: str) -> Run:
            return self._run(run_id, about, sentences(about).get(run_id, ""))

        first = sentences("")
        table = table.assign(sentence=[first.get(one, "") for one in table.run_id])
        return Failures(table, violations, failure)

    def causes(self, stories: str | Path | None = None) -> pd.DataFrame:
        """The failures by the cause of their first violation, the most frequent cause first.

        Columns: `cause`; for each rule set, by its label, in how many runs that cause came first;
        `runs` of all rule sets together; `invariant`, which most of them violate first; `example`,
        the number of the run that fails earliest; `story`, the name of the file that shows this
        cause, missing where none does. `failures().where(cause=…)` gives these runs, and those in
        which another cause came first.

        Args:
            stories: The folder with the stories of known causes; None for `scenarios`.

        Raises:
            BadInput: No part of the sweep is finished, or `stories` is no folder.
        """
        from sim.study.causes import causes_of

        labels = list(self.rule_sets)
        rows = []
        for cause in causes_of(self.folder, stories=stories).causes:
            runs = dict.fromkeys(labels, 0)
            for share in cause.shares:
                runs[share.label] += share.runs
            rows.append(
                {
                    "cause": cause.text,
                    **runs,
                    "runs": cause.runs,
                    "invariant": next(iter(cause.invariants)),
                    "example": cause.example.run_id,
                    "story": None if cause.story is None else cause.story.path.name,
                }
            )
        return frame(rows, ["cause", *labels, "runs", "invariant", "example", "story"])

    def report(self) -> Path:
        """Writes `report.html`, `report.md` and `report.json` into the folder; returns the page.

        Raises:
            BadInput: The sweep is not finished, or the folder cannot be written.
        """
        from sim.study.report import grids_of, read_folder, write_report

        folder = read_folder(self.folder)
        return write_report(folder, grids_of(folder))

    def verdict(self, decision: str | None = None) -> pd.DataFrame:
        """The grid of a decision as data, with the answer of each search, environment and story.

        A row per hazard, alternative and unit: `hazard`, `alternative`, `kind` (`search`, `runs`,
        `story`), `unit` with `beside` (values of other rules), `broken`, `invariant`, `moves`,
        `states`, `bound`, `runs` of `judged` with `low` and `high` (exact, 95 %), `rule_set`, and
        `evidence`: the file or the command that shows it. `attrs["sentences"]` has the verdict.

        Args:
            decision: Name of a decision of the plan; None for the first one.

        Raises:
            BadInput: The sweep is not finished, or there is no such decision.
        """
        check_pandas()
        import pandas as pd

        from sim.study.report import grids_of, headline, read_folder

        folder = read_folder(self.folder)
        grid = grids_of(folder, decision)[0]
        table = pd.DataFrame([one.as_row() for one in grid.findings])
        table.attrs["sentences"] = headline(folder, grid)
        return table

    def __repr__(self) -> str:
        """Returns one line for people."""
        counts = f"{self._sweep.drawn}, {self._sweep.runs:,} runs"
        return f"Sweep({self.title}: {counts})"

    def _repr_html_(self) -> str:
        from sim.study.sweep.statistics import VERDICTS
        from sim.study.sweep.table import open_table

        state = open_table(self.folder)
        statement = "SELECT rule_set, verdict, count(*) AS runs FROM runs GROUP BY ALL"
        counted = state.ask(statement).to_pylist() if state.blocks else []
        runs = {(one["rule_set"], one["verdict"]): one["runs"] for one in counted}
        failed = any(name == "error" for _, name in runs)
        names = [name for name in VERDICTS if name != "error" or failed]
        rows = [
            (label, *(f"{runs.get((label, name), 0):,}" for name in names))
            for label in self.rule_sets
        ]
        note = f"{self.title}: {self._sweep.drawn}, each under every rule set"
        return grid(("rule set", *names), rows, note=note)


def open_sweep(folder: str | Path, *, plugins: Iterable[str] = ()) -> Sweep:
    """The sweep in a folder, finished or not, as `replog sweep --out` or `sweep` left it.

    Args:
        folder: Where it is.
        plugins: Modules to import first, as with `--plugin`. One that only the folder names is not
            imported.

    Raises:
        BadInput: The folder holds no sweep, or one of another version, or one that was made with
            a plugin that is not given.
    """
    load_plugins(plugins)
    return Sweep(Path(folder))


def sweep(
    plan: str | Path | Mapping[str, Any],
    *,
    count: int | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    engine: Literal["process", "spark"] = "process",
    resume: bool = False,
    plugins: Iterable[str] = (),
) -> Sweep:
    """Runs a plan's random scenarios under each of its rule sets.

        >>> import sim
        >>> swept = sim.sweep("scenarios/sweeps/demo.yaml", count=4, seed=226, out="my_sweep")
        >>> swept
        Sweep(LEO retention against the empty batch, in short runs:
        2 seeds in plain and hunted, 12 runs)
        >>> swept.failures().where(invariant="no-offset-reuse", fix="none").first().cause
        'log divergence: log end fell by cleaning'

    Args:
        plan: A plan: the path of a file, or the id of a shipped one; or its text, or its data as a
            mapping.
        count: Number of random cases; default: the plan's.
        seed: Seed of the sweep; default: the plan's.
        out: The folder for the tables, new or empty; None for one that lasts as long as the
            sweep that is returned.
        engine: `process`: all cores of this machine; `spark`: needs Java.
        resume: Go on with what is in `out`.
        plugins: Modules to import first, as with `--plugin`. A plan that names others is refused.

    Raises:
        BadInput: One line per problem with the plan, the folder or a number.
    """
    from sim.study.sweep.runner import run_sweep

    load_plugins(plugins)
    loaded, plan_file = _plan(plan)
    if out is None and resume:
        raise BadInput("sweep: resume: needs the folder to go on with: out=…")
    folder = Path(mkdtemp(prefix="replog-") if out is None else out)
    run_sweep(
        loaded,
        out=folder,
        count=count,
        seed=seed,
        engine=engine,
        resume=resume,
        plan_file=plan_file,
    )
    return Sweep(folder, temporary=out is None)


def _plan(given: str | Path | Mapping[str, Any]) -> tuple[Plan, str | None]:
    """The plan, and its file if it has one."""
    from sim.files.shipped import shipped_path
    from sim.study.sweep.plan import load_plan, plan_in

    document = document_of(given, "the plan")
    if document is not None:
        return plan_in(document), None
    path = shipped_path(str(given))
    return load_plan(path), str(path)


class Explored:
    """The results of a plan's searches.

    Attributes:
        title: Title of the plan.
        answers: One for each rule set, then two for each pair that the plan compares: what breaks
            under the one alone, and under the other alone.
    """

    def __init__(self, plan: PlanOfSearch, answers: tuple[SearchAnswer, ...]) -> None:
        """Takes a plan and the answers to it."""
        self.title, self.answers, self._plan = plan.title, answers, plan

    def graph(self, rules: str | None = None) -> nx.MultiDiGraph:
        """The states of the world, up to 50,000, and the moves between them, as a graph.

        Nodes have `depth` and `breaks` (names of invariants, joined by commas), edges `move` and
        `breaks`; node 0 is the start. States that differ in the names of replicas alone are apart
        here, so there are more than a search counts.

        Args:
            rules: Label of the rule set; the first one when not given.

        Raises:
            BadInput: There is no such rule set, the world has more states, or networkx is not
                installed.
        """
        from sim.study.explore.page import graph_of

        searched = dict(self._plan.searched())
        label = next(iter(searched)) if rules is None else rules
        if label not in searched:
            raise BadInput(f"graph: {label}: no such rule set; allowed: {', '.join(searched)}")
        return graph_of(self._plan.world_of(), searched[label])

    @property
    def table(self) -> pd.DataFrame:
        """Table of the answers, a row each.

        `rules`, `against` (rules that they are compared with; or empty), `states`, `transitions`,
        `depth` (moves of the longest schedule), `exhausted` (every schedule was followed to its
        end), `breaks` (names of invariants, joined by commas).
        """
        columns = ("rules", "against", "states", "transitions", "depth", "exhausted", "breaks")
        return frame(self._rows(), columns)

    @property
    def levels(self) -> pd.DataFrame:
        """Table of the depths: `rules`, `against`, `depth`, `states`, `transitions`."""
        rows = [(one.label, one.against, *level) for one in self.answers for level in one.levels]
        names = ("rules", "against", "depth", "states", "transitions")
        return frame(rows, names)

    def witness(self, invariant: str, rules: str | None = None, against: str = "") -> Scenario:
        """A shortest schedule after which an invariant is broken, as a scenario.

        Args:
            invariant: Name of the invariant.
            rules: Label of the rule set that breaks it; None for the first that does.
            against: Label of the rule set it is compared with, which does not break it; empty for a
                search of one rule set.

        Raises:
            BadInput: No such search found it broken.
        """
        for (label, other, name), found in self.witnesses.items():
            if rules in (None, label) and (other, name) == (against, invariant):
                return load(found.story)
        broken = dict.fromkeys(found.invariant for found in self.witnesses.values())
        raise BadInput(f"witness: {invariant}: not broken; broken: {', '.join(broken)}")

    @property
    def witnesses(self) -> dict[tuple[str, str, str], SearchWitness]:
        """Schedule, sentence, story and near miss, by (rules, against, invariant)."""
        return {
            (one.label, one.against, found.invariant): found
            for one in self.answers
            for found in one.witnesses
        }

    def _rows(self) -> list[tuple[Any, ...]]:
        return [
            (
                *(one.label, one.against, one.states, one.transitions, one.depth),
                *(one.exhausted, ", ".join(w.invariant for w in one.witnesses)),
            )
            for one in self.answers
        ]

    def __repr__(self) -> str:
        """Returns one line for people."""
        found = sum(bool(one.witnesses) for one in self.answers)
        return f"Explored({self.title}: {len(self.answers)} answers, {found} with violations)"

    def _repr_html_(self) -> str:
        head = ("rules", "against", "states", "transitions", "moves", "every schedule", "breaks")
        return grid(head, self._rows(), note=self.title)


def explore(plan: str | Path | Mapping[str, Any], *, processes: int = 1) -> Explored:
    """Searches every schedule of a small world for the shortest that breaks each invariant.

    Args:
        plan: A plan, `format: replog-explore/1`: the path of a file, its text, or its data.
        processes: Number of searches at a time.

    Raises:
        BadInput: One line per problem with the plan.
    """
    from sim.study.explore.answers import explore as search
    from sim.study.explore.plan import load_plan, plan_in

    document = document_of(plan, "the plan")
    loaded = load_plan(Path(str(plan))) if document is None else plan_in(document)
    found = [answer for answers in search(loaded, processes=processes) for answer in answers]
    return Explored(loaded, tuple(found))
