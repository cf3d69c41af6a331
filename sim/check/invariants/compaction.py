"""Compaction: the bound of a pass, when a pass is due, and what it may not change."""

from collections import Counter

from msgspec.structs import replace

from sim.check.folding import lost_keys, unmeant
from sim.check.invariant import Invariant, Kind, ReaderInvariant
from sim.check.promise import as_appended, without_flag
from sim.protocol import events
from sim.protocol.log.record import Record


class CleanPrefix(Invariant):
    """Below the first dirty offset a key has at most one record, besides one that the fix keeps.

    For all replicas r, keys k: there is at most one offset o < clean(r) with data of k at
    log(r)[o].
    Judged: after each pass of r. Excused: the record that the fix keeps in this pass
    (KIP-280, option 1: the last one of the log). It counts again in the first pass that does not
    keep it.

    Source: KIP-280
    Says: {replica} is clean below {clean_below} but holds {counted} records of {key}, at {holds}.
    """

    explained_by = "kept_both"

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Looks for keys that are in the clean section more than once."""
        view, known = self.replicas[event.replica], self.written
        slots, below = view.slots, view.first_dirty_offset
        keys = [key for uid in slots[:below] if uid > 0 and (key := known[uid].key) is not None]
        repeated = Counter(keys) if len(set(keys)) < len(keys) else {}
        for key, counted in repeated.items():
            if counted > 1:
                held = [at for at in range(below) if slots[at] > 0 and known[slots[at]].key == key]
                if event.protected_offset in held:
                    held.remove(event.protected_offset)
                if len(held) > 1:
                    evidence = {"clean_below": below, "counted": len(held)}
                    self.broken(view.name, held[-1], key, holds=tuple(held), **evidence)


class CompactionBound(Invariant):
    """A pass compares and removes records below the high watermark only.

    For all records x that a pass of r removes, beaten by w if by any: x.offset < hw(r) and w.offset
    < hw(r), with the high watermark before the pass.
    Judged: on removal. Excused: nothing. Other invariants judge that w exists (`hole-justified`,
    `winner-retained`) and the last stable offset (`txn-isolation`).

    Source: KAFKA-13194; LogCleanerManager.cleanableOffsets
    """

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Looks at each removal and its winner."""
        committed = min(event.high_watermark, self.history.previous_high_watermark)
        for removal in event.removals:
            winner = removal.winner_offset
            if max(removal.offset, -1 if winner is None else winner) >= committed:
                says = "{replica} removed {record}"
                says += "" if winner is None else ", beaten by the record at {winner_offset}"
                says += ", with its high watermark at {high_watermark}."
                what = {"record": removal.uid, "winner_offset": winner, "high_watermark": committed}
                self.broken(event.replica, removal.offset, removal.key, says, **what)


class CompactionLagBound(Invariant):
    """A record is eligible by its timestamp + max.compaction.lag.ms + twice the largest time error.

    For all keyed records x that r holds below its last stable offset and that are not eligible: now
    - x.timestamp <= M + 2 * D. M is `max.compaction.lag.ms`, D the largest time error,
    `message.timestamp.difference.max.ms`; D = 0, exact timestamps, leaves M. The worst case is a
    segment whose first record is dated D ahead and whose next one D behind.
    Judged: at each look of the cleaner. Excused: without D nothing is promised; records above the
    last stable offset may not be cleaned at all. Fair: the cleaner looks, and something closes the
    segment, traffic or a timer (UnifiedLog.maybeRoll is called by appends alone).

    Source: KIP-354, Proposed Changes, note 1
    Says: {replica} cannot clean {record} yet, {waited_ms} ms after its timestamp; {limit_ms} ms
        were promised ({max_lag_ms} + 2 × {difference_max_ms}).
    """

    kind = Kind.LIVENESS
    fairness = "the cleaner looks, and traffic or a timer closes segments"
    explained_by = "event"
    in_stories = False

    def on_cleaner_looked(self, event: events.CleanerLooked) -> None:
        """Looks for the oldest record that waits and is not eligible."""
        if event.difference_max_ms is None:
            return
        max_lag_ms, difference_max_ms = event.max_lag_ms, event.difference_max_ms
        limit_ms = max_lag_ms + 2 * difference_max_ms
        start = event.upper_bound if event.eligible else event.first_dirty_offset
        slots = self.replicas[event.replica].slots[start : event.stable_offset]
        for offset, uid in enumerate(slots, start):
            record = self.written[uid].record if uid > 0 else None
            if record is None or record.key is None:
                continue
            waited_ms = event.now_ms - record.timestamp_ms
            if waited_ms > limit_ms:
                evidence = {"waited_ms": waited_ms, "limit_ms": limit_ms, "max_lag_ms": max_lag_ms}
                evidence["difference_max_ms"] = difference_max_ms
                self.broken_by(event.replica, uid, offset, **evidence)
                return


class LagMetric(Invariant):
    """`max-compaction-delay-secs` says how long the most overdue log is overdue, in whole seconds.

    For a look at r: metric = max(0, now - oldest uncleaned timestamp - M) / 1000, rounded down.
    Judged: at each look. Excused: nothing. Kafka updates the metric only when a look leads to a
    pass, so that it may show an old value.

    Source: KIP-354, Public Interfaces; PreCleanStats.updateMaxCompactionDelay
    Says: {replica} reports a compaction delay of {reported_secs} s, but its log is overdue by
        {overdue_secs} s.
    """

    kind = Kind.FINDING
    explained_by = "event"
    in_stories = False

    def on_cleaner_looked(self, event: events.CleanerLooked) -> None:
        """Compares the metric with the delay of this very look."""
        overdue_secs = event.delay_ms // 1000
        if event.metric_secs != overdue_secs:
            self.broken(event.replica, reported_secs=event.metric_secs, overdue_secs=overdue_secs)


