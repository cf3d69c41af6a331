"""`replog trace replay`: what each strategy keeps of real changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from sim.cli.arguments import Argument, GivenRules, Json, Number, rule_values
from sim.cli.output import EXIT_INCONCLUSIVE, print_answer, print_table
from sim.limits import CHANGES


def trace_replay(
    file: Path,
    *,
    rule: GivenRules = None,
    limit: Annotated[int | None, Argument(Number(1, limit=CHANGES), "N")] = None,
    as_json: Json = False,
) -> int:
    """Replay a trace through three replicas, once per strategy, and compare what is kept.

    Args:
        file: A trace, Parquet or CSV.
        limit: Only so many changes, first ones first.
    """
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
    shown = [
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
    return print_answer(as_json, list(map(asdict, rows)), lambda: print_table(shown), status=status)
