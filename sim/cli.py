"""The `replog` command: parses arguments, calls the layers below, prints what they answer.

Results go to stdout, progress and problems to stderr. Exit status: 0 every expectation met,
1 one failed, 2 bad usage or input, 3 inconclusive, 130 interrupted.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from sim import __version__
from sim.errors import BadInput

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INCONCLUSIVE = 3
EXIT_INTERRUPTED = 130
WIDTH_WHEN_PIPED = 160

app = typer.Typer(
    name="replog",
    help="A simulated testbed for compacted, replicated logs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
trace_app = typer.Typer(help="Workloads out of real changes.", no_args_is_help=True)
app.add_typer(trace_app, name="trace")

File = Annotated[Path, typer.Argument(help="A story or a timed scenario, YAML or JSON.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
RuleOption = Annotated[
    list[str] | None,
    typer.Option("--rule", help="Replace a rule: name=value. May be given more than once."),
]


def main() -> None:
    """Run the command line; every expected problem is one line and an exit status."""
    try:
        app()
    except BadInput as error:
        _complain(str(error))
        sys.exit(EXIT_BAD_INPUT)
    except KeyboardInterrupt:
        _complain("interrupted")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_FAILED)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise
        _complain(f"{error.filename or 'output'}: {error.strerror}")
        sys.exit(EXIT_BAD_INPUT)


def _complain(text: str) -> None:
    for line in text.splitlines():
        print(f"replog: {line}", file=sys.stderr)


def _console() -> Console:
    """For people: plain text when stdout is no terminal."""
    width = None if sys.stdout.isatty() else WIDTH_WHEN_PIPED
    return Console(highlight=False, soft_wrap=True, width=width)


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False))


def _rule_values(given: list[str] | None) -> dict[str, str]:
    values = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--rule {text}: expected name=value")
        values[name] = value
    return values


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"replog {__version__}")
        raise typer.Exit


@app.command()
def run(
    file: File,
    seed: Annotated[int | None, typer.Option(help="Replace the scenario's seed.")] = None,
    rule: RuleOption = None,
    as_json: AsJson = False,
    trace: Annotated[
        Path | None, typer.Option(help="Write every event to this file, as NDJSON.")
    ] = None,
) -> None:
    """Run one scenario or story and compare it with what it expects."""
    from sim.run import write_trace
    from sim.suite import run_file

    if trace is not None and not trace.parent.is_dir():
        raise BadInput(f"--trace {trace}: no such folder: {trace.parent}")
    result = run_file(file, seed=seed, rules=_rule_values(rule), keep_events=trace is not None)
    if trace is not None:
        write_trace(trace, result.events)
    if as_json:
        _print_json(result.as_json())
    else:
        options = "".join(f" --rule {text}" for text in rule or [])
        options += "" if seed is None else f" --seed {seed}"
        _show(result, f"replog run {file}{options}")
    raise typer.Exit(result.exit_code)


def _show(result: Any, command: str) -> None:  # noqa: ANN401 - imported lazily
    out = _console()
    out.print(f"{result.id}: {result.title}", markup=False)
    for violation in result.violations:
        when = f"step {violation.at}" if "replicas" in result.detail else f"{violation.at} ms"
        out.print(f"  {violation.invariant} ({when}): {violation.sentence}", markup=False)
    for name, view in result.detail.get("replicas", {}).items():
        state = "up" if view["up"] else "down"
        out.print(
            f"  replica {name} ({state}): {' '.join(view['log']) or 'empty'}"
            f"  [start {view['start']}, high watermark {view['hw']}, log end {view['leo']}]",
            markup=False,
        )
    if "counters" in result.detail:
        _show_counters(out, result.detail)
    for line in result.differences:
        out.print(f"  not as expected: {line}", markup=False)
    verdict = result.verdict + (f" ({result.reason})" if result.reason else "")
    met = "expectation met" if result.expectation_met else "expectation NOT met"
    out.print(f"{verdict}; {met}; {result.wall_ms} ms", markup=False)
    if not result.expectation_met:
        out.print(f"reproduce: {command}", markup=False)


def _show_counters(out: Console, detail: Mapping[str, Any]) -> None:
    counters = {name: value for name, value in detail["counters"].items() if value}
    out.print("  " + ", ".join(f"{name} {value:,}" for name, value in counters.items()))
    if detail["reached"]:
        out.print("  reached: " + ", ".join(detail["reached"]))
    out.print(f"  seed {detail['seed']}, digest {detail['digest']}")


@app.command()
def suite(
    folder: Annotated[Path, typer.Argument(help="Folder with scenario files.")],
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run every scenario file below a folder."""
    from sim.suite import run_suite, write_junit

    if junit is not None and not junit.parent.is_dir():
        raise BadInput(f"--junit {junit}: no such folder: {junit.parent}")
    out = _console()
    results = []
    for result in run_suite(folder):
        results.append(result)
        if not as_json:
            mark = "ok  " if result.expectation_met else "FAIL"
            out.print(f"{mark} {result.path}  {result.wall_ms} ms", markup=False)
            for line in result.differences:
                out.print(f"       {line}", markup=False)
            if not result.expectation_met:
                out.print(f"       reproduce: replog run {result.path}", markup=False)
    if junit is not None:
        write_junit(junit, results)
    failed = [result for result in results if not result.expectation_met]
    if as_json:
        _print_json([{"path": str(result.path), **result.as_json()} for result in results])
    else:
        out.print(f"{len(results) - len(failed)} as expected, {len(failed)} not")
    raise typer.Exit(max((r.exit_code for r in failed), default=0) if failed else 0)


