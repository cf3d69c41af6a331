"""Readers in time do not miss a delete (KIP-534)."""

from __future__ import annotations

from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.trace import Consumed


class ConsumerTombstoneVisibility(Invariant):
    """A consumer in time reads the delete of what it has read.

    A consumer that read Y at t and passes the winning tombstone X of the key at t' <= t + delete
    retention has been given X or a later record of the key. Reads from any replica count.
    """

    name = "consumer-tombstone-visibility"
    source = "KIP-534, Motivation"

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """No reads yet."""
        super().__init__(queries, report)
        self._reads: dict[tuple[str, str], dict[int, int]] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Note what was given, then judge the offsets that were passed without a record."""
        history, reads, consumer = self.history, self._reads, event.consumer
        written = history.written
        for record in event.records:
            if record.key is not None:
                identity = (consumer, record.key)
                seen = reads.get(identity)
                if seen is None:
                    seen = reads[identity] = {}
                seen[record.uid] = event.now_ms
        for offset in range(event.start, min(event.end, len(history.committed))):
            uid = history.committed[offset]
            known = written.get(uid)
            if known is None or not known.tombstone or known.record.key is None:
                continue
            if history.winners.get(known.record.key) == uid:
                self._judge(event, known.record.key, uid, offset)

    def _judge(self, event: Consumed, key: str, tombstone: int, offset: int) -> None:
        history = self.history
        seen = self._reads.get((event.consumer, key), {})
        if tombstone in seen or any(history.written[u].record.offset > offset for u in seen):
            return
        retention = history.rules.topic.delete_retention_ms
        for uid, at in seen.items():
            if self.queries.beats(tombstone, uid) and event.now_ms <= at + retention:
                self.violated(
                    event.replica,
                    offset,
                    key,
                    f"{event.consumer} read {self.describe(uid)} at {at} ms and passed the "
                    f"tombstone at offset {offset} on {event.replica} at {event.now_ms} ms, within "
                    f"the retention of {retention} ms, without being given it.",
                )
                return
