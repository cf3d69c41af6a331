"""Transaction markers wait for the replicas that need them (KIP-534, case 2)."""

from sim.check.invariant import TransactionInvariant
from sim.check.replica_view import ReplicaView
from sim.protocol.events import Cleaned


class TxnMarkerSafety(TransactionInvariant):
    """A marker stays while another replica holds data of its transaction and lacks the marker.

    For all markers m that a pass of r removes, other replicas s, down ones as well, with end(s) <=
    m.offset: s holds no data x of the transaction of m (of its producer, below m and above that
    producer's marker before).
    Judged: on removal. Excused: nothing; who has end(s) > m.offset has read the marker.
    No usual event breaks it: a usual pass takes no control record.
    """

    source = "KIP-534, case 2; Redpanda PR 29043"
    explained_by = "removed_delete"
    unusual_only = True
    says = (
        "{replica} removed the {marker} while {holder}, log end offset {holder_end}, still held "
        "{held} of its transaction."
    )

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at every other log that ends at or below a removed marker."""
        for removal in self.history.markers_removed:
            data = self._data_of(self.replicas[event.replica], removal.offset, removal.uid)
            for view in self.replicas.values():
                if view.name != event.replica and view.log_end_offset <= removal.offset:
                    for uid in [uid for uid in data if self.history.holds(view, uid)][:1]:
                        self.violated_for(event.replica, removal, view, uid, marker=removal.uid)

    def _data_of(self, view: ReplicaView, marker_offset: int, marker: int) -> list[int]:
        """Uids that the marker decides: its producer's data since that producer's last marker."""
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
