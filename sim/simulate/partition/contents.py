"""Contents of a partition: keys, tombstones, markers, what is superseded, what a pass removes."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from operator import attrgetter
from typing import Any, Final

from sim.files.document import CommandLine
from sim.protocol.compaction import STRATEGIES
from sim.protocol.log import AbortedTransaction, Batch, Record
from sim.protocol.log.record import varint_bytes
from sim.simulate.logfile.batches import bytes_of, readable
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.run import run_steps
from sim.simulate.logfile.steps import Clean
from sim.simulate.partition.as_log import Question, log_file_of
from sim.simulate.partition.due import Due, due
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.segments import Detail

AGES_MS: Final = (("1 h", 3_600_000), ("1 d", 86_400_000), ("7 d", 604_800_000))
"""Ages that tombstones and markers are counted by; the last class is what is older."""
COSTLY_KEYS: Final = 10
"""Keys that are named as those that take the most bytes."""
COMPARED_FIXES: Final = ("none", "leo_retention", "empty_batch")
"""The fixes of KIP-280 and KAFKA-17076, and none."""
TRIED_RECORDS: Final = 500_000
"""With more records no pass is tried: it would need more than a few hundred megabytes."""


class Keys:
    """Records and bytes of each key; numbers in arrays, for there may be millions.

    Attributes:
        number: Number of each key, from 0.
        records: Records of each key, its tombstones among them.
        bytes: Their bytes, before compression.
        newest: Bytes of the newest of them.
        deleted: 1 where the newest is a tombstone.
    """

    def __init__(self) -> None:
        """Starts with no keys and no records."""
        self.number: dict[str, int] = {}
        self.records, self.bytes = array("L"), array("Q")
        self.newest, self.deleted = array("L"), array("B")

    def add(self, key: str, size_bytes: int, *, deletes: bool) -> None:
        """Counts a record, which is the newest of its key from now on."""
        number = self.number.get(key)
        if number is None:
            self.number[key] = len(self.records)
            self.records.append(1)
            self.bytes.append(size_bytes)
            self.newest.append(size_bytes)
            self.deleted.append(deletes)
        else:
            self.records[number] += 1
            self.bytes[number] += size_bytes
            self.newest[number] = size_bytes
            self.deleted[number] = deletes

    def costly(self) -> list[tuple[str, int, int]]:
        """Key, records and bytes of those that take the most, the largest first."""
        sizes = self.bytes
        largest = sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)[:COSTLY_KEYS]
        names = {number: key for key, number in self.number.items() if number in set(largest)}
        return [(names[one], self.records[one], sizes[one]) for one in largest]


@dataclass
class Contents:
    """Counts of a partition's records and batches; bytes of records are before compression.

    Attributes:
        size_bytes: Bytes of all segments on disk.
        batches: Batches, those without records among them.
        empty_batches: Batches without records.
        records: Records, without markers.
        unkeyed: Records without a key, which no cleaner keeps.
        aborted: Records of aborted transactions.
        tombstones: Tombstones by their age.
        markers: Transaction markers by their age.
        codecs: Batches by their compression.
        record_bytes: Bytes of all records.
        keys: Records and bytes of each key, without aborted ones.
        dirty_keys: Keys with a record from the first dirty offset on, up to the bound of a pass.
    """

    size_bytes: int
    batches: int = 0
    empty_batches: int = 0
    records: int = 0
    unkeyed: int = 0
    aborted: int = 0
    record_bytes: int = 0
    tombstones: Counter[str] = field(default_factory=Counter)
    markers: Counter[str] = field(default_factory=Counter)
    codecs: Counter[str] = field(default_factory=Counter)
    keys: Keys = field(default_factory=Keys)
    dirty_keys: int = 0

    @property
    def superseded_bytes(self) -> int:
        """Bytes of records that a newer one of their key supersedes."""
        return sum(self.keys.bytes) - sum(self.keys.newest)

    @property
    def live_keys(self) -> int:
        """Keys whose newest record is a value."""
        return len(self.keys.records) - sum(self.keys.deleted)

    def rounds(self, map_keys: int) -> int:
        """Number of passes over the dirty section with a map of `map_keys` keys."""
        return -(-self.dirty_keys // max(1, map_keys))


def contents_of(
    partition: Partition,
    aborted: Sequence[AbortedTransaction],
    *,
    dirty: range,
    now_ms: int,
) -> Contents:
    """Counts what a partition holds.

    Args:
        partition: The partition.
        aborted: Its aborted transactions.
        dirty: Offsets of the dirty section that a pass would cover.
        now_ms: The time that ages count to, in ms.

    Raises:
        Damaged: A batch is not as it was written.
    """
    found = Contents(partition.size_bytes)
    dirty_keys: set[int] = set()
    undone, keys = _Aborted(aborted), found.keys
    for _, stored in partition.batches(Detail.SIZES):
        batch = stored.batch
        found.batches += 1
        found.empty_batches += not batch.records
        found.codecs[stored.codec] += 1
        if batch.control is not None:
            found.markers[_age(now_ms - batch.timestamp_ms)] += 1
            continue
        found.records += len(batch.records)
        if undone.has(batch):
            found.aborted += len(batch.records)
            continue
        is_dirty = dirty.start <= batch.base_offset < dirty.stop
        for record in batch.records:
            size, key = _bytes(record), record.key
            found.record_bytes += size
            if record.value is None:
                found.tombstones[_age(now_ms - record.timestamp_ms)] += 1
            if key is None:
                found.unkeyed += 1
                continue
            keys.add(key, size, deletes=record.value is None)
            if is_dirty:
                dirty_keys.add(keys.number[key])
    found.dirty_keys = len(dirty_keys)
    return found


class _Aborted:
    """Aborted transactions of each producer, to be asked about batches."""

    def __init__(self, entries: Sequence[AbortedTransaction]) -> None:
        self._ends: dict[int, list[int]] = {}
        self._first: dict[tuple[int, int], int] = {}
        for one in sorted(entries, key=attrgetter("last_offset")):
            self._ends.setdefault(one.producer_id, []).append(one.last_offset)
            self._first[one.producer_id, one.last_offset] = one.first_offset

    def has(self, batch: Batch) -> bool:
        """True if a batch of data belongs to an aborted transaction."""
        if not batch.transactional:
            return False
        ends = self._ends.get(batch.producer_id, [])
        at = bisect_left(ends, batch.last_offset)
        return at < len(ends) and self._first[batch.producer_id, ends[at]] <= batch.base_offset


def _bytes(record: Record) -> int:
    """Bytes of a record by itself: attributes, differences, key, value, headers, their lengths.

    Its value is text of as many characters as it has bytes.
    """
    key, value, headers = record.key, record.value, record.headers
    total = 7
    if key is not None:
        length = len(key) if key.isascii() else len(bytes_of(key))
        total += length if length < 64 else length + varint_bytes(length) - 1
    if value is not None:
        length = len(value)
        total += length if length < 64 else length + varint_bytes(length) - 1
    for name, content in headers:
        total += len(name) + len(content) + 2
    return total


def _age(age_ms: int) -> str:
    return next((f"below {name}" for name, most in AGES_MS if age_ms < most), "older")


@dataclass(frozen=True)
class Holdings:
    """The answer to what a partition holds.

    Attributes:
        partition: The partition.
        question: What it was looked at with.
        due: What the cleaner makes of it now.
        counts: What it holds.
        passes: What a pass now would remove, under each strategy and fix; empty where there are too
            many records to try.
    """

    partition: Partition
    question: Question
    due: Due
    counts: Contents
    passes: tuple[dict[str, Any], ...]

    def lines(self) -> Iterator[str]:
        """The answer in sentences, without the table of passes."""
        counts, found = self.counts, self.due.decision.found
        replica = self.due.replica
        log, keys = replica.log, counts.keys
        yield (
            f"{self.partition.name}: offsets {log.log_start_offset} to {log.log_end_offset}, "
            f"high watermark {log.high_watermark}, cleaned up to {self.due.decision.dirty.offset}; "
            f"{counts.size_bytes:,} bytes in {len(self.partition.segments)} segments"
        )
        codecs = ", ".join(f"{name} {count:,}" for name, count in counts.codecs.most_common())
        yield (
            f"batches {counts.batches:,} ({codecs}), without records {counts.empty_batches:,}; "
            f"records {counts.records:,}, aborted {counts.aborted:,}, without a key "
            f"{counts.unkeyed:,}"
        )
        yield (
            f"keys {len(keys.records):,}, live {counts.live_keys:,}; superseded "
            f"{counts.superseded_bytes:,} of {counts.record_bytes:,} bytes of records"
        )
        yield f"tombstones by age: {_ages(counts.tombstones)}; markers: {_ages(counts.markers)}"
        ratio = "none" if found.dirty_ratio is None else f"{found.dirty_ratio:.3f}"
        map_keys = self.question.settings.map_keys
        yield (
            f"dirty ratio {ratio}, {counts.dirty_keys:,} dirty keys: "
            f"{counts.rounds(map_keys)} rounds with a map of {map_keys:,} keys"
        )
        for key, records, size in keys.costly():
            yield f"  {readable(key)}: {records:,} records, {size:,} bytes"
        opened = sum(one.open_from is not None for one in self.partition.producers)
        yield (
            f"producers in the newest snapshot: {len(self.partition.producers)}, "
            f"with an open transaction {opened}"
        )
        yield self.due.decision.why
        if not self.passes and counts.records > TRIED_RECORDS:
            yield f"what a pass removes is not tried with more than {TRIED_RECORDS:,} records"

    def pass_rows(self) -> list[dict[str, Any]]:
        """The passes as a table."""
        reasons = dict.fromkeys(name for one in self.passes for name in one["removed"])
        return [
            {
                "strategy": one["strategy"],
                "fix": one["fix"],
                **{name: one["removed"].get(name, 0) for name in reasons},
                "bytes after": one["bytes_after"],
            }
            for one in self.passes
        ]

    @property
    def as_json(self) -> dict[str, Any]:
        """The answer as data."""
        counts = self.counts
        return {
            "partition": self.partition.name,
            "now_ms": self.question.now_ms,
            "settings": self.question.settings.sentence(self.question.preset),
            "size_bytes": counts.size_bytes,
            "segments": len(self.partition.segments),
            "batches": counts.batches,
            "empty_batches": counts.empty_batches,
            "records": counts.records,
            "aborted_records": counts.aborted,
            "unkeyed_records": counts.unkeyed,
            "keys": len(counts.keys.records),
            "live_keys": counts.live_keys,
            "record_bytes": counts.record_bytes,
            "superseded_bytes": counts.superseded_bytes,
            "tombstones": dict(counts.tombstones),
            "markers": dict(counts.markers),
            "codecs": dict(counts.codecs),
            "dirty_keys": counts.dirty_keys,
            "rounds": counts.rounds(self.question.settings.map_keys),
            "costly_keys": [
                {"key": readable(key), "records": records, "bytes": size}
                for key, records, size in counts.keys.costly()
            ],
            "due": self.due.as_json,
            "next_pass": list(self.passes),
            "notes": list(self.partition.notes),
        }


def _ages(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counted.items())) or "none"


def look_into(partition: Partition, question: Question) -> Holdings:
    """Finds what a partition holds. Raises Damaged, BadInput."""
    found = due(log_file_of(partition, question, Detail.HEADERS))
    dirty, bound = found.decision.dirty.offset, found.decision.found.bound.effective
    aborted = [one for segment in found.replica.log.segments for one in segment.aborted]
    counts = contents_of(partition, aborted, dirty=range(dirty, bound), now_ms=question.now_ms)
    passes: tuple[dict[str, Any], ...] = ()
    if counts.records <= TRIED_RECORDS:
        file = log_file_of(partition, question, Detail.SIZES)
        passes = tuple(next_passes(file, dirty, bound))
    return Holdings(partition, question, found, counts, passes)


def next_passes(file: LogFile, first_dirty: int, bound: int) -> Iterator[dict[str, Any]]:
    """Tries a pass now under each strategy and fix, whether or not one is due.

    A row has `strategy`, `fix`, how many records go and why, and the bytes of all segments after.
    """
    step = file.steps[-1]
    assert isinstance(step, Clean)
    at_once = step.model_copy(update={"first_dirty_offset": first_dirty, "upper_bound": bound})
    for strategy, fix in product(STRATEGIES, COMPARED_FIXES):
        values = {"strategy": strategy, "fix": fix}
        rules = file.rules.with_values(values, CommandLine("--rule", values).top)
        (after,) = run_steps(replace(file, rules=rules, steps=(at_once,)))
        assert after.cleaned is not None
        removed = after.cleaned.cleaning.removed
        counts = {reason: len(records) for reason, records in removed.items() if records}
        yield {**values, "removed": counts, "bytes_after": after.log.size_bytes}
