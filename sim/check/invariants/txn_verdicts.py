"""Transactions: by its own log every replica gives the verdict of the committed history."""

from sim.check.history import ClusterHistory
from sim.check.invariant import Kind, TransactionInvariant
from sim.check.replica_view import ReplicaView
from sim.log.record import Control
from sim.trace import Quiesced

_WORDS = {True: "committed", False: "aborted", None: "open"}


def own_verdicts(
    history: ClusterHistory, view: ReplicaView, *, with_empty: bool
) -> dict[int, bool | None]:
    """Uid of transactional data of a log -> verdict of that log's own markers; None = open.

    `with_empty` also counts batches that are left without records: they keep a transaction open.
    """
    written = history.written
    verdicts: dict[int, bool | None] = {}
    pending: dict[int, list[int]] = {}
    for offset in range(view.log_start_offset, view.log_end_offset):
        slot = view.slots[offset]
        uid = slot if slot > 0 else (view.lineage[offset] if slot < 0 and with_empty else 0)
        known = written.get(uid)
        if known is None or not known.batch.transactional:
            continue
        if known.batch.control is None:
            verdicts[uid] = None
            pending.setdefault(known.batch.producer_id, []).append(uid)
        elif slot > 0:
            for data in pending.pop(known.batch.producer_id, ()):
                verdicts[data] = known.batch.control is Control.COMMIT
    return verdicts


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
        if not history.status and not history.undecided:
            return
        for view in self.replicas.values():
            for uid, verdict in own_verdicts(history, view, with_empty=False).items():
                told = history.status.get(uid)
                if verdict is not told and self.queries.in_committed_history(uid):
                    self.violated_by(
                        view.name, uid, verdict=_WORDS[verdict], committed_verdict=_WORDS[told]
                    )


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
        if not history.status:
            return
        for view in self.replicas.values():
            for uid, verdict in own_verdicts(history, view, with_empty=True).items():
                told = history.status.get(uid)
                if verdict is None and told is not None:
                    record, offset = self.describe(uid), self.written[uid].offset
                    word = _WORDS[told]
                    self.violated(view.name, offset, record=record, committed_verdict=word)
                    break
