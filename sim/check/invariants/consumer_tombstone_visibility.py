"""Readers in time do not miss a delete (KIP-534)."""

from __future__ import annotations

from bisect import bisect_left

from sim.check.families import READERS
from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.trace import Consumed


class ConsumerTombstoneVisibility(Invariant):
    """A consumer in time reads the delete of what it has read.

    For a read of c at t' over [from, to), tombstones X = winner(k) with from <= X.offset < to: if c
    was given some Y of k at t, X beats Y and t' <= t + delete retention, then c was given X or a
    record of k above X.offset, now or before.
    Judged: at each read; reads from any replica count (the global form). Excused: nothing; no local
    rule keeps the global form, and stories that show it expect the violation.
    """

    name = "consumer-tombstone-visibility"
    source = "KIP-534, Motivation"
    family = READERS
    explained_by = "passed"

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """No reads yet."""
        super().__init__(queries, report)
        self._reads: dict[str, list[Consumed]] = {}
        self._entered: dict[str, int] = {}
        self._times: dict[tuple[str, str], dict[int, int]] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Note what was given, then judge the tombstones that were passed."""
        _, consumer, start, end, _, _, _ = event
        history = self.history
        reads = self._reads.get(consumer)
        if reads is None:
            reads = self._reads[consumer] = []
        reads.append(event)
        tombstones = history.committed_tombstones
        for index in range(bisect_left(tombstones, start), len(tombstones)):
            offset = tombstones[index]
            if offset >= end:
                break
            uid = history.committed[offset]
            key = history.written[uid].key or ""
            if history.winners.get(key) == uid and uid not in history.uids_read:
                self._judge(event, key, uid, offset)

    def _given(self, consumer: str, key: str) -> dict[int, int]:
        """The records of a key that a consumer was given: uid -> when, in ms, for the last time."""
        reads = self._reads[consumer]
        for event in reads[self._entered.get(consumer, 0) :]:
            for record in event.records:
                if record.key is not None:
                    self._times.setdefault((consumer, record.key), {})[record.uid] = event.now_ms
        self._entered[consumer] = len(reads)
        return self._times.get((consumer, key), {})

    def _judge(self, event: Consumed, key: str, tombstone: int, offset: int) -> None:
        history = self.history
        given = self._given(event.consumer, key)
        if tombstone in given or any(history.written[u].offset > offset for u in given):
            return
        retention = history.rules.topic.delete_retention_ms
        for uid, at in given.items():
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
