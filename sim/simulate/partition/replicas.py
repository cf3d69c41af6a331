"""Replicas of a partition compared: what a failover from one to another would change.

Each replica cleans by itself: an offset may be there in one and gone in another. That is legal
while every replica still holds, or is still to fetch, what takes the place of it. A difference that
is not legal is named by the invariant that a simulation reports for it (`replog list invariants`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby, permutations
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from sim.protocol.log import Batch, Control, Record
from sim.protocol.log.epochs import EpochEntry, LeaderEpochCache
from sim.simulate.logfile.batches import bytes_of, readable
from sim.simulate.partition import Partition
from sim.simulate.partition.segments import Detail, PartitionSegment


class Finding(NamedTuple):
    """A difference between replicas that is not safe.

    Attributes:
        invariant: The invariant that is violated.
        replica: The replica that should not be elected.
        offset: The offset that it is about: of a record, of a marker's data, or a log end.
        key: The key, if it is about one.
        sentence: What differs, and what comes of it.
    """

    invariant: str
    replica: str
    offset: int
    key: str | None
    sentence: str


class Newest(NamedTuple):
    """The newest record of a key in one log.

    Attributes:
        offset: Its offset.
        deletes: Whether it is a tombstone.
        in_transaction: Whether a marker decides about it.
    """

    offset: int
    deletes: bool
    in_transaction: bool


Marker = tuple[int, Control]
"""Offset and kind of a transaction marker."""


@dataclass
class ReplicaLog:
    """A replica's log as the comparison needs it.

    Attributes:
        name: Name of the replica.
        partition: Its files.
        start: Log start offset (inclusive).
        held_end: End of its last batch (exclusive), from where on a follower fetches nothing.
        end: Log end offset (exclusive).
        committed: High watermark (exclusive); the log end offset where no checkpoint has it.
        epochs: Its leader epochs, by their checkpoint and by its batches.
        counts_to: Where it would be cut as a follower of another replica (exclusive), but not below
            what both have committed; its end where it would not. What lies beyond is not compared.
        cleaned: Number of committed offsets that are gone here, and not on every replica.
        newest: The newest record of each key, aborted ones left out.
        markers: Markers of each producer, in order.
        data: The first record of each transactional batch, by producer, in order.
        pending: Records of each producer's open transaction, at the end of the log.
        unlisted: Aborted transactions whose data readers of committed records would get, since the
            index of them does not list them.
    """

    name: str
    partition: Partition
    start: int
    held_end: int
    end: int
    committed: int
    epochs: LeaderEpochCache
    counts_to: int
    cleaned: int = 0
    newest: dict[str, Newest] = field(default_factory=dict)
    markers: dict[int, list[tuple[int, Control]]] = field(default_factory=lambda: defaultdict(list))
    data: dict[int, list[Record]] = field(default_factory=lambda: defaultdict(list))
    pending: dict[int, list[Record]] = field(default_factory=lambda: defaultdict(list))
    unlisted: list[Finding] = field(default_factory=list)

    def covers(self, offset: int) -> bool:
        """True if the log reaches over an offset, with or without a record there."""
        return self.start <= offset < self.counts_to

    def first_marker_after(self, producer: int, offset: int) -> Marker | tuple[None, None]:
        """The next marker of a producer above `offset`, where it has data; Nones without one."""
        markers = self.markers.get(producer, [])
        place = bisect_right(markers, offset, key=itemgetter(0))
        return markers[place] if place < len(markers) else (None, None)


@dataclass(frozen=True)
class Comparison:
    """The comparison of the logs of a partition's replicas.

    Attributes:
        logs: The replicas.
        below: Offsets below it are committed on every replica (exclusive).
        same: Number of offsets below it that hold the same on every replica that reaches over them.
        findings: What is not safe.
    """

    logs: tuple[ReplicaLog, ...]
    below: int
    same: int
    findings: tuple[Finding, ...]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each replica."""
        return [
            {
                "replica": log.name,
                "log_start": log.start,
                "log_end": log.end,
                "high_watermark": log.partition.committed,
                "cleaned_here_alone": log.cleaned,
                "violations": sum(one.replica == log.name for one in self.findings),
            }
            for log in self.logs
        ]

    @property
    def as_json(self) -> dict[str, Any]:
        """The comparison as data."""
        return {
            "below": self.below,
            "same": self.same,
            "replicas": self.rows(),
            "violations": [one._asdict() for one in self.findings],
            "notes": list(self.notes()),
        }

    def notes(self) -> Iterator[str]:
        """Notes on differences that are legal, and should be known."""
        most = max((log.partition.committed or 0) for log in self.logs)
        for log in self.logs:
            if log.counts_to < most and (log.partition.committed or 0) <= log.end:
                ends = "ends" if log.counts_to == log.end else "differs from a newer leader's log"
                where = f"{ends} at offset {log.counts_to}"
                text = f"{log.name} {where}; up to {most} is committed elsewhere"
                yield f"{text}: electing it uncleanly loses what it has not fetched"
            if log.partition.committed is None:
                text = f"{log.name} has no high watermark on disk"
                yield f"{text}: all of its log counts as committed"
        caches = {log.name: log.partition.epochs for log in self.logs}
        for epoch in sorted(set.intersection(*map(set, caches.values()))):
            said = {name: cache[epoch] for name, cache in caches.items()}
            starts = {*said.values()}
            if len(starts) > 1 and min(starts) > max(log.start for log in self.logs):
                where = ", ".join(f"{start} on {name}" for name, start in said.items())
                yield f"leader epoch {epoch} starts at {where}"


