"""Readers: a consumer is given all records that it should be, and no others."""

from bisect import bisect_left
from collections import defaultdict

from sim.check.facts import ReplicaView
from sim.check.invariant import Kind, ReaderInvariant
from sim.protocol import events


class ConsistentRead(ReaderInvariant):
    """All consumers that are given a record at an offset are given the same one.

    For all records x, y given to any consumer from any replica: x.offset = y.offset implies x = y.
    Judged: at each read. Excused: nothing.

    Source: ConsistentRead (KIP-966 specification)
    Says: {first_reader} read {first} and {reader} read {record} at offset {offset}.
    """

    explained_by = "read"
    in_stories = False

    def begin(self) -> None:
        """Starts with no reads."""
        self._alike: list[events.Consumed] = []
        self._read: dict[int, tuple[int, str]] = {}

    def on_consumed(self, event: events.Consumed) -> None:
        """Compares all reads once one deviates; until then readers were given what is committed."""
        self._alike.append(event)
        if self.history.reads_deviate:
            for each in self._alike:
                self._compare(each)
            self._alike.clear()

    def _compare(self, event: events.Consumed) -> None:
        """Compares with the record that was read first at each offset."""
        for record in event.records:
            first, reader = self._read.setdefault(record.offset, (record.uid, event.consumer))
            if first != record.uid:
                readers = {"first_reader": reader, "reader": event.consumer}
                where = (event.replica, record.offset, record.key)
                self.broken(*where, first=first, record=record.uid, **readers)


class ConsumerEndsCurrent(ReaderInvariant):
    """A consumer that has read everything keeps no record that the winner of its key beats.

    For all consumers c with position(c) >= N, keys k: winner(k) does not beat table(c)[k], where
    the table keeps what `consumer_order` says of what c was given.
    Judged: at rest. Excused: kept records that were aborted, are undecided or were never committed.

    Source: KIP-280, Recommendations: consumers should be aware of the strategy
    Says: {reader} has read everything and keeps {record} for {key}; the committed history has
        {winner}.
    """

    kind = Kind.FINDING
    explained_by = "reader_keeps"

    def begin(self) -> None:
        """Starts with no reads."""
        self._tables: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._positions: dict[str, int] = {}

    def on_consumed(self, event: events.Consumed) -> None:
        """Enters the given records into the consumer's table."""
        table = self._tables[event.consumer]
        self._positions[event.consumer] = event.end
        by_strategy = self.history.rules.reading.consumer_order == "strategy"
        for record in event.records:
            if record.key is not None:
                known = table.get(record.key) if by_strategy else None
                if known is None or self.history.beats(record.uid, known):
                    table[record.key] = record.uid

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Compares the tables of those that have read everything with the committed history."""
        history = self.history
        for consumer, table in self._tables.items():
            kept = table.items() if self._positions[consumer] >= len(self.committed) else ()
            for key, uid in kept:
                winner = history.winners.get(key, uid)
                if history.is_committed(uid) and history.beats(winner, uid):
                    self.broken_by(None, uid, reader=consumer, winner=winner)


class ConsumerNoSkip(ReaderInvariant):
    """A consumer's position never passes a live committed record it has not been given.

    For a read of c from r, offsets start(r) <= o < min(position(c), hw(r), N): if x = committed[o]
    is live, c was given x, now or before. Live is a value, of a committed transaction if of any,
    that nothing beats in committed history or in the log of r, aborted and open data left out.
    Judged: at each read, for the offsets it passed; at an offset that was committed twice the
    log of r alone decides, and all such offsets below the position are judged again. Excused:
    what is not live; what lost under rules in force earlier, and may be gone since.

    Source: KIP-280
    Says: {reader} is at position {end} on {replica} and was never given the live {record}.
    """

    explained_by = "read"

    def begin(self) -> None:
        """Starts with no reads."""
        self._given: defaultdict[str, set[int]] = defaultdict(set)

    def on_consumed(self, event: events.Consumed) -> None:
        """Judges the offsets that this read passed, and those that were committed twice."""
        replica, consumer, start, end = event.replica, event.consumer, event.start, event.end
        history, committed = self.history, self.committed
        given = self._given[consumer]
        given.update(history.uids_read)
        view = self.replicas[replica]
        end = min(end, view.high_watermark, len(committed))
        start = max(start, view.log_start_offset)
        passed = committed[start:end]
        if passed != history.uids_read and not given.issuperset(passed):
            for offset, uid in enumerate(passed, start):
                if uid not in given and offset not in history.committed_twice:
                    self._judge(event, view, uid, offset)
        for offset in sorted(history.committed_twice):
            uid = view.uid_at(offset)
            if view.log_start_offset <= offset < end and uid > 0 and uid not in given:
                self._judge(event, view, uid, offset)

    def _judge(self, event: events.Consumed, view: ReplicaView, uid: int, offset: int) -> None:
        history, key = self.history, self.history.key_of(uid)
        if key is None or not history.is_value(uid):
            return
        twice = offset in history.committed_twice
        by_history = self.written[uid].batch.transactional and not twice
        counts = history.status.get(uid) if by_history else history.verdict_in(view, uid)
        winner = uid if twice else history.winners.get(key, uid)
        beaten = history.beats(winner, uid) or history.lost_under_earlier_rules(uid)
        if counts is True and not beaten and not self._is_beaten_on(view, uid):
            reader, end = event.consumer, event.end
            self.broken_by(event.replica, uid, offset, reader=reader, end=end)

    def _is_beaten_on(self, view: ReplicaView, uid: int) -> bool:
        """True if a log holds a record that beats `uid` and counts by the log's own markers."""
        history = self.history
        return any(
            history.holds(view, other) and history.verdict_in(view, other) is True
            for other in history.beating(uid)
        )


