"""Judges answers of brokers and states of the controller by what is true as they are sent.

* An answer to a follower has the request's offset, the batches from there on, the leader's log
  start, high watermark and marks, and comes from a leader (UnifiedLog.read, FetchPartitionData).
  Records below the log start are not there to be given; a snapshot that is offered is there, and
  the newest. Where epochs part or end, no batch is on the wrong side of the named offset (KIP-101,
  KIP-279, KIP-595); an epoch is unknown only where no batch is of it.
* A broker that knows the flag of deletes makes records without it for a follower or a consumer that
  asks in an older version (KIP-87).
* An answer to a consumer has the log start, where it may read to, and the batches up to there; it
  is sent back by its last epoch, where the log has a later one below its position, and only there
  (KIP-320).
* A report for coordinated removal is of the disk of now, and below its offset for markers, which is
  committed, there is no data of transactions, unless that offset is the bound it has accepted: a
  log that a crash cut below its bound may have other data there. A leader raises bounds when all
  others have reported to it since it leads, up to the lowest of their last reports, and hands out
  those that it has accepted.
* The controller knows no life that a broker has not begun, and keeps no replica in sync over a
  restart that is not alone in the set (KIP-903, KIP-966).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.protocol.events import (
    Appended,
    Event,
    HighWatermarkMoved,
    RemovalBoundMoved,
    ReplicaRestarted,
)
from sim.protocol.log import Batch, Log
from sim.protocol.replication import messages as of
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from tests.audits.sending import Answers, Failed

_QUESTIONS = {of.FetchRequest, of.ConsumerFetchRequest, of.OffsetsForLeaderEpochRequest}


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
        self._reports: dict[str, tuple[object, dict[str, of.RemovalReport]]] = {}
        self._bound = 0
        self._hears_bounds = False

    def sent(self, source: str, target: str, message: Any) -> None:
        """Notes a request, and judges an answer."""
        kind = type(message)
        if kind in _QUESTIONS:
            self._asked[source, message.correlation_id] = message
        elif kind is of.LeaderAndIsrRequest:
            self._partition(message.state)
        elif kind is of.ConsumerFetchResponse and message.error is of.NO_ERROR:
            self._to_consumer(self.nodes[source], message)
            asked = self._asked.get((target, message.correlation_id))
            self._flags(self.nodes[source], asked, target, message.batches)
            self._consumers_epoch(self.nodes[source], message, target)
        elif kind is of.FetchResponse:
            self._to_follower(self.nodes[source], message, target)
        elif kind is of.OffsetsForLeaderEpochResponse and message.error is of.NO_ERROR:
            epoch, end = message.leader_epoch, message.end_offset
            asked = self._asked[target, message.correlation_id].leader_epoch
            self._epoch_ends(self.nodes[source], asked if end < 0 else epoch, end)
        elif kind is of.RemovalBoundsResponse:
            self._report(self.nodes[source], message)
        elif kind is of.RemovalBoundsRequest:
            self._bounds(self.nodes[source], message)

    def receives(self, name: str, message: Any, *, overdue: bool) -> None:
        """Notes a report that a leader is given, and bounds that are handed out to a replica."""
        self._hears_bounds = type(message) is of.RemovalBoundsRequest
        known, reports = self._reports.get(name, (None, {}))
        leader = self.nodes[name].leader
        heard = type(message) is of.RemovalBoundsResponse and leader is known
        if heard and leader is not None and leader.epoch == message.epoch:
            reports[message.replica] = message.report

    def handled(self, name: str, message: Any) -> None:
        """What moves a bound from now on is no bound that was handed out."""
        self._hears_bounds = False

    def after(self, event: Event) -> None:
        """Notes where a high watermark was before it moved; judges bounds and timestamps."""
        super().after(event)
        if isinstance(event, RemovalBoundMoved):
            leader = self.nodes[event.replica].leader
            if leader is not None and not self._hears_bounds:
                lowest = self._lowest_report(self.nodes[event.replica])
                if lowest < 0 or event.offset > max(lowest, self._bound):
                    what = f"raises bounds to {event.offset} above reports"
                    self.wrong(event.replica, what, lowest, event.offset)
            self._bound = max(self._bound, event.offset)
        elif isinstance(event, Appended):
            self._appended(event.replica, event.batch)
        elif isinstance(event, ReplicaRestarted):
            self._marks[event.replica] = event.high_watermark
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
            self._flags(node, asked, target, answer.batches)
        elif answer.answer is of.Answer.SNAPSHOT:
            newest = max(replica.snapshots, default=None)
            self.wrong(name, "snapshot that it offers", answer.snapshot, newest)
        elif answer.diverging is not None:
            self._epoch_ends(node, answer.diverging.epoch, answer.diverging.end_offset)

    def _epoch_ends(self, node: Node, epoch: int, at: int) -> None:
        """Judges where an epoch is said to end; -1: the leader does not know."""
        wrong = [
            one.base_offset
            for one in node.replica.log.batches()
            if (one.last_offset >= at if one.epoch <= epoch else one.base_offset < at)
            if at >= 0 or one.epoch == epoch
        ]
        if not self.old_epochs:
            what = f"epoch {epoch} said to end at {at}, but batches at"
            self.wrong(node.name, what, wrong, [])

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

    def _flags(self, node: Node, asked: Any, target: str, batches: Sequence[Batch]) -> None:
        """Judges whether somebody who asks in a version without flags is given any."""
        converts = node.versions is not None and node.versions.understood == 2
        if converts and asked is not None and asked.version == 2:
            data = [batch for batch in batches if batch.control is None]
            flags = {one.flagged for batch in data for one in batch.records}
            self.wrong(node.name, f"gives {target}, which knows no flag", flags - {None}, set())

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
            # An epoch may be known to begin above a log end that is that of the last record.
            by_end = checked and answer.start < asked.offset
            by_end = by_end and self.rules.storage.leo_source == "stored"
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
        if free <= replica.marker_removal_bound:
            return
        data = [
            one.base_offset
            for one in _batches(replica.log, 0, free)
            if one.transactional and one.control is None
        ]
        self.wrong(node.name, f"free of transactions below {free}, with data at", data, [])

    def _lowest_report(self, node: Node) -> int:
        """Up to where the others have compacted, as each said last since it leads; -1: unknown."""
        leader, reports = self._reports.get(node.name, (None, {}))
        if leader is not node.leader:
            reports = {}
            self._reports[node.name] = node.leader, reports
        drops, lowest = self.rules.cleaner.lost_disk_report == "dropped", 10**9
        for other in self.nodes.values():
            report = reports.get(other.name)
            if report is None or (drops and report.disk != other.replica.disk):
                lowest = lowest if other is node else -1
            else:
                lowest = min(lowest, report.cleanly_compacted_offset)
        return lowest

    def _bounds(self, node: Node, request: of.RemovalBoundsRequest) -> None:
        replica, bounds = node.replica, request.bounds
        lowest = min(self._lowest_report(node), replica.cleanly_compacted_offset)
        if bounds.tombstones < lowest:
            self.wrong(node.name, "hands out less than all report", bounds.tombstones, lowest)
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
    return [
        one
        for segment in log.segments
        if segment.batches and segment.batches[-1].last_offset >= start
        for one in segment.batches
        if start <= one.last_offset < end
    ]
