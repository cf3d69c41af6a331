"""One simulation from its start to its rest: wires the parts together and runs them.

Nothing is counted while a run goes on. Of a run that is at its limit the last events are looked at,
each before it happens: what goes on for ever fills them as it filled those before.

Settling stands above the cluster, as faults do: it sees all replicas. Every loop here is bounded;
what does not come to rest in time makes the run inconclusive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, repeat
from operator import length_hint
from typing import Any, Final, NamedTuple

from simpy import Environment, Process
from simpy.core import StopSimulation
from simpy.events import ProcessGenerator

from sim.errors import BadInput
from sim.protocol.events import Event, Quiesced, RoundsEnded
from sim.simulate.cluster.clients import Timetable
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.config_changes import ConfigChanges
from sim.simulate.cluster.consumer import Consumer
from sim.simulate.cluster.context import Context, SimulationResult, Spent
from sim.simulate.cluster.faults import Faults
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.waiting import Before
from sim.simulate.scenario.model import Scenario
from sim.simulate.scenario.rest import round_wait

WATCHED: Final = 1_000
"""So many events before the limit are looked at."""
_LEAST: Final = 0.15
"""Share of them above which a kind is named."""

_KINDS: Final = {
    "BackgroundTasks._look": "cleaners that look whether a log is due (log.cleaner.backoff.ms)",
    "BackgroundTasks._flush": "flushes by time (flush.ms)",
    "ConsumerFetch": "fetches of consumers (poll_ms of consumers, timers.fetch_wait_ms)",
    "Consumer.": "fetches of consumers (poll_ms of consumers, timers.fetch_wait_ms)",
    "FetchSnapshot": "snapshots on their way (controller.quorum.fetch.snapshot.max.bytes)",
    "OffsetsForLeaderEpoch": "fetches of followers (timers.fetch_wait_ms, timers.fetch_retry_ms)",
    "Fetch": "fetches of followers (timers.fetch_wait_ms, timers.fetch_retry_ms)",
    "Delayed._expire": "fetches of followers (timers.fetch_wait_ms, timers.fetch_retry_ms)",
    "Produce": "sends and their answers (workload)",
    "Timetable": "sends and their answers (workload)",
    "WriteTxnMarkers": "sends and their answers (workload)",
    "Removal": "removal bounds (timers.coordination_interval_ms)",
    "SnapshotTasks": "snapshots taken and deleted (timers.snapshot_interval_ms, "
    "timers.snapshot_cleaning_ms)",
    "look_for_laggards": "looks for laggards (timers.replica_lag_max_ms)",
    "QuorumMembership": "elections and their timers (timers.election_timeout_ms)",
    "Vote": "elections and their timers (timers.election_timeout_ms)",
    "QuorumEpoch": "elections and their timers (timers.election_timeout_ms)",
    "Controller": "the controller (timers.election_timeout_ms)",
    "Broker": "the controller (timers.election_timeout_ms)",
    "LeaderAndIsr": "the controller (timers.election_timeout_ms)",
    "AlterPartition": "the controller (timers.election_timeout_ms)",
}
"""What is in the name of a message, of a callback or of a process -> what it is for."""


class Filled:
    """The last events of a run, by what they are for."""

    def __init__(self) -> None:
        """None was looked at."""
        self._counts: Counter[str] = Counter()
        self._all = 0

    def note(self, env: Environment) -> None:
        """Look at the event that comes next."""
        self._all += 1
        name = _name_of(env._queue[0][3])  # noqa: SLF001 - SimPy tells no more than its time
        kind = next((kind for part, kind in _KINDS.items() if part in name), None)
        if kind is not None:
            self._counts[kind] += 1

    @property
    def text(self) -> str:
        """What fills the run, the most frequent first; empty = nothing that has a name."""
        told = [kind for kind, count in self._counts.most_common() if count > _LEAST * self._all]
        return ", ".join(told)


def _name_of(event: Any) -> str:
    """The class of a message, else who waits for the event."""
    message = getattr(event, "message", None)
    if message is not None:
        return type(message).__name__
    return " ".join(_waiting(callback) for callback in event.callbacks or ())


def _waiting(callback: Any) -> str:
    """A process by its function, a regular one by what it does; else what is called."""
    owner = getattr(callback, "__self__", None)
    if not isinstance(owner, Process):
        return f"{type(owner).__name__}.{getattr(callback, '__name__', '')}"
    life: Any = owner._generator  # noqa: SLF001 - a process tells its name alone
    frame = getattr(life, "gi_frame", None)
    held = {} if frame is None else frame.f_locals
    act = held.get("act")
    act = getattr(act, "func", act)
    if act is not None:
        return f"{type(getattr(act, '__self__', None)).__name__}.{act.__name__}"
    of = type(held["self"]).__name__ if "self" in held else ""
    return f"{of}.{getattr(life, '__name__', type(life).__name__)}"


SLICE_MS = 50
"""How often the cluster is looked at while it comes to rest."""

PATIENCE_MS = 60_000
"""How long a healed cluster may take to come to rest, in simulated ms."""

MOST_PASSES = 20
"""Most cleaning passes per replica until nothing changes any more."""


class NoRest(Exception):
    """The healed cluster does not come to rest; the text says why."""


class Settling:
    """Brings one cluster to rest."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        timetable: Timetable,
        consumers: Sequence[Consumer],
        faults: Faults,
    ) -> None:
        """Everything that has to come to rest."""
        self._cluster = cluster
        self._context = cluster.context
        self._timetable = timetable
        self._consumers = consumers
        self._faults = faults

    def settle(self) -> ProcessGenerator:
        """Heal, synchronise, clean, read to the end.

        Raises:
            NoRest: Something goes on for too long.
        """
        self._context.settling = "while the healed cluster came to rest"
        self._faults.end()
        self._timetable.stop()
        yield from self._wait_for_rest()
        self._clean_to_a_fixpoint()
        yield from self._wait_for_rest()
        yield from self._last_rounds()
        leader = self._cluster.leading()
        assert leader is not None
        for consumer in self._consumers:
            source = self._cluster.nodes.get(consumer.tied_to or leader.name, leader)
            consumer.read_to_the_end(source.consumers.answer)
        self._context.emit(Quiesced(leader.name, synced=True))

    def _last_rounds(self) -> ProcessGenerator:
        """Clean again and again, the delete retention apart."""
        cluster, context = self._cluster, self._context
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
            yield Before(context.env, interval_ms)
            yield from self._wait_for_rest()
        leader = cluster.leading()
        assert leader is not None
        cleaners = [n.name for n in cluster.nodes.values() if n.spec.cleaner_backoff_ms is not None]
        context.emit(RoundsEnded(leader.name, rounds, interval_ms, tuple(cleaners)))

    def _wait_for_rest(self) -> ProcessGenerator:
        """Go on until nobody has anything to do."""
        context = self._context
        end_ms = context.now_ms + PATIENCE_MS
        while (reason := self._unrest()) is not None:
            if context.now_ms >= end_ms:
                raise NoRest(
                    f"the healed cluster did not come to rest in {PATIENCE_MS} ms: {reason}"
                )
            yield Before(context.env, SLICE_MS)

    def _unrest(self) -> str | None:
        """What is still going on; None when the cluster is at rest."""
        cluster = self._cluster
        leader = cluster.leading()
        if leader is None:
            return "there is no leader"
        if not self._timetable.finished:
            return "a producer still waits for an answer"
        for node in cluster.nodes.values():
            if node is not leader and not self._is_synced(leader, node):
                return f"{node.name} has not fetched to the end of {leader.name}"
        return None

    @staticmethod
    def _is_synced(leader: Node, node: Node) -> bool:
        """Its fetch at its own log end waits at the leader, and it knows the high watermark.

        Nothing is waited for from a follower that cannot go on.
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
        """Every replica that has a cleaner cleans on its own, until a pass changes nothing."""
        if self._context.rules.cleaner.cleanup == "snapshot":
            return
        for node in self._cluster.nodes.values():
            if node.spec.cleaner_backoff_ms is None:
                continue
            for _ in range(MOST_PASSES):
                if not node.background.clean_what_is_left():
                    break


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
