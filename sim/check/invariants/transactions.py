"""Transactions: each ends on all replicas as its producer asked, as a whole."""

from collections import defaultdict

from sim.check.facts import HOLE, Asked, ReplicaView
from sim.check.history import ClusterHistory
from sim.check.invariant import Kind, TransactionInvariant
from sim.protocol import events
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

        at rest a value of S(T) is committed, and a marker has committed its transaction
            =>  its producer asked to commit T, and the same holds for every value of S(T)
        data of another transaction of the producer is appended to a log
            =>  what is committed of S(T), and was written to that log, is decided by then

    since a producer has one request in flight, and its coordinator is answered when the marker is
    committed. Judged: as data is appended, and at rest. Excused: a marker of an earlier leader,
    which may have committed it before it heard of its successor; offsets that were committed twice,
    and deletes, which have no value to tell them apart. A transaction whose producer asked to
    commit it may abort all the same: by a newer instance, or since a batch of it was given up.

    Source: KIP-98, Transactional Guarantees; TransactionMarkerChannelManager; KIP-890; KIP-1228
    """

    in_stories = False

    def on_appended(self, event: events.Appended) -> None:
        """Looks for an earlier transaction of the producer that is open."""
        replica, batch, asked = event.replica, event.batch, self.history.asked
        if not (asked and batch.transactional and batch.control is None):
            return
        own = {asked.get(each.value or "") for each in batch.records} - {None}
        lineage = self.replicas[replica].lineage
        for uid in self.history.undecided.get(batch.producer_id, ()) if own else ():
            record = self.written[uid].record
            earlier = asked.get(record.value or "")
            if earlier in {None, *own} or lineage[record.offset : record.offset + 1] != [uid]:
                continue
            if not self._ended_before(lineage[record.offset :], batch):
                evidence = {"producer": batch.producer_id, "record": uid}
                self.broken(replica, batch.base_offset, None, _NOT_ENDED, **evidence)
                return

    def _ended_before(self, lineage: list[int], batch: Batch) -> bool:
        """True if a marker of an earlier leader ends the transaction; it may be committed."""
        producer, epoch = batch.producer_id, batch.epoch
        markers = [self.written[uid].batch for uid in lineage if uid in self.written]
        return any(
            each.control is not None and each.producer_id == producer and each.epoch < epoch
            for each in markers
        )

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Compares the committed values with what their producers asked for."""
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
                self.broken_by(None, last, None, _NOT_ASKED, transaction=number)
            elif last and not first:
                self.broken_by(None, last, None, _IN_PART, missing=missing)


class TxnMarkerSafety(TransactionInvariant):
    """A marker stays while another replica holds data of its transaction and lacks the marker.

    For all markers m that a pass of r removes, other replicas s, down ones as well, with end(s) <=
    m.offset: s holds no data x of the transaction of m (of its producer, below m and above that
    producer's marker before).
    Judged: on removal. Excused: nothing; a replica with end(s) > m.offset has read the marker.

    Source: KIP-534, case 2; Redpanda PR 29043
    Says: {replica} removed the {marker} while {holder}, log end offset {holder_end}, still held
        {held} of its transaction.
    """

    explained_by = "removed_delete"

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Looks at every other log that ends at or below a removed marker."""
        for removal in self.history.markers_removed:
            data = self._data_of(self.replicas[event.replica], removal.offset, removal.uid)
            for view in self.replicas.values():
                if view.name != event.replica and view.log_end_offset <= removal.offset:
                    for uid in [uid for uid in data if self.history.holds(view, uid)][:1]:
                        self.broken_for(event.replica, removal, view, uid, marker=removal.uid)

    def _data_of(self, view: ReplicaView, marker_offset: int, marker: int) -> list[int]:
        """The uids that a marker decides: its producer's data since the marker before."""
        written, committed = self.written, self.committed
        producer = written[marker].batch.producer_id
        data: list[int] = []
        for offset in range(marker_offset - 1, -1, -1):
            uid = view.lineage[offset]
            if uid == 0 and offset < len(committed):
                uid = committed[offset]
            batch = written[uid].batch if uid in written else None
            if batch is not None and batch.transactional and batch.producer_id == producer:
                if batch.control is not None:
                    break
                data.append(uid)
        return data


_WORDS = {True: "committed", False: "aborted", None: "open"}


