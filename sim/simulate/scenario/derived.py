"""Facts that follow from a timed scenario: its environment, its promise, settings without effect.

The environment is all of a scenario but its rules and names; its exposure is in numbers.

A topic whose settings change promises what its newest settings say, also if these reach a replica
late: at rest, state is judged by the newest strategy over all records that were ever written.
KIP-280 says of a change only that compacted records stay removed. So before that a record may be
missing if another one beats it under any strategy that was in force on some replica. Migrations are
checked for losses that an older strategy allows and the newest does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from hashlib import blake2b
from operator import itemgetter
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from sim.protocol.rules import Rules
from sim.simulate.faults import Roll
from sim.simulate.scenario.model import (
    LateMessages,
    Scenario,
    SnapshotSettings,
    Topic,
    Workload,
    changed,
    changes_of,
)


def environment_digest(scenario: Scenario) -> str:
    """Digest, 32 hex digits, of a scenario without rules, names, expectations and limits.

    Two scenarios with the same digest have the same workload, faults, network, clocks and settings.
    A trace file counts by its name without the folder, so other machines give the same digest.
    """
    workload = scenario.workload
    parts = {field.name: getattr(workload, field.name) for field in fields(workload)}
    parts["sends"] = [send[:-1] for send in workload.sends]
    if workload.trace is not None:
        parts["trace"] = replace(workload.trace, path=PurePath(workload.trace.path).name)
    headers = [(index, send.headers) for index, send in enumerate(workload.sends) if send.headers]
    applications = {"instances": parts.pop("instances"), "headers": headers}  # few have any
    environment = (
        scenario.seed,
        scenario.duration_ms,
        scenario.topic,
        scenario.replicas,
        scenario.network,
        scenario.timers,
        parts,
        scenario.consumers,
        [(fault.kind, fault) for fault in scenario.faults],
        *((applications,) if any(applications.values()) else ()),
        *((scenario.changes,) if scenario.changes else ()),
        *((scenario.last_rounds,) if scenario.last_rounds else ()),
        *((scenario.late_messages,) if scenario.late_messages != LateMessages() else ()),
        *((scenario.snapshots,) if scenario.snapshots != SnapshotSettings() else ()),
    )
    return blake2b(msgspec.msgpack.encode(environment), digest_size=16).hexdigest()


def exposure_of(scenario: Scenario) -> dict[str, int]:
    """Counters that follow from a scenario and its rules without a simulation, by name.

    Returns:
        `sends`: records of its producers, without retries; 0 for a trace file. `late_sends`: those
        that are older, by timestamp or version, than one of their key that was sent before.
        `outages`: faults that keep a replica away or behind; `outages_beyond_retention`: those
        that last longer than a tombstone is retained (`delete_retention_ms`), up to the end of all
        faults. `rolls`: faults that make a replica start a new segment.
    """
    retention_ms = scenario.rules.topic.delete_retention_ms
    lasted = [
        min(fault.duration_ms, scenario.duration_ms - fault.at_ms)
        for fault in scenario.faults
        if fault.outage
    ]
    return {
        "sends": len(scenario.workload.sends),
        "late_sends": _late_sends(scenario.workload),
        "outages": len(lasted),
        "outages_beyond_retention": sum(1 for ms in lasted if ms > retention_ms),
        "rolls": sum(1 for fault in scenario.faults if isinstance(fault, Roll)),
    }


def _late_sends(workload: Workload) -> int:
    newest_ms: dict[str, int] = {}
    newest_version: dict[str, int] = {}
    late = 0
    for _, _, key, _, timestamp_ms, version, *_ in workload.sends:
        is_late = timestamp_ms < newest_ms.get(key, -1)
        if not is_late:
            newest_ms[key] = timestamp_ms
        if version is not None:
            if version < newest_version.get(key, -1):
                is_late = True
            else:
                newest_version[key] = version
        late += is_late
    return late


class Promise(NamedTuple):
    """The rules by which a run is judged.

    Attributes:
        rules: The newest settings; `delete_retention_ms` is the shortest that any replica had.
        earlier: Other settings that were in force before, in order of time.
    """

    rules: Rules
    earlier: tuple[Rules, ...]


def promise_of(scenario: Scenario) -> Promise:
    """The newest settings of a scenario, and all others that were in force before.

    Simplification: a change at one replica counts as one at all of them.
    """
    newest = scenario.rules
    seen = [newest]
    for change in changes_of(scenario):
        if change.replica is not None:
            newest, _ = changed(newest, None, change)
            seen.append(newest)
    if len(seen) == 1:
        return Promise(newest, ())
    shortest = min(rules.topic.delete_retention_ms for rules in seen)
    earlier = tuple(dict.fromkeys(rules for rules in seen if rules != newest))
    return Promise(newest.with_values({"delete_retention_ms": shortest}), earlier)


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


def round_wait(rules: Rules, topic: Topic) -> tuple[int, str]:
    """The time in ms that a last round waits, and the setting behind it.

    It is the longer of the two times after which a cleaning pass may remove more.
    """
    waits = (
        (rules.topic.delete_retention_ms, "delete.retention.ms"),
        (topic.min_compaction_lag_ms, "min.compaction.lag.ms"),
    )
    return max(waits, key=itemgetter(0))
