"""Judges answers of brokers and states of the controller by what is true as they are sent.

* An answer to a follower has the request's offset, the batches from there on, the leader's log
  start, high watermark and marks, and comes from a leader (UnifiedLog.read, FetchPartitionData).
  Records below the log start are not there to be given; a snapshot that is offered is there, and
  the newest. Where epochs part, no batch is on the wrong side of the named offset (KIP-595).
* An answer to a consumer has the log start, where it may read to, and the batches up to there; it
  is sent back by its last epoch, where the log has a later one below its position, and only there
  (KIP-320).
* A report for coordinated removal is of the disk of now, and below its offset for markers, which is
  committed, there is no data of transactions; a leader raises bounds when all others have reported
  to it in its epoch, and hands out those that it has accepted.
* The controller knows no life that a broker has not begun, and keeps no replica in sync over a
  restart that is not alone in the set (KIP-903, KIP-966).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sim.protocol.events import (
    Appended,
    Event,
    HighWatermarkMoved,
    RemovalBoundMoved,
)
from sim.protocol.log import Batch, Log
from sim.protocol.replication import messages as of
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from tests.audits.sending import Answers, Failed


class Said(Answers):
    """Answers to followers and consumers, reports, bounds, and states of the partition."""

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts before anything is asked."""
        super().__init__(cluster, failed)
        self._asked: dict[tuple[str, int], Any] = {}
        self._in_sync: dict[str, int] = {}
        self._seen = 0
        self._marks: dict[str, int] = {}
        self._moved: dict[str, tuple[int, int]] = {}
        self._reported: set[tuple[str, int, str]] = set()
        self._hears_bounds = False
        self._judges: dict[type, Callable[[Node, Any], None]] = {
            of.RemovalBoundsResponse: self._report,
            of.RemovalBoundsRequest: self._bounds,
        }

    def sent(self, source: str, target: str, message: Any) -> None:
        """Notes a request, and judges an answer."""
        kind = type(message)
        if kind is of.FetchRequest or kind is of.ConsumerFetchRequest:
            self._asked[source, message.correlation_id] = message
        elif kind is of.LeaderAndIsrRequest:
            self._partition(message.state)
        elif kind is of.ConsumerFetchResponse and message.error is of.NO_ERROR:
            self._to_consumer(self.nodes[source], message)
            self._consumers_epoch(self.nodes[source], message, target)
        elif kind is of.FetchResponse:
            self._to_follower(self.nodes[source], message, target)
        elif kind in self._judges and source in self.nodes:
            self._judges[kind](self.nodes[source], message)

    def receives(self, name: str, message: Any, *, overdue: bool) -> None:
        """Notes a report that a leader is given, and bounds that are handed out to a replica."""
        self._hears_bounds = type(message) is of.RemovalBoundsRequest
        if type(message) is of.RemovalBoundsResponse:
            self._reported.add((name, message.epoch, message.replica))

    def after(self, event: Event) -> None:
        """Notes where a high watermark was before it moved; judges bounds and timestamps."""
        super().after(event)
        if isinstance(event, RemovalBoundMoved):
            leader = self.nodes[event.replica].leader
            if leader is not None and not self._hears_bounds:
                self._raised(event.replica, leader.epoch)
        elif isinstance(event, Appended):
            self._appended(event.replica, event.batch)
        elif isinstance(event, HighWatermarkMoved):
            name, now_ms = event.replica, self.context.now_ms
            first, moved_ms = self._moved.get(name, (0, -1))
            before = first if moved_ms == now_ms else self._marks.get(name, 0)
            self._moved[name] = before, now_ms
            self._marks[name] = event.high_watermark

    def _appended(self, name: str, batch: Batch) -> None:
        limit_ms = self.context.scenario.topic.timestamp_difference_max_ms
        if limit_ms is None or batch.control is not None:
            return
        now_ms = self.nodes[name].now_ms
        for one in batch.records:
            if abs(one.timestamp_ms - now_ms) > limit_ms:
                self.wrong(name, f"takes a timestamp at {now_ms}", one.timestamp_ms, "refused")

    # What a follower is told.

    def _to_follower(self, node: Node, answer: of.FetchResponse, target: str) -> None:
        replica, name = node.replica, node.name
        asked = self._asked.get((target, answer.correlation_id))
        if asked is not None:
            what = f"offset of the answer {answer.correlation_id} to {target}"
            self.wrong(name, what, answer.fetch_offset, asked.offset)
        leads = replica.leadership
        epoch = replica.epoch if leads is None else leads.epoch
        self.wrong(name, "epoch of an answer", answer.epoch, epoch)
        self.wrong(
            name, "answers as no leader", answer.answer is of.Answer.NOT_LEADER, leads is None
        )
        if answer.answer is of.RECORDS:
            self._records(node, answer)
        elif answer.answer is of.Answer.SNAPSHOT:
            newest = max(replica.snapshots, default=None)
            self.wrong(name, "snapshot that it offers", answer.snapshot, newest)
        elif answer.diverging is not None and not self.old_epochs:
            at, parting = answer.diverging.end_offset, answer.diverging.epoch
            wrong = [
                one.base_offset
                for one in replica.log.batches()
                if (one.last_offset >= at if one.epoch <= parting else one.base_offset < at)
            ]
            self.wrong(name, f"epoch {parting} said to end at {at}, but batches at", wrong, [])

    def _records(self, node: Node, answer: of.FetchResponse) -> None:
        replica, log, name = node.replica, node.replica.log, node.name
        before, moved_ms = self._moved.get(name, (0, -1))
        mark = log.high_watermark
        # What was composed may be sent after other answers of the same moment have committed more.
        if moved_ms == self.context.now_ms and before <= answer.high_watermark <= mark:
            mark = answer.high_watermark
        told = {
            "high watermark": (answer.high_watermark, mark),
            "log start": (answer.log_start_offset, log.log_start_offset),
            "removed tombstones": (answer.removed_tombstone_end, replica.removed_tombstone_end),
            "version floor": (answer.version_floor, replica.version_floor),
        }
        for what, (said, true) in told.items():
            self.wrong(name, f"{what} in an answer", said, true)
        if answer.fetch_offset < log.log_start_offset:
            self.wrong(name, "records below its log start", answer.fetch_offset, "none")
        if node.versions is None:
            there = _batches(log, answer.fetch_offset, log.log_end_offset)
            self._a_beginning(name, answer.batches, there)

    def _a_beginning(self, name: str, given: Sequence[Batch], there: Sequence[Batch]) -> None:
        """Judges batches that are given: the first ones, in order, and at least one if any is."""
        found = [one.base_offset for one in given]
        expected = [one.base_offset for one in there[: max(1, len(given))]]
        self.wrong(name, "batches that it gives", found, expected)

    # What a consumer is told.

    def _to_consumer(self, node: Node, answer: of.ConsumerFetchResponse) -> None:
        log, name = node.replica.log, node.name
        self.wrong(name, "log start for a consumer", answer.log_start_offset, log.log_start_offset)
        if answer.readable_end > log.high_watermark:
            self.wrong(name, "readable end", answer.readable_end, log.high_watermark)
        if node.versions is None and answer.batches:
            there = _batches(log, answer.start, answer.readable_end)
            self._a_beginning(name, answer.batches, there)

    def _consumers_epoch(self, node: Node, answer: of.ConsumerFetchResponse, asker: str) -> None:
        """Judges where a consumer is sent that has its position checked.

        It is sent back where a later epoch begins below its position, and nowhere else.
        """
        asked = self._asked.get((asker, answer.correlation_id))
        replica, log, name = node.replica, node.replica.log, node.name
        if not isinstance(asked, of.ConsumerFetchRequest) or self.old_epochs:
            return
        if answer.start < log.log_start_offset or answer.start > log.log_end_offset:
            self.wrong(name, f"{asker} is to read at", answer.start, "an offset of the log")
        checked = asked.last_epoch >= 0 and asked.checked_with != (name, replica.epoch)
        later = (one.base_offset for one in log.batches() if one.epoch > asked.last_epoch)
        first = next(later, log.log_end_offset)
        if checked and log.log_start_offset <= first < asked.offset and answer.start > first:
            self.wrong(name, f"{asker} at {asked.offset} reads from", answer.start, first)
        if answer.diverging_epoch < 0:
            by_end = checked and answer.start < asked.offset
            self.wrong(
                name, f"{asker} at {asked.offset} is sent back by its log end", by_end, False
            )
            return
        kept = [
            one.last_offset
            for one in log.batches()
            if one.epoch <= asked.last_epoch and one.last_offset >= answer.start
        ]
        back = answer.start < asked.offset or answer.start == log.log_start_offset
        justified = checked and answer.diverging_epoch <= asked.last_epoch and back
        self.wrong(name, f"{asker} is sent back", justified, True)
        self.wrong(name, f"{asker} is sent back below its epoch's batches at", kept, [])

    # What is reported and handed out for coordinated removal.

    def _report(self, node: Node, response: of.RemovalBoundsResponse) -> None:
        report, replica = response.report, node.replica
        self.wrong(node.name, "disk of a report", report.disk, replica.disk)
        if self.rules.cleaner.marker_watermark == "shared":
            return
        free, committed = report.transaction_free_offset, replica.log.high_watermark
        if free > max(committed, replica.marker_removal_bound):
            self.wrong(node.name, "free of transactions below", free, committed)
        data = [
            one.base_offset
            for one in _batches(replica.log, 0, free)
            if one.transactional and one.control is None
        ]
        self.wrong(node.name, f"free of transactions below {free}, with data at", data, [])

    def _raised(self, name: str, epoch: int) -> None:
        others = [one for one in self.nodes if one != name]
        silent = [one for one in others if (name, epoch, one) not in self._reported]
        self.wrong(name, f"raises bounds in epoch {epoch} without reports of", silent, [])

    def _bounds(self, node: Node, request: of.RemovalBoundsRequest) -> None:
        replica, bounds = node.replica, request.bounds
        accepted = (replica.removal_bound, replica.marker_removal_bound)
        said = (bounds.tombstones, bounds.markers)
        # One that has yet to hear of its successor may have been given more by that.
        if self.context.leader == (request.epoch, node.name) or said > accepted:
            self.wrong(node.name, "bounds that it hands out", said, accepted)

    # What the controller knows.

    def _partition(self, state: of.PartitionState) -> None:
        if state.partition_epoch <= self._seen:
            return
        self._seen = state.partition_epoch
        lives = state.eligible
        for name, life in lives.items():
            node = self.nodes.get(name)
            if node is not None and life > node.incarnation:
                self.wrong("controller", f"life of {name}", life, node.incarnation)
        for name in state.isr:
            life = lives.get(name, self._in_sync.get(name, 0))
            before = self._in_sync.get(name)
            if before is not None and life > before and len(state.isr) > 1:
                self.wrong("controller", f"{name} stays in sync", f"life {life}", f"life {before}")
        self._in_sync = {name: lives.get(name, self._in_sync.get(name, 0)) for name in state.isr}


def _batches(log: Log, start: int, end: int) -> list[Batch]:
    """The batches that reach above `start` and end below `end`."""
    return [one for one in log.batches() if one.last_offset >= start and one.last_offset < end]
