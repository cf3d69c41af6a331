"""Readers in time do not miss a delete (KIP-534)."""

from bisect import bisect_left

from sim.check.invariant import ReaderInvariant
from sim.trace import Consumed


class ConsumerTombstoneVisibility(ReaderInvariant):
    """A consumer in time reads the delete of what it has read.

    For a read of c at t' over [from, to), tombstones X = winner(k) with from <= X.offset < to: if c
    was given some Y of k at t, X beats Y and t' <= t + delete retention, then c was given X or a
    record of k above X.offset, now or before.
    Judged: at each read; reads from any replica count (the global form). Excused: nothing; no local
    rule keeps the global form, and stories that show it expect the violation.
    """

    source = "KIP-534, Motivation"
    explained_by = "passed_a_delete"
    says = (
        "{reader} read {record} at {read_at_ms} ms and passed the tombstone at offset {offset} on "
        "{replica} at {now_ms} ms, within the retention of {retention_ms} ms, without being given "
        "it."
    )

    def begin(self) -> None:
        """No reads yet."""
        self._reads: dict[str, list[Consumed]] = {}
        self._entered: dict[str, int] = {}
        self._times: dict[tuple[str, str], dict[int, int]] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Note what was given, then judge the tombstones that were passed."""
        _, consumer, start, end, _, _, _ = event
        history = self.history
        self._reads.setdefault(consumer, []).append(event)
        tombstones = history.committed_tombstones
        for index in range(bisect_left(tombstones, start), len(tombstones)):
            offset = tombstones[index]
            if offset >= end:
                break
            uid = self.committed[offset]
            key = self.written[uid].key or ""
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
        given = self._given(event.consumer, key)
        if tombstone in given or any(self.written[uid].offset > offset for uid in given):
            return
        retention_ms = self.history.rules.topic.delete_retention_ms
        for uid, at_ms in given.items():
            if self.queries.beats(tombstone, uid) and event.now_ms <= at_ms + retention_ms:
                self.violated(
                    event.replica,
                    offset,
                    key,
                    reader=event.consumer,
                    record=uid,
                    read_at_ms=at_ms,
                    now_ms=event.now_ms,
                    retention_ms=retention_ms,
                )
                return
