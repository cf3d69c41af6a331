"""What a scenario exposes a cluster to, in numbers: what a rate over scenarios is a rate of."""

from __future__ import annotations

from sim.scenario.model import FaultKind, Scenario, Workload

OUTAGES = frozenset(
    {
        FaultKind.CRASH,
        FaultKind.WIPE,
        FaultKind.PARTITION,
        FaultKind.ONE_WAY_PARTITION,
        FaultKind.SLOW_FETCHER,
    }
)
"""Faults that keep a replica from what its leader writes: it is away, or falls behind."""


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
        if fault.kind in OUTAGES
    ]
    return {
        "sends": len(scenario.workload.sends),
        "late_sends": _late_sends(scenario.workload),
        "outages": len(lasted),
        "outages_beyond_retention": sum(1 for ms in lasted if ms > retention_ms),
        "rolls": sum(1 for fault in scenario.faults if fault.kind is FaultKind.ROLL),
    }


def _late_sends(workload: Workload) -> int:
    newest: dict[str, tuple[int, int]] = {}
    late = 0
    for send in workload.sends:
        timestamp_ms, version = newest.get(send.key, (-1, -1))
        own = -1 if send.version is None else send.version
        late += send.timestamp_ms < timestamp_ms or (send.version is not None and own < version)
        newest[send.key] = (max(timestamp_ms, send.timestamp_ms), max(version, own))
    return late
