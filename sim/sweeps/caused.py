"""A run of a sweep with the causes of what it violated, worked out where its events are at hand."""

from __future__ import annotations

from dataclasses import replace

from sim.explain.signature import first_causes
from sim.scenario.model import Scenario
from sim.scenario.model.promises import promise_of
from sim.timed_run import Run, run_scenario
from sim.trace import Event


def run_with_causes(scenario: Scenario) -> Run:
    """Runs a scenario; a run that violates something has its `causes`.

    Its events are kept until it ends: there are no more than `limits.max_events` allows.
    """
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    if not run.violations:
        return run
    rules, _earlier = promise_of(scenario)
    return replace(run, causes=first_causes(events, run.violations, rules))
