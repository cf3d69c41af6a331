"""What idempotence promises: every batch of a producer once, and none left out."""

from collections import defaultdict
from dataclasses import dataclass, field

from sim.check.facts import Written
from sim.check.invariant import Invariant
from sim.check.replica_view import ReplicaView
from sim.log.record import Batch
from sim.trace import Acknowledged, Appended, HighWatermarkMoved, ProducersForgotten

_REPEATED = (
    "sequence number {sequence} of producer {producer} is committed at offset {offset}, after all "
    "below {sequences_below}"
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


class ProducerSequences(Invariant):
    """The committed sequence numbers of an idempotent producer rise without gap or repeat.

    With s(1), s(2), … the sequence numbers of a producer's records in committed history, in order
    of offset, within one producer epoch::

        s(i) < s(i + 1)  and  every s that is acknowledged with acks=all is one of them by then

    So a gap is a number that the producer was told to be written. Left out are numbers that nobody
    acknowledged: of a batch that its producer gave up, or that acks=1 lost with its leader. An
    acknowledgement of offsets that are not committed is the matter of `acknowledged-committed`.

    A repeat is excused when the leader that appended it could not know: its log never had the
    batch (it was lost, or lies below the log start: retention, DeleteRecords, a snapshot), or some
    replica has forgotten the producer since (`producer.id.expiration.ms`), so that cleaning may
    have taken its last batch anywhere. A new producer epoch begins anew. Nothing is judged any more
    once an offset was committed twice (`state-machine-safety`).
    """

    source = "KIP-98, Idempotent Producer Guarantees; ProducerStateManager; KIP-360"
    explained_by = "sequences"
    in_stories = False
    says = (
        "{replica} told producer {producer} that its sequence number {sequence} is committed, but "
        "none of its committed records has that number."
    )

    def begin(self) -> None:
        """Nobody has sent anything."""
        self._sent: defaultdict[tuple[int, int], list[Batch]] = defaultdict(list)
        self._highest: dict[tuple[int, int], int] = {}
        self._forgotten: set[int] = set()
        self._excused: set[int] = set()
        self._committed: dict[int, _Committed] = {}
        self._seen = 0

    def on_appended(self, event: Appended) -> None:
        """Note a batch; where it repeats an earlier one, whether the leader could know that."""
        replica, batch = event
        first, producer = batch.base_sequence, batch.producer_id
        if first < 0 or not batch.records:
            return
        sender = (producer, batch.producer_epoch)
        sent, highest = self._sent[sender], self._highest.get(sender, -1)
        if first <= highest:
            view = self.replicas[replica]
            if producer in self._forgotten or not _knows(view, batch, sent):
                self._excused.add(batch.records[0].uid)
        sent.append(batch)
        self._highest[sender] = max(highest, _last_sequence(batch))
        self._forgotten.discard(producer)

    def on_producers_forgotten(self, event: ProducersForgotten) -> None:
        """From now on, until they send again, they may be unknown to anybody."""
        self._forgotten.update(event.producers)

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Go on with what is committed just now."""
        if not event.leading:
            return
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
        if sequence >= known.end:
            known.missing.update(range(known.end, sequence))
            known.end = sequence + 1
        elif index == 0 and batch.producer_epoch == known.epoch:
            first, below = batch.records[0], known.end
            if first.uid not in self._excused and not self.history.committed_twice:
                says = _REPEATED + (" but this one." if sequence in known.missing else ".")
                told = {"sequence": sequence, "producer": producer, "sequences_below": below}
                self.violated(None, first.offset, first.key, says, **told)

    def on_acknowledged(self, event: Acknowledged) -> None:
        """What a producer is told to be committed is committed under its number."""
        replica, producer, first, first_offset, last_offset, _, acks = event
        if first < 0 or acks != "all" or self.history.committed_twice:
            return
        if last_offset >= len(self.committed):
            return  # too early, which `acknowledged-committed` tells
        known = self._committed.get(producer) or _Committed(0)
        written = self.written.get(self.committed[first_offset])
        if written is not None and _is_earlier(written.batch, producer, known.epoch):
            batch = written.batch
            if batch.base_sequence + first_offset - batch.base_offset != first:
                self.violated(replica, first_offset, producer=producer, sequence=first)
            return
        for sequence in range(first, first + last_offset + 1 - first_offset):
            if sequence >= known.end or sequence in known.missing:
                self.violated(replica, first_offset, producer=producer, sequence=sequence)
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
