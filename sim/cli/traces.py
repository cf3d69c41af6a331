"""`replog trace git` and `replog trace replay`: workloads out of real changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sim.cli.output import AsJson, PluginOption, RuleOption, print_json, print_table, rule_values

trace = typer.Typer(help="Workloads out of real changes.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add these commands to the program."""
    app.add_typer(trace, name="trace")


@trace.command("git")
def trace_git(
    repository: Annotated[Path, typer.Argument(help="A git repository.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The Parquet file to write; without it, NAME-changelog.parquet in this folder.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only so many changes, oldest first.")] = None,
) -> None:
    """Turn a repository's history into a changelog: one row per changed path per commit."""
    from sim.changelog import write_git_changelog

    target = output or Path(f"{repository.resolve().name}-changelog.parquet")
    made = write_git_changelog(repository, target, limit=limit)
    print(
        f"{made.path}: {made.changes:,} changes, {made.deletions:,} of them deletions, "
        f"in {made.commits:,} commits"
    )


@trace.command("replay")
def trace_replay(
    file: Annotated[Path, typer.Argument(help="A trace, Parquet or CSV.")],
    rule: RuleOption = None,
    plugin: PluginOption = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only so many changes, first ones first.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a trace through three replicas, once per strategy, and compare what is kept."""
    from dataclasses import asdict

    from sim.compaction import STRATEGIES
    from sim.rules import rules_from
    from sim.studies.trace_replay import replay_trace

    values = rule_values(rule)
    rules = rules_from({"preset": "kafka-4.0", "map_range": "full", **values}, where="--rule")
    strategies = [rules.cleaner.strategy] if "strategy" in values else list(STRATEGIES)
    rows = []
    for replayed in replay_trace(file, rules=rules, strategies=strategies, limit=limit):
        rows.append(replayed)
        print(f"{replayed.strategy}: {replayed.seconds:.1f} s", file=sys.stderr)
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    print_table(
        [
            {
                "strategy": row.strategy,
                "records in": f"{row.records_in:,}",
                "records kept": f"{row.records_kept:,}",
                "keys": f"{row.keys:,}",
                "winners differing": f"{row.winners_differing:,}",
                "tombstones left": f"{row.tombstones_left:,}",
                "verdict": row.verdict,
                "seconds": f"{row.seconds:.1f}",
            }
            for row in rows
        ]
    )