def compare(partitions: Sequence[Partition], names: Sequence[str]) -> Comparison:
    """Compares the replicas of one partition.

    Args:
        partitions: Their files.
        names: A name for each.

    Raises:
        Damaged: A batch is not as it was written.
    """
    logs = tuple(map(_log, names, partitions))
    below, committed = min(log.committed for log in logs), max(log.committed for log in logs)
    for log, other in permutations(logs, 2):
        if 0 <= log.epochs.latest < other.epochs.latest:
            cut = max(_cut_at(log, other, log.epochs.latest), min(log.committed, other.committed))
            log.counts_to = min(log.counts_to, cut)
    same, findings = 0, list[Finding]()
    as_dumped = any(one.dumped is not None for part in partitions for one in part.segments)
    read = (_read(log, as_dumped=as_dumped) for log in logs)
    for offset, group in groupby(merge(*read, key=itemgetter(0)), key=itemgetter(0)):
        there = {name: what for _, name, what in group}
        if offset >= below:
            continue
        if len({*there.values()}) > 1:
            findings += _at_offset(offset, there)
            continue
        gone = [log for log in logs if log.covers(offset) and log.name not in there]
        same += not gone
        for log in gone:
            log.cleaned += 1
    for log, other in permutations(logs, 2):
        findings += _values(log, other, committed)
        findings += [*_markers_missed(log, other), *_committed_by_next(log, other)]
        findings += _fetches_nothing(log, other)
    for log in logs:
        findings += [*_ends(log), *log.unlisted]
    # Several pairs of replicas may show the same.
    once = {(one.invariant, one.replica, one.offset): one for one in reversed(findings)}
    found = sorted(once.values(), key=attrgetter("offset", "replica", "invariant"))
    return Comparison(logs, below, same, tuple(found))


def _log(name: str, partition: Partition) -> ReplicaLog:
    """A replica's log of which nothing but its ends is known yet."""
    held_end, segments, starts = 0, partition.segments, dict[int, int]()
    for _, one in partition.batches(Detail.HEADERS):
        held_end = one.batch.last_offset + 1
        starts.setdefault(one.batch.epoch, one.batch.base_offset)
    epochs = LeaderEpochCache(
        [EpochEntry(*one) for one in sorted((starts | partition.epochs).items())]
    )
    end = max(held_end, segments[-1].base_offset)
    start = partition.log_start or segments[0].base_offset
    committed = end if partition.committed is None else partition.committed
    return ReplicaLog(name, partition, start, held_end, end, committed, epochs, end)


def _cut_at(log: ReplicaLog, other: ReplicaLog, asked: int) -> int:
    """Where a follower of `other` cuts its log, which asks where an epoch ends (KIP-101, 279)."""
    found, end = other.epochs.end_offset_for(asked, other.end)
    own, own_end = log.epochs.end_offset_for(found, log.end)
    return min(end, own_end) if own == found else min(own_end, _cut_at(log, other, own))


