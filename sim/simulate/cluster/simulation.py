"""One simulation from its start to its rest: wires the parts together and runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, repeat
from operator import length_hint
from typing import Any, NamedTuple

from simpy.core import StopSimulation
from simpy.events import ProcessGenerator

from sim.errors import BadInput
from sim.protocol.events import Event
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.config_changes import ConfigChanges
from sim.simulate.cluster.consumer import Consumer
from sim.simulate.cluster.context import Context, SimulationResult, Spent
from sim.simulate.cluster.faults import Faults
from sim.simulate.cluster.filled import WATCHED, Filled
from sim.simulate.cluster.settling import NoRest, Settling
from sim.simulate.cluster.waiting import Before
from sim.simulate.cluster.workload import Timetable
from sim.simulate.scenario.model import Scenario


class Fork(NamedTuple):
    """From `at_ms` on (inclusive) latencies, losses and timeouts are those of another seed."""

    at_ms: int
    seed: int


def simulate(
    scenario: Scenario,
    record: Callable[[int, Iterable[Event]], None],
    *,
    fork: Fork | None = None,
    settles: Callable[[Spent], None] | None = None,
    observe: Sequence[Callable[[Cluster], Any]] = (),
) -> SimulationResult:
    """Run a scenario to its end and bring the cluster to rest.

    Args:
        scenario: What to simulate. A workload from a file goes on until the file ends, at least for
            `duration_ms`.
        record: Called as `record(at_ms, events)` for all that happens, in order. Nothing else
            leaves the simulation; the same scenario gives the same calls on every machine.
        fork: From when on chance is another one; None = never.
        settles: Called once, when the scenario is over and the cluster is about to be brought to
            rest: what is recorded from there on is not what happened in the run.
        observe: Makes observers of the cluster (`sim.plugins.register_observer`).

    Raises:
        BadInput: The rules need something that only stories can do, or a trace cannot be read.
    """
    if scenario.rules.replication.offset_assignment != "leader_assigned":
        raise BadInput(
            f"scenario {scenario.id}: rules.offset_assignment: in a timed run leaders give offsets;"
            " allowed: leader_assigned (follower_assigned is for stories)"
        )
    cluster = Cluster(scenario, record, observe)
    context = cluster.context
    if fork is not None:
        moment, seed = Before(context.env, fork.at_ms), fork.seed
        moment.callbacks.append(lambda _: context.draw_anew(seed))
    steps, inconclusive = step_to_the_end(cluster, settles)
    return SimulationResult(inconclusive, context.spent(steps))


def step_to_the_end(
    cluster: Cluster, settles: Callable[[Spent], None] | None = None
) -> tuple[int, str | None]:
    """Go through the events of a run; how many they were, and why it did not come to rest."""
    env, limit = cluster.context.env, cluster.context.scenario.limits.max_events
    left = repeat(None, limit)

    def over() -> None:
        if settles is not None:
            settles(cluster.context.spent(limit - length_hint(left)))

    env.process(_run(cluster, over))
    step, filled = env.step, Filled()
    try:
        for _ in islice(left, max(0, limit - WATCHED)):
            step()
        for _ in left:
            filled.note(env)
            step()
    except StopSimulation as stop:
        return limit - length_hint(left), stop.args[0]
    return limit, _used_up(cluster.context, filled.text)


def _used_up(context: Context, mostly: str) -> str:
    """Why the run did not come to its end: where it was, and what it was busy with."""
    scenario = context.scenario
    share = 100 * context.now_ms // max(1, scenario.duration_ms)
    where = context.settling or f"when {share} % of duration_ms were over"
    most = f"; mostly by {mostly}" if mostly else ""
    return (
        f"limits.max_events: {scenario.limits.max_events} simulator events were used {where}{most}"
    )


def _run(cluster: Cluster, over: Callable[[], None]) -> ProcessGenerator:
    """Start everybody, let them live until the end of the scenario, say so, and settle."""
    context = cluster.context
    scenario = context.scenario
    cluster.start()
    timetable = Timetable(context)
    consumers = [Consumer(context, spec) for spec in scenario.consumers]
    faults = Faults(cluster)
    ConfigChanges(cluster, timetable, consumers).start()
    timetable.start()
    for index, consumer in enumerate(consumers):
        consumer.start(index)
    faults.start()
    yield Before(context.env, max(1, scenario.duration_ms))
    while timetable.reads_file:
        yield Before(context.env, scenario.duration_ms)
    over()
    settling = Settling(cluster, timetable=timetable, consumers=consumers, faults=faults)
    reason = None
    try:
        yield from settling.settle()
    except NoRest as unrest:
        reason = str(unrest)
    Before(context.env, 0, reason).callbacks.append(StopSimulation.callback)
