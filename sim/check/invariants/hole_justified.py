"""Offsets without a record: each has to have a reason."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant, Kind
from sim.check.replica_view import HOLE, ReplicaView
from sim.trace import Quiesced


class HoleJustified(Invariant):
    """Every missing offset is missing for a reason.

    For all replicas r, offsets start(r) <= o < end(r) without record or batch: the absence of
    committed[o] is justified if o < N, and that of log(l)[o] if the leader l holds a record there.
    Judged: at rest, down replicas as well. Excused: an offset that nobody holds a record at and
    that was never committed; tombstones and markers, which their own laws judge.
    """

    name = "hole-justified"
    kind = Kind.AT_REST
    source = "KIP-280, KIP-630"
    family = LOG_DIVERGENCE
    explained_by = "lost_record"

    def on_quiesced(self, event: Quiesced) -> None:
        """Judge the committed record and, where the leader holds another, that one too."""
        leader = None if event.replica is None else self.history.replicas[event.replica]
        for view in self.history.replicas.values():
            for offset in sorted(view.unexplained_offsets | self.history.contested_offsets):
                if (
                    view.log_start_offset <= offset < view.log_end_offset
                    and view.slots[offset] == HOLE
                ):
                    self._judge(view, offset, leader)

    def _judge(self, view: ReplicaView, offset: int, leader: ReplicaView | None) -> None:
        history = self.history
        belonging = []
        if offset < len(history.committed):
            belonging.append(history.committed[offset])
        if leader is not None and leader.uid_at(offset) > 0:
            belonging.append(leader.uid_at(offset))
        for uid in belonging:
            if uid in history.written and not self.queries.may_be_absent_now(uid):
                self.violated(
                    view.name,
                    offset,
                    history.written[uid].key,
                    f"{view.name} has a hole at offset {offset}, but {self.describe(uid)} is "
                    "neither superseded nor aborted.",
                )
