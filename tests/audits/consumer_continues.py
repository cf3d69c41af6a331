"""A consumer goes on where it ended."""

from sim.protocol.events import (
    Consumed,
    ConsumerReset,
    LeaderElected,
    ReplicaCrashed,
    ReplicaWiped,
)
from tests.audits.law import Law


class ConsumerContinues(Law):
    """A consumer goes on where it ended, unless it was reset, and it is reset for its cause alone.

    With P(c) the position of consumer c, 0 at first, then the `end` of what it read last or the
    `position` of a reset since::

        at a read:   start = P(c), and start <= offset < end of all that is given
        at a reset:  P(c) < position <= log start            (below_log_start)
                     position < P(c)                         (above_log_end, log_truncated)

    With `consumer_validation: epoch`, and p the leader epoch of a record given at P(c) - 1, no
    record given next may be of an epoch below p, or of one above that began below P(c): its log
    parts from what the consumer has read, so it should have been sent back. Nor is it sent back
    (`log_truncated`) by a log that has a record of epoch p at P(c) - 1; one that ends below P(c) is
    told by its epochs, not by its end (`above_log_end`), if it has any. A log with older records
    there is not told from one that has what was read (SubscriptionState.maybeCompleteValidation).
    A replica that has begun its log anew, or has lost its end by a crash, in an epoch in which the
    position was checked with it, is not asked again, so its end may send a consumer back.

    The log start is that of the replica which answered, at the time when the answer arrives; it may
    have moved on meanwhile. How long that log was when it answered no event tells, so of the other
    causes the direction alone is judged: a replica that lags, or leads an epoch in which the tail
    is another one, sends a consumer back and does not skip.
    """

    name = "consumer-continues"
    source = "consumer configuration auto.offset.reset; KIP-320; SubscriptionState.position"
    says = "{reader} was at {before} and reads on at {offset} of {replica}; nothing has reset it."

    def begin(self) -> None:
        """Everybody is at the beginning."""
        self._positions: dict[str, int] = {}
        self._checks = self.history.rules.reading.consumer_validation == "epoch"
        self._passed: dict[str, int] = {}
        self._begin: dict[int, int] = {}
        self._begun_anew: set[str] = set()

    def on_replaced(self, event: ReplicaWiped) -> None:
        """Notes a replica whose log is another one in the same epoch."""
        self._begun_anew.add(event.replica)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """Notes a replica that may have lost the end of its log."""
        self._begun_anew.add(event.replica)

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Note where its epoch begins."""
        self._begin.setdefault(event.epoch, event.epoch_start_offset)

    def on_consumed(self, event: Consumed) -> None:
        """It begins where it was."""
        replica, consumer, start, end = event.replica, event.consumer, event.start, event.end
        position = self._positions.get(consumer, 0)
        self._positions[consumer] = end
        if self._checks:
            self._look_for_another_log(event)
        if start != position:
            self.broken(replica, start, reader=consumer, before=position)
        for record in event.records:
            if not start <= record.offset < end:
                says = "{reader} reads from {start} to {end} of {replica}, and is given {offset}."
                at = record.offset
                self.broken(replica, at, None, says, reader=consumer, start=start, end=end)

    def _look_for_another_log(self, event: Consumed) -> None:
        """What is given follows on what was given before."""
        records, start, consumer = event.records, event.start, event.consumer
        passed = self._passed.pop(consumer, None)
        if not records:
            return
        if passed is not None:
            epoch = self.written[records[0].uid].batch.epoch
            if epoch < passed or (epoch > passed and self._begin.get(epoch, start) < start):
                says = (
                    "{reader} has read epoch {epoch_read} up to {offset} and reads on at {replica},"
                    " whose log has epoch {epoch} there."
                )
                told = {"epoch": epoch, "epoch_read": passed}
                self.broken(event.replica, start, None, says, reader=consumer, **told)
        last = records[-1]
        if last.offset == event.end - 1:
            self._passed[consumer] = self.written[last.uid].batch.epoch

    def on_consumer_reset(self, event: ConsumerReset) -> None:
        """It is moved into the log, not past what is there."""
        before, position = self._positions.get(event.consumer, 0), event.position
        passed = self._passed.pop(event.consumer, None)
        excused = event.cause == "above_log_end" and event.replica in self._begun_anew
        if passed is not None and event.cause != "below_log_start" and not excused:
            self._look_for_cause(event, before, passed)
        self._positions[event.consumer] = position
        start = self.replicas[event.replica].log_start_offset
        into_log = event.cause == "below_log_start"
        justified = before < position <= start if into_log else position < before
        if not justified:
            why = "the log of {replica} starts at {log_start}."
            says = "{reader} was moved from {before} to {offset} ({cause}), but "
            says += why if into_log else "a log that ends earlier sends it back."
            told = {"before": before, "log_start": start if into_log else None}
            reader, cause = event.consumer, event.cause
            self.broken(event.replica, position, None, says, reader=reader, cause=cause, **told)

    def _look_for_cause(self, event: ConsumerReset, before: int, passed: int) -> None:
        """The log that sends it back does not have what it has read."""
        view = self.replicas[event.replica]
        lineage, empty = view.lineage, view.log_end_offset == view.log_start_offset
        known = self.written.get(lineage[before - 1]) if before <= len(lineage) else None
        says = (
            "{reader} has read epoch {epoch_read} up to {before} and was sent back to {offset} by "
        )
        by_end = event.cause == "above_log_end"
        if by_end:
            says += "{replica} for its log end; it has not looked at epochs."
        else:
            says += "{replica}, whose log has the same there."
        if by_end and empty:
            return  # it knows no epochs
        if by_end or (known is not None and known.batch.epoch == passed):
            told = {"before": before, "epoch_read": passed}
            position, reader = event.position, event.consumer
            self.broken(event.replica, position, None, says, reader=reader, **told)
