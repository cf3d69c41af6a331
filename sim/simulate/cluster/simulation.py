"""A simulation from its start until the cluster is at rest.

Settling acts from above the cluster, as faults do: it sees all replicas. Every loop here is
bounded; a cluster that does not come to rest in time makes the run inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sim.errors import BadInput
from sim.protocol.events import Event, Quiesced, RoundsEnded
from sim.simulate.cluster.clients import Timetable
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.config_changes import ConfigChanges
from sim.simulate.cluster.consumer import Consumer
from sim.simulate.cluster.context import Context, SimulationResult, Spent
from sim.simulate.cluster.faults import Faults
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.steps import Steps, UsedUp
from sim.simulate.scenario.derived import round_wait
from sim.simulate.scenario.model import Scenario

SLICE_MS = 50
"""Time in ms between two looks at the cluster while it comes to rest."""

PATIENCE_MS = 60_000
"""Time in simulated ms that a healed cluster may take to come to rest."""

MOST_PASSES = 20
"""Largest number of cleaning passes of a replica until nothing changes any more."""


class NoRest(Exception):
    """Raised when the healed cluster does not come to rest; the text says why."""


@dataclass
class Settling:
    """Brings a cluster to rest.

    Attributes:
        cluster: The cluster.
        steps: The steps of the simulation.
        timetable: Its producers.
        consumers: Its consumers.
        faults: Its faults.
    """

    cluster: Cluster
    steps: Steps
    timetable: Timetable
    consumers: Sequence[Consumer]
    faults: Faults

    def settle(self) -> None:
        """Ends all faults, synchronises and cleans all logs, and lets consumers read to the end.

        Raises:
            NoRest: The cluster takes too long.
        """
        self.cluster.context.settling = "while the healed cluster came to rest"
        self.faults.end()
        self.timetable.stop()
        self._wait_for_rest()
        self._clean_to_a_fixpoint()
        self._wait_for_rest()
        self._last_rounds()
        leader = self.cluster.elections.leading()
        assert leader is not None
        for consumer in self.consumers:
            source = self.cluster.nodes.get(consumer.tied_to or leader.name, leader)
            consumer.read_to_the_end(source.consumers.answer)
        self.cluster.context.emit(Quiesced(leader.name, synced=True))

    def _last_rounds(self) -> None:
        """Rolls and cleans all logs in several rounds, the delete retention apart."""
        cluster, context = self.cluster, self.cluster.context
        rounds = context.scenario.last_rounds
        if not rounds:
            return
        wait = round_wait(context.rules, context.scenario.topic)
        interval_ms = wait.ms + SLICE_MS
        for number in range(1, rounds + 1):
            context.settling = (
                f"in last round {number} of {rounds}, which waits {wait.ms} ms ({wait.setting})"
            )
            for node in cluster.nodes.values():
                if node.replica.log.active.batches:
                    node.replica.log.roll(now_ms=node.now_ms)
            self._clean_to_a_fixpoint()
            self.steps.go_on_until(context.env.timeout(interval_ms))
            self._wait_for_rest()
        leader = cluster.elections.leading()
        assert leader is not None
        cleaners = [n.name for n in cluster.nodes.values() if n.spec.cleaner_backoff_ms is not None]
        context.emit(RoundsEnded(leader.name, rounds, interval_ms, tuple(cleaners)))

    def _wait_for_rest(self) -> None:
        """Runs the simulation until no replica or producer has anything to do."""
        context = self.cluster.context
        end_ms = context.now_ms + PATIENCE_MS
        while (reason := self._unrest()) is not None:
            if context.now_ms >= end_ms:
                raise NoRest(
                    f"the healed cluster did not come to rest in {PATIENCE_MS} ms: {reason}"
                )
            self.steps.go_on_until(context.env.timeout(SLICE_MS))

    def _unrest(self) -> str | None:
        """The reason why the cluster is not at rest; None when it is."""
        cluster = self.cluster
        leader = cluster.elections.leading()
        if leader is None:
            return "there is no leader"
        if not self.timetable.finished:
            return "a producer still waits for an answer"
        for node in cluster.nodes.values():
            if node is not leader and not self._is_synced(leader, node):
                return f"{node.name} has not fetched to the end of {leader.name}"
        return None

    @staticmethod
    def _is_synced(leader: Node, node: Node) -> bool:
        """True when a follower's fetch waits at the log end, and it knows the high watermark.

        A follower whose fetching has failed for good counts as synchronised.
        """
        assert leader.leader is not None
        if node.replica.fetching_failed:
            return True
        fetch = leader.leader.fetches.waiting.get(node.name)
        log = node.replica.log
        if (
            fetch is None
            or fetch.offset != log.log_end_offset
            or fetch.correlation_id != node.fetcher.number
        ):
            return False
        high_watermark = leader.replica.log.high_watermark
        return log.high_watermark >= min(high_watermark, log.log_end_offset)

    def _clean_to_a_fixpoint(self) -> None:
        """Lets every replica with a cleaner clean, until a pass changes nothing."""
        if self.cluster.context.rules.cleaner.cleanup == "snapshot":
            return
        for node in self.cluster.nodes.values():
            if node.spec.cleaner_backoff_ms is None:
                continue
            for _ in range(MOST_PASSES):
                if not node.background.clean_what_is_left():
                    break


class Fork(NamedTuple):
    """A time in ms from which on (inclusive) latencies, losses and timeouts have another seed."""

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
    """Runs a scenario to its end and brings the cluster to rest.

    Args:
        scenario: What to simulate. A workload from a file goes on until the file ends, at least for
            `duration_ms`.
        record: Called as `record(at_ms, events)` with all events, in order. The same scenario gives
            the same calls on every machine.
        fork: Time from which on another seed is used; None: never.
        settles: Called once, when the scenario is over and before the cluster is brought to rest;
            later events are no part of the run.
        observe: Makes observers of the cluster (`sim.plugins.register_observer`).

    Raises:
        BadInput: The rules are for stories alone, or a trace file cannot be read.
    """
    if scenario.rules.replication.offset_assignment != "leader_assigned":
        raise BadInput(
            f"scenario {scenario.id}: rules.offset_assignment: in a timed run leaders give offsets;"
            " allowed: leader_assigned (follower_assigned is for stories)"
        )
    cluster = Cluster(scenario, record, observe)
    context = cluster.context
    if fork is not None:
        _fork(context, fork)
    steps, inconclusive = step_to_the_end(cluster, settles)
    return SimulationResult(inconclusive, context.spent(steps))


def _fork(context: Context, fork: Fork) -> None:
    """Schedules the change of the seed, before all other events of that moment."""
    if fork.at_ms <= 0:
        context.draw_anew(fork.seed)
    else:
        moment = context.env.timeout(fork.at_ms)
        moment.callbacks.append(lambda _: context.draw_anew(fork.seed))


def step_to_the_end(
    cluster: Cluster, settles: Callable[[Spent], None] | None = None
) -> tuple[int, str | None]:
    """Takes all steps of a run; returns their number, and why it did not come to rest."""
    context = cluster.context
    steps = Steps(context.env, context.scenario.limits.max_events)
    try:
        _run(cluster, steps, settles)
    except UsedUp:
        return steps.taken, _used_up(context)
    except NoRest as unrest:
        return steps.taken, str(unrest)
    return steps.taken, None


def _used_up(context: Context) -> str:
    """The reason of a run that used up its events: how far it was."""
    scenario = context.scenario
    share = 100 * context.now_ms // max(1, scenario.duration_ms)
    where = context.settling or f"when {share} % of duration_ms were over"
    return f"limits.max_events: {scenario.limits.max_events} simulator events were used {where}"


def _run(cluster: Cluster, steps: Steps, settles: Callable[[Spent], None] | None) -> None:
    """Starts all parts, runs to the end of the scenario, and settles.

    The end is scheduled first, so that it comes before all other events of its moment.
    """
    context = cluster.context
    scenario = context.scenario
    end = context.env.timeout(max(1, scenario.duration_ms))
    cluster.start()
    timetable = Timetable(context)
    consumers = [Consumer(context, spec) for spec in scenario.consumers]
    faults = Faults(cluster)
    ConfigChanges(cluster, timetable, consumers).start()
    timetable.start()
    for index, consumer in enumerate(consumers):
        consumer.start(index)
    faults.start()
    steps.go_on_until(end)
    while timetable.reads_file:
        steps.go_on_until(context.env.timeout(scenario.duration_ms))
    if settles is not None:
        settles(context.spent(steps.taken))
    Settling(cluster, steps, timetable, consumers, faults).settle()
