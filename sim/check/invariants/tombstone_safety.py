"""Tombstones wait for the replicas that need them (KIP-630)."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.check.replica_view import ReplicaView
from sim.trace import Cleaned


class TombstoneSafety(Invariant):
    """A tombstone stays while another replica holds an older value and has not got the tombstone.

    KIP-630 writes `Y < LEO < X` with an inclusive log end; with an exclusive one it is
    `Y.offset < LEO <= X.offset`. Not judged with `lag_guard`, which repairs instead.
    """

    name = "tombstone-safety"
    source = "KIP-630, Tombstone and Delete Operations"
    unusual_only = True

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at every other log that ends at or below a removed winning tombstone."""
        if self.history.rules.replication.lag_guard != "none":
            return
        for removal in self.history.removed.get("tombstone", ()):
            if removal.key is not None:
                for view in self.history.replicas.values():
                    if view.name != event.replica and view.log_end_offset <= removal.offset:
                        self._judge(event.replica, removal.uid, removal.offset, view)

    def _judge(self, remover: str, tombstone: int, offset: int, view: ReplicaView) -> None:
        queries, history = self.queries, self.history
        key = history.written[tombstone].record.key or ""
        for uid in history.uids_of_key[key]:
            if queries.holds(view, uid) and queries.is_value(uid) and queries.beats(tombstone, uid):
                self.violated(
                    remover,
                    offset,
                    key,
                    f"{remover} removed the tombstone of {key} (offset {offset}) while "
                    f"{view.name}, log end offset {view.log_end_offset}, still held "
                    f"{self.describe(uid)}; KIP-630 keeps it until that log end offset is above "
                    f"{offset}.",
                )
                return
