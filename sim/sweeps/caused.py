"""A run of a sweep with what its events tell of its violations: why, and since when."""

from __future__ import annotations

from dataclasses import replace

from sim.explain.signature import first_signatures
from sim.explain.since import kept_pasts, so_since
from sim.scenario.model import Scenario
from sim.scenario.model.promises import promise_of
from sim.sweeps.row import reported
from sim.timed_run import Run, run_scenario
from sim.trace import Event


def run_with_causes(scenario: Scenario) -> Run:
    """Runs a scenario; a run that violates something has its `causes`, and `since` when.

    Its events are kept until it ends: there are no more than `limits.max_events` allows.
    """
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    if not run.violations:
        return run
    rules, _earlier = promise_of(scenario)
    past_at = kept_pasts(events, rules)
    signatures = first_signatures(events, run.violations, rules, past_at)
    return replace(
        run,
        causes={place: found.cause for place, found in signatures.items()},
        since={
            place: so_since(events, found, rules, past_at)
            for place, found in reported(run.violations)
        },
    )
