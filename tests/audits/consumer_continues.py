"""A consumer goes on where it ended."""

from sim.check.listening import REPLACED
from sim.protocol import events as on
from tests.audits.law import Law


class ConsumerContinues(Law):
    """A consumer goes on where it ended, unless it was reset, and it is reset for its cause alone.

    With P(c) the position of consumer c, 0 at first, then the `end` of what it read last or the
    `position` of a reset since::

        at a read:   start = P(c), and start <= offset < end of all that is given
        at a reset:  P(c) < position <= log start            (below_log_start)
                     position < P(c)                         (above_log_end, log_truncated)

    The log start is the highest that the replica which answered had until the answer arrives: it
    may have moved on meanwhile, or the disk is a new one. How long that log was when it answered no
    event tells, so of the other causes the direction alone is judged: a replica that lags, or leads
    an epoch in which the tail is another one, sends a consumer back and does not skip. Whether
    epochs are told rightly is the matter of `tests.audits.answers`.
    """

    name = "consumer-continues"
    source = "consumer configuration auto.offset.reset; KIP-320; SubscriptionState.position"
    says = "{reader} was at {before} and reads on at {offset} of {replica}; nothing has reset it."

    any_of = (on.PrefixDeleted, on.LogStartMoved, *REPLACED)

    def begin(self) -> None:
        """Everybody is at the beginning."""
        self._positions: dict[str, int] = {}
        self._starts: dict[str, int] = {}

    def on_any_of(self, event: on.Event) -> None:
        """Where the log starts now."""
        name = str(event.replica)
        start = self.replicas[name].log_start_offset
        self._starts[name] = max(start, self._starts.get(name, 0))

    def on_consumed(self, event: on.Consumed) -> None:
        """It begins where it was."""
        replica, consumer, start, end = event.replica, event.consumer, event.start, event.end
        position = self._positions.get(consumer, 0)
        self._positions[consumer] = end
        if start != position:
            self.broken(replica, start, reader=consumer, before=position)
        for record in event.records:
            if not start <= record.offset < end:
                says = "{reader} reads from {start} to {end} of {replica}, and is given {offset}."
                at = record.offset
                self.broken(replica, at, None, says, reader=consumer, start=start, end=end)

    def on_consumer_reset(self, event: on.ConsumerReset) -> None:
        """It is moved into the log, not past what is there."""
        before, position = self._positions.get(event.consumer, 0), event.position
        self._positions[event.consumer] = position
        start = self._starts.get(event.replica, 0)
        into_log = event.cause == "below_log_start"
        justified = before < position <= start if into_log else position < before
        if not justified:
            why = "the log of {replica} starts at {log_start}."
            says = "{reader} was moved from {before} to {offset} ({cause}), but "
            says += why if into_log else "a log that ends earlier sends it back."
            told = {"before": before, "log_start": start if into_log else None}
            reader, cause = event.consumer, event.cause
            self.broken(event.replica, position, None, says, reader=reader, cause=cause, **told)
