"""The environment of a scenario, without its rules and names, and its exposure in numbers."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from pathlib import PurePath

import msgspec

from sim.simulate.faults.kinds import Roll
from sim.simulate.scenario.model import (
    Applications,
    LateMessages,
    Scenario,
    SnapshotSettings,
    Workload,
)


def environment_digest(scenario: Scenario) -> str:
    """Digest, 32 hex digits, of a scenario without its rules and its names.

    Two scenarios with the same digest have the same workload, faults, network, clocks and settings.
    A trace file counts by its name without the folder, so other machines give the same digest.
    """
    workload = scenario.workload
    if workload.trace is not None:
        trace = replace(workload.trace, path=PurePath(workload.trace.path).name)
        workload = replace(workload, trace=trace)
    environment = (
        scenario.seed,
        scenario.duration_ms,
        scenario.topic,
        scenario.replicas,
        scenario.network,
        scenario.timers,
        workload,
        scenario.consumers,
        [(fault.kind, fault) for fault in scenario.faults],
        *((scenario.applications,) if scenario.applications != Applications() else ()),
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
        that are not the newest of their key when they are sent, by timestamp or version.
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
    for _, _, key, _, timestamp_ms, version, _, _ in workload.sends:
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