class ConsumerTakesDeletes(ReaderInvariant):
    """A consumer understands tombstones as deletes, and no other record.

    For all keyed records x given to a consumer of a declared version: it takes x for a delete if,
    and only if, x is a tombstone under the rules of the run.
    Judged: as they are given. An old consumer takes null values alone for deletes, and so does an
    unchanged application on a new consumer. Excused: consumers that declare no version.

    Source: KIP-87, Migration Plan and its vote thread
    Says: {reader} took the {record} for {what}.
    """

    explained_by = "altered"
    in_stories = False

    def on_understood(self, event: events.Understood) -> None:
        """Compares with the tombstones under the rules of the run."""
        for records, as_delete in ((event.values, False), (event.deletes, True)):
            for record in records:
                if self.written[record.uid].tombstone != as_delete:
                    what = "a delete" if as_delete else f"data: {record.key}={record.value}"
                    evidence = {"reader": event.consumer, "what": what}
                    where = (event.replica, record.offset, record.key)
                    self.broken(*where, record=record.uid, **evidence)


class ConsumerTombstoneVisibility(ReaderInvariant):
    """A consumer that reads on within delete.retention.ms is given the delete of what it has read.

    For a read of c at t' over [from, to), tombstones X = winner(k) with from <= X.offset < to: if c
    was given some Y of k at t, X beats Y and t' <= t + delete retention, then c was given X or a
    record of k above X.offset, now or before.
    Judged: at each read; reads from any replica count (the global form). Excused: nothing; no local
    rule ensures the global form, and stories that show it expect the violation.

    Source: KIP-534, Motivation
    Says: {reader} read {record} at {read_at_ms} ms and passed the tombstone at offset {offset} on
        {replica} at {now_ms} ms, within the retention of {retention_ms} ms, without being given it.
    """

    explained_by = "read"

    def begin(self) -> None:
        """Starts with no reads."""
        self._reads: defaultdict[str, list[events.Consumed]] = defaultdict(list)
        self._times: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)

    def on_consumed(self, event: events.Consumed) -> None:
        """Notes the read, then judges the tombstones that it passed."""
        consumer, start, end = event.consumer, event.start, event.end
        history = self.history
        self._reads[consumer].append(event)
        tombstones = history.committed_tombstones
        for offset in tombstones[bisect_left(tombstones, start) : bisect_left(tombstones, end)]:
            uid = self.committed[offset]
            key = self.written[uid].key or ""
            if history.winners.get(key) == uid and uid not in history.uids_read:
                self._judge(event, key, uid, offset)

    def _given(self, consumer: str, key: str) -> dict[int, int]:
        """The records of a key that a consumer was given: uid -> time of the last read in ms."""
        for event in self._reads.pop(consumer, ()):
            for record in event.records:
                if record.key is not None:
                    self._times[consumer, record.key][record.uid] = event.now_ms
        return self._times[consumer, key]

    def _judge(self, event: events.Consumed, key: str, tombstone: int, offset: int) -> None:
        given = self._given(event.consumer, key)
        if tombstone in given or any(self.written[uid].offset > offset for uid in given):
            return
        retention_ms, now_ms = self.history.rules.topic.delete_retention_ms, event.now_ms
        for uid, at_ms in given.items():
            if self.history.beats(tombstone, uid) and now_ms <= at_ms + retention_ms:
                times = {"read_at_ms": at_ms, "now_ms": now_ms, "retention_ms": retention_ms}
                reader = event.consumer
                self.broken(event.replica, offset, key, reader=reader, record=uid, **times)
                return


_NO_MORE = "{replica} holds nothing more from its position {position} up to the end {end}."


class ReaderReachesEnd(ReaderInvariant):
    """A reader that reads up to an end offset stops.

    For a reader from `start` to `end` with start < end to which nothing more comes: it stops by its
    position: position >= end; by its last record: that record's offset + 1 >= end; by count: it was
    given >= end - start records. Where cleaning took the last record, or any, that may never come
    true.
    Judged: when nothing more comes. Excused: nothing to read.

    Source: KAFKA-14302; Redpanda issues 7024, 8698; segmentio/kafka-go issue 423; brod issue 263
    """

    kind = Kind.LIVENESS
    in_stories = False
    explained_by = "reader_waits"
    fairness = "its replica is up, and it polls until nothing more comes"

    def on_reading_ended(self, event: events.ReadingEnded) -> None:
        """Compares the position of the reader with the condition on which it stops."""
        start, end, position = event.start, event.end, event.position
        wanted, given, missing = end - start, event.given, None
        if event.until == "position":
            waits, missing, what = position < end, end, "its position {position} to be {end}"
        elif event.until == "last_offset":
            waits, missing = event.last_offset + 1 < end, end - 1
            what = "the record at offset {offset}"
        else:
            waits, what = given < wanted, "{wanted} records, and got {given}"
        if start < end and waits:
            says = f"{{reader}} waits for {what}; {_NO_MORE}"
            evidence = {"position": position, "end": end, "wanted": wanted, "given": given}
            self.broken(event.replica, missing, None, says, reader=event.consumer, **evidence)
