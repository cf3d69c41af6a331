"""What consumers see: no live record skipped, no delete missed, one record per offset."""

from __future__ import annotations

from sim.check.ledger import Disk, Ledger
from sim.check.registry import Invariant, Kind, Reporter, invariant
from sim.trace import Consumed, Quiesced, Understood


@invariant
class ConsumerTombstoneVisibility(Invariant):
    """A consumer in time reads the delete of what it has read.

    A consumer that read Y at t and passes the winning tombstone X of the key at t' <= t + delete
    retention has been given X or a later record of the key. Reads from any replica count.
    """

    name = "consumer-tombstone-visibility"
    source = "KIP-534, Motivation"

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """No reads yet."""
        super().__init__(ledger, report)
        self._reads: dict[tuple[str, str], dict[int, int]] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Note what was given, then judge the offsets that were passed without a record."""
        ledger, reads, consumer = self.ledger, self._reads, event.consumer
        written = ledger.written
        for record in event.records:
            if record.key is not None:
                identity = (consumer, record.key)
                seen = reads.get(identity)
                if seen is None:
                    seen = reads[identity] = {}
                seen[record.uid] = event.now_ms
        for offset in range(event.start, min(event.end, len(ledger.committed))):
            uid = ledger.committed[offset]
            known = written.get(uid)
            if known is None or not known.tombstone or known.record.key is None:
                continue
            if ledger.winners.get(known.record.key) == uid:
                self._judge(event, known.record.key, uid, offset)

    def _judge(self, event: Consumed, key: str, tombstone: int, offset: int) -> None:
        ledger = self.ledger
        seen = self._reads.get((event.consumer, key), {})
        if tombstone in seen or any(ledger.written[u].record.offset > offset for u in seen):
            return
        retention = ledger.rules.topic.delete_retention_ms
        for uid, at in seen.items():
            if ledger.beats(tombstone, uid) and event.now_ms <= at + retention:
                self.violated(
                    event.replica,
                    offset,
                    key,
                    f"{event.consumer} read {ledger.describe(uid)} at {at} ms and passed the "
                    f"tombstone at offset {offset} on {event.replica} at {event.now_ms} ms, within "
                    f"the retention of {retention} ms, without being given it.",
                )
                return


@invariant
class ConsumerNoSkip(Invariant):
    """A consumer's position never passes a live committed record it has not been given."""

    name = "consumer-no-skip"
    source = "KIP-280"

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nothing given yet."""
        super().__init__(ledger, report)
        self._given: dict[str, set[int]] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Judge the offsets passed just now, and those that were committed twice."""
        ledger = self.ledger
        given = self._given.setdefault(event.consumer, set())
        given.update([record.uid for record in event.records])
        disk = ledger.disks[event.replica]
        end = min(event.end, disk.hw, len(ledger.committed))
        for offset in range(max(event.start, disk.start), end):
            uid = ledger.committed[offset]
            if uid not in given and offset not in ledger.committed_twice:
                self._judge(event, disk, uid, offset)
        for offset in sorted(ledger.committed_twice):
            uid = disk.at(offset)
            if disk.start <= offset < end and uid > 0 and uid not in given:
                self._judge(event, disk, uid, offset)

    def _judge(self, event: Consumed, disk: Disk, uid: int, offset: int) -> None:
        ledger = self.ledger
        known = ledger.written.get(uid)
        if known is None or known.record.key is None or not ledger.is_value(uid):
            return
        if known.transactional and ledger.status.get(uid) is not True:
            return
        key = known.record.key
        winner = ledger.winners.get(key)
        if winner is not None and winner != uid and ledger.beats(winner, uid):
            return
        if ledger.lost_before(uid):
            return
        for other in ledger.uids_of_key[key]:
            if ledger.beats(other, uid) and disk.at(ledger.written[other].record.offset) == other:
                return
        self.violated(
            event.replica,
            offset,
            key,
            f"{event.consumer} is at position {event.end} on {event.replica} and was never given "
            f"the live {ledger.describe(uid)}.",
        )


@invariant
class ConsistentRead(Invariant):
    """Two consumers that were given a record at the same offset were given the same record."""

    name = "consistent-read"
    source = "ConsistentRead (KIP-966 specification)"
    in_stories = False

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nothing read yet."""
        super().__init__(ledger, report)
        self._read: dict[int, tuple[int, str]] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Compare with what was read first at each offset."""
        read = self._read
        for record in event.records:
            first, reader = read.setdefault(record.offset, (record.uid, event.consumer))
            if first != record.uid:
                ledger = self.ledger
                self.violated(
                    event.replica,
                    record.offset,
                    record.key,
                    f"{reader} read {ledger.describe(first)} and {event.consumer} read "
                    f"{ledger.describe(record.uid)} at offset {record.offset}.",
                )


@invariant
class ConsumerEndsCurrent(Invariant):
    """A consumer that has read everything keeps, of no key, a record that the winner beats.

    What it keeps of what it was given is up to `consumer_order`. Records that were aborted, are
    undecided or were never committed are not judged.
    """

    name = "consumer-ends-current"
    kind = Kind.FINDING
    source = "KIP-280, Recommendations: consumers should be aware of the strategy"

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nothing read yet."""
        super().__init__(ledger, report)
        self._tables: dict[str, dict[str, int]] = {}
        self._positions: dict[str, int] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Enter what was given into the consumer's table."""
        ledger = self.ledger
        table = self._tables.setdefault(event.consumer, {})
        self._positions[event.consumer] = event.end
        by_strategy = ledger.rules.reading.consumer_order == "strategy"
        for record in event.records:
            if record.key is not None:
                known = table.get(record.key) if by_strategy else None
                if known is None or ledger.beats(record.uid, known):
                    table[record.key] = record.uid

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare the tables of those that have read everything with the committed history."""
        del event
        ledger = self.ledger
        for consumer, table in self._tables.items():
            if self._positions[consumer] < len(ledger.committed):
                continue
            for key, uid in table.items():
                winner = ledger.winners.get(key)
                if winner is not None and self._counts(uid) and ledger.beats(winner, uid):
                    self.violated(
                        None,
                        ledger.written[uid].record.offset,
                        key,
                        f"{consumer} has read everything and keeps {ledger.describe(uid)} for "
                        f"{key}; the committed history has {ledger.describe(winner)}.",
                    )

    def _counts(self, uid: int) -> bool:
        """Committed data whose transaction, if any, was not aborted."""
        ledger = self.ledger
        known = ledger.written[uid]
        offset = known.record.offset
        decided = not known.transactional or ledger.status.get(uid) is True
        return offset < len(ledger.committed) and ledger.committed[offset] == uid and decided


@invariant
class ConsumerTakesDeletes(Invariant):
    """A consumer takes tombstones for deletes, and nothing else.

    Judged for consumers of a declared version: an old one knows null values alone, and so does an
    application on a new one that was not changed.
    """

    name = "consumer-takes-deletes"
    source = "KIP-87, Migration Plan and its vote thread"
    in_stories = False

    def on_understood(self, event: Understood) -> None:
        """Compare with what marks a tombstone under the rules of the run."""
        for records, as_delete in ((event.values, False), (event.deletes, True)):
            for record in records:
                if self.ledger.written[record.uid].tombstone != as_delete:
                    what = "a delete" if as_delete else f"data: {record.key}={record.value}"
                    self.violated(
                        event.replica,
                        record.offset,
                        record.key,
                        f"{event.consumer} took the {self.ledger.describe(record.uid)} for {what}.",
                    )
