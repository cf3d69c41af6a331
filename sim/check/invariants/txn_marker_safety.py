"""Transaction markers wait for the replicas that need them (KIP-534, case 2)."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.check.replica_view import ReplicaView
from sim.trace import Cleaned


class TxnMarkerSafety(Invariant):
    """A marker stays while another replica holds data of its transaction and lacks the marker."""

    name = "txn-marker-safety"
    source = "KIP-534, case 2; Redpanda PR 29043"
    unusual_only = True

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at every other log that ends at or below a removed marker."""
        history = self.history
        for removal in history.removed.get("marker", ()):
            data = self._data_of(history.replicas[event.replica], removal.offset, removal.uid)
            for view in history.replicas.values():
                if view.name != event.replica and view.log_end_offset <= removal.offset:
                    self._judge(event.replica, removal.uid, removal.offset, view, data)

    def _data_of(self, view: ReplicaView, marker_offset: int, marker: int) -> list[int]:
        """Uids that the marker decides: its producer's data since that producer's last marker."""
        written = self.history.written
        producer = written[marker].batch.producer_id
        data = []
        for offset in range(marker_offset - 1, -1, -1):
            known = written.get(view.lineage[offset])
            if (
                known is not None
                and known.batch.transactional
                and known.batch.producer_id == producer
            ):
                if known.batch.control is not None:
                    break
                data.append(view.lineage[offset])
        return data

    def _judge(
        self, remover: str, marker: int, offset: int, view: ReplicaView, data: list[int]
    ) -> None:
        for uid in data:
            if self.queries.holds(view, uid):
                self.violated(
                    remover,
                    offset,
                    None,
                    f"{remover} removed the {self.describe(marker)} while {view.name}, log end "
                    f"offset {view.log_end_offset}, still held {self.describe(uid)} of its "
                    "transaction.",
                )
                return
