"""What rule sets are compared in: everything of a scenario but its rules and its names."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from pathlib import PurePath

import msgspec

from sim.simulate.scenario.model import Applications, LateMessages, Scenario
from sim.simulate.scenario.model.cluster import SnapshotSettings


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
