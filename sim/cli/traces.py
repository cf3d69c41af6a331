"""`replog trace replay`: what each strategy keeps of real changes."""

from __future__ import annotations

import sys
from pathlib import Path

from sim.cli.arguments import (
    Command,
    Parser,
    rule_values,
    take_json,
    take_plugins,
    take_rules,
)
from sim.cli.bounding import take_bounds
from sim.cli.output import EXIT_INCONCLUSIVE, print_json, print_table
from sim.cli.values import Number
from sim.limits import CHANGES


def _replay_takes(parser: Parser) -> None:
    parser.add_argument("file", type=Path, help="A trace, Parquet or CSV.")
    take_rules(parser)
    take_plugins(parser)
    parser.add_argument(
        "--limit",
        type=Number(1, limit=CHANGES),
        metavar="N",
        help="Only so many changes, first ones first.",
    )
    take_bounds(parser)
    take_json(parser)


def trace_replay(file: Path, *, rule: list[str] | None, limit: int | None, as_json: bool) -> int:
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
    status = EXIT_INCONCLUSIVE if any(row.verdict == "inconclusive" for row in rows) else 0
    if as_json:
        print_json([asdict(row) for row in rows])
        return status
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
    return status


COMMANDS = {
    "trace replay": Command(trace_replay, _replay_takes),
}
