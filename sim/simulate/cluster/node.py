"""A replica in simulated time, which hands messages to its parts, crashes and restarts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sim.protocol.events import Event, LeaderResigned
from sim.protocol.log.formats import speaks
from sim.protocol.replication import messages as of
from sim.protocol.replication.elections import become_leader
from sim.protocol.replication.leader import answer_fetch
from sim.protocol.replication.recovery import NONE_OLD, OldFiles, crash_with_files, recover
from sim.protocol.replication.replica import wipe
from sim.protocol.replication.snapshots import answer_fetch_snapshot
from sim.protocol.replication.truncation import answer_offsets_for_leader_epoch
from sim.simulate.cluster.background import BackgroundTasks, SnapshotTasks, StateLoader
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.clients import ConsumerFetches, write
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.fetcher import Fetcher
from sim.simulate.cluster.leader import LeaderState
from sim.simulate.cluster.network import Overdue
from sim.simulate.scenario.model import ReplicaSpec


class Node(Broker):
    """A replica and its processes.

    Attributes:
        leader: State of its leadership; None while it does not lead.
        fetcher: Fetch loop of a follower.
        consumers: Fetches of consumers.
        background: Cleaning and flushing.
        snapshots: Taking and deleting snapshots.
        loader: Loading of the state machine.
        handlers: Function that takes a message, by the class of the message.
    """

    def __init__(self, context: Context, spec: ReplicaSpec) -> None:
        """Starts with an empty disk, up, and without a leader."""
        super().__init__(context, spec)
        self.leader: LeaderState | None = None
        self.loader = StateLoader(self)
        self.fetcher = Fetcher(self, self.loader)
        self.consumers = ConsumerFetches(self)
        self.background = BackgroundTasks(self)
        self.snapshots = SnapshotTasks(self, self.loader)
        self.handlers: dict[type, Callable[[Any], None]] = {
            of.FetchRequest: self._fetch,
            of.FetchResponse: self.fetcher.receive,
            of.FetchSnapshotRequest: partial(self._answer, answer_fetch_snapshot),
            of.FetchSnapshotResponse: self.fetcher.receive,
            of.OffsetsForLeaderEpochRequest: partial(self._answer, answer_offsets_for_leader_epoch),
            of.OffsetsForLeaderEpochResponse: self.fetcher.receive,
            of.ProduceRequest: self._write,
            of.WriteTxnMarkersRequest: self._write,
            of.ConsumerFetchRequest: self.consumers.receive,
            Overdue: self._overdue,
        }

    def receive(self, message: Any) -> None:
        """Takes a message, unless the replica is down."""
        if self.replica.up:
            self.handlers[type(message)](message)

    def _overdue(self, overdue: Overdue) -> None:
        """Takes a message that arrives late or twice, on a connection that may be closed."""
        message, state = overdue.message, self.leader
        is_fetch = isinstance(message, of.FetchRequest)
        if state is None or not is_fetch or not state.is_overtaken(message):
            self.handlers[type(message)](message)

    def _fetch(self, request: of.FetchRequest) -> None:
        """Answers a follower's fetch, unless the broker does not know its version."""
        if not speaks(self.versions, request.version):
            return
        state = self.leader
        if state is not None:
            if request.epoch < state.epoch and self.rules.replication.fencing:
                return  # FENCED_LEADER_EPOCH, which no sender waits for
            if request.epoch > state.epoch and self.rules.replication.fencing:
                self.membership.heard_epoch(request.epoch)
            if self.leader is state:
                self.membership.before_commit()
                if state.fetch(request):
                    self.membership.fetched(request.follower)
                return
        answered = answer_fetch(
            self.replica, request, rules=self.rules, snapshots=self.context.retention is None
        )
        self.send(request.follower, answered.response)

    def _answer(self, answer: Callable[..., Any], request: Any) -> None:
        """Answers a follower's request that says nothing about its position."""
        if self.leader is not None:
            self.leader.note_contact(request.follower)
        self.send(request.follower, answer(self.replica, request, rules=self.rules))

    def _write(self, request: of.ProduceRequest | of.WriteTxnMarkersRequest) -> None:
        if not self.loader.loading:
            self.membership.before_commit()
            write(self, self.leader, request)

    def publish(self, events: list[Event]) -> None:
        """Emits events that may have moved the log end or the high watermark of a leader."""
        state = self.leader
        if state is None:
            self.context.emit_all(events)
        else:
            state.react(events)
            state.wake()

    def high_watermark_moved(self) -> None:
        """Answers consumers that wait for the high watermark, and takes a snapshot if due."""
        if self.consumers.waiting:
            self.consumers.wake()
        if self.snapshots.watches:
            self.snapshots.high_watermark_moved()

    def lead(self, epoch: int, *, isr: tuple[str, ...], replicas: tuple[str, ...]) -> LeaderState:
        """Becomes the leader of `epoch`; majorities are counted over `replicas`."""
        context = self.context
        self.fetcher.stop()
        self.resign()
        if context.leader is None or context.leader[0] < epoch:
            context.leader = (epoch, self.name)
        events = become_leader(
            self.replica,
            epoch,
            isr=isr,
            voters=replicas,
            rules=self.rules,
            now_ms=self.now_ms,
            leader_change_uid=(
                context.take_uid() if context.rules.replication.leader_change_record else 0
            ),
        )
        state = self.resume_leading(epoch)
        state.react(events)
        return state

    def resume_leading(self, epoch: int) -> LeaderState:
        """Starts the work of a leader; the replica is the leader of `epoch` already."""
        self.leader = LeaderState(self, epoch, self.network.replicas())
        return self.leader

    def resign(self) -> None:
        """Stops leading, if it leads; waiting producers get no answer, consumers of leaders do."""
        state = self._stop_leading()
        if state is not None:
            self.replica.leadership = None
            self.context.emit(LeaderResigned(self.name, state.epoch))
            self.consumers.wake()

    def _stop_leading(self) -> LeaderState | None:
        state, self.leader = self.leader, None
        if state is not None:
            state.end()
        return state

    def sees(self, epoch: int) -> None:
        """Notes an epoch; a leader of an older one stops leading."""
        if self.leader is not None and self.leader.epoch < epoch:
            self.resign()
        self.replica.sees(epoch)

    def crash(
        self, *, lost_batches: int = 0, power_loss: bool = False, old: OldFiles = NONE_OLD
    ) -> None:
        """Goes down, loses its last `lost_batches` batches, and closes its connections.

        With `power_loss` all batches are lost that were not flushed. `old` says which files are
        older than the log when the replica restarts.
        """
        rules = self.context.rules
        if rules.replication.commit == "majority" and rules.election.leader_restart == "resumes":
            self._stop_leading()
        self._close_connections()
        self.membership.crashed()
        self.fetcher.interrupt()
        self.context.emit_all(
            crash_with_files(
                self.replica,
                rules=self.rules,
                lost_batches=lost_batches,
                power_loss=power_loss,
                old=old,
            )
        )

    def _close_connections(self) -> None:
        """Ends this incarnation: its leadership, its processes, and all requests that wait here."""
        self.consumers.waiting.clear()
        self.resign()
        self.loader.stop()
        self.processes.interrupt()
        self.incarnation += 1

    def leave(self) -> None:
        """Leaves for good, up or down."""
        self._close_connections()
        self.fetcher.stop()
        self.background_processes.interrupt()
        self.replica.up = False

    def restart(self) -> None:
        """Restarts with what is on disk, unless the replica is up."""
        if self.replica.up:
            return
        self.heard_ms = self.context.now_ms
        self.context.emit_all(recover(self.replica, rules=self.rules))
        log = self.replica.log
        log.acknowledged_end = log.log_end_offset  # what is there after a crash, no crash takes
        self.loader.begin()
        self.membership.restarted()

    def wipe(self) -> None:
        """Gets an empty disk; the replica is up afterwards."""
        self.fetcher.stop()
        self.membership.disk_lost(self.replica.epoch)
        self.context.emit_all(wipe(self.replica, reason="a new disk"))