def transactional(history: ClusterHistory, view: ReplicaView, *, with_empty: bool) -> list[int]:
    """The uids of the transactional data of a log, in order of offsets.

    `with_empty` adds the last uid of each batch that is left without records: such a batch keeps
    its transaction open.
    """
    if not history.status and not history.undecided:
        return []
    start = view.log_start_offset
    held = [
        slot if slot > 0 or not with_empty or slot == HOLE else own
        for slot, own in zip(view.slots[start:], view.lineage[start:], strict=True)
    ]
    known = [(uid, history.written[uid].batch) for uid in held if uid in history.written]
    return [uid for uid, batch in known if batch.transactional and batch.control is None]


class TxnIsolation(TransactionInvariant):
    """A replica's own markers decide each transactional record as the committed history does.

    For all replicas r, transactional data x = committed[x.offset] in log(r): the first marker of
    x's producer above x in log(r) says of x what it says in committed history: committed, aborted,
    or open.
    Judged: at rest, down replicas as well. Excused: records that were never committed; a marker of
    the leader at or above end(r), which r is still to fetch.

    Source: KIP-98; Redpanda blog 2026-06-25
    Says: {record} is {verdict} on {replica} but {committed_verdict} in the committed history.
    """

    kind = Kind.AT_REST
    explained_by = "transaction"

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Compares each log's verdicts with those of the committed history."""
        history = self.history
        for view in self.replicas.values():
            for uid in transactional(history, view, with_empty=False):
                status, verdict = history.status.get(uid), self.history.verdict_in(view, uid)
                to_come = verdict is None and history.marker_to_come(view, uid)
                differs = verdict is not status and not to_come
                if differs and history.in_committed_history(uid):
                    words = {"verdict": _WORDS[verdict], "committed_verdict": _WORDS[status]}
                    self.broken_by(view.name, uid, **words)


class LsoProgress(TransactionInvariant):
    """No replica holds a transaction open that has ended in the committed history.

    For all replicas r, transactional data x in log(r), or in an empty batch of it: if committed
    history decides x, a marker of its producer is above x in log(r). Otherwise the last stable
    offset of r stays for ever: nothing above is cleaned, or read with read_committed.
    Judged: at rest. Excused: a transaction that was never ended; a marker of the leader at or above
    end(r), which r is still to fetch. Fair: faults are over and followers have fetched to the end.

    Source: Redpanda blog 2026-06-25, variant 4
    Says: {replica} holds the transaction of {record} open, which the committed history has
        {committed_verdict}; its last stable offset stays at {offset} or below.
    """

    kind = Kind.AT_REST
    fairness = "faults are over and followers have fetched to the end"
    explained_by = "transaction"

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Looks for open transactions whose marker was committed."""
        history = self.history
        for view in self.replicas.values():
            for uid in transactional(history, view, with_empty=True):
                status = history.status.get(uid)
                stuck = status is not None and history.verdict_in(view, uid) is None
                if stuck and not history.marker_to_come(view, uid):
                    offset, word = self.written[uid].offset, _WORDS[status]
                    self.broken(view.name, offset, record=uid, committed_verdict=word)
                    break


class ConsumerReadsCommitted(TransactionInvariant):
    """A read_committed consumer is given no record of an aborted or undecided transaction.

    For all x given to such a consumer with committed[x.offset] = x: x is of no transaction, or of a
    committed one. Judged: at each read, by the committed history, not by the replica's own
    markers. Excused: records that were never committed, which other invariants judge; data whose
    marker a leader has committed before it heard of its successor, while the successor has not.

    Source: KIP-98, isolation.level; CompletedFetch.nextFetchedRecord
    Says: {reader} reads committed and was given {record} by {replica}, which is {fate} in the
        committed history.
    """

    explained_by = "transaction"
    in_stories = False

    def on_consumed(self, event: events.Consumed) -> None:
        """Looks up the fate of each transactional record."""
        history = self.history
        if not (history.status or history.undecided) or not event.committed:
            return
        for record in event.records:
            uid, offset, fate = record.uid, record.offset, history.status.get(record.uid)
            committed = self.committed[offset : offset + 1] == [uid]
            if committed and self.written[uid].batch.transactional and fate is not True:
                view = self.replicas[event.replica]
                ahead = view.high_watermark > len(self.committed)
                if fate is None and ahead and history.verdict_in(view, uid):
                    continue
                word, reader = "undecided" if fate is None else "aborted", event.consumer
                self.broken_by(event.replica, uid, offset, reader=reader, fate=word)
