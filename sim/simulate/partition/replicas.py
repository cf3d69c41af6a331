"""Replicas of a partition compared: what a failover from one to another would change.

Each replica cleans by itself: an offset may be there in one and gone in another. That is legal
while every replica still holds, or is still to fetch, what takes the place of it. What is not is
named by the invariant that a simulation reports for it (`replog list invariants`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby, permutations
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from sim.protocol.log import Batch, Control, Record
from sim.simulate.logfile.batches import readable
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.segments import Detail


class Finding(NamedTuple):
    """A difference between replicas that is not safe.

    Attributes:
        invariant: The invariant that is violated.
        replica: The replica that nothing should be elected from.
        offset: Where.
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


@dataclass
class ReplicaLog:
    """A replica's log as the comparison needs it.

    Attributes:
        name: Name of the replica.
        start: Log start offset (inclusive).
        end: Log end offset (exclusive).
        committed: Its high watermark (exclusive); None = its checkpoint is not known.
        newest: The newest record of each key, aborted ones left out.
        markers: Offsets of the markers of each producer, in order.
        data: Offset of the first record of each producer's transactional batches, in order.
        held: Offset and what lies there, in order: epoch, and the record or the kind of marker.
    """

    name: str
    start: int
    end: int
    committed: int | None
    newest: dict[str, Newest] = field(default_factory=dict)
    markers: dict[int, list[int]] = field(default_factory=dict)
    data: dict[int, list[int]] = field(default_factory=dict)
    held: list[tuple[int, tuple[object, ...]]] = field(default_factory=list)

    def covers(self, offset: int) -> bool:
        """Whether the log reaches over an offset, a record there or not."""
        return self.start <= offset < self.end

    def first_marker_after(self, producer: int, offset: int) -> int | None:
        """The marker that ends the producer's transaction with data at `offset`; None = none."""
        return next((at for at in self.markers.get(producer, ()) if at > offset), None)


