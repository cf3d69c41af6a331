"""Judges what clients ask for, by what they were answered and have sent.

* A consumer asks from where it was, or from where an answer since has led it: behind the batches
  that it was given, in the epoch of the last one, or where its log was cut, in the epoch that ends
  there; it names the replica and the epoch that answered (SubscriptionState.FetchPosition).
* A fetch waits only where there is nothing to tell: at an offset of the log, in an epoch that holds
  there, and without batches to read (DelayedFetch, OFFSET_OUT_OF_RANGE, KIP-320).
* What a consumer takes it has read when the answer left (`Consumed.now_ms`).
* A transaction is committed when all of its batches were answered without an error
  (TransactionManager.maybeFailWithError).
* A marker with a newer epoch ends a transaction where there is one that has not ended; a leader
  that does so knows its epoch from then on, so that nothing late of the transaction is taken
  (ProducerAppendInfo.appendEndTxnMarker).
* A new instance writes in a newer epoch than that of the marker that fences the one before, so that
  the marker ends nothing more when it comes again (TransactionMetadata.prepareFenceProducerEpoch).
* With `verification: first_batch` data begins a transaction in a log only while its producer has
  begun one, in that epoch, that no marker was asked for (KIP-890).
* Who reads to the end reads to what could be read when it began (KafkaBasedLog.readToLogEnd).
"""

from __future__ import annotations

from typing import Any

from sim.protocol.events import Consumed, Event, ReadingEnded
from sim.protocol.replication import messages as of
from sim.protocol.replication.replica import Replica
from sim.simulate.cluster.cluster import Cluster
from tests.audits.second_reading_passes import stable_end
from tests.audits.sending import Answers, Failed

Place = tuple[int, int, tuple[str, int] | None]
"""Offset, epoch of the last batch, and the replica and epoch that were read."""


