"""What a consumer keeps of each key after it has read everything."""

from collections import defaultdict

from sim.check.invariant import Kind, ReaderInvariant
from sim.protocol.events import Consumed, Quiesced


class ConsumerEndsCurrent(ReaderInvariant):
    """A consumer that has read everything keeps, of no key, a record that the winner beats.

    For all consumers c with position(c) >= N, keys k: winner(k) does not beat table(c)[k], where
    the table keeps what `consumer_order` says of what c was given.
    Judged: at rest. Excused: kept records that were aborted, are undecided or were never committed.
    """

    kind = Kind.FINDING
    source = "KIP-280, Recommendations: consumers should be aware of the strategy"
    explained_by = "reader_keeps"
    says = (
        "{reader} has read everything and keeps {record} for {key}; the committed history has "
        "{winner}."
    )

    def begin(self) -> None:
        """Nothing read yet."""
        self._tables: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._positions: dict[str, int] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Enter what was given into the consumer's table."""
        table = self._tables[event.consumer]
        self._positions[event.consumer] = event.end
        by_strategy = self.history.rules.reading.consumer_order == "strategy"
        for record in event.records:
            if record.key is not None:
                known = table.get(record.key) if by_strategy else None
                if known is None or self.history.beats(record.uid, known):
                    table[record.key] = record.uid

    def on_quiesced(self, _: Quiesced) -> None:
        """Compare the tables of those that have read everything with the committed history."""
        history = self.history
        for consumer, table in self._tables.items():
            kept = table.items() if self._positions[consumer] >= len(self.committed) else ()
            for key, uid in kept:
                winner = history.winners.get(key, uid)
                if history.is_committed(uid) and history.beats(winner, uid):
                    self.violated_by(None, uid, reader=consumer, winner=winner)