def _read(log: ReplicaLog, *, as_dumped: bool) -> Iterator[tuple[int, str, tuple[Any, ...]]]:
    """Takes a log in; gives each offset, the replica, and what lies there: epoch and content."""
    for segment, stored in log.partition.batches(Detail.WHOLE):
        batch, producer = stored.batch, stored.batch.producer_id
        records = [one for one in batch.records if one.offset >= log.start]
        if batch.base_offset >= log.counts_to:
            return
        if as_dumped:
            records = [_as_dumped(one) for one in records]
        if batch.control is not None:
            if records:  # an emptied one keeps the producer known, and ends no transaction
                log.markers[producer].append((batch.base_offset, batch.control))
                _end(log, segment, batch)
        elif batch.transactional:
            log.pending[producer] += records
            log.data[producer] += records[:1]
        else:
            _take(log, records, in_transaction=False)
        for one in records:
            content = (one.key, one.value, one.timestamp_ms, one.headers, batch.control, producer)
            yield one.offset, log.name, (batch.epoch, *content)


def _as_dumped(record: Record) -> Record:
    """A record as a dump has it: without headers, and with one character for all stray bytes."""
    key, value = (
        None if one is None else bytes_of(one).decode(errors="replace")
        for one in (record.key, record.value)
    )
    return replace(record, key=key, value=value, headers=())


def _end(log: ReplicaLog, segment: PartitionSegment, marker: Batch) -> None:
    """Takes in the end of a transaction with the data that is left of it."""
    producer, last = marker.producer_id, marker.base_offset
    data = log.pending.pop(producer, [])
    if marker.control is Control.COMMIT:
        _take(log, data, in_transaction=True)
    elif data and segment.aborted is not None:
        listed = {(one.producer_id, one.last_offset) for one in segment.aborted}
        if (producer, last) not in listed:
            offset, key = data[0].offset, data[0].key
            text = (
                f"{log.name} holds the transaction of producer {producer} from offset {offset} on, "
                f"with its ABORT marker at {last}, and its index of aborted transactions does not "
                f"list it. A failover to {log.name} gives its records to readers of committed "
                "records"
            )
            log.unlisted.append(Finding("txn-isolation", log.name, offset, key, text))


def _take(log: ReplicaLog, records: Iterable[Record], *, in_transaction: bool) -> None:
    """Takes in committed records; those of a transaction may come after ones of higher offsets."""
    for record in records:
        if record.key is not None:
            known = log.newest.get(record.key)
            if known is None or known.offset < record.offset:
                log.newest[record.key] = Newest(record.offset, record.value is None, in_transaction)


def _at_offset(offset: int, there: Mapping[str, tuple[Any, ...]]) -> Iterator[Finding]:
    """The violations at a committed offset at which replicas hold different records."""
    most = Counter(there.values()).most_common(1)[0][0]
    other = next(name for name, held in there.items() if held == most)
    for name, what in there.items():
        epochs = f"epoch {what[0]} on {name}, epoch {most[0]} on {other}"
        if what[1:] != most[1:]:
            text = f"offset {offset} holds two different records: {epochs}"
            yield Finding("slot-agreement", name, offset, what[1], text)
        elif what != most:
            text = f"the record at offset {offset} is of {epochs}"
            yield Finding("log-matching", name, offset, what[1], text)


