"""Deleted keys stay deleted."""

from __future__ import annotations

from sim.check.registry import Invariant, Kind
from sim.check.replica_view import ReplicaView
from sim.trace import Quiesced


class NoResurrection(Invariant):
    """A replica whose log is past a committed winning tombstone holds no value it beats alone."""

    name = "no-resurrection"
    kind = Kind.AT_REST
    source = "KIP-630"

    def on_quiesced(self, event: Quiesced) -> None:
        """Judge every winning tombstone on every replica."""
        history = self.history
        for key, winner in history.winners.items():
            if history.written[winner].tombstone:
                for view in history.replicas.values():
                    self._judge(key, winner, view)

    def _judge(self, key: str, tombstone: int, view: ReplicaView) -> None:
        history = self.history
        offset = history.written[tombstone].record.offset
        if view.log_end_offset <= offset or view.uid_at(offset) == tombstone:
            return
        held = [uid for uid in history.uids_of_key[key] if self.queries.holds(view, uid)]
        if any(self.queries.beats(uid, tombstone) for uid in held):
            return
        for uid in held:
            if self.queries.is_value(uid) and self.queries.beats(tombstone, uid):
                self.violated(
                    view.name,
                    history.written[uid].record.offset,
                    key,
                    f"{view.name} holds {self.describe(uid)} although {key} was deleted at "
                    f"offset {offset}; its log end offset is {view.log_end_offset} and the "
                    "tombstone is gone.",
                )
                return
