"""What `isolation.level=read_committed` promises."""

from sim.check.invariant import TransactionInvariant
from sim.protocol.events import Consumed


class ConsumerReadsCommitted(TransactionInvariant):
    """A read_committed consumer is given no record of an aborted or undecided transaction.

    For all x given to such a consumer with committed[x.offset] = x: x is of no transaction, or of a
    committed one. Judged: at each read, by the committed history, whatever the replica's own
    markers say. Excused: records that were never committed, which other invariants judge; what a
    marker decides that a leader has committed which does not know of its successor, where that has
    not committed it yet.
    """

    source = "KIP-98, isolation.level; CompletedFetch.nextFetchedRecord"
    explained_by = "transaction"
    in_stories = False
    says = (
        "{reader} reads committed and was given {record} by {replica}, which is {fate} in the "
        "committed history."
    )

    def on_consumed(self, event: Consumed) -> None:
        """Look up the fate of each transactional record."""
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
                self.violated_by(event.replica, uid, offset, reader=reader, fate=word)
