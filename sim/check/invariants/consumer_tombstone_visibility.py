"""Readers in time do not miss a delete (KIP-534)."""

from bisect import bisect_left
from collections import defaultdict

from sim.check.invariant import ReaderInvariant
from sim.protocol.events import Consumed


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
        self._reads: defaultdict[str, list[Consumed]] = defaultdict(list)
        self._times: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)

    def on_consumed(self, event: Consumed) -> None:
        """Note what was given, then judge the tombstones that were passed."""
        _, consumer, start, end, _, _, _ = event
        history = self.history
        self._reads[consumer].append(event)
        tombstones = history.committed_tombstones
        for offset in tombstones[bisect_left(tombstones, start) : bisect_left(tombstones, end)]:
            uid = self.committed[offset]
            key = self.written[uid].key or ""
            if history.winners.get(key) == uid and uid not in history.uids_read:
                self._judge(event, key, uid, offset)

    def _given(self, consumer: str, key: str) -> dict[int, int]:
        """The records of a key that a consumer was given: uid -> when, in ms, for the last time."""
        for event in self._reads.pop(consumer, ()):
            for record in event.records:
                if record.key is not None:
                    self._times[consumer, record.key][record.uid] = event.now_ms
        return self._times[consumer, key]

    def _judge(self, event: Consumed, key: str, tombstone: int, offset: int) -> None:
        given = self._given(event.consumer, key)
        if tombstone in given or any(self.written[uid].offset > offset for uid in given):
            return
        retention_ms, now_ms = self.history.rules.topic.delete_retention_ms, event.now_ms
        for uid, at_ms in given.items():
            if self.history.beats(tombstone, uid) and now_ms <= at_ms + retention_ms:
                times = {"read_at_ms": at_ms, "now_ms": now_ms, "retention_ms": retention_ms}
                reader = event.consumer
                self.violated(event.replica, offset, key, reader=reader, record=uid, **times)
                return
