"""`replog sweep`, `replog report` and `replog gate`: random scenarios and their evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.cli.arguments import (
    Argument,
    FailuresIn,
    Folder,
    IntRange,
    Json,
    SparkOptions,
    shipped,
)
from sim.cli.output import (
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    LINE_EVERY_S,
    StatusLine,
    beside,
    complain,
    hand_over,
    print_json,
    print_table,
    tell,
)
from sim.errors import BadInput
from sim.files.limits import CASES, PARTITIONS, SEED
from sim.plugins import command_of

if TYPE_CHECKING:
    from sim.study.gates import Gates, Verdict
    from sim.study.sweep.runner import SweepResult, Unjudged


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Options for gates: families and budgets, and rule sets.

    Attributes:
        fail_on: Fail if any run violates this family or invariant, `any` invariant, or those that
            the plan is `about`; may be given more than once.
        budget: Fail if the runs show that more than this share of runs violates a family or an
            invariant; may be given more than once.
        rule_set: Judge only this rule set; may be given more than once.
    """

    fail_on: Annotated[list[str] | None, Argument(metavar="NAME")] = None
    budget: Annotated[list[str] | None, Argument(metavar="NAME=SHARE%")] = None
    rule_set: Annotated[list[str] | None, Argument(metavar="LABEL")] = None


def gates_from(given: GateOptions) -> Gates | None:
    """The gates that the options ask for; None without any.

    Raises:
        BadInput: A gate cannot be read, or there is an option for gates and no gate.
    """
    if not (given.fail_on or given.budget):
        if given.rule_set:
            raise BadInput("--rule-set: needs --fail-on or --budget")
        return None
    from sim.study.gates import Gates, budget_in

    return Gates(
        fail_on=tuple(given.fail_on or ()),
        budgets=tuple(map(budget_in, given.budget or ())),
        rule_sets=tuple(given.rule_set or ()),
    )


def show_verdict(verdict: Verdict, *, as_json: bool) -> None:
    """Prints each comparison in a line, unless `as_json`; gives GitHub a page and annotations."""
    if not as_json:
        for line in verdict.lines():
            tell(line)
        if verdict.reproduce is not None:
            print(f"reproduce: {verdict.reproduce}")
    hand_over(verdict.as_markdown(), verdict.error_commands(), as_json=as_json)


def gate(folder: Folder, *, options: GateOptions, as_json: Json = False) -> int:
    """Judge a finished sweep by gates, without running it again.

    Status 0: every gate passed. 1: a gate failed, or a run ended in an exception. 3: the runs are
    too few to decide, or one hit a bound. The test of a budget is exact and one-sided; several
    budgets are corrected for their number (Holm).
    """
    from sim.study.sweep.runner import unjudged

    gates = gates_from(options)
    if gates is None:
        raise BadInput(f"{folder}: no gate; give --fail-on or --budget")
    verdict = _verdict(folder, gates)
    missing = unjudged(verdict.folder.statistics)
    if as_json:
        unfinished = {"errors": missing.errors, "unfinished": missing.unfinished}
        print_json({"out": str(folder), **verdict.as_document(), **unfinished})
    show_verdict(verdict, as_json=as_json)
    if missing.first_run is not None:
        complain(not_green(missing, runs=verdict.folder.sweep.runs, out=folder))
    return status_of(verdict, missing)


def not_green(missing: Unjudged, *, runs: int, out: Path) -> str:
    """The runs without a verdict, in a line, then the command that repeats the first of them."""
    columns = f"see the columns error and reason of {out}/runs"
    command = command_of("run", out, missing.first_run)
    return f"{missing.in_words(runs)}; {columns}\nreproduce: {command}"


def status_of(verdict: Verdict | None, missing: Unjudged) -> int:
    """The exit status by the gates and by runs without a verdict."""
    outcome = "passed" if verdict is None else verdict.outcome
    if missing.errors or outcome == "failed":
        return EXIT_FAILED
    return EXIT_INCONCLUSIVE if missing.unfinished or outcome == "undecided" else 0