def _values(log: ReplicaLog, other: ReplicaLog, committed: int) -> Iterator[Finding]:
    """The newest values of keys in `log` that `other` has deleted or replaced by newer records.

    What is below `committed` (exclusive) is committed on some replica. Data whose marker is still
    to be fetched is held, too.
    """
    undecided = {one.offset for each in (log, other) for of in each.pending.values() for one in of}
    for key, mine in log.newest.items():
        theirs = other.newest.get(key)
        if mine.deletes or mine.offset >= committed:
            continue
        holds = f"{log.name} holds a value of {readable(key)} at offset {mine.offset}"
        broken, then = "no-resurrection", "brings the key back"
        if theirs is None and other.covers(mine.offset) and mine.offset not in undecided:
            why = "it was deleted, and the tombstone is gone"
            if mine.in_transaction:
                why = f"{why}, or its transaction was aborted, and the ABORT marker is gone"
                broken, then = "txn-isolation", "gives it to readers of committed records"
            text = f"{holds}; {other.name} reaches over it and holds nothing of the key: {why}"
        elif (
            theirs is not None
            and mine.offset < theirs.offset < min(log.counts_to, committed)
            and theirs.offset not in undecided
        ):
            what = "the tombstone"
            if not theirs.deletes:
                what, broken, then = "the newer value", "committed-never-lost", "loses that value"
            text = f"{holds} and not {what} at {theirs.offset}, which {other.name} holds"
            if theirs.in_transaction:
                why = "or its transaction was aborted, and the ABORT marker is gone"
                text = f"{text}, {why}"
                yield Finding(
                    "txn-isolation",
                    other.name,
                    theirs.offset,
                    key,
                    f"{other.name} holds {what} of {readable(key)} at offset {theirs.offset}; "
                    f"{log.name} reaches over it and holds the value at {mine.offset}: it was "
                    f"lost there, {why}. A failover to {other.name} gives it to readers of "
                    "committed records",
                )
        else:
            continue
        sentence = f"{text}. A failover to {log.name} {then}"
        yield Finding(broken, log.name, mine.offset, key, sentence)


def _markers_missed(log: ReplicaLog, other: ReplicaLog) -> Iterator[Finding]:
    """The first data of each producer in `log` that another marker ends than in `other`."""
    for producer, data in log.data.items():
        younger = max((one.offset for one in other.data.get(producer, ())), default=-1)
        for record in data:
            offset = record.offset
            mine, _ = log.first_marker_after(producer, offset)
            theirs, _ = other.first_marker_after(producer, offset)
            if theirs is not None and theirs < log.counts_to and (mine is None or theirs < mine):
                missed = f"the marker at {theirs}, which {other.name} holds"
            elif mine is theirs is None and other.covers(offset) and younger < offset:
                missed = f"its marker, which is gone on {other.name}, too"
            else:
                continue
            then = "the transaction stays open" if mine is None else f"the marker at {mine} ends it"
            text = (
                f"{log.name} holds data of producer {producer} at offset {offset} and not "
                f"{missed}: after a failover to {log.name} {then}"
            )
            yield Finding("txn-marker-safety", log.name, offset, record.key, text)
            break


def _committed_by_next(log: ReplicaLog, other: ReplicaLog) -> Iterator[Finding]:
    """Data of open transactions that is gone elsewhere, where a COMMIT marker comes next."""
    for producer, record in ((one, record) for one, data in log.pending.items() for record in data):
        offset, key = record.offset, record.key
        theirs, kind = other.first_marker_after(producer, offset)
        undecided = kind is Control.COMMIT and other.covers(offset)
        known = None if key is None else other.newest.get(key)
        if undecided and key is not None and (known is None or known.offset < offset):
            what = "nothing of the key" if known is None else "an older record of the key"
            text = (
                f"{log.name} holds {readable(key)} of producer {producer} at offset {offset} in an "
                f"open transaction; {other.name} reaches over it and holds {what}: its "
                f"own marker is gone, and the COMMIT marker at {theirs} will end it once "
                f"{log.name} has fetched that"
            )
            yield Finding("txn-isolation", log.name, offset, key, text)


def _fetches_nothing(log: ReplicaLog, other: ReplicaLog) -> Iterator[Finding]:
    """A log that counts as caught up with another one that has lost its last batches.

    Without KAFKA-17076, as in 3.8, no empty batch stays where all records at the end of a log go.
    """
    committed = min(other.end, other.partition.committed or 0)
    if other.held_end <= log.end < committed and other.start <= log.end:
        text = (
            f"{log.name} ends at offset {log.end}; {other.name} has no batch from there on, and "
            f"offsets below {committed} are committed: as a follower of it {log.name} is in sync. "
            f"A failover to {log.name} gives those offsets to other records"
        )
        yield Finding("committed-replicated", log.name, log.end, None, text)


def _ends(log: ReplicaLog) -> Iterator[Finding]:
    if log.committed > log.end:
        text = (
            f"{log.name} ends at offset {log.end}, below its high watermark {log.committed}: a "
            "leader elected from it would give committed offsets once more"
        )
        yield Finding("hw-within-log", log.name, log.end, None, text)
