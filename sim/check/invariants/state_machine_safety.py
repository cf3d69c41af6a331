"""What is committed at an offset is committed for ever."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import HighWatermarkMoved


class StateMachineSafety(LogInvariant):
    """No offset is ever committed with two different records.

    For all offsets o, leaders l, m that commit o: the record at o that l commits = the one m
    commits, also where cleaning has removed it from the log since.
    Judged: when a leader's high watermark moves. Excused: nothing.
    No usual event breaks it: what a usual high watermark passes is news, or is what was
    committed.
    """

    source = "Raft 5.4.3"
    explained_by = "two_records"
    unusual_only = True
    says = (
        "offset {offset} was committed as {first} and again as {record} when {replica} moved its "
        "high watermark to {high_watermark}."
    )

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Look at what this advance committed again."""
        mark = event.high_watermark
        for offset, uid in self.history.recommitted if event.leading else ():
            first = self.committed[offset]
            self.violated(event.replica, offset, first=first, record=uid, high_watermark=mark)