def sweep(
    plan: Annotated[Path, Argument(shipped)],
    *,
    out: Annotated[Path, Argument(metavar="DIR")],
    count: Annotated[int | None, Argument(IntRange(1, CASES.most), "N")] = None,
    seed: Annotated[int | None, Argument(IntRange(0, SEED.most), "N")] = None,
    on: SparkOptions,
    partitions: Annotated[int | None, Argument(IntRange(1, PARTITIONS.most), "N")] = None,
    resume: bool = False,
    options: GateOptions,
    failures: FailuresIn = None,
    as_json: Json = False,
) -> int:
    """Run a plan's random scenarios under each of its rule sets, in parallel.

    A sweep counts violations; they are failures only with a gate (--fail-on, --budget; `replog
    gate` judges a finished sweep). Status 1: a gate failed, or a run ended in an exception. Status
    3: the runs are too few for a gate, or one hit a bound before it left the durability contract.

    Args:
        plan: A sweep plan, YAML; or a shipped one's id.
        out: Folder for the tables; new or, to resume, old.
        count: Random cases (default: the plan's, with --resume the folder's).
        seed: Seed (default: the plan's, with --resume the folder's).
        partitions: Number of blocks (default: by size, long ones first).
        resume: Continue the sweep in DIR; with a larger --count also a finished one.
    """
    from sim.study.sweep.plan import load_plan, number_runs
    from sim.study.sweep.runner import run_sweep, unjudged

    loaded = load_plan(plan)
    gates = gates_from(options)
    if gates is not None:
        labels = [rule_set.label for rule_set in number_runs(loaded).rule_sets]
        gates.check(labels, loaded.about)
    with StatusLine(lines_every_s=LINE_EVERY_S) as line:
        result = run_sweep(
            loaded,
            out=out,
            count=count,
            seed=seed,
            engine=on.engine,  # type: ignore[arg-type]
            master=on.master,
            spark=on.settings(default="spark"),
            partitions=partitions,
            resume=resume,
            teller=line,
            plan_file=str(plan),
        )
    verdict = None if gates is None else _verdict(out, gates)
    missing = unjudged(result.statistics)
    _show_sweep(result, missing, verdict, as_json=as_json)
    if verdict is not None:
        show_verdict(verdict, as_json=as_json)
    if failures is not None:
        from sim.api.sweeps import open_sweep

        for run in open_sweep(out).failures().one_per_cause():
            tell(f"failure: {run.save(failures)}", beside(as_json))
    if missing.first_run is not None:
        show = complain if as_json else print
        show(not_green(missing, runs=result.sweep.runs, out=result.out))
    return status_of(verdict, missing)


def _verdict(out: Path, gates: Gates) -> Verdict:
    from sim.study.gates import judge
    from sim.study.sweep.table import read_folder

    return judge(read_folder(out), gates)


def _show_sweep(
    result: SweepResult, missing: Unjudged, verdict: Verdict | None, *, as_json: bool
) -> None:
    if as_json:
        print_json(
            {
                "out": str(result.out),
                "cases": result.sweep.count,
                "environments": {
                    one.name: result.sweep.cases_in(number)
                    for number, one in enumerate(result.sweep.environments)
                },
                "runs": result.sweep.runs,
                "verdicts": result.verdicts,
                "errors": missing.errors,
                "unfinished": missing.unfinished,
                "runs_per_second": round(result.rate, 1),
                **(verdict.as_document() if verdict else {}),
            }
        )
        return
    print_table(
        [
            {"rule set": label, **{name: f"{runs:,}" for name, runs in row.items()}}
            for label, row in result.verdicts.items()
        ]
    )
    tell(
        f"{result.out}: {result.sweep.runs:,} runs of {result.sweep.drawn}, "
        f"{result.rate:,.0f} runs/s; next: "
        f"{command_of('report', result.out)} (--alternative VALUE adds a fix)"
    )


def report(
    folder: Folder,
    *,
    decision: Annotated[str | None, Argument(metavar="NAME")] = None,
    alternative: Annotated[str | None, Argument(metavar="VALUE")] = None,
    as_json: Json = False,
) -> int:
    """Write report.html, report.md and report.json, and print the verdict with its grid.

    With --json print the content of report.json and write nothing.

    A row of the grid is a hazard, a column an alternative; a cell has the results of searches, the
    rates of random runs, and the stories that show it. `replog causes DIR` says why runs fail.

    Args:
        decision: Report this decision of the plan alone (default: all, the first one on top).
        alternative: Add one more value of the rule that the decision is about, such as a fix of a
            plugin: run the sweep once more with it and the searches that lack it, in
            DIR/with_VALUE, and report on that. A search takes five minutes at most for each
            rule set.
    """
    from sim.study.report import (
        add_alternative,
        decision_of,
        document_of,
        grid_rows,
        grids_of,
        headline,
        read_folder,
        write_report,
    )

    found = read_folder(folder)
    if alternative is not None:
        chosen = decision_of(found.sweep, decision)
        with StatusLine(lines_every_s=LINE_EVERY_S) as line:
            folder = add_alternative(found, chosen, alternative, teller=line)
        found, decision = read_folder(folder), None
    grids = grids_of(found, decision)
    if as_json:
        print_json(document_of(found, grids))
        return 0
    page = write_report(found, grids)
    print_table(grid_rows(grids[0]), texts=True)
    for sentence in headline(found, grids[0]):
        tell(sentence)
    tell(f"report: {page}")
    return 0
