"""The environment of a scenario, all but its rules and names; its exposure in numbers."""

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
    """Digest, 32 hex digits, of everything a scenario is made of except its rules and its names.

    Two scenarios with the same digest meet the same workload, faults, network, clocks and settings.
    Of a trace file the name counts, not the folder: the digest is the same on another machine.
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
    """The counters that a scenario and its rules decide, by name; nothing is simulated.

    Returns:
        `sends`: of its producers, retries not counted; of a trace file 0. `late_sends`: of those,
        the ones that are not the newest of their key when they are sent, by timestamp or version.
        `outages`: faults that keep a replica away or behind; `outages_beyond_retention`: of those,
        the ones that last longer than a tombstone does (`delete_retention_ms`), at most to the end
        of all faults. `rolls`: faults that make a replica start a new segment.
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
