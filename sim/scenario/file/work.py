"""What could never end, though each number of a scenario file by itself is allowed."""

from __future__ import annotations

from collections.abc import Sequence

from sim.files.document import Report
from sim.limits import DURATION, WORK
from sim.rules import Rules
from sim.scenario.file.format import ScenarioFile
from sim.scenario.model import Consumer, ReplicaSpec, Topic


def check_work(
    file: ScenarioFile,
    *,
    replicas: Sequence[ReplicaSpec],
    consumers: Sequence[Consumer],
    rules: Rules,
    topic: Topic,
    report: Report,
) -> None:
    """Report a run that is too long for what repeats in it, and last rounds that are too long.

    Whatever repeats does so at its period for all of the run, and each of the last rounds goes on
    for as long as tombstones are kept.
    """
    periods = [replica.cleaner_backoff_ms for replica in replicas]
    periods += [consumer.poll_ms for consumer in consumers]
    looks = sum(file.duration_ms // period for period in periods if period is not None)
    problem = WORK.too_many(looks, "looks of cleaners and consumers, at their periods")
    if problem is not None:
        report(("duration_ms",), problem)
    round_ms = max(rules.topic.delete_retention_ms, topic.min_compaction_lag_ms)
    if file.last_rounds * round_ms > DURATION.most:
        text = f"{file.last_rounds} rounds of {round_ms} ms are more than {DURATION.most} ms"
        report(("last_rounds",), f"{text} ({DURATION.name})")
