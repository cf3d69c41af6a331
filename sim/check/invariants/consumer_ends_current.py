"""What a consumer keeps of each key after it has read everything."""

from __future__ import annotations

from sim.check.families import READERS
from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Kind, Report
from sim.trace import Consumed, Quiesced


class ConsumerEndsCurrent(Invariant):
    """A consumer that has read everything keeps, of no key, a record that the winner beats.

    For all consumers c with position(c) >= N, keys k: winner(k) does not beat table(c)[k], where
    the table keeps what `consumer_order` says of what c was given.
    Judged: at rest. Excused: kept records that were aborted, are undecided or were never committed.
    """

    name = "consumer-ends-current"
    kind = Kind.FINDING
    source = "KIP-280, Recommendations: consumers should be aware of the strategy"
    family = READERS
    explained_by = "reader_keeps"

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """Nothing read yet."""
        super().__init__(queries, report)
        self._tables: dict[str, dict[str, int]] = {}
        self._positions: dict[str, int] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Enter what was given into the consumer's table."""
        history = self.history
        table = self._tables.setdefault(event.consumer, {})
        self._positions[event.consumer] = event.end
        by_strategy = history.rules.reading.consumer_order == "strategy"
        for record in event.records:
            if record.key is not None:
                known = table.get(record.key) if by_strategy else None
                if known is None or self.queries.beats(record.uid, known):
                    table[record.key] = record.uid

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare the tables of those that have read everything with the committed history."""
        del event
        history = self.history
        for consumer, table in self._tables.items():
            if self._positions[consumer] < len(history.committed):
                continue
            for key, uid in table.items():
                winner = history.winners.get(key)
                if (
                    winner is not None
                    and self.queries.is_committed(uid)
                    and self.queries.beats(winner, uid)
                ):
                    self.violated(
                        None,
                        history.written[uid].offset,
                        key,
                        f"{consumer} has read everything and keeps {self.describe(uid)} for "
                        f"{key}; the committed history has {self.describe(winner)}.",
                    )
