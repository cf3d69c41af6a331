"""Transactions: as a whole they become what their producer asked for, one after the other."""

from collections import defaultdict

from sim.check.facts import Asked
from sim.check.invariant import TransactionInvariant
from sim.protocol.events import Appended, Quiesced
from sim.protocol.log.record import Batch

_NOT_ENDED = (
    "{replica} appended data of producer {producer} at {offset} while {record}, of the transaction"
    " before, is committed and undecided."
)
_NOT_ASKED = "{record} is committed, but its producer did not ask to commit its transaction."
_IN_PART = "{record} is committed, but {missing}, of the same transaction, is not."


class TransactionAsAsked(TransactionInvariant):
    """A transaction ends as its producer asked, as a whole, and before the next one begins.

    With S(T) the values that a producer sends in its transaction T::

        a value of S(T) is committed, as data of a transaction that was, at rest
            =>  its producer asked to commit T, and every value of S(T) is
        data of another transaction of the producer is appended
            =>  what is committed of S(T), and in the log it is appended to, is decided by then

    since a producer has one request in flight, and its coordinator is answered when the marker is
    committed. Judged: as data is appended, and at rest. Excused: a marker of an earlier leader, who
    may have committed it before it heard of its successor; offsets that were committed twice,
    and deletes, which no value tells apart. A transaction whose producer asked to commit it may
    abort all the same: by a newer instance, or since a batch of it was given up.
    """

    source = "KIP-98, Transactional Guarantees; TransactionMarkerChannelManager; KIP-890; KIP-1228"
    in_stories = False

    def on_appended(self, event: Appended) -> None:
        """Look for an earlier transaction of the producer that is open."""
        (replica, batch), asked = event, self.history.asked
        if not (asked and batch.transactional and batch.control is None):
            return
        own = {asked.get(each.value or "") for each in batch.records} - {None}
        lineage = self.replicas[replica].lineage
        for uid in self.history.undecided.get(batch.producer_id, ()) if own else ():
            record = self.written[uid].record
            earlier = asked.get(record.value or "")
            if earlier in {None, *own} or uid not in lineage[record.offset :][:1]:
                continue
            if not self._ended_before(lineage[record.offset :], batch):
                told = {"producer": batch.producer_id, "record": uid}
                self.violated(replica, batch.base_offset, None, _NOT_ENDED, **told)
                return

    def _ended_before(self, lineage: list[int], batch: Batch) -> bool:
        """Whether an earlier leader of this log has ended it, and perhaps committed that unseen."""
        producer, epoch = batch.producer_id, batch.epoch
        markers = [self.written[uid].batch for uid in lineage if uid in self.written]
        return any(
            each.control is not None and each.producer_id == producer and each.epoch < epoch
            for each in markers
        )

    def on_quiesced(self, _: Quiesced) -> None:
        """Compare what is committed with what was asked for."""
        if self.history.committed_twice:
            return
        status, written = self.history.status, self.written
        committed = {written[uid].record.value: uid for uid, decided in status.items() if decided}
        sent: defaultdict[Asked, list[tuple[int, str]]] = defaultdict(list)
        for value, asked in self.history.asked.items():
            sent[asked].append((committed.get(value, 0), value))
        for (_producer, number, commit), found in sent.items():
            (first, missing), last = min(found), max(found)[0]
            if last and not commit:
                self.violated_by(None, last, None, _NOT_ASKED, transaction=number)
            elif last and not first:
                self.violated_by(None, last, None, _IN_PART, missing=missing)
