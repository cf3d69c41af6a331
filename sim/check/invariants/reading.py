"""What readers are promised: committed data alone if they ask for it, and an end."""

from __future__ import annotations

from sim.check.registry import Invariant, Kind, invariant
from sim.trace import Consumed, ReadingEnded

_NOT_COMMITTED = {False: "aborted", None: "undecided"}


@invariant
class ConsumerReadsCommitted(Invariant):
    """A read_committed consumer is given no record of an aborted or undecided transaction.

    Judged by the committed history, whatever the replica's own markers say.
    """

    name = "consumer-reads-committed"
    source = "KIP-98, isolation.level; CompletedFetch.nextFetchedRecord"
    in_stories = False

    def on_consumed(self, event: Consumed) -> None:
        """Look up the fate of each transactional record."""
        if not event.committed:
            return
        ledger = self.ledger
        committed = ledger.committed
        for record in event.records:
            uid, offset = record.uid, record.offset
            if offset >= len(committed) or committed[offset] != uid:
                continue
            fate = ledger.status.get(uid)
            if ledger.written[uid].transactional and fate is not True:
                self.violated(
                    event.replica,
                    offset,
                    record.key,
                    f"{event.consumer} reads committed and was given {ledger.describe(uid)} by "
                    f"{event.replica}, which is {_NOT_COMMITTED[fate]} in the committed history.",
                )


@invariant
class ReaderReachesEnd(Invariant):
    """A reader that wants to read up to the end it was told comes to an end.

    It stops by its position, by the offset of its last record plus one, or by the number of records
    it was given; where cleaning took the last record, or any, that may never come true.
    """

    name = "reader-reaches-end"
    kind = Kind.LIVENESS
    in_stories = False
    source = "KAFKA-14302; Redpanda issues 7024, 8698; segmentio/kafka-go issue 423; brod issue 263"
    fairness = "the replica it reads is up, it polls until nothing more comes"

    def on_reading_ended(self, event: ReadingEnded) -> None:
        """Compare where the reader is with what it waits for."""
        start, end, position = event.start, event.end, event.position
        missing: int | None
        if event.until == "position":
            waits, missing, what = position < end, end, f"its position {position} to be {end}"
        elif event.until == "last_offset":
            waits, missing = event.last_offset + 1 < end, end - 1
            what = f"the record at offset {missing}"
        else:
            waits, missing = event.given < end - start, None
            what = f"{end - start} records, and got {event.given}"
        if start < end and waits:
            self.violated(
                event.replica,
                missing,
                None,
                f"{event.consumer} waits for {what}; {event.replica} holds nothing more from its "
                f"position {position} up to the end {end}.",
            )
