"""One simulation from its start to its rest: wires the parts together and runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sim.cluster.asking import AskingClient
from sim.cluster.clock import EventLimitReached
from sim.cluster.cluster import Cluster
from sim.cluster.config_changes import ConfigChanges
from sim.cluster.consumer import Consumer
from sim.cluster.context import SimulationResult
from sim.cluster.faults import Faults
from sim.cluster.settling import Settling
from sim.cluster.workload import Timetable
from sim.errors import BadInput
from sim.scenario.model import Scenario
from sim.trace import Event


class Fork(NamedTuple):
    """From `at_ms` on (inclusive) latencies, losses and timeouts are those of another seed."""

    at_ms: int
    seed: int


def simulate(
    scenario: Scenario, record: Callable[[int, Event], None], *, fork: Fork | None = None
) -> SimulationResult:
    """Run a scenario to its end and bring the cluster to rest.

    Args:
        scenario: What to simulate. A workload from a file goes on until the file ends, at least for
            `duration_ms`.
        record: Called as `record(at_ms, event)` for everything that happens, in order. Nothing else
            leaves the simulation; the same scenario gives the same calls on every machine.
        fork: From when on chance is another one; None = never.

    Raises:
        BadInput: The rules need something that only stories can do, or a trace cannot be read.
    """
    if scenario.rules.replication.offset_assignment != "leader_assigned":
        raise BadInput(
            f"scenario {scenario.id}: rules.offset_assignment: in a timed run leaders give offsets;"
            " allowed: leader_assigned (follower_assigned is for stories)"
        )
    cluster = Cluster(scenario, record)
    context = cluster.context
    if fork is not None:
        context.clock.after(fork.at_ms, context.draw_anew, fork.seed)
    inconclusive: str | None
    try:
        inconclusive = _run(cluster)
    except EventLimitReached:
        inconclusive = f"limits.max_events: {scenario.limits.max_events} simulator events were used"
    network = context.network
    return SimulationResult(
        inconclusive,
        context.clock.processed,
        context.clock.now_ms,
        network.sent,
        network.lost,
        context.counts,
    )


def _run(cluster: Cluster) -> str | None:
    """Run to the end and settle; why it did not come to rest, or None."""
    context = cluster.context
    clock, scenario = context.clock, context.scenario
    cluster.start()
    timetable = Timetable(context)
    consumers = [Consumer(context, spec) for spec in scenario.consumers]
    faults = Faults(cluster)
    ConfigChanges(cluster, timetable, consumers).start()
    timetable.start()
    for index, consumer in enumerate(consumers):
        consumer.start(index)
    for number, ask in enumerate(scenario.asks, start=1):
        AskingClient(context, number, ask).start()
    faults.start()
    clock.run_until(max(1, scenario.duration_ms))
    while timetable.reads_file:
        clock.run_until(clock.now_ms + scenario.duration_ms)
    return Settling(cluster, timetable=timetable, consumers=consumers, faults=faults).run()
