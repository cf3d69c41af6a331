"""Offsets without a record: each has to have a reason."""

from sim.check.invariant import Kind, LogInvariant
from sim.check.replica_view import HOLE, ReplicaView
from sim.protocol.events import Quiesced


class HoleJustified(LogInvariant):
    """Every missing offset is missing for a reason.

    For all replicas r, offsets start(r) <= o < end(r) without record or batch: the absence of
    committed[o] is justified if o < N, and that of log(l)[o] if the leader l holds a record there.
    Judged: at rest, down replicas as well. Excused: an offset that nobody holds a record at and
    that was never committed; tombstones and markers, which their own invariants judge.
    """

    kind = Kind.AT_REST
    source = "KIP-280, KIP-630"
    explained_by = "lost_record"
    says = (
        "{replica} has a hole at offset {offset}, but {record} is neither superseded nor aborted."
    )

    def on_quiesced(self, event: Quiesced) -> None:
        """Judge the committed record and, where the leader holds another, that one too."""
        leader = self.replicas.get(event.replica or "")
        for view in self.replicas.values():
            for offset in sorted(view.unexplained_offsets | self.history.contested_offsets):
                if view.covers(offset) and view.slots[offset] == HOLE:
                    self._judge(view, offset, leader)

    def _judge(self, view: ReplicaView, offset: int, leader: ReplicaView | None) -> None:
        held = [] if leader is None else [leader.uid_at(offset)]
        for uid in self.committed[offset : offset + 1] + held:
            if uid in self.written and not self.history.may_be_absent_now(uid):
                self.violated_by(view.name, uid, offset)
