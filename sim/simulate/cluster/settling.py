"""The end of a run: heal everything, let the cluster settle, clean what is left, look.

Settling stands above the cluster, as faults do: it sees all replicas. Every loop here is bounded;
what does not come to rest in time makes the run inconclusive.
"""

from __future__ import annotations

from collections.abc import Sequence

from simpy.events import ProcessGenerator

from sim.protocol.events import Quiesced, RoundsEnded
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.consumer import Consumer
from sim.simulate.cluster.faults import Faults
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.waiting import Before
from sim.simulate.cluster.workload import Timetable
from sim.simulate.scenario.rest import round_wait

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