_EPOCH = (
    "{replica} copied the batch at {offset} in epoch {epoch}, which was appended in epoch "
    "{appended_in}."
)


class RecordImmutable(ReaderInvariant):
    """Followers copy and consumers read every record as it was appended, field by field.

    For all copies and reads x' of a record x: key, value, timestamp, headers, flag and offset of x'
    are those of x, and the epoch of a copy is that of the append.
    Judged: on each copy and read. Excused: the header that `record_horizon` adds, among replicas
    (no reader may be given it); the flag of KIP-87, which an old format may leave out as long as a
    delete stays one; the value of a flagged delete, for a consumer whose version has no flag: the
    KIP makes it null there. A follower has no such excuse: its copy is what others read later.

    Source: KIP-534 (timestamps read back unchanged; Rejected Alternatives); KIP-87, Migration Plan
    Says: {who} {did} {record} with {given}; it was appended with {appended}.
    """

    explained_by = "altered"
    in_stories = False

    def begin(self) -> None:
        """Starts with no consumers of an old version."""
        self._without_flag: set[str] = set()

    def on_config_changed(self, event: events.ConfigChanged) -> None:
        """Notes which consumers read in an old version."""
        settings = dict(event.settings)
        if settings.get("format") == "2":
            self._without_flag.add(event.replica)
        elif "format" in settings:
            self._without_flag.discard(event.replica)

    def on_copied(self, event: events.Copied) -> None:
        """Compares each copied record with the append."""
        deletes = self.history.is_tombstone
        for record in self.history.altered:
            original = self.written[record.uid].record
            copy = as_appended(record)
            same = replace(copy, flagged=original.flagged) == original
            if not same or deletes(copy) != deletes(original):
                self._report_altered(event.replica, event.replica, "copied", record)
        for batch in event.batches:
            for record in batch.records[:1]:
                epoch, appended_in = batch.epoch, self.written[record.uid].batch.epoch
                if epoch != appended_in:
                    evidence = {"epoch": epoch, "appended_in": appended_in}
                    self.broken(event.replica, batch.base_offset, None, _EPOCH, **evidence)

    def on_consumed(self, event: events.Consumed) -> None:
        """Compares each record a consumer is given with the append.

        Whether the consumer takes it for a delete is left to `consumer-takes-deletes`.
        """
        for record in event.records if self.history.reads_deviate else ():
            original = self.written[record.uid].record
            if event.consumer in self._without_flag and record == without_flag(original):
                continue
            if replace(record, flagged=original.flagged) != original:
                self._report_altered(event.replica, event.consumer, "read", record)

    def _report_altered(self, replica: str, who: str, did: str, record: Record) -> None:
        original = self.written[record.uid].record
        fields = [
            name
            for name in Record.__struct_fields__
            if getattr(record, name) != getattr(original, name)
        ]
        given, appended = (
            ", ".join([f"{name} {getattr(each, name)!r}" for name in fields])
            for each in (record, original)
        )
        said = {"who": who, "did": did, "given": given, "appended": appended}
        self.broken(replica, record.offset, record.key, record=record.uid, **said)


class KeyEndsAsMeant(Invariant):
    """The leader's log gives every key the record that its producers meant to be the newest.

    For all keys k, x = fold(log(leader))[k]: no committed record of k has a newer timestamp than x
    and, where both have one, a higher version. For a key that is gone, x is such a tombstone.
    Judged: at rest, under any strategy. Excused: keys that the topic's retention deleted.
    Strategy offset promises no such thing, so this is a finding: an asynchronous producer's write
    that arrives late wins, and every other invariant holds.

    Source: KIP-280, Motivation
    Says: {key} ends on {held}; its producers meant {meant} to win.
    """

    kind = Kind.FINDING
    explained_by = "ends_on"

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Looks for each key in the leader's log."""
        leader = self.history.leader
        for key, held, meant in unmeant(self.history):
            newer = self.describe(meant)
            if held is None:
                gone = "{key} is gone; its producers meant {meant} to stay."
                self.broken(leader, None, key, gone, meant=newer)
            else:
                at = self.written[held].offset
                self.broken(leader, at, key, held=held, meant=newer)


class StateKept(Invariant):
    """Retention deletes no record without which the state of its key is unknown.

    With `log_holds: state`, for a log of r whose old segments were deleted up to s, and keys k with
    winner(k) below s: winner(k) is in the newest snapshot of r, or is a tombstone of a key that the
    snapshot has not. Where records are deltas: r has a snapshot that ends above every removed
    record of k.
    Judged: when the log start moves by retention. Excused: logs that hold events, whose old ones
    are meant to go; prefixes that go for a snapshot, see `prefix-deletion-safety`.

    Source: KIP-630, Motivation: with the delete policy the log does not hold the latest state
    Says: {replica} deleted below {log_start} ({cause}) what alone holds the state of {key}
    """

    explained_by = "event"
    in_stories = False

    def on_log_start_moved(self, event: events.LogStartMoved) -> None:
        """Looks for keys whose state was below the new start, and nowhere else."""
        if self.history.rules.snapshots.log_holds != "state":
            return
        start, view = event.log_start_offset, self.replicas[event.replica]
        lost = lost_keys(self.history, view, self.history.previous_log_start)
        for key in lost[:1]:
            winner, more = self.history.winners.get(key, 0), len(lost) - 1
            says = self.says + (": {winner}" if winner else "")
            says += ", and {more_keys} more keys." if more else "."
            at = self.written[winner].offset if winner else start
            evidence = {"log_start": start, "winner": winner, "more_keys": more}
            self.broken(event.replica, at, key, says, cause=event.cause, **evidence)