class Clients(Answers):
    """The requests of consumers and producers."""

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts before anything is asked."""
        super().__init__(cluster, failed)
        self._places: dict[str, list[Place]] = {}
        self._under_way: dict[int, int] = {}
        self._fenced_at: dict[str, int] = {}
        self._ended: set[tuple[int, int]] = set()
        self._ends_at: dict[str, set[int]] = {}
        self._read_ms: dict[str, set[int]] = {}
        self._unwritten: dict[str, dict[int, int]] = {}
        self._refused = self._was_open = False
        self._checks = self.rules.reading.consumer_validation == "epoch"

    def sent(self, source: str, target: str, message: Any) -> None:
        """Judges a request, and notes an answer to a consumer."""
        match message:
            case of.ConsumerFetchRequest():
                self._reads(source, message)
            case of.ConsumerFetchResponse() if message.error is of.NO_ERROR:
                self._given(target, message)
            case of.ProduceRequest() if message.transactional:
                self._writes(source, message)
                unwritten = self._unwritten.setdefault(source, {})
                unwritten[message.correlation_id] = message.base_sequence
            case of.WriteTxnMarkersRequest():
                unwritten = self._unwritten.pop(source, {})
                if message.committed and unwritten:
                    self.wrong(source, "commits without", sorted({*unwritten.values()}), "all")
                self._ends(source, message)
            case of.ProduceResponse():
                self._written(target, message)
                self._refused = self._refused or message.error is not of.NO_ERROR

    def _writes(self, name: str, asked: of.ProduceRequest) -> None:
        """Notes a transaction that has begun, and judges the epoch of a new instance."""
        producer, epoch = asked.producer_id, asked.producer_epoch
        fenced = self._fenced_at.setdefault(name, -2)  # after data no marker is the first
        if epoch <= fenced:
            self.wrong(name, "writes in the epoch of the marker before it", epoch, fenced + 1)
        newest = max((one for other, one in self._ended if other == producer), default=-1)
        if epoch >= newest:
            self._under_way[producer] = epoch

    def receives(self, name: str, message: Any, *, overdue: bool) -> None:
        """A request is refused after it came; to one that comes late nobody awaits the answer."""
        self._refused = overdue
        if isinstance(message, of.ProduceRequest):
            self._was_open = self.nodes[name].replica.log.producers.has_open(message.producer_id)

    def after(self, event: Event) -> None:
        """Judges when a consumer has read, and what a reader that reads to the end took for it."""
        if isinstance(event, Consumed) and not self.context.settling:
            times = self._read_ms[event.consumer]
            if event.now_ms not in times:
                self.wrong(event.replica, f"{event.consumer} reads at", event.now_ms, times)
        if isinstance(event, ReadingEnded):
            replica, name = self.nodes[event.replica].replica, event.consumer
            end = replica.log.high_watermark  # at rest no message is sent
            ends = {end, stable_end(replica, end), *self._ends_at.get(name, ())}
            if event.end not in ends:
                self.wrong(event.replica, f"{name} reads to the end", event.end, ends)

    def _written(self, name: str, answer: of.ProduceResponse) -> None:
        """Notes that a batch is in the log, by whichever of its tries."""
        unwritten = self._unwritten.get(name, {})
        sequence = unwritten.get(answer.correlation_id)
        if answer.error is of.NO_ERROR and sequence is not None:
            tries = unwritten.items()
            self._unwritten[name] = {number: one for number, one in tries if one != sequence}

    def handled(self, name: str, message: Any) -> None:
        """Judges a fetch of a consumer that waits now."""
        if isinstance(message, of.ConsumerFetchRequest):
            node, offset = self.nodes[name], message.offset
            waits = node.consumers.waiting.get(message.client_id) is message
            if waits and self._has_an_answer(node.replica, message):
                self.wrong(name, f"{message.client_id} at {offset}", "waits", "is answered")
        elif isinstance(message, of.WriteTxnMarkersRequest) and message.fences:
            node, producer = self.nodes[name], message.producer_id
            known = node.replica.log.producers.producers.get(producer)
            epoch = -1 if known is None else known.epoch
            takes = node.leader is not None and not node.loader.loading
            takes = takes and node.versions is None and not self._refused
            if takes and epoch < message.producer_epoch:
                self.wrong(name, f"ends {producer} of before", epoch, message.producer_epoch)
        elif isinstance(message, of.ProduceRequest) and message.transactional:
            self._begins(name, message)

    def _begins(self, name: str, asked: of.ProduceRequest) -> None:
        """Judges whether a batch was allowed to begin the transaction that is open now."""
        node, producer = self.nodes[name], asked.producer_id
        verifies = node.rules.coordinator.verification != "none"
        begun = node.replica.log.producers.has_open(producer) and not self._was_open
        if verifies and begun and self._under_way.get(producer) != asked.producer_epoch:
            self.wrong(name, f"begins a transaction of {producer}", "none is under way", "one")

    def _has_an_answer(self, replica: Replica, asked: of.ConsumerFetchRequest) -> bool:
        log, batches = replica.log, [*replica.log.batches()]
        later = [one.base_offset for one in batches if one.epoch > asked.last_epoch]
        moved = max(min(later, default=log.log_end_offset), log.log_start_offset)
        checked = asked.last_epoch >= 0 and asked.checked_with != (replica.name, replica.epoch)
        end = log.high_watermark
        if asked.read_committed:
            end = stable_end(replica, end)
        return (
            not log.log_start_offset <= asked.offset <= log.log_end_offset
            or (checked and moved < asked.offset)
            or any(asked.offset <= one.last_offset < end for one in batches)
        )

    def _ends(self, name: str, marker: of.WriteTxnMarkersRequest) -> None:
        producer, place = marker.producer_id, (marker.producer_id, marker.producer_epoch)
        if marker.fences and place not in self._ended and producer not in self._under_way:
            self.wrong(name, "ends a transaction of before", "none is under way", "one")
        self._ended.add(place)
        if self._under_way.get(producer, -1) <= marker.producer_epoch:
            self._under_way.pop(producer, None)  # else it is that of a newer instance
        self._fenced_at.setdefault(name, marker.producer_epoch if marker.fences else -2)

    def _reads(self, name: str, asked: of.ConsumerFetchRequest) -> None:
        place = (asked.offset, asked.last_epoch, asked.checked_with)
        known = self._places.get(name)
        if known is not None and self._checks and place not in known:
            self.wrong(name, "reads on at", place, known)
        self._places[name] = [place]
        self._read_ms[name] = set()

    def _given(self, name: str, answer: of.ConsumerFetchResponse) -> None:
        places, source = self._places.setdefault(name, []), (answer.replica, answer.epoch)
        self._ends_at.setdefault(name, set()).add(answer.readable_end)
        self._read_ms[name].add(self.context.now_ms)
        for _, before, _ in [*places]:
            epoch = before if answer.diverging_epoch < 0 else answer.diverging_epoch
            offset = answer.start
            if answer.batches:
                offset, epoch = answer.end, answer.batches[-1].epoch
            places.append((offset, epoch, source))
