"""Settings of a timed scenario that change nothing in it, and last rounds that take too long.

During the wait of a last round cleaners look at their logs and followers fetch. With the default
retention of a day these events alone are more than a run may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sim.files.limits import DURATION
from sim.protocol.rules import Rules
from sim.simulate.faults.kinds import RemoveReplica
from sim.simulate.scenario.model import Scenario, Topic

_WHEN_TO_COMPACT = {
    "min_cleanable_dirty_ratio": "min.cleanable.dirty.ratio",
    "min_compaction_lag_ms": "min.compaction.lag.ms",
    "max_compaction_lag_ms": "max.compaction.lag.ms",
    "dedupe_buffer_bytes": "log.cleaner.dedupe.buffer.size",
}
_WHAT_TO_DELETE = {"retention_ms": "retention.ms", "retention_bytes": "retention.bytes"}
_WHEN_TO_FLUSH = {"flush_messages": "flush.messages", "flush_ms": "flush.ms"}


def setting_notes(scenario: Scenario) -> list[str]:
    """A line for each reason why settings of a scenario change nothing."""
    topic, rules, default = scenario.topic, scenario.rules, Rules()
    notes = unread_notes(scenario.unread)
    if not topic.deletes:
        notes += _idle(topic, _WHAT_TO_DELETE, "cleanup.policy is compact, which deletes none")
    if not topic.compacts:
        notes += _idle(topic, _WHEN_TO_COMPACT, "cleanup.policy is delete, which compacts nothing")
    if rules.storage.flush != "interval":
        notes += _idle(topic, _WHEN_TO_FLUSH, f"flush is {rules.storage.flush}, not interval")
    if rules.topic.min_isr != default.topic.min_isr and rules.replication.commit != "isr":
        commit = f"commit is {rules.replication.commit}, not isr"
        notes.append(f"min.insync.replicas changes nothing: {commit}")
    return notes


def unread_notes(names: Iterable[str]) -> list[str]:
    """A line about Kafka settings that are not read here; no line without such settings."""
    unread = list(names)
    several = "change" if len(unread) > 1 else "changes"
    return [f"{', '.join(unread)} {several} nothing here"] if unread else []


def _idle(topic: Topic, names: dict[str, str], why: str) -> Iterator[str]:
    default = Topic()
    given = [
        name for field, name in names.items() if getattr(topic, field) != getattr(default, field)
    ]
    several = "change" if len(given) > 1 else "changes"
    if given:
        yield f"{', '.join(given)} {several} nothing: {why}"


class RoundWait(NamedTuple):
    """The time in ms that a last round waits, and the setting behind it."""

    ms: int
    setting: str


def round_wait(rules: Rules, topic: Topic) -> RoundWait:
    """The longer of the two times after which a cleaning pass may remove more."""
    waits = (
        RoundWait(rules.topic.delete_retention_ms, "delete.retention.ms"),
        RoundWait(topic.min_compaction_lag_ms, "min.compaction.lag.ms"),
    )
    return max(waits, key=lambda wait: wait.ms)


def too_long_at_rest(scenario: Scenario) -> str | None:
    """Message that the last rounds take too many events; None when they may have enough."""
    wait = round_wait(scenario.rules, scenario.topic)
    all_ms = scenario.last_rounds * wait.ms
    several = scenario.last_rounds > 1
    rounds = f"{scenario.last_rounds} round{'s' if several else ''} of {wait.ms} ms"
    if all_ms > DURATION.most:
        verb = "are" if several else "is"
        return f"{rounds} {verb} more than {DURATION.most} ms ({DURATION.name})"
    least, most = _least_events(scenario, all_ms), scenario.limits.max_events
    if least <= most:
        return None
    verb = "take" if several else "takes"
    return (
        f"{rounds} ({wait.setting}) {verb} {least} simulator events or more, above "
        f"limits.max_events, {most}; make {wait.setting} shorter"
    )


def _least_events(scenario: Scenario, wait_ms: int) -> int:
    """Number of cleaner looks, fetches and answers in a time without faults.

    Replicas that a fault may have removed before, the busiest ones, are left out.
    """
    network, rules = scenario.network, scenario.rules
    gone = sum(isinstance(fault, RemoveReplica) for fault in scenario.faults)
    kept = max(1, len(scenario.replicas) - gone)
    backoffs = [replica.cleaner_backoff_ms for replica in scenario.replicas]
    looks = sorted(0 if backoff is None else wait_ms // backoff for backoff in backoffs)
    latencies = [network.latency_ms, *(link.latency_ms for link in network.links)]
    answered_ms = scenario.timers.fetch_wait_ms + 2 * max(1, *(longest for _, longest in latencies))
    cleaners = 0 if rules.cleaner.cleanup == "snapshot" else sum(looks[:kept])
    return cleaners + 2 * (kept - 1) * (wait_ms // answered_ms)
