"""How likely does a deleted key return, by how long a replica was away?"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sim.faults.crash import Crash
from sim.rules import settings_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.scenario.generate.streams import Draws
from sim.scenario.model import Scenario
from sim.studies.phases.question import Axis, Point, Question

RETENTION_MS: Final = 1_000
DURATION_MS: Final = 12_000
QUIET_MS: Final = 1_000
"""The outage begins after that, and ends so long before the end of the run."""
MIX: Final = Mix(
    duration_ms=DURATION_MS,
    faults=(0, 0),
    tail_hunts=0.0,
    sends=(250, 350),
    keys=(60, 120),
    delete_share=(0.2, 0.2),
    late_share=(0.0, 0.0),
    idle_phases=(0, 0),
    consumers=(0, 0),
    transactional=0.0,
    skewed_clocks=0.0,
    lossy_network=0.0,
    slow_link=0.0,
    cleaners=1.0,
    topic_lags=0.0,
    small_maps=0.0,
    forgotten_producers=0.0,
)
"""Three replicas and their clients, and nothing that goes wrong."""


def scenario(seed: int, point: Point) -> Scenario:
    """A cluster in which one replica is away once, at a random time."""
    _, period, outage = point
    drawn, draws = generate(seed, MIX), Draws(seed, "phases/deleted key")
    outage_ms = round(outage * RETENTION_MS)
    at_ms = QUIET_MS + draws.below(DURATION_MS - 2 * QUIET_MS - outage_ms)
    target = draws.choice([replica.name for replica in drawn.replicas])
    backoff_ms = round(period * RETENTION_MS)
    return replace(
        drawn.with_rules(
            settings_from({"preset": "kafka-4.0", "delete_retention_ms": RETENTION_MS})
        ),
        topic=replace(drawn.topic, segment_ms=200, min_cleanable_dirty_ratio=0.1),
        replicas=tuple(
            replace(replica, cleaner_backoff_ms=backoff_ms) for replica in drawn.replicas
        ),
        faults=(Crash(at_ms, target, outage_ms),),
    )


QUESTION: Final = Question(
    name="deleted_key",
    title="A deleted key returns",
    rate_of="runs with one outage in which a replica shows a deleted key at rest",
    setting=(
        "Kafka 4.0's rules, strategy offset, three replicas, 250 to 350 records on 60 to 120 keys "
        "in 12 s, a fifth of them deletes; delete.retention.ms is 1,000 and segment.ms 200. One "
        "replica crashes once, at a random time. Nothing else goes wrong."
    ),
    panels=Axis("", (0.0,), ("",)),
    rows=Axis("cleaner period ÷ delete.retention.ms", (0.1, 0.25, 0.5, 1.0, 2.0)),
    columns=Axis("outage ÷ delete.retention.ms", (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)),
    scenario=scenario,
    invariant="no-resurrection",
)
