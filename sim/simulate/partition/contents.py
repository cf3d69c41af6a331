"""Contents of a partition: keys, tombstones, markers, what is superseded, what a pass removes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import product
from typing import Any, Final

from sim.files.document import CommandLine
from sim.protocol.compaction import STRATEGIES
from sim.protocol.log import AbortedTransaction, Batch
from sim.protocol.log.record import BATCH_HEADER_BYTES, size_of
from sim.simulate.logfile.batches import readable
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.run import run_steps
from sim.simulate.partition.ahead import Due, due
from sim.simulate.partition.as_log import Question, log_file_of, records_in
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.segments import Detail, PartitionSegment, Stored

AGES_MS: Final = (("1 h", 3_600_000), ("1 d", 86_400_000), ("7 d", 604_800_000))
"""Ages that tombstones and markers are counted by; the last class is what is older."""
COSTLY_KEYS: Final = 10
"""Keys that are named as those that take the most bytes."""
COMPARED_FIXES: Final = ("none", "leo_retention", "empty_batch")
"""The fixes of KIP-280 and KAFKA-17076, and none."""
TRIED_RECORDS: Final = 500_000
"""With more records no pass is tried: it would need more than a few hundred megabytes."""


@dataclass
class Contents:
    """Contents of a partition in numbers; bytes of records are before compression.

    Attributes:
        partition: The partition.
        question: The settings and the time.
        due: What the cleaner makes of it now.
        batches: Batches, those without records among them.
        empty_batches: Batches without records.
        records: Records, without markers.
        unkeyed: Records without a key, which no cleaner keeps.
        aborted: Records of aborted transactions.
        record_bytes: Bytes of all records but those.
        tombstones: Tombstones by their age.
        markers: Transaction markers by their age.
        codecs: Batches by their compression.
        key_records: Records of each key, its tombstones among them, without aborted ones.
        key_bytes: Their bytes.
        newest_bytes: Bytes of the newest record of each key.
        deleted: Keys whose newest record is a tombstone.
        dirty_keys: Keys with a record that a pass would map.
        passes: What a pass now would remove, under each strategy and fix; empty where there are too
            many records to try.
    """

    partition: Partition
    question: Question
    due: Due
    batches: int = 0
    empty_batches: int = 0
    records: int = 0
    unkeyed: int = 0
    aborted: int = 0
    record_bytes: int = 0
    tombstones: Counter[str] = field(default_factory=Counter)
    markers: Counter[str] = field(default_factory=Counter)
    codecs: Counter[str] = field(default_factory=Counter)
    key_records: Counter[str] = field(default_factory=Counter)
    key_bytes: Counter[str] = field(default_factory=Counter)
    newest_bytes: dict[str, int] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    dirty_keys: set[str] = field(default_factory=set)
    passes: list[dict[str, Any]] = field(default_factory=list)

    def read(self) -> Iterator[tuple[PartitionSegment, Stored]]:
        """Every batch of the partition, counted as it is given. Raises Damaged."""
        undone: dict[int, deque[AbortedTransaction]] = {}
        for one in (one for segment in self.due.log.segments for one in segment.aborted):
            undone.setdefault(one.producer_id, deque()).append(one)
        for segment, stored in self.partition.batches(Detail.SIZES):
            batch = stored.batch
            self.batches += 1
            self.empty_batches += not batch.records
            self.codecs[stored.codec] += 1
            if batch.control is not None:
                self.markers[self._age(batch.timestamp_ms)] += 1
            else:
                self._count(batch, undone.get(batch.producer_id, deque()))
            yield segment, stored

    def _count(self, batch: Batch, undone: deque[AbortedTransaction]) -> None:
        """Counts the records of a batch, whose producer has aborted these transactions."""
        self.records += len(batch.records)
        while undone and undone[0].last_offset < batch.base_offset:
            undone.popleft()
        if batch.transactional and undone and undone[0].first_offset <= batch.base_offset:
            self.aborted += len(batch.records)
            return
        decision = self.due.decision
        dirty = range(decision.dirty.offset, decision.found.bound.effective)
        for record in batch.records:
            key = record.key
            size = size_of((record,), base_offset=record.offset) - BATCH_HEADER_BYTES
            self.record_bytes += size
            if record.value is None:
                self.tombstones[self._age(record.timestamp_ms)] += 1
            if key is None:
                self.unkeyed += 1
                continue
            self.key_records[key] += 1
            self.key_bytes[key] += size
            self.newest_bytes[key] = size
            (self.deleted.add if record.value is None else self.deleted.discard)(key)
            if batch.base_offset in dirty:
                self.dirty_keys.add(key)

    def _age(self, time_ms: int) -> str:
        age_ms = self.question.now_ms - time_ms
        return next((f"below {name}" for name, most in AGES_MS if age_ms < most), "older")

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers by name; a number for each of several classes is a mapping."""
        log, map_keys = self.due.log, max(1, self.question.settings.map_keys)
        known = self.partition.producers
        return {
            "log_start_offset": log.log_start_offset,
            "log_end_offset": log.log_end_offset,
            "high_watermark": log.high_watermark,
            "first_dirty_offset": self.due.decision.dirty.offset,
            "size_bytes": self.partition.size_bytes,
            "segments": len(self.partition.segments),
            "batches": self.batches,
            "codecs": dict(self.codecs),
            "empty_batches": self.empty_batches,
            "records": self.records,
            "aborted_records": self.aborted,
            "unkeyed_records": self.unkeyed,
            "tombstones": dict(sorted(self.tombstones.items())),
            "markers": dict(sorted(self.markers.items())),
            "keys": len(self.key_records),
            "live_keys": len(self.key_records) - len(self.deleted),
            "record_bytes": self.record_bytes,
            "superseded_bytes": self.key_bytes.total() - sum(self.newest_bytes.values()),
            "dirty_keys": len(self.dirty_keys),
            "map_keys": map_keys,
            "rounds": -(-len(self.dirty_keys) // map_keys),
            "known_producers": len(known),
            "open_transactions": sum(one.open_from is not None for one in known),
        }

    @property
    def costly_keys(self) -> list[dict[str, Any]]:
        """The keys that take the most bytes, the largest first."""
        return [
            {"key": readable(key), "records": self.key_records[key], "bytes": self.key_bytes[key]}
            for key in nlargest(COSTLY_KEYS, self.key_bytes, key=self.key_bytes.__getitem__)
        ]

    @property
    def as_json(self) -> dict[str, Any]:
        """The answer as data."""
        return {
            "partition": self.partition.name,
            "now_ms": self.question.now_ms,
            "settings": self.question.settings.sentence(self.question.preset),
            **self.numbers,
            "costly_keys": self.costly_keys,
            "due": self.due.as_json,
            "next_pass": self.passes,
            "notes": list(self.partition.notes),
        }


def look_into(partition: Partition, question: Question) -> Contents:
    """Finds what a partition holds. Raises Damaged, BadInput."""
    found = due(log_file_of(partition, question, partition.batches(Detail.HEADERS)))
    contents = Contents(partition, question, found)
    if records_in(partition) > TRIED_RECORDS:
        deque(contents.read(), maxlen=0)
        text = f"what a pass removes is not tried with more than {TRIED_RECORDS:,} records"
        contents.partition = replace(partition, notes=(*partition.notes, text))
    else:
        file = log_file_of(partition, question, contents.read())
        contents.passes = list(_next_passes(file, found))
    return contents


def _next_passes(file: LogFile, found: Due) -> Iterator[dict[str, Any]]:
    """Tries a pass now under each strategy and fix, whether or not one is due.

    A row has both, how many records go for each reason, and the bytes of all segments after it.
    """
    bounds = {
        "first_dirty_offset": found.decision.dirty.offset,
        "upper_bound": found.decision.found.bound.effective,
    }
    at_once = file.steps[-1].model_copy(update=bounds)  # type: ignore[union-attr]  # it is a pass
    for strategy, fix in product(STRATEGIES, COMPARED_FIXES):
        values = {"strategy": strategy, "fix": fix}
        rules = file.rules.with_values(values, CommandLine("--rule", values).top)
        (after,) = run_steps(replace(file, rules=rules, steps=(at_once,)))
        assert after.cleaned is not None
        removed = after.cleaned.cleaning.removed
        counts = {reason: len(records) for reason, records in removed.items()}
        yield {**values, **counts, "bytes_after": after.log.size_bytes}
