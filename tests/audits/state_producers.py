"""The producers of each log, and their snapshots, followed from event to event.

`tests.audits.derived` reads a log now and then, and a log does not say everything: a cleaner takes
batches that a replica remembers, snapshots outlive what they were taken of. Here each replica has a
second record of its producers, which begins with its empty log and takes every batch that the
events show. After each event both are the same, in every part:

* Of each producer: newest epoch, its last five batches of it, first offset of its open transaction,
  and the time since which it is silent: that of its newest batch, or of its newest marker
  (ProducerStateEntry, ProducerAppendInfo).
* Forgotten are those without a transaction that were silent for `producer.id.expiration.ms` by the
  clock of the replica, and no others (ProducerStateManager.isProducerExpired).
* A snapshot is taken where a segment begins, before its first batch, and by a cut where the log
  ends then, unless there was one of that offset or a higher one. It goes with its segment: when
  segments are merged, deleted or cut off (UnifiedLog.roll, .replaceSegments, .truncateTo).
* A cut goes back to the newest snapshot that is left above the log start, and reads on from there
  to the new end (UnifiedLog.rebuildProducerState). So does a restart, but to the newest that does
  not go into the active segment; and none is left at which no segment begins, but that of the end
  (LogLoader.recoverSegment, ProducerStateManager.removeStraySnapshots).
* Decided transactions count as undecided until their marker is below the high watermark
  (ProducerStateManager.onHighWatermarkUpdated).
* Every aborted transaction that was appended and not cut off: its first offset, its marker, and
  from where on others were open (TransactionIndex). What segments say of it is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sim.plugins import Report
from sim.protocol import events as on
from sim.protocol.log import AbortedTransaction, Batch, Control, Log
from sim.protocol.log.producers import ProducerEntry, ProducerStates, SentBatch
from sim.simulate.cluster.cluster import Cluster
from tests.audits.following import Following

_REMEMBERED: Final = 5
_CHANGING: Final = frozenset(
    {
        *(on.Appended, on.Copied, on.GapLearned, on.Truncated, on.Cleaned, on.SegmentsLost),
        *(on.ReplicaCrashed, on.ReplicaRestarted, on.ReplicaWiped, on.LogEmptied),
        *(on.LogStartMoved, on.LogStartedAfresh, on.PrefixDeleted, on.SnapshotInstalled),
        on.ProducersForgotten,
    }
)
"""Events that may change producers or snapshots."""
_RELISTING: Final = ("Cleaned", "SegmentsLost", "PrefixDeleted")
"""Events by which entries leave the indexes of segments that stay."""
_AFTER_LAST_SEQUENCE: Final = 2**31


@dataclass(slots=True)
class Known:
    """A producer.

    Attributes:
        epoch: Its newest epoch.
        silent_since_ms: Time of its newest batch or marker in ms.
        batches: Its last batches in that epoch, five at most, in a snapshot one.
        open_since: First offset of its open transaction; None without one.
    """

    epoch: int
    silent_since_ms: int
    batches: tuple[SentBatch, ...] = ()
    open_since: int | None = None


@dataclass(slots=True)
class Producers:
    """The second record of one log.

    Attributes:
        known: Producer id -> the producer.
        undecided: (first offset, marker) of transactions that ended; perhaps not replicated.
        replicated: The highest high watermark since `undecided` was read from the log.
        snapshots: Offset (exclusive end) -> producer id -> the producer, with one batch at most.
        newest: Offset of the newest snapshot, still there or not.
        bases: Base offsets of the segments, in order.
        end: Where the log ends (exclusive).
        aborted: The aborted transactions, in the order of their markers.
        listed: Those of them that the indexes of segments have.
        unsure: Whether a cut may have read the log or not: the log does not say.
    """

    known: dict[int, Known] = field(default_factory=dict)
    undecided: list[tuple[int, int]] = field(default_factory=list)
    replicated: int = 0
    snapshots: dict[int, dict[int, Known]] = field(default_factory=dict)
    newest: int = 0
    bases: list[int] = field(default_factory=lambda: [0])
    end: int = 0
    aborted: list[AbortedTransaction] = field(default_factory=list)
    listed: list[AbortedTransaction] = field(default_factory=list)
    unsure: bool = False

    def note(self, batch: Batch) -> AbortedTransaction | None:
        """Takes a batch that is appended, or read again; returns what it aborts."""
        pid, has_records = batch.producer_id, bool(batch.records)
        if pid < 0:
            return None
        if batch.control is not None and not has_records:
            self.known.setdefault(pid, Known(-1, -1))
            return None
        before = self.known.get(pid)
        if before is None or before.epoch != batch.producer_epoch:
            open_since = None if before is None else before.open_since
            before = Known(batch.producer_epoch, -1, (), open_since)
            self.known[pid] = before
        before.silent_since_ms = batch.timestamp_ms
        if batch.control is not None:
            return self._end(pid, before, batch)
        if batch.transactional and before.open_since is None:
            before.open_since = batch.base_offset
        first = last = batch.base_sequence
        if first >= 0:
            last = (first + batch.last_offset - batch.base_offset) % _AFTER_LAST_SEQUENCE
        sent = SentBatch(first, last, batch.base_offset, batch.last_offset)
        before.batches = (*before.batches, sent)[-_REMEMBERED:]
        return None

    def _end(self, pid: int, ended: Known, marker: Batch) -> AbortedTransaction | None:
        first, ended.open_since = ended.open_since, None
        if first is None:
            return None
        at = marker.base_offset
        self.undecided.append((first, at))
        others = [each.open_since for each in self.known.values()]
        oldest = min([one for one in others if one is not None], default=at + 1)
        aborts = marker.control is Control.ABORT
        return AbortedTransaction(pid, first, at, oldest) if aborts else None

    def append(self, batches: Iterable[Batch], bases: Sequence[int]) -> None:
        """Takes appended batches of a log whose segments begin at `bases` afterwards."""
        for batch in batches:
            self.roll([base for base in bases if base <= batch.base_offset])
            aborted = self.note(batch)
            self.aborted += [] if aborted is None else [aborted]
            self.listed += [] if aborted is None else [aborted]
            self.end = batch.last_offset + 1

    def roll(self, bases: Iterable[int]) -> None:
        """Begins segments at those of `bases` that lie above the active one."""
        for base in bases:
            if base > self.bases[-1]:
                self.bases.append(base)
                self._take(base)

    def adopt(self, log: Log) -> None:
        """Takes segments that were rolled without an append, and drops those that are gone."""
        bases = [segment.base_offset for segment in log.segments]
        self.roll(bases)
        for gone in {*self.bases} - {*bases}:
            self.snapshots.pop(gone, None)
        self.bases = bases
        self.end = log.log_end_offset

    def _take(self, offset: int) -> None:
        if offset > self.newest:
            self.newest = offset
            self.snapshots[offset] = {
                pid: replace(one, batches=one.batches[-1:]) for pid, one in self.known.items()
            }

    def cut(self, log: Log, target: int, log_start: int, *, high_watermark: int) -> None:
        """Cuts at `target` a log that started at `log_start`, and reads it again."""
        self.aborted = [entry for entry in self.aborted if entry.last_offset < target]
        self.listed = [entry for entry in self.listed if entry.last_offset < target]
        if target < self.bases[0]:
            self.begin_anew(target)
            return
        # Old segments are deleted without an event: perhaps all of them began above the new end.
        self.unsure |= log.segments[0].base_offset == target < log_start
        for base in [base for base in self.bases if base > target]:
            self.snapshots.pop(base, None)
        self.bases = [base for base in self.bases if base <= target]
        self.undecided = [pair for pair in self.undecided if pair[1] >= high_watermark]
        nothing, unclear = not self.known, bool(self.undecided)
        self._go_back(min(log_start, target), target)
        if log.config.always_rereads or not nothing:
            self._read(log, self.newest, target)
        elif unclear:
            self.unsure = True
        self._take(target)
        self.end = target

    def _go_back(self, log_start: int, end: int) -> None:
        """Knows what the newest snapshot above `log_start` and up to `end` does."""
        self.snapshots = {at: one for at, one in self.snapshots.items() if log_start < at <= end}
        self.newest = max(self.snapshots, default=log_start)
        self.known = {pid: replace(one) for pid, one in self.snapshots.get(self.newest, {}).items()}
        self.undecided, self.replicated = [], 0

    def _read(self, log: Log, start: int, end: int) -> None:
        """Reads the batches from `start` on (inclusive) that lie below `end`."""
        segments = [segment for segment in log.segments if segment.base_offset <= end]
        for segment in segments:
            if segment.base_offset in [each.base_offset for each in segments[-2:]]:
                if start <= segment.base_offset < end:
                    self._take(segment.base_offset)
                elif segment.base_offset < start < end and segment is not segments[0]:
                    self._take(start)
            for batch in segment.batches:
                if start <= batch.last_offset < end:
                    self.note(batch)

    def restart(self, log: Log) -> None:
        """Reads the active segment again, and what no snapshot up to it covers.

        Which transactions were decided, and where, is read from the whole log.
        """
        self.known, self.undecided = {}, []
        for batch in log.batches():
            self.note(batch)
        decided = self.undecided
        bases = [segment.base_offset for segment in log.segments]
        end = log.log_end_offset
        self._go_back(log.log_start_offset, bases[-1])
        self._read(log, self.newest, end)
        self._take(end)
        self.undecided = decided
        self.snapshots = {at: one for at, one in self.snapshots.items() if at in [*bases, end]}

    def learn(self, log: Log) -> None:
        """Takes over what a log keeps, after a difference or where the events do not say all."""
        self.known = kept_in(log.producers)
        self.undecided = list(log.producers.ended)
        self.snapshots, self.newest = snapshots_of(log), log.snapshots.newest
        self.aborted, self.listed = [*log.aborted_ever], listed_in(log)
        self.unsure = False

    def begin_anew(self, offset: int) -> None:
        """Begins with an empty log at `offset`."""
        self.known, self.undecided, self.snapshots = {}, [], {}
        self.replicated = 0
        self.aborted, self.listed = [], []
        self.newest = self.end = offset
        self.bases = [offset]


class ProducersFollowed(Following):
    """Follows the producers of all logs of a run."""

    name = "producers-followed"

    def __init__(self, cluster: Cluster, report: Report) -> None:
        """Starts before the replicas connect."""
        super().__init__(cluster, report)
        self._logs: dict[str, Producers] = {}
        self._marks: dict[str, int] = {}
        self._interrupted: set[str] = set()
        self._by_mark = cluster.context.scenario.rules.cleaner.cleaner_bound == "hw"

    def after(self, _at_ms: int, events: Iterable[on.Event]) -> None:
        """Takes some events, and compares the logs that they are about."""
        changed: dict[str, on.Event] = {}
        for event in events:
            name = event.replica
            node = self._cluster.nodes.get(name or "")
            if isinstance(event, on.Quiesced):
                changed |= dict.fromkeys(self._logs.keys() & self._cluster.nodes.keys(), event)
            elif isinstance(event, on.HighWatermarkMoved):
                mark, own = event.high_watermark, self._logs.get(event.replica)
                self._marks[event.replica] = mark
                if own is not None:
                    own.replicated = max(own.replicated, mark)
            elif isinstance(event, on.FaultInjected) and "during a pass" in event.detail:
                self._interrupted.add(event.replica)
            elif name is not None and node is not None and type(event) in _CHANGING:
                self._take(self._logs.setdefault(name, Producers()), event, node)
                changed[name] = event
        for name, last in changed.items():
            log, own = self._cluster.nodes[name].replica.log, self._logs[name]
            if isinstance(last, on.Appended | on.Copied):
                batches = [last.batch] if isinstance(last, on.Appended) else last.batches
                self._compare_some(name, own, log, {batch.producer_id for batch in batches})
                continue
            own.adopt(log)
            if not own.unsure:
                self._compare(name, type(last).__name__, own, log)
            if own.unsure:
                own.learn(log)

    def _take(self, own: Producers, event: on.Event, node: Any) -> None:
        log: Log = node.replica.log
        bases = [segment.base_offset for segment in log.segments]
        if not isinstance(event, on.Appended | on.Copied | on.GapLearned):
            own.roll(bases)  # nothing tells of a roll without an append
        match event:
            case on.Appended():
                own.append([event.batch], bases)
            case on.Copied():
                own.append(event.batches, bases)
            case on.Truncated():
                mark, start = event.high_watermark, event.log_start_offset
                own.cut(log, event.target, start, high_watermark=mark)
            case on.ReplicaCrashed() if event.log_end_offset < own.end:
                start, mark = log.log_start_offset, self._marks.get(event.replica, 0)
                mark = min(mark, event.high_watermark)  # it may have left an older checkpoint
                own.cut(log, event.log_end_offset, start, high_watermark=mark)
            case on.ReplicaRestarted() if bases[0] > own.bases[0]:
                own.begin_anew(bases[0])  # its log would have ended below its start
            case on.ReplicaRestarted():
                own.restart(log)
            case on.ReplicaWiped() | on.LogEmptied():
                own.begin_anew(0)
            case on.LogStartedAfresh():
                own.begin_anew(event.log_start_offset)
            case on.SnapshotInstalled():
                own.begin_anew(event.end_offset)
            case on.GapLearned():
                # Either the empty active segment goes, which was rolled without an append, or not.
                own.unsure |= event.fetch_offset in log.snapshots.offsets
                replaced = own.bases[-1] not in bases
                own.bases = [*own.bases[:-1], event.log_end_offset] if replaced else own.bases
            case on.ProducersForgotten():
                self._forget(own, event, node)
            case on.Cleaned() if event.log_end_offset < own.end:
                own.unsure = True  # the log end fell, and with it the base of an empty segment
            case _:
                pass

    def _forget(self, own: Producers, event: on.ProducersForgotten, node: Any) -> None:
        """Compares the forgotten producers with those that were silent for too long."""
        now_ms = node.context.now_ms + node.spec.clock_skew_ms
        limit_ms = node.context.scenario.topic.producer_expiration_ms
        silent = [
            pid
            for pid, one in own.known.items()
            if one.open_since is None and now_ms - one.silent_since_ms >= limit_ms
        ]
        self.differs(event.replica, "forgotten producers", sorted(event.producers), sorted(silent))
        for pid in event.producers:
            own.known.pop(pid, None)

    def _compare_some(self, name: str, own: Producers, log: Log, pids: Iterable[int]) -> None:
        """Compares the producers of appended batches, and which snapshot is the newest."""
        for pid in pids:
            known, found = own.known.get(pid), log.producers.producers.get(pid)
            kept = None if found is None else kept_of(found)
            if self.differs(name, f"producer {pid} after an append", kept, known):
                own.learn(log)
        newest = log.snapshots.newest
        if self.differs(name, "newest snapshot after an append", newest, own.newest):
            own.learn(log)

    def _compare(self, name: str, what: str, own: Producers, log: Log) -> None:
        start = log.log_start_offset
        taken = {at: one for at, one in own.snapshots.items() if at > start}
        kept = {at: one for at, one in snapshots_of(log).items() if at > start}
        listed = listed_in(log)
        # A second reading judges what a pass leaves. If a crash interrupts it, and no record went,
        # it has no event.
        if what in _RELISTING or name in self._interrupted:
            own.listed = [entry for entry in own.aborted if entry in listed]
        self._interrupted.discard(name)
        first = log.segments[0].base_offset
        own.listed = [entry for entry in own.listed if entry.last_offset >= first]
        own.replicated = max(own.replicated, log.high_watermark)
        ended = sorted(pair for pair in log.producers.ended if pair[1] >= own.replicated)
        undecided = sorted(pair for pair in own.undecided if pair[1] >= own.replicated)
        compared: dict[str, tuple[object, object]] = {
            "producers": (kept_in(log.producers), own.known),
            "offsets of snapshots": (sorted(kept), sorted(taken)),
            "snapshots": (kept, taken),
            "newest snapshot": (log.snapshots.newest, own.newest),
            "decisions that are not replicated": (ended, undecided if self._by_mark else ended),
            "aborted transactions": (log.aborted_ever, own.aborted),
            "indexes of aborted transactions": (listed, own.listed),
        }
        for about, (found, followed) in compared.items():
            if self.differs(name, f"{about} after {what}", found, followed):
                own.unsure = True


def listed_in(log: Log) -> list[AbortedTransaction]:
    """The entries in the indexes of the segments of a log."""
    return [entry for segment in log.segments for entry in segment.aborted]


def kept_of(one: ProducerEntry) -> Known:
    """A producer of a log."""
    return Known(one.epoch, one.last_timestamp_ms, tuple(one.batches), one.open_since)


def kept_in(states: ProducerStates) -> dict[int, Known]:
    """The producers that a log keeps, or that a snapshot of it has."""
    return {pid: kept_of(one) for pid, one in states.producers.items()}


def snapshots_of(log: Log) -> dict[int, dict[int, Known]]:
    """The snapshots that a log keeps, by offset."""
    return {offset: kept_in(taken) for offset, taken in log.snapshots._taken.items()}
