"""Replays a file of real changes through a cluster, once per compaction strategy."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from sim.files.changes import read_changes
from sim.files.foreign import one_line
from sim.protocol.rules import Rules
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.model import Consumer, Scenario, Topic, TraceSource, Workload

BATCH_RECORDS = 100
INTERVAL_MS = 5
SETTLE_MS = 2_000
SEGMENT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome of a trace under one strategy.

    Attributes:
        strategy: The strategy.
        records_in: Changes appended by the leader.
        records_kept: Records left per replica at rest, on average, with the active segment.
        keys: Keys with a committed record.
        winners_differing: Keys whose winner is not their last record, as it would be by offset.
        tombstones_left: Tombstones left per replica at rest, on average.
        verdict: `holds`, `violated` or `inconclusive`.
        violated: Which invariants.
        seconds: How long the run took, in real time.
    """

    strategy: str
    records_in: int
    records_kept: int
    keys: int
    winners_differing: int
    tombstones_left: int
    verdict: str
    violated: tuple[str, ...]
    seconds: float


def replay_trace(path: Path, *, rules: Rules, strategies: Sequence[str]) -> Iterator[Replayed]:
    """Replay a trace under `rules` with each of `strategies`, through three replicas.

    Args:
        path: A Parquet or CSV file, see `sim.files.changes`.
        rules: Everything but the strategy.
        strategies: Names of strategies.

    Raises:
        BadInput: The file cannot be read or lacks columns.
    """
    changes = sum(1 for _ in read_changes(path))
    scenario = Scenario(
        id=one_line(path.stem),
        title=f"{path.name} through three replicas",
        duration_ms=ceil(changes / BATCH_RECORDS) * INTERVAL_MS + SETTLE_MS,
        topic=Topic(segment_bytes=SEGMENT_BYTES, min_cleanable_dirty_ratio=0.5),
        workload=Workload(
            trace=TraceSource(
                str(path.resolve()), batch_records=BATCH_RECORDS, interval_ms=INTERVAL_MS
            )
        ),
        consumers=(Consumer("c1"),),
    )
    for strategy in strategies:
        started = time.perf_counter()
        run = run_scenario(
            scenario.with_rules(rules.with_values({"strategy": strategy}, where="strategy"))
        )
        replicas, counted = len(scenario.replicas), run.counters_at_rest
        yield Replayed(
            strategy=strategy,
            records_in=counted["records"],
            records_kept=counted["records_retained"] // replicas,
            keys=counted["keys"],
            winners_differing=counted["keys_won_earlier"],
            tombstones_left=counted["tombstones_left"] // replicas,
            verdict=run.verdict,
            violated=tuple(run.violated),
            seconds=time.perf_counter() - started,
        )
