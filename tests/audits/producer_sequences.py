"""What idempotence promises: every batch of a producer once, and none left out."""

from collections import defaultdict
from dataclasses import dataclass, field

from sim.check.facts import ReplicaView, Written
from sim.protocol.events import (
    Acknowledged,
    Appended,
    Copied,
    HighWatermarkMoved,
    LeaderElected,
    ProducersForgotten,
)
from sim.protocol.log.record import Batch
from tests.audits.law import Law

_REPEATED = (
    "sequence number {sequence} of producer {producer} is committed at offset {offset}, after all "
    "below {sequences_below}"
)
_UNNUMBERED = (
    "{replica} has data of producer {producer} at offset {offset} without a sequence number "
    "({sequence})."
)


@dataclass
class _Committed:
    """What is committed of a producer's present epoch.

    Attributes:
        epoch: That epoch.
        end: Above every sequence number that is committed (exclusive).
        missing: Sequence numbers below `end` that are not.
    """

    epoch: int
    end: int = 0
    missing: set[int] = field(default_factory=set)


class ProducerSequences(Law):
    """The committed sequence numbers of an idempotent producer rise without gap or repeat.

    Every batch of data with a producer id has one, on each replica that writes it.

    With s(1), s(2), … the sequence numbers of a producer's records in committed history, in order
    of offset, within one producer epoch::

        s(i) < s(i + 1)  and  every s that is acknowledged with acks=all is one of them by then

    So a gap is a number that the producer was told to be written. Left out are numbers that nobody
    acknowledged: of a batch that its producer gave up, or that acks=1 lost with its leader. An
    acknowledgement of offsets that are not committed is the matter of `acknowledged-committed`.

    A number that is left out though nobody gave it up is the matter of `tests.audits.sends`.

    A repeat is excused when the leader that appended it could not know: its log never had the
    batch (it was lost, or lies below the log start: retention, DeleteRecords, a snapshot), or some
    replica has forgotten the producer since (`producer.id.expiration.ms`), so that cleaning may
    have taken its last batch anywhere, and this log has not had that number, or a later one, again
    from then on; an older batch that comes late tells nobody of the newest. A new producer epoch
    begins anew. Nothing is judged any more once an offset was committed twice
    (`state-machine-safety`). Markers have no number, nor has data without a producer id
    (MemoryRecordsBuilder.writeDefaultBatchHeader refuses any other).
    """

    name = "producer-sequences"
    source = (
        "KIP-98, Idempotent Producer Guarantees; ProducerStateManager; KIP-360; "
        "MemoryRecordsBuilder.writeDefaultBatchHeader"
    )
    says = (
        "{replica} told producer {producer} that its sequence number {sequence} is committed, but "
        "none of its committed records has that number."
    )

    def begin(self) -> None:
        """Nobody has sent anything."""
        self._sent: defaultdict[tuple[int, int], list[Batch]] = defaultdict(list)
        self._highest: dict[tuple[int, int], int] = {}
        self._excused: set[int] = set()
        self._committed: dict[int, _Committed] = {}
        self._seen = 0

    def on_appended(self, event: Appended) -> None:
        """Note a batch; where it repeats an earlier one, whether the leader could know that."""
        replica, batch = event.replica, event.batch
        first, producer = batch.base_sequence, batch.producer_id
        if first < 0:
            self._look_for_number(replica, batch)
            return
        if not batch.records:
            return
        sender = (producer, batch.producer_epoch)
        sent, highest = self._sent[sender], self._highest.get(sender, -1)
        if first <= highest and not _knows(self.replicas[replica], batch, sent):
            self._excused.add(batch.records[0].uid)
        sent.append(batch)
        self._highest[sender] = max(highest, _last_sequence(batch))

    def on_copied(self, event: Copied) -> None:
        """Look whether a number was lost on its way."""
        for batch in event.batches:
            if batch.base_sequence < 0:
                self._look_for_number(event.replica, batch)

    def _look_for_number(self, replica: str, batch: Batch) -> None:
        """A batch without a number was written."""
        producer = batch.producer_id
        if producer >= 0 and batch.control is None:
            told = {"producer": producer, "sequence": batch.base_sequence}
            self.broken(replica, batch.base_offset, None, _UNNUMBERED, **told)

    def on_producers_forgotten(self, event: ProducersForgotten) -> None:
        """What they have sent so far may be unknown to anybody from now on."""
        for sender in self._sent:
            if sender[0] in event.producers:
                self._sent[sender] = []

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Go on with what is committed just now."""
        if event.leading:
            self._take_committed()

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Go on with what a deposed leader has committed, and its successor knows."""
        self._take_committed()

    def _take_committed(self) -> None:
        """Take the records that were committed since."""
        for uid in self.committed[self._seen :]:
            known = self.written.get(uid)
            if known is not None and known.batch.base_sequence >= 0:
                self._take(known)
        self._seen = len(self.committed)

    def _take(self, record: Written) -> None:
        """A record of a numbered batch is committed."""
        batch = record.batch
        index, producer = record.offset - batch.base_offset, batch.producer_id
        sequence = batch.base_sequence + index
        known = self._committed.get(producer)
        if known is None or batch.producer_epoch > known.epoch:
            known = self._committed[producer] = _Committed(batch.producer_epoch)
        if batch.producer_epoch < known.epoch:
            return  # it came late to who has forgotten the producer: its numbers are kept no more
        if sequence >= known.end:
            known.missing.update(range(known.end, sequence))
            known.end = sequence + 1
        else:
            if index == 0:
                self._judge_order(batch, sequence, known)
            known.missing.discard(sequence)

    def _judge_order(self, batch: Batch, sequence: int, known: _Committed) -> None:
        """A batch is committed behind one whose numbers are not below its own."""
        first = batch.records[0]
        if first.uid not in self._excused and not self.history.committed_twice:
            says = _REPEATED + (" but this one." if sequence in known.missing else ".")
            told = {"sequence": sequence, "producer": batch.producer_id}
            self.broken(None, first.offset, first.key, says, sequences_below=known.end, **told)

    def on_acknowledged(self, event: Acknowledged) -> None:
        """What a producer is told to be committed is committed under its number."""
        replica, producer, first, first_offset, last_offset, acks = (
            event.replica,
            event.producer_id,
            event.base_sequence,
            event.first_offset,
            event.last_offset,
            event.acks,
        )
        if first < 0 or acks != "all" or self.history.committed_twice:
            return
        if last_offset >= len(self.committed):
            return  # too early, which `acknowledged-committed` tells
        known = self._committed.get(producer) or _Committed(0)
        written = self.written.get(self.committed[first_offset])
        if written is not None and _is_earlier(written.batch, producer, known.epoch):
            batch = written.batch
            if batch.base_sequence + first_offset - batch.base_offset != first:
                self.broken(replica, first_offset, producer=producer, sequence=first)
            return
        for sequence in range(first, first + last_offset + 1 - first_offset):
            if sequence >= known.end or sequence in known.missing:
                self.broken(replica, first_offset, producer=producer, sequence=sequence)
                return


def _is_earlier(batch: Batch, producer: int, epoch: int) -> bool:
    """Whether a batch is of a producer's epoch before that one, whose numbers are kept no more."""
    numbered = batch.producer_id == producer and batch.base_sequence >= 0
    return numbered and batch.producer_epoch < epoch


def _last_sequence(batch: Batch) -> int:
    """The number of its last record, as it was appended."""
    return batch.base_sequence + batch.last_offset - batch.base_offset


def _knows(view: ReplicaView, batch: Batch, sent: list[Batch]) -> bool:
    """Whether a log has, or had until a cleaner took it, the batch or a later one of its sender."""
    lineage = view.lineage
    return any(
        _last_sequence(one) >= batch.base_sequence
        and view.log_start_offset <= one.records[-1].offset < len(lineage)
        and lineage[one.records[-1].offset] == one.records[-1].uid
        for one in sent
    )