@app.command()
def sweep(
    plan: Annotated[Path, typer.Argument(help="A sweep plan, YAML.")],
    out: Annotated[Path, typer.Option(help="Folder for the tables; new or, to resume, old.")],
    count: Annotated[int | None, typer.Option(help="Random cases (default: the plan's).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed (default: the plan's).")] = None,
    engine: Annotated[str, typer.Option(help="spark or process.")] = "spark",
    master: Annotated[str | None, typer.Option(help="Spark master URL.")] = None,
    partitions: Annotated[
        int | None, typer.Option(help="Blocks per wave (default: about two seconds each).")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a plan's random scenarios under each of its rule sets, in parallel."""
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
        _print_json(
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
            f"{result.rate:,.0f} runs/s; next: replog report {result.out}"
        )
    if errors:
        _complain(f"{errors} runs ended in an exception; see the column 'error' of {out}/runs")
    raise typer.Exit(EXIT_FAILED if errors else 0)


def _show_verdicts(verdicts: Mapping[str, Mapping[str, int]]) -> None:
    table = Table("rule set", box=None)
    columns = list(dict.fromkeys(name for row in verdicts.values() for name in row))
    for name in columns:
        table.add_column(name, justify="right")
    for label, row in verdicts.items():
        table.add_row(label, *[f"{row.get(name, 0):,}" for name in columns])
    _console().print(table)


@app.command()
def replay(
    folder: Annotated[Path, typer.Argument(help="A sweep's folder.")],
    run_id: Annotated[int, typer.Argument(help="The run's number in the table.")],
    trace: Annotated[
        Path | None, typer.Option(help="Write every event to this file, as NDJSON.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run one row of a sweep again, in full, and compare its digest with the row's."""
    from sim.run import write_trace
    from sim.sweep import find_run
    from sim.sweep import replay as replay_run

    events: list[Any] = []
    made = replay_run(folder, run_id, trace=events)
    row = find_run(folder, run_id)
    same = row["digest"] == made.digest
    if trace is not None:
        write_trace(trace, events)
    if as_json:
        _print_json(
            {
                "run_id": run_id,
                "seed": made.seed,
                "rules": made.rules.as_dict(),
                "verdict": made.verdict,
                "reason": made.reason,
                "violations": [v._asdict() for v in made.violations],
                "counters": made.counters,
                "reached": list(made.reached),
                "digest": made.digest,
                "digest_reproduced": same,
            }
        )
    else:
        out = _console()
        out.print(f"run {run_id}: {made.id}", markup=False)
        for violation in made.violations:
            out.print(
                f"  {violation.invariant} ({violation.at} ms): {violation.sentence}", markup=False
            )
        _show_counters(
            out,
            {
                "counters": made.counters,
                "reached": made.reached,
                "seed": made.seed,
                "digest": made.digest,
            },
        )
        out.print(f"{made.verdict}; digest {'reproduced' if same else 'DIFFERS from the row'}")
    raise typer.Exit(0 if same else EXIT_FAILED)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A sweep's folder.")],
    as_json: AsJson = False,
) -> None:
    """Write report.html, report.md and report.json, and print the comparison table."""
    from sim.report import comparison_table, write_report

    page = write_report(folder)
    if as_json:
        print((folder / "report.json").read_text(encoding="utf-8"))
        return
    rows = comparison_table(folder)
    table = Table(box=None)
    for name in rows[0]:
        table.add_column(name, justify="left" if name == next(iter(rows[0])) else "right")
    for row in rows:
        table.add_row(*[str(value) for value in row.values()])
    _console().print(table)
    print(f"report: {page}")


@app.command()
def draw(
    story: Annotated[Path, typer.Argument(help="A story file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The SVG file to write.")],
    step: Annotated[
        list[str] | None,
        typer.Option(help="NUMBER=caption of a moment to show; more than once. Default: the end."),
    ] = None,
) -> None:
    """Draw what the replicas' logs look like at chosen steps of a story."""
    from sim.report.picture import draw_story
    from sim.story import load_story, tell

    captions = {}
    for text in step or []:
        number, equals, caption = text.partition("=")
        if not equals or not number.isdecimal():
            raise BadInput(f"--step {text}: expected NUMBER=caption")
        captions[int(number)] = caption
    run = tell(load_story(story))
    picture = draw_story(run, captions or {len(run.story.steps): "at the end"})
    if not output.parent.is_dir():
        raise BadInput(f"--output {output}: no such folder: {output.parent}")
    output.write_text(picture, encoding="utf-8")
    print(output)


@trace_app.command("git")
def trace_git(
    repository: Annotated[Path, typer.Argument(help="A git repository.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The Parquet file to write.")],
    limit: Annotated[int | None, typer.Option(help="Only so many commits, oldest first.")] = None,
) -> None:
    """Turn a repository's history into a changelog: one row per changed path per commit."""
    from sim.changelog import write_git_changelog

    made = write_git_changelog(repository, output, limit=limit)
    print(
        f"{made.path}: {made.changes:,} changes, {made.deletions:,} of them deletions, "
        f"in {made.commits:,} commits"
    )


@trace_app.command("replay")
def trace_replay(
    file: Annotated[Path, typer.Argument(help="A trace, Parquet or CSV.")],
    rule: RuleOption = None,
    limit: Annotated[int | None, typer.Option(help="Only so many changes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a trace through three replicas, once per strategy, and compare what is kept."""
    from dataclasses import asdict

    from sim.compaction import STRATEGIES
    from sim.replay_trace import replay_trace
    from sim.replication import rules_from

    values = _rule_values(rule)
    strategies = [values.pop("strategy")] if "strategy" in values else list(STRATEGIES)
    rules = rules_from({"preset": "kafka-4.0", "map_range": "full", **values}, where="--rule")
    rows = []
    for replayed in replay_trace(file, rules=rules, strategies=strategies, limit=limit):
        rows.append(replayed)
        print(f"{replayed.strategy}: {replayed.seconds:.1f} s", file=sys.stderr)
    if as_json:
        _print_json([asdict(row) for row in rows])
        return
    table = Table("strategy", box=None)
    for name in (
        "records in",
        "records kept",
        "keys",
        "winners differing",
        "tombstones left",
        "verdict",
        "seconds",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.strategy,
            f"{row.records_in:,}",
            f"{row.records_kept:,}",
            f"{row.keys:,}",
            f"{row.winners_differing:,}",
            f"{row.tombstones_left:,}",
            row.verdict,
            f"{row.seconds:.1f}",
        )
    _console().print(table)


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="rules, presets, invariants or scenarios.")],
    folder: Annotated[Path, typer.Option("--in", help="Where to look for scenarios.")] = Path(
        "scenarios"
    ),
    as_json: AsJson = False,
) -> None:
    """List what there is, from the code, each with its source."""
    from sim import listing

    tables = {
        "rules": listing.rules,
        "presets": listing.presets,
        "invariants": listing.invariants,
        "scenarios": lambda: listing.scenarios(folder),
    }
    if what not in tables:
        raise BadInput(f"list {what}: allowed: {', '.join(tables)}")
    rows = tables[what]()
    if as_json:
        _print_json(rows)
        return
    table = Table(*rows[0], box=None)
    for row in rows:
        table.add_row(*[str(value) for value in row.values()])
    out = _console()
    out.soft_wrap = False
    out.print(table)


@app.command()
def doctor() -> None:
    """Say what this machine can run, and what is missing for the rest."""
    from sim.listing import capabilities

    ready = True
    for name, fine, advice in capabilities():
        print(f"{'ok     ' if fine else 'missing'} {name}: {advice}")
        ready = ready and fine
    raise typer.Exit(0 if ready else EXIT_FAILED)
