"""`replog sweep`, `replog replay`, `replog report`: random scenarios and what they found."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.cli.output import (
    EXIT_FAILED,
    AsJson,
    PluginOption,
    complain,
    plugin_arguments,
    print_counters,
    print_explanation,
    print_json,
    print_table,
    print_violations,
)
from sim.cli.scenarios import Explain, TraceOut

if TYPE_CHECKING:
    from sim.run import Run

SweepFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A sweep's folder.")]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the program."""
    app.command()(sweep)
    app.command()(replay)
    app.command()(report)


def sweep(
    plan: Annotated[Path, typer.Argument(help="A sweep plan, YAML.")],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the tables; new or, to resume, old.")
    ],
    count: Annotated[int | None, typer.Option(help="Random cases (default: the plan's).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed (default: the plan's).")] = None,
    engine: Annotated[str, typer.Option(help="spark or process.")] = "spark",
    master: Annotated[str | None, typer.Option(help="Spark master URL.")] = None,
    partitions: Annotated[
        int | None, typer.Option(help="Blocks per wave (default: about two seconds each).")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is there.")] = False,
    plugin: PluginOption = None,
    as_json: AsJson = False,
) -> None:
    """Run a plan's random scenarios under each of its rule sets, in parallel."""
    from rich.console import Console

    from sim.sweep import load_plan, run_sweep

    result = run_sweep(
        load_plan(plan),
        out=out,
        count=count,
        seed=seed,
        engine=engine,  # type: ignore[arg-type]
        master=master,
        partitions=partitions,
        resume=resume,
        console=Console(stderr=True),
        plan_file=str(plan),
    )
    errors = sum(verdicts.get("error", 0) for verdicts in result.verdicts.values())
    if as_json:
        print_json(
            {
                "out": str(result.out),
                "cases": result.cases,
                "runs": result.runs,
                "verdicts": result.verdicts,
                "runs_per_second": round(result.rate, 1),
            }
        )
    else:
        _show_verdicts(result.verdicts)
        print(
            f"{result.runs:,} runs of {result.cases:,} cases in {result.out}, "
            f"{result.rate:,.0f} runs/s; next: replog report "
            + shlex.join([str(result.out), *plugin_arguments()])
        )
    if errors:
        complain(f"{errors} runs ended in an exception; see the column 'error' of {out}/runs")
    raise typer.Exit(EXIT_FAILED if errors else 0)


def _show_verdicts(verdicts: Mapping[str, Mapping[str, int]]) -> None:
    names = list(dict.fromkeys(name for row in verdicts.values() for name in row))
    print_table(
        [
            {"rule set": label, **{name: f"{row.get(name, 0):,}" for name in names}}
            for label, row in verdicts.items()
        ]
    )


def replay(
    folder: SweepFolder,
    run_id: Annotated[int, typer.Argument(help="The run's number in the table.")],
    explain: Explain = False,
    trace: TraceOut = None,
    plugin: PluginOption = None,
    as_json: AsJson = False,
) -> None:
    """Run one row of a sweep again, in full, and compare its digest with the row's."""
    from sim.check.explain import explain as explanation_of
    from sim.files.atomic import check_writable
    from sim.rows import write_trace
    from sim.run import as_document
    from sim.sweep import find_run
    from sim.sweep import replay as replay_run

    if trace is not None:
        check_writable(trace, what=f"--trace {trace}")
    row = find_run(folder, run_id)
    events: list[Any] = []
    made = replay_run(folder, run_id, trace=events)
    same = row["digest"] == made.digest
    if trace is not None:
        write_trace(trace, events, tombstone_mark=made.rules.cleaner.tombstone_mark)
    reasons = explanation_of(events, made.violations[0]) if explain and made.violations else []
    if as_json:
        document = {"run_id": run_id, **as_document(made), "digest_reproduced": same}
        print_json({**document, "explanation": reasons} if explain else document)
    else:
        _show_replay(run_id, made, reasons, same=same)
        if not same:
            words = [str(folder), str(run_id), *plugin_arguments()]
            print(f"reproduce: replog replay {shlex.join(words)}")
    raise typer.Exit(0 if same else EXIT_FAILED)


def _show_replay(run_id: int, made: Run, reasons: list[str], *, same: bool) -> None:
    from sim.rules import Rules

    print(f"run {run_id}: {made.id}")
    changed = made.rules.differing_from(Rules())
    print("  rules: " + (", ".join(f"{name}={value}" for name, value in changed.items()) or "-"))
    print_violations(made.violations, unit="ms")
    print_counters(made.counters)
    if made.reached:
        print("  reached: " + ", ".join(made.reached))
    if made.outside:
        print(f"  outside the durability contract: {made.outside}")
    print(f"  seed {made.seed}, digest {made.digest}")
    if reasons:
        print_explanation(reasons, unit="ms")
    verdict = made.verdict + (f" ({made.reason})" if made.reason else "")
    print(f"{verdict}; digest {'reproduced' if same else 'DIFFERS from the row'}")


def report(folder: SweepFolder, plugin: PluginOption = None, as_json: AsJson = False) -> None:
    """Write report.html, report.md and report.json, and print the comparison table."""
    from sim.report import comparison_table, headline, write_report

    page = write_report(folder)
    if as_json:
        print((folder / "report.json").read_text(encoding="utf-8").rstrip())
        return
    print_table(comparison_table(folder))
    for sentence in headline(folder):
        print(sentence)
    print(f"report: {page}")
