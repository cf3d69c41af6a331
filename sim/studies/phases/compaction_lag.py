"""How likely does a record wait longer than the D + M + D of KIP-354?"""

from __future__ import annotations

from typing import Final

from sim.rules import settings_from
from sim.scenario.generate.streams import Draws
from sim.scenario.model import ReplicaSpec, Scenario, Send, Topic, Workload
from sim.studies.phases.question import Axis, Point, Question

LAG_MS: Final = 1_000
"""M: `max.compaction.lag.ms`."""
BUSY_UNTIL_MS: Final = 3_000
DURATION_MS: Final = 7_000
LOOK_EVERY_MS: Final = 20
TRAFFIC: Final = ("busy to the end", "idle after 3 s")
ROLLS: Final = ("on_append", "timer")


def scenario(seed: int, point: Point) -> Scenario:
    """One replica, producers whose clocks are wrong by up to D, and perhaps silence."""
    traffic, roll, disorder = point
    draws = Draws(seed, "phases/compaction lag")
    difference_ms = round(disorder * LAG_MS)
    until_ms = DURATION_MS if traffic == 0 else BUSY_UNTIL_MS
    sends, at_ms = [], LAG_MS
    while (at_ms := at_ms + 5 + draws.below(40)) < until_ms:
        # Kept a little inside of D: what arrives too late to be within it would be refused.
        wrong_ms = round((2 * draws.random() - 1) * max(0, difference_ms - 5))
        sends.append(Send(at_ms, 1, f"k{draws.below(8)}", f"v{at_ms}", at_ms + wrong_ms))
    return Scenario(
        id=f"compaction-lag-{seed}",
        seed=seed,
        duration_ms=DURATION_MS,
        topic=Topic(
            segment_bytes=1 << 20,
            segment_ms=None,
            min_cleanable_dirty_ratio=1.0,
            max_compaction_lag_ms=LAG_MS,
            timestamp_difference_max_ms=max(5, difference_ms),
        ),
        replicas=(ReplicaSpec("r1", cleaner_backoff_ms=LOOK_EVERY_MS),),
        consumers=(),
        workload=Workload(tuple(sends)),
    ).with_rules(settings_from({"preset": "kafka-4.0", "roll": ROLLS[int(roll)]}))


QUESTION: Final = Question(
    name="compaction_lag",
    title="A record waits longer than D + M + D",
    rate_of="runs in which a record is not eligible for cleaning in the time of KIP-354's note",
    setting=(
        "One replica with max.compaction.lag.ms M = 1,000, no other reason to clean or to roll, "
        "and a cleaner that looks every 20 ms; records on eight keys every 25 ms on "
        "average, dated wrong by up to D, which is message.timestamp.difference.max.ms. Rule "
        "`roll`: an append closes a segment that is too old (`on_append`, Kafka's), or a timer."
    ),
    panels=Axis("traffic", (0.0, 1.0), TRAFFIC),
    rows=Axis("what closes a segment", (0.0, 1.0), ("an append", "a timer")),
    columns=Axis("disorder: D ÷ M", (0.0, 0.1, 0.25, 0.5, 1.0)),
    scenario=scenario,
    invariant="compaction-lag-bound",
)
