"""How far a cleaner may go: it neither removes nor believes what is not committed."""

from sim.check.invariant import Invariant
from sim.protocol.events import Cleaned


class CompactionBound(Invariant):
    """Neither the removed record nor the one that beat it is at or above the high watermark.

    For all records x that a pass of r removes, beaten by w if by any: x.offset < hw(r) and w.offset
    < hw(r), with the high watermark before the pass.
    Judged: on removal. Excused: nothing. That w exists at all is left to `hole-justified` and
    `winner-retained`; the last stable offset, which lies lower, to `txn-isolation`.
    No usual event breaks it: a usual pass takes and believes nothing at the high watermark.
    """

    source = "KAFKA-13194; LogCleanerManager.cleanableOffsets"
    explained_by = "compaction_bound"
    unusual_only = True

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at each removal and its winner."""
        committed = min(event.high_watermark, self.history.previous_high_watermark)
        for removal in event.removals:
            winner = removal.winner_offset
            if max(removal.offset, -1 if winner is None else winner) >= committed:
                says = "{replica} removed {record}"
                says += "" if winner is None else ", beaten by the record at {winner_offset}"
                says += ", with its high watermark at {high_watermark}."
                what = {"record": removal.uid, "winner_offset": winner, "high_watermark": committed}
                self.violated(event.replica, removal.offset, removal.key, says, **what)
