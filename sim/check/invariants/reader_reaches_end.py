"""Readers that want to read to the end get there."""

from sim.check.invariant import Kind, ReaderInvariant
from sim.protocol.events import ReadingEnded

_NO_MORE = "{replica} holds nothing more from its position {position} up to the end {end}."


class ReaderReachesEnd(ReaderInvariant):
    """A reader that wants to read up to the end it was told comes to an end.

    For a reader from `start` to `end` with start < end to which nothing more comes: it stops by its
    position: position >= end; by its last record: that record's offset + 1 >= end; by count: it was
    given >= end - start records. Where cleaning took the last record, or any, that may never come
    true.
    Judged: when nothing more comes. Excused: nothing to read.
    """

    kind = Kind.LIVENESS
    in_stories = False
    source = "KAFKA-14302; Redpanda issues 7024, 8698; segmentio/kafka-go issue 423; brod issue 263"
    explained_by = "does_not_end"
    fairness = "the replica it reads is up, it polls until nothing more comes"

    def on_reading_ended(self, event: ReadingEnded) -> None:
        """Compare where the reader is with what it waits for."""
        start, end, position = event.start, event.end, event.position
        wanted, given, missing = end - start, event.given, None
        if event.until == "position":
            waits, missing, what = position < end, end, "its position {position} to be {end}"
        elif event.until == "last_offset":
            waits, missing = event.last_offset + 1 < end, end - 1
            what = "the record at offset {offset}"
        else:
            waits, what = given < wanted, "{wanted} records, and got {given}"
        if start < end and waits:
            says = f"{{reader}} waits for {what}; {_NO_MORE}"
            told = {"position": position, "end": end, "wanted": wanted, "given": given}
            self.violated(event.replica, missing, None, says, reader=event.consumer, **told)
