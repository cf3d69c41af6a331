"""Below the high watermark one offset is one record, on every replica (KIP-280)."""

from sim.check.invariant import LogInvariant
from sim.check.listening import WRITTEN
from sim.protocol.events import Event, HighWatermarkMoved, ReplicaRestarted


class SlotAgreement(LogInvariant):
    """No two replicas hold different records at an offset below both high watermarks.

    For all replicas r, s, offsets o < min(hw(r), hw(s)): if both hold a record at o it is the same.
    Judged: on what is written, on moves of a high watermark, at restarts; down replicas as well.
    Excused: empty batches and holes; offsets at or above one of both marks, where logs may differ
    for a while (Raft).
    No usual event breaks it: no two logs disagree, so no two disagree below a high watermark.
    """

    source = "KIP-280"
    explained_by = "two_records"
    unusual_only = True
    says = (
        "offset {offset} is {record} on {replica} and {other_record} on {other}, below both high "
        "watermarks ({high_watermark} and {other_high_watermark})."
    )
    any_of = (HighWatermarkMoved, ReplicaRestarted, *WRITTEN)

    def on_any_of(self, _: Event) -> None:
        """Something new may disagree, or a disagreement is below both high watermarks now."""
        for offset, view, other in self.history.disagreements:
            if offset < view.high_watermark and offset < other.high_watermark:
                marks = {"high_watermark": view.high_watermark}
                marks["other_high_watermark"] = other.high_watermark
                self.violated_by_two(view, other, offset, **marks)
