"""A simulation from its start until the cluster is at rest.

The simulation ends all faults and acts from above the cluster, as faults do: it sees all replicas.
Every loop here is bounded; a cluster that does not come to rest in time makes the run inconclusive.

Changes of configuration reach brokers and clients one by one, each at its time. A broker that is
down at that time has the new settings when it is back; records that its cleaner has compacted
before stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import length_hint
from typing import Any, NamedTuple

from simpy import Event as Moment
from simpy.core import StopSimulation
from simpy.events import ProcessGenerator

from sim.errors import BadInput
from sim.protocol.events import ConfigChanged, Event, Quiesced, RoundsEnded
from sim.protocol.log.formats import FIRST_WITH_FLAG
from sim.protocol.replication.cleaning import write_checkpoint_anew
from sim.simulate.cluster.clients import Timetable
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.consumer import Consumer
from sim.simulate.cluster.context import SimulationResult, Spent
from sim.simulate.cluster.faults import Faults
from sim.simulate.cluster.node import Node
from sim.simulate.scenario.derived import round_wait
from sim.simulate.scenario.model import EVERY_REPLICA, Change, Scenario, changed, changes_of

SLICE_MS = 50
"""Time in ms between two looks at the cluster while it comes to rest."""

PATIENCE_MS = 60_000
"""Time in simulated ms that a healed cluster may take to come to rest once no log catches up."""

MOST_PASSES = 20
"""Largest number of cleaning passes of a replica until nothing changes any more."""


class Unfinished(Exception):
    """Raised when a simulation reaches one of its bounds; the text says which."""


class Simulation:
    """The run of one cluster with the clients, faults and changes of its scenario.

    Each step is one of `simpy.Environment`'s own; `limits.max_events` bounds their number.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Starts `cluster` with its clients, changes and faults; no step is taken yet."""
        self._cluster = cluster
        self._context = context = cluster.context
        self._left = repeat(None, context.scenario.limits.max_events)
        # The end comes before all other events of its moment.
        self._end = context.env.timeout(max(1, context.scenario.duration_ms))
        cluster.start()
        self._timetable = Timetable(context)
        self._consumers = {
            spec.name: Consumer(context, spec) for spec in context.scenario.consumers
        }
        self._faults = Faults(cluster)
        self._start_changes()
        self._timetable.start()
        for index, consumer in enumerate(self._consumers.values()):
            consumer.start(index)
        self._faults.start()

    def _start_changes(self) -> None:
        """Makes the changes at 0 now, and waits for the times of the others.

        First it emits the version of each consumer that does not know the tombstone flag, so that
        the checks expect of it only what that version can see.
        """
        for name, consumer in self._consumers.items():
            if consumer.client is not None and consumer.client < FIRST_WITH_FLAG:
                own = (("format", str(consumer.client)),)
                self._context.emit(ConfigChanged(name, own, initial=True))
        for change in changes_of(self._context.scenario):
            if change.at_ms <= 0:
                self._make(change)
            else:
                self._context.env.process(self._make_later(change))

    def _make_later(self, change: Change) -> ProcessGenerator:
        yield self._context.env.timeout(change.at_ms)
        self._make(change)

    def _make(self, change: Change) -> None:
        """Makes a change at all replicas or clients that it reaches, and emits the new settings."""
        names: list[str] = []
        given: dict[str, object] = {} if change.format is None else {"format": change.format}
        if change.replica is not None:
            given = dict(change.settings)
            for node in self._cluster.nodes.values():
                if change.replica in (EVERY_REPLICA, node.name):
                    before = node.rules.cleaner.tombstone_removal
                    node.configure(changed(*node.settings, change))
                    if before != node.rules.cleaner.tombstone_removal == "cleaning_checkpoint":
                        write_checkpoint_anew(node.replica, now_ms=node.now_ms)
                    names.append(node.name)
        elif change.producer is not None:
            names = self._timetable.roll_out(change)
            if change.versions is not None:
                given = {"versions": str(change.versions).lower(), **given}
        elif change.consumer is not None and change.format is not None:
            self._consumers[change.consumer].roll_out(change.format)
            names = [change.consumer]
        settings = tuple([(name, str(value)) for name, value in given.items()])
        for name in names:
            self._context.emit(ConfigChanged(name, settings))

    def run(self, settles: Callable[[Spent], None] | None = None) -> SimulationResult:
        """Takes all steps; `settles` is called before the cluster is brought to rest."""
        inconclusive = None
        try:
            self._go_on_until(self._end)
            while self._timetable.reads_file:
                self._go_on_for(self._context.scenario.duration_ms)
            if settles is not None:
                settles(self._spent())
            self._settle()
        except Unfinished as reason:
            inconclusive = str(reason)
        return SimulationResult(inconclusive, self._spent())

    def _spent(self) -> Spent:
        context = self._context
        taken = context.scenario.limits.max_events - length_hint(self._left)
        return Spent(context.now_ms, taken, context.network.sent, context.network.lost)

    def _go_on_for(self, wait_ms: int) -> None:
        self._go_on_until(self._context.env.timeout(wait_ms))

    def _go_on_until(self, moment: Moment) -> None:
        """Takes steps until an event has happened; raises Unfinished at the limit of steps."""
        context, scenario = self._context, self._context.scenario
        step = context.env.step
        moment.callbacks.append(StopSimulation.callback)
        try:
            for _ in self._left:
                step()
        except StopSimulation:
            return
        share = 100 * context.now_ms // max(1, scenario.duration_ms)
        where = context.settling or f"when {share} % of duration_ms were over"
        raise Unfinished(
            f"limits.max_events: {scenario.limits.max_events} simulator events were used {where}"
        )

    def _settle(self) -> None:
        """Ends all faults, synchronises and cleans all logs, and lets consumers read to the end."""
        context, nodes = self._context, self._cluster.nodes
        context.settling = "while the healed cluster came to rest"
        self._faults.end()
        self._timetable.stop()
        self._wait_for_rest()
        self._clean_to_a_fixpoint()
        self._wait_for_rest()
        if context.scenario.last_rounds:
            self._last_rounds(context.scenario.last_rounds)
        leader = self._cluster.elections.leading()
        assert leader is not None
        for consumer in self._consumers.values():
            source = nodes.get(consumer.spec.replica or leader.name, leader)
            consumer.read_to_the_end(source.consumers.answer)
        context.emit(Quiesced(leader.name, synced=True))

    def _last_rounds(self, rounds: int) -> None:
        """Rolls and cleans all logs in several rounds, and waits for `round_wait` after each."""
        context, nodes = self._context, self._cluster.nodes
        wait_ms, setting = round_wait(context.rules, context.scenario.topic)
        interval_ms = wait_ms + SLICE_MS
        for number in range(1, rounds + 1):
            context.settling = (
                f"in last round {number} of {rounds}, which waits {wait_ms} ms ({setting})"
            )
            for node in nodes.values():
                if node.replica.log.active.batches:
                    node.replica.log.roll(now_ms=node.now_ms)
            self._clean_to_a_fixpoint()
            self._go_on_for(interval_ms)
            self._wait_for_rest()
        leader = self._cluster.elections.leading()
        assert leader is not None
        cleaners = [
            node.name for node in nodes.values() if node.spec.cleaner_backoff_ms is not None
        ]
        context.emit(RoundsEnded(leader.name, rounds, interval_ms, tuple(cleaners)))

    def _wait_for_rest(self) -> None:
        """Runs the simulation until no replica or producer has anything to do.

        A cluster whose shortest log grows has not stopped: small fetches on slow links take long.
        """
        shortest, since_ms = -1, 0
        while (reason := self._unrest()) is not None:
            nodes, now_ms = self._cluster.nodes.values(), self._context.now_ms
            log_end_offset = min(node.replica.log.log_end_offset for node in nodes)
            if log_end_offset > shortest:
                shortest, since_ms = log_end_offset, now_ms
            elif now_ms >= since_ms + PATIENCE_MS:
                raise Unfinished(
                    f"the healed cluster did not come to rest in {PATIENCE_MS} ms: {reason}"
                )
            self._go_on_for(SLICE_MS)

    def _unrest(self) -> str | None:
        """The reason why the cluster is not at rest; None when it is."""
        leader = self._cluster.elections.leading()
        if leader is None:
            return "there is no leader"
        if not self._timetable.finished:
            return "a producer still waits for an answer"
        for node in self._cluster.nodes.values():
            if node is not leader and not _is_synced(leader, node):
                return f"{node.name} has not fetched to the end of {leader.name}"
        leadership = leader.replica.leadership
        assert leadership is not None
        if leadership.in_sync < self._context.rules.topic.min_isr <= len(leadership.isr):
            return f"{leader.name} commits nothing before the controller confirms who is in sync"
        return None

    def _clean_to_a_fixpoint(self) -> None:
        """Lets every replica with a cleaner clean, until a pass changes nothing."""
        if self._context.rules.cleaner.cleanup == "snapshot":
            return
        for node in self._cluster.nodes.values():
            if node.spec.cleaner_backoff_ms is None:
                continue
            for _ in range(MOST_PASSES):
                if not node.background.clean_what_is_left():
                    break


def _is_synced(leader: Node, node: Node) -> bool:
    """True when a follower's fetch waits at the log end, and it knows the high watermark.

    A follower whose fetching has failed for good counts as synchronised.
    """
    assert leader.leader is not None
    if node.replica.fetching_failed:
        return True
    fetch = leader.leader.fetches.waiting.get(node.name)
    log, committed = node.replica.log, leader.replica.log.high_watermark
    return (
        fetch is not None
        and fetch.offset == log.log_end_offset
        and fetch.correlation_id == node.fetcher.number
        and log.high_watermark >= min(committed, log.log_end_offset)
    )


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
        settles: Called once with what was spent so far, when the scenario is over and before the
            cluster is brought to rest; later events are no part of the run.
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
    if fork is not None and fork.at_ms <= 0:
        context.draw_anew(fork.seed)
    elif fork is not None:  # the seed changes before all other events of its moment
        moment = context.env.timeout(fork.at_ms)
        moment.callbacks.append(lambda _: context.draw_anew(fork.seed))
    return Simulation(cluster).run(settles)
