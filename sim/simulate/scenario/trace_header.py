"""What the trace of a timed run says of it first: settings, and what the run was drawn from."""

from __future__ import annotations

from typing import Any

from sim.simulate.scenario.file.configs import kafka_settings
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.model import Scenario
from sim.simulate.scenario.model.promises import changes_of, promise_of
from sim.simulate.trace_file import TraceHeader, header_under


def header_of(scenario: Scenario, *, mix: Mix | None = None) -> TraceHeader:
    """The header of the trace of a scenario; `mix` is what it was drawn from, None = a file."""
    snapshots = scenario.snapshots
    asked = (snapshots.record_bytes, snapshots.interval_ms, scenario.timers.snapshot_interval_ms)
    takes = any(value is not None for value in asked)
    return header_under(
        scenario.rules,
        promise_of(scenario).rules,
        id=scenario.id,
        seed=scenario.seed,
        kind="scenario",
        preset=scenario.preset,
        topic=kafka_settings(scenario.rules, scenario.topic, snapshots, takes_snapshots=takes),
        within_contract=True,
        environment={
            "mix": None if mix is None else mix.mix,
            "hunts": None if mix is None else mix.tail_hunts,
            "outage_ms": _outages(scenario) if mix is None else mix.outage_ms,
            "retention_ms": _retentions(scenario),
            "shares": {} if mix is None else _shares(mix),
        },
    )


def _outages(scenario: Scenario) -> tuple[int, int] | None:
    """The shortest and the longest fault in ms; None = none lasts."""
    lengths = [fault.duration_ms for fault in scenario.faults if fault.duration_ms]
    return (min(lengths), max(lengths)) if lengths else None


def _retentions(scenario: Scenario) -> tuple[int, int]:
    """The shortest and the longest `delete.retention.ms` that a replica had."""
    values = [scenario.rules.topic.delete_retention_ms]
    for change in changes_of(scenario):
        values += [int(value) for name, value in change.settings if name == "delete_retention_ms"]
    return min(values), max(values)


def _shares(mix: Mix) -> dict[str, Any]:
    """The chances of the mix, and the ranges its shares were drawn from, by name."""
    found = {}
    for name, value in mix:
        numbers = value if isinstance(value, tuple) else (value,)
        if name != "tail_hunts" and all(isinstance(number, float) for number in numbers):
            found[name] = value
    return found