@dataclass(frozen=True)
class Comparison:
    """What the logs of a partition's replicas have in common, and what not.

    Attributes:
        logs: The replicas.
        below: Offsets below it are committed on every replica (exclusive).
        same: Offsets below it that hold the same on every replica that reaches over them.
        cleaned: Of each replica the offsets below it that are gone there and not elsewhere.
        findings: What is not safe.
        notes: What is legal, and should be known.
    """

    logs: tuple[ReplicaLog, ...]
    below: int
    same: int
    cleaned: dict[str, int]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each replica."""
        return [
            {
                "replica": log.name,
                "log start": log.start,
                "log end": log.end,
                "high watermark": "-" if log.committed is None else log.committed,
                f"same below {self.below}": self.same,
                "cleaned here alone": self.cleaned[log.name],
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
            "replicas": {
                log.name: {
                    "log_start_offset": log.start,
                    "log_end_offset": log.end,
                    "high_watermark": log.committed,
                    "cleaned": self.cleaned[log.name],
                }
                for log in self.logs
            },
            "violations": [one._asdict() for one in self.findings],
            "notes": list(self.notes),
        }


def compare(partitions: Sequence[Partition], names: Sequence[str]) -> Comparison:
    """Compares the replicas of one partition.

    Args:
        partitions: Their files.
        names: A name for each.

    Raises:
        Damaged: A batch is not as it was written.
    """
    logs = tuple(_log(one, name) for one, name in zip(partitions, names, strict=True))
    below = min(log.end if log.committed is None else log.committed for log in logs)
    committed = max(log.end if log.committed is None else log.committed for log in logs)
    same, cleaned = 0, {log.name: 0 for log in logs}
    findings: list[Finding] = []
    held = merge(*(_named(log) for log in logs), key=itemgetter(0))
    for offset, group in groupby(held, key=itemgetter(0)):
        there = {name: what for _, name, what in group}
        found = list(_at_offset(offset, there)) if offset < below else []
        findings += found
        if offset < below and not found:
            gone = [log.name for log in logs if log.covers(offset) and log.name not in there]
            same += not gone
            for name in gone:
                cleaned[name] += 1
    for log, other in permutations(logs, 2):
        findings += _values(log, other, committed)
        findings += _transactions(log, other)
    for log in logs:
        findings += _ends(log)
    return Comparison(
        logs, below, same, cleaned, tuple(_once(findings)), tuple(_notes(logs, partitions))
    )


def _named(log: ReplicaLog) -> Iterator[tuple[int, str, tuple[object, ...]]]:
    return ((offset, log.name, what) for offset, what in log.held)


def _log(partition: Partition, name: str) -> ReplicaLog:
    first = partition.segments[0].base_offset
    found = ReplicaLog(name, partition.log_start or first, first, partition.committed)
    pending: dict[int, list[Record]] = {}
    for _, stored in partition.batches(Detail.WHOLE):
        batch = stored.batch
        found.end = batch.last_offset + 1
        producer = batch.producer_id
        if batch.control is not None and not batch.records:
            continue  # emptied: it tells that there was a producer, and ends no transaction
        if batch.control is not None:
            found.held.append((batch.base_offset, (batch.epoch, str(batch.control), producer)))
            found.markers.setdefault(producer, []).append(batch.base_offset)
            ended = pending.pop(producer, [])
            committed = ended if batch.control is Control.COMMIT else []
            _take(found, committed, in_transaction=True)
            continue
        found.held += [(record.offset, _content(batch, record)) for record in batch.records]
        if not batch.transactional:
            _take(found, batch.records, in_transaction=False)
        elif batch.records:
            pending.setdefault(producer, []).extend(batch.records)
            found.data.setdefault(producer, []).append(batch.records[0].offset)
    found.end = max(found.end, partition.segments[-1].base_offset)
    return found


def _take(log: ReplicaLog, records: Iterable[Record], *, in_transaction: bool) -> None:
    """Takes in committed records, of a transaction perhaps after younger ones of others."""
    for record in records:
        if record.key is not None:
            known = log.newest.get(record.key)
            if known is None or known.offset < record.offset:
                log.newest[record.key] = Newest(record.offset, record.value is None, in_transaction)


def _content(batch: Batch, record: Record) -> tuple[object, ...]:
    content = (record.key, record.value, record.timestamp_ms, record.headers)
    return (batch.epoch, *content, batch.producer_id)


def _at_offset(offset: int, there: Mapping[str, tuple[object, ...]]) -> Iterator[Finding]:
    """What replicas hold at one committed offset, where that is not the same."""
    if len(set(there.values())) < 2:
        return
    most = Counter(there.values()).most_common(1)[0][0]
    for name, what in there.items():
        if what != most:
            other = next(one for one, held in there.items() if held == most)
            epochs = f"epoch {what[0]} on {name}, epoch {most[0]} on {other}"
            key = what[1] if isinstance(what[1], str) and len(what) > 3 else None
            if what[1:] == most[1:]:
                text = f"the record at offset {offset} is of {epochs}"
                yield Finding("log-matching", name, offset, key, text)
            else:
                text = f"offset {offset} holds two different records: {epochs}"
                yield Finding("slot-agreement", name, offset, key, text)


def _values(log: ReplicaLog, other: ReplicaLog, committed: int) -> Iterator[Finding]:
    """Values of `log` that are its newest of their keys, and are not those of `other`.

    What is below `committed` is so on some replica.
    """
    for key, mine in log.newest.items():
        theirs = other.newest.get(key)
        if mine.deletes or mine.offset >= committed:
            continue
        holds = f"{log.name} holds a value of {readable(key)} at offset {mine.offset}"
        broken = "no-resurrection"
        if theirs is None and other.covers(mine.offset):
            why = "it was deleted, and the tombstone is gone"
            then = "brings the key back"
            if mine.in_transaction:
                why = f"{why}, or its transaction was aborted, and the ABORT marker is gone"
                then = "gives it to readers of committed records"
                broken = "txn-isolation"
            text = f"{holds}; {other.name} reaches over it and holds nothing of the key: {why}"
        elif theirs is not None and mine.offset < theirs.offset < min(log.end, committed):
            what, then, broken = (
                ("the tombstone", "brings the key back", "no-resurrection")
                if theirs.deletes
                else ("the newer value", "loses that value", "committed-never-lost")
            )
            text = f"{holds} and not {what} at {theirs.offset}, which {other.name} holds"
        else:
            continue
        sentence = f"{text}. A failover to {log.name} {then}"
        yield Finding(broken, log.name, mine.offset, key, sentence)


def _transactions(log: ReplicaLog, other: ReplicaLog) -> Iterator[Finding]:
    """Transactions with data in `log` whose marker it misses."""
    for producer, offsets in log.data.items():
        for offset in offsets:
            mine = log.first_marker_after(producer, offset)
            theirs = other.first_marker_after(producer, offset)
            missed = theirs is not None and theirs < log.end and (mine is None or theirs < mine)
            gone = (
                mine is None
                and theirs is None
                and other.covers(offset)
                and all(at < offset for at in other.data.get(producer, ()))
            )
            if not missed and not gone:
                continue
            marker = f"the marker at {theirs}" if missed else "its marker"
            where = f"which {other.name} holds" if missed else f"which is gone on {other.name}, too"
            then = "the transaction stays open" if mine is None else f"the marker at {mine} ends it"
            text = (
                f"{log.name} holds data of producer {producer} at offset {offset} and not "
                f"{marker}, {where}: after a failover to {log.name} {then}"
            )
            yield Finding("txn-marker-safety", log.name, offset, None, text)
            break


def _ends(log: ReplicaLog) -> Iterator[Finding]:
    if log.committed is not None and log.committed > log.end:
        text = (
            f"{log.name} ends at offset {log.end}, below its high watermark {log.committed}: a "
            "leader elected from it would give committed offsets once more"
        )
        yield Finding("hw-within-log", log.name, log.end, None, text)


def _notes(logs: Sequence[ReplicaLog], partitions: Sequence[Partition]) -> Iterator[str]:
    most = max((log.committed or 0) for log in logs)
    for log in logs:
        if log.end < most and (log.committed or 0) <= log.end:
            text = f"{log.name} ends at offset {log.end}; up to {most} is committed elsewhere"
            yield f"{text}: electing it uncleanly loses what it has not fetched"
        if log.committed is None:
            yield f"{log.name} has no high watermark on disk: all of its log counts as committed"
    caches = [dict(one.epochs) for one in partitions]
    starts = max(log.start for log in logs)
    for epoch in sorted(set.intersection(*(set(cache) for cache in caches)) if caches else ()):
        said = {log.name: cache[epoch] for log, cache in zip(logs, caches, strict=True)}
        if len(set(said.values())) > 1 and min(said.values()) > starts:
            where = ", ".join(f"{start} on {name}" for name, start in said.items())
            yield f"leader epoch {epoch} starts at {where}"


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Each difference once, in order of offsets: several replicas may show it."""
    known: dict[tuple[str, str, int], Finding] = {}
    for one in findings:
        known.setdefault((one.invariant, one.replica, one.offset), one)
    yield from sorted(known.values(), key=attrgetter("offset"))
