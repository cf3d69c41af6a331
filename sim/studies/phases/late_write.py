"""How likely does a late write outlive the delete that should beat it?"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sim.rules import settings_from
from sim.scenario.generate.streams import Draws
from sim.scenario.model import ReplicaSpec, Scenario, Send, Topic, Workload
from sim.studies.phases.question import Axis, Point, Question

RETENTION_MS: Final = 1_000
WRITES_UNTIL_MS: Final = 9_000
DURATION_MS: Final = 10_000
KEY: Final = "late"
ORDERS: Final = ("header", "timestamp")


def scenario(seed: int, point: Point) -> Scenario:
    """A key is written, deleted, and written again by a record that is older than the delete."""
    order, period, lateness = point
    draws = Draws(seed, "phases/late write")
    written_ms = 500 + draws.below(1_000)
    deleted_ms = written_ms + 100 + draws.below(400)
    late_ms = deleted_ms + round(lateness * RETENTION_MS)
    sends = [
        Send(written_ms, 1, KEY, "first", written_ms, 1),
        Send(deleted_ms, 1, KEY, None, deleted_ms, 3),
        Send(late_ms, 2, KEY, "late", deleted_ms - 50, 2),
    ]
    at_ms = 0
    while (at_ms := at_ms + 20 + draws.below(60)) < WRITES_UNTIL_MS:
        sends.append(Send(at_ms, 3, f"other{draws.below(6)}", f"v{at_ms}", at_ms, at_ms))
    backoff_ms = round(period * RETENTION_MS)
    base = Scenario(
        id=f"late-write-{seed}",
        seed=seed,
        duration_ms=DURATION_MS,
        topic=Topic(segment_ms=200, min_cleanable_dirty_ratio=0.1),
        replicas=tuple(
            ReplicaSpec(name, cleaner_backoff_ms=backoff_ms) for name in ("r1", "r2", "r3")
        ),
        consumers=(),
        workload=Workload(tuple(sorted(sends, key=lambda send: send.at_ms))),
    )
    rules = {
        "preset": "kafka-4.0",
        "strategy": ORDERS[int(order)],
        "map_range": "full",
        "delete_retention_ms": RETENTION_MS,
    }
    return replace(base.with_rules(settings_from(rules)))


QUESTION: Final = Question(
    name="late_write",
    title="A late write outlives its delete",
    rate_of="late writes that a replica shows at rest although the delete has the newer version",
    setting=(
        "Kafka 4.0's rules with a version order, the full offset map, three replicas, a record "
        "on one of six other keys about every 50 ms; delete.retention.ms is 1,000 and "
        "segment.ms 200. A key is written, deleted, and written once more with an older version, "
        "so long after the delete. There is no fault: nobody is ever away."
    ),
    panels=Axis("strategy", (0.0, 1.0), ORDERS),
    rows=Axis("cleaner period ÷ delete.retention.ms", (0.1, 0.25, 0.5, 1.0, 2.0)),
    columns=Axis("lateness ÷ delete.retention.ms", (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)),
    scenario=scenario,
    invariant="no-resurrection",
)
