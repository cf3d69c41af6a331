"""How likely is an offset given twice, when whoever was away at the end of a log comes to lead?"""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Final

from sim.faults import Fault
from sim.faults.crash import Crash
from sim.faults.migrate import Migrate
from sim.faults.roll import Roll
from sim.rules import settings_from
from sim.scenario.generate import generate
from sim.scenario.generate.clients import draw_shape
from sim.scenario.generate.streams import Draws, stream
from sim.scenario.generate.workload import draw_workload
from sim.scenario.model import Scenario
from sim.studies.phases.deleted_key import MIX as QUIET_MIX
from sim.studies.phases.question import Axis, Point, Question

DURATION_MS: Final = 14_000
IDLE_FROM_MS: Final = 4_000
LEADS_WITHIN_MS: Final = 1_000
MIX: Final = QUIET_MIX.model_copy(
    update={"duration_ms": DURATION_MS, "keys": (2, 12), "late_share": (0.0, 0.5)}
)


def scenario(seed: int, point: Point) -> Scenario:
    """One replica is away when the writers pause, and is made leader soon after it is back."""
    outage_s, idle_s, rolls_per_s = point
    drawn, draws = generate(seed, MIX), Draws(seed, "phases/offset reuse")
    idle_ms, outage_ms = round(1_000 * idle_s), round(1_000 * outage_s)
    shape = replace(draw_shape(seed, MIX, ((IDLE_FROM_MS, IDLE_FROM_MS + idle_ms),)), late_tail=0.5)
    target = draws.choice([replica.name for replica in drawn.replicas])
    at_ms = IDLE_FROM_MS - draws.below(outage_ms)
    back_ms = at_ms + outage_ms
    leads_ms = back_ms + 10 + draws.below(LEADS_WITHIN_MS)
    return replace(
        drawn.with_rules(
            settings_from(
                {"preset": "kafka-4.0", "strategy": "header", "map_range": "full", "fix": "none"}
            )
        ),
        topic=replace(drawn.topic, segment_ms=1_000, min_cleanable_dirty_ratio=0.1),
        replicas=tuple(replace(replica, cleaner_backoff_ms=200) for replica in drawn.replicas),
        workload=replace(
            draw_workload(shape, duration_ms=DURATION_MS, rng=stream(seed, "phases/workload")),
            idempotent=False,
        ),
        faults=(
            Crash(at_ms, target, outage_ms),
            *_rolls(seed, rolls_per_s),
            Migrate(leads_ms, target),
        ),
    )


def _rolls(seed: int, per_s: float) -> list[Fault]:
    """Rolls of the leader's active segment, at random times, so many each second on average."""
    rolls: list[Fault] = []
    draws, at_ms = Draws(seed, "phases/rolls"), 0.0
    while True:
        at_ms -= log(1.0 - draws.random()) * 1_000 / per_s
        if at_ms >= DURATION_MS:
            return rolls
        rolls.append(Roll(int(at_ms), "leader"))


QUESTION: Final = Question(
    name="offset_reuse",
    title="An offset is given twice, without a fix",
    rate_of="runs in which a committed offset is given to another record",
    setting=(
        "Kafka 4.0's rules with KIP-280's header strategy, the full offset map and no fix; three "
        "replicas that clean every 200 ms; producers without sequence numbers, whose last record "
        "before the pause is late in half of the runs. One replica is away when the pause begins, "
        "and is asked to lead within a second of its return. The leader rolls its active segment "
        "at random times; an idle Kafka log is rolled by nothing but retention."
    ),
    panels=Axis("outage of", (0.5, 1.0, 2.0, 4.0), ("0.5 s", "1 s", "2 s", "4 s")),
    rows=Axis("pause of the writers, s", (0.5, 1.0, 2.0, 4.0)),
    columns=Axis("rolls per second", (0.1, 0.3, 1.0, 3.0)),
    scenario=scenario,
    invariant="no-offset-reuse",
)
