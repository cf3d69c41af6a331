"""Transactions: at the end none is open."""

from sim.protocol.events import Quiesced
from tests.audits.law import Law


class TransactionsEnd(Law):
    """A transaction that nobody ends is aborted, and so is one that late data has opened again.

    At rest no committed data x of a transaction is undecided: a marker of its producer is committed
    above x. The coordinator asks for all that is open when `transaction.timeout.ms` has passed.
    Judged: at rest. Excused: data that the leader has lost, and a marker that it has at an offset
    which was committed before; other invariants speak of both. And data below its log start:
    retention takes it from open transactions, too.
    """

    name = "transactions-end"
    source = "KIP-98, transaction.timeout.ms; KIP-890, Motivation"
    says = "Nobody has ended the transaction of {record}, which is committed."

    def on_quiesced(self, _: Quiesced) -> None:
        """Look for committed data without a marker."""
        leader = self.history.leader or ""
        view = self.replicas.get(leader)
        if view is None:
            return
        has = set(view.lineage[view.log_start_offset :])
        for uids in self.history.undecided.values():
            for uid in [one for one in uids if one in has][:1]:
                if self.history.verdict_in(view, uid) is None:
                    self.broken(leader, self.written[uid].offset, record=uid)
