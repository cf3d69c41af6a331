"""Contents of a partition: keys, tombstones, markers, what is superseded, what a pass removes."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import product
from typing import Any, Final

from sim.files.document import CommandLine
from sim.protocol.compaction import STRATEGIES
from sim.protocol.compaction.transactions import TransactionWatch
from sim.protocol.log import Batch
from sim.protocol.log.record import BATCH_HEADER_BYTES, size_of
from sim.simulate.logfile.batches import readable
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.run import run_steps
from sim.simulate.partition.ahead import Due, due_of
from sim.simulate.partition.as_log import AskedPartition
from sim.simulate.partition.segments import Detail, PartitionSegment, Stored

AGES_MS: Final = (("1 h", 3_600_000), ("1 d", 86_400_000), ("7 d", 604_800_000))
"""Ages (exclusive) that tombstones and markers are counted by; what is older counts apart."""
COSTLY_KEYS: Final = 10
"""Keys that are named as those that take the most bytes."""
COMPARED_FIXES: Final = ("none", "leo_retention", "empty_batch")
"""The fixes of KIP-280 and KAFKA-17076, and none."""
TRIED_RECORDS: Final = 500_000
"""With more records no pass is tried: it would need more than a few hundred megabytes."""


@dataclass(slots=True)
class KeyUse:
    """Records of one key, or of none, tombstones among them, without aborted ones.

    Attributes:
        records: Their number.
        size_bytes: Their bytes.
        newest_bytes: Bytes of the newest one.
        deleted: Whether that is a tombstone.
        dirty: Whether a pass would map one of them.
    """

    records: int = 0
    size_bytes: int = 0
    newest_bytes: int = 0
    deleted: bool = False
    dirty: bool = False


@dataclass
class Contents:
    """Contents of a partition in numbers; bytes of records are before compression.

    Attributes:
        asked: The partition, with settings and time.
        due: The decision of the cleaner's manager now.
        counts: Numbers of batches and records by name. Aborted records count as such and as
            records alone.
        classes: Batches by their codec; tombstones and control batches by their age.
        keys: Records of each key.
        unkeyed: Records without a key, which the pass that reaches them removes.
        passes: What a pass now would remove, under each strategy and fix; empty where there are too
            many records to try.
        notes: Lines about what is no damage, and should be known.
    """

    asked: AskedPartition
    due: Due
    counts: Counter[str] = field(default_factory=Counter)
    classes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    keys: dict[str, KeyUse] = field(default_factory=lambda: defaultdict(KeyUse))
    unkeyed: KeyUse = field(default_factory=KeyUse)
    passes: list[dict[str, Any]] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def read(self) -> Iterator[tuple[PartitionSegment, Stored]]:
        """Every batch of the partition, counted as it is given. Raises Damaged."""
        watch = TransactionWatch(one for part in self.due.log.segments for one in part.aborted)
        for segment, stored in self.asked.partition.batches(Detail.SIZES):
            batch, is_aborted = stored.batch, watch.decides(stored.batch)
            self.counts["batches"] += 1
            self.counts["empty_batches"] += not batch.records
            self.classes["codecs"][stored.codec] += 1
            if batch.control is not None:
                self._count_age("markers", batch.timestamp_ms)
            else:
                self.counts["records"] += len(batch.records)
                self.counts["aborted_records"] += len(batch.records) * is_aborted
                if not is_aborted:
                    self._count(batch)
            yield segment, stored

    def _count(self, batch: Batch) -> None:
        """Counts the records of a batch that no transaction undid."""
        decision = self.due.decision
        dirty = range(decision.dirty.offset, decision.found.bound.effective)
        for record in batch.records:
            if record.value is None:
                self._count_age("tombstones", record.timestamp_ms)
            use = self.unkeyed if record.key is None else self.keys[record.key]
            size = size_of((record,), base_offset=record.offset) - BATCH_HEADER_BYTES
            use.records += 1
            use.size_bytes += size
            use.newest_bytes, use.deleted = size, record.value is None
            use.dirty |= record.offset in dirty

    def _count_age(self, what: str, time_ms: int) -> None:
        age_ms = self.asked.now_ms - time_ms
        name = next((f"below {name}" for name, most in AGES_MS if age_ms < most), "older")
        self.classes[what][name] += 1

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers by name; where there are classes, a mapping with the number of each."""
        log, map_keys, uses = self.due.log, max(1, self.asked.given.map_keys), self.keys.values()
        partition, dirty_keys = self.asked.partition, sum(one.dirty for one in uses)
        return {
            "log_start_offset": log.log_start_offset,
            "log_end_offset": log.log_end_offset,
            "high_watermark": log.high_watermark,
            "first_dirty_offset": self.due.decision.dirty.offset,
            "size_bytes": partition.size_bytes,
            "segments": len(partition.segments),
            "batches": self.counts["batches"],
            "codecs": dict(self.classes["codecs"]),
            "empty_batches": self.counts["empty_batches"],
            "records": self.counts["records"],
            "aborted_records": self.counts["aborted_records"],
            "unkeyed_records": self.unkeyed.records,
            "tombstones": dict(sorted(self.classes["tombstones"].items())),
            "markers": dict(sorted(self.classes["markers"].items())),
            "keys": len(uses),
            "live_keys": sum(not one.deleted for one in uses),
            "record_bytes": sum(one.size_bytes for one in (self.unkeyed, *uses)),
            "superseded_bytes": sum(one.size_bytes - one.newest_bytes for one in uses),
            "dirty_keys": dirty_keys,
            "map_keys": map_keys,
            "rounds": -(-dirty_keys // map_keys),
            "known_producers": len(partition.open_from),
            "open_transactions": sum(first is not None for first in partition.open_from),
        }

    @property
    def costly_keys(self) -> list[dict[str, Any]]:
        """The keys that take the most bytes, the largest first."""
        costly = nlargest(COSTLY_KEYS, self.keys.items(), key=lambda one: one[1].size_bytes)
        return [
            {"key": readable(key), "records": use.records, "bytes": use.size_bytes}
            for key, use in costly
        ]

    @property
    def as_json(self) -> dict[str, Any]:
        """The answer as data."""
        return {
            "partition": self.asked.partition.name,
            "now_ms": self.asked.now_ms,
            "settings": self.asked.settings,
            **self.numbers,
            "costly_keys": self.costly_keys,
            "due": self.due.as_json,
            "next_pass": self.passes,
            "notes": list(self.notes),
        }


def look_into(asked: AskedPartition) -> Contents:
    """Counts what a partition holds, and what a pass now would remove. Raises BadInput."""
    partition = asked.partition
    found = due_of(asked)
    contents = Contents(asked, found, notes=partition.notes)
    if asked.record_count() > TRIED_RECORDS:
        deque(contents.read(), maxlen=0)
        text = f"what a pass removes is not tried with more than {TRIED_RECORDS:,} records"
        contents.notes += (text,)
    else:
        at_once = found.forced(asked.now_ms, asked.given.map_keys)
        file = replace(asked.log_file(contents.read()), steps=(at_once,))
        contents.passes = list(_next_passes(file))
    return contents


def _next_passes(file: LogFile) -> Iterator[dict[str, Any]]:
    """Tries the pass under each strategy and fix.

    A row has both, how many records go for each reason, and the bytes of all segments after it.
    """
    for strategy, fix in product(STRATEGIES, COMPARED_FIXES):
        values = {"strategy": strategy, "fix": fix}
        rules = file.rules.with_values(values, CommandLine("--rule", values).top)
        (after,) = run_steps(replace(file, rules=rules))
        assert after.cleaned is not None
        removed = after.cleaned.cleaning.removed
        row = values | {reason: len(records) for reason, records in removed.items()}
        yield row | {"bytes_after": after.log.size_bytes}
