"""Notes about settings of a timed scenario that change nothing in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sim.protocol.rules import Rules
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
