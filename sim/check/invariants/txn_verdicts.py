"""Transactions: by its own log every replica gives the verdict of the committed history."""

from sim.check.history import ClusterHistory
from sim.check.invariant import Kind, TransactionInvariant
from sim.check.replica_view import HOLE, ReplicaView
from sim.protocol.events import Quiesced

_WORDS = {True: "committed", False: "aborted", None: "open"}


def transactional(history: ClusterHistory, view: ReplicaView, *, with_empty: bool) -> list[int]:
    """The transactional data of a log by uid, in order.

    `with_empty` also counts batches that are left without records: they keep a transaction open.
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
    """Each transactional record has, by its replica's own log, the verdict of committed history.

    For all replicas r, transactional data x = committed[x.offset] in log(r): the first marker of
    x's producer above x in log(r) says of x what it says in committed history: committed, aborted,
    or open.
    Judged: at rest, down replicas as well. Excused: records that were never committed.
    """

    kind = Kind.AT_REST
    source = "KIP-98; Redpanda blog 2026-06-25"
    explained_by = "transaction"
    says = "{record} is {verdict} on {replica} but {committed_verdict} in the committed history."

    def on_quiesced(self, _: Quiesced) -> None:
        """Compare each log's verdicts with those of the committed history."""
        history = self.history
        for view in self.replicas.values():
            for uid in transactional(history, view, with_empty=False):
                told, verdict = history.status.get(uid), self.history.verdict_in(view, uid)
                if verdict is not told and self.history.in_committed_history(uid):
                    words = {"verdict": _WORDS[verdict], "committed_verdict": _WORDS[told]}
                    self.violated_by(view.name, uid, **words)


class LsoProgress(TransactionInvariant):
    """No replica has an open transaction that is decided in the committed history.

    For all replicas r, transactional data x in log(r), or in an empty batch of it: if committed
    history decides x, a marker of its producer is above x in log(r). Otherwise the last stable
    offset of r stays for ever: nothing above is cleaned, or read with read_committed.
    Judged: at rest. Excused: a transaction that nobody ended. Fair: faults are over and followers
    have fetched to the end.
    """

    kind = Kind.AT_REST
    fairness = "faults are over and followers have fetched to the end"
    source = "Redpanda blog 2026-06-25, variant 4"
    explained_by = "transaction"
    says = (
        "{replica} holds the transaction of {record} open, which the committed history has "
        "{committed_verdict}; its last stable offset stays at {offset} or below."
    )

    def on_quiesced(self, _: Quiesced) -> None:
        """Look for open transactions whose marker was committed."""
        history = self.history
        for view in self.replicas.values():
            for uid in transactional(history, view, with_empty=True):
                told = history.status.get(uid)
                if told is not None and self.history.verdict_in(view, uid) is None:
                    offset, word = self.written[uid].offset, _WORDS[told]
                    self.violated(view.name, offset, record=uid, committed_verdict=word)
                    break
