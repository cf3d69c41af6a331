"""Log files made of small actions, valid by construction: offsets, sequences, transactions.

An action says *what* happens ("producer 4 aborts"), never at which offset, so any list of actions
makes a log file: actions can be left out or reordered while a counterexample is made smaller. The
builder keeps the books a broker would keep and writes what a replica's disk could then hold, holes
left by earlier cleaning included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from sim.simulate.logfile.content import written

Document: TypeAlias = dict[str, Any]
"""A log file or a part of one, as JSON: objects are dictionaries."""

NO_SEQUENCE = -1
SEQUENCES = 2**31
"""Sequences wrap: after 2^31 - 1 comes 0 (Kafka's DefaultRecordBatch.incrementSequence)."""

FIRST_TRANSACTIONAL = 3
"""Producers 1 and 2 are idempotent, producers from here on transactional; 0 stands for none."""

Compression: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]

Key: TypeAlias = str | dict[str, str] | None
"""A key as a log file spells it."""

Header: TypeAlias = tuple[str, int | str]
"""Name and value of a header: an integer, or raw bytes in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record to write.

    Attributes:
        key: None = no key; bytes that are no UTF-8 stand as lone surrogates.
        value: None = a tombstone; an empty string is a value.
        missing_before: Offsets inside the batch, just before this record, whose records are gone.
        timestamp_ms: -1 = none.
        headers: Name and value each.
    """

    key: str | None
    value: str | None
    missing_before: int = 0
    timestamp_ms: int = 0
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class Data:
    """One batch of records.

    Attributes:
        entries: Its records; none = a batch that was emptied by earlier cleaning.
        producer: 0 = none, 1 and 2 idempotent, from 3 on transactional.
        missing_before: Offsets before it whose batches are gone.
        missing_after: Offsets at its end whose records are gone.
        next_epoch: The first batch of a new leader.
        bump: The producer starts over with a higher epoch (not inside a transaction).
        from_zero: Its sequence is 0 whatever came before, as in a coordinator's offset commits
            (KAFKA-8335).
        horizon_ms: Delete horizon set by an earlier pass, if it has records.
        timestamp_ms: What an emptied batch remembers as its largest timestamp; when a batch with
            log append times was appended.
        append_time: The broker's clock counts, not the producer's (`LogAppendTime`).
        compression: Of its records, if it has any.
        magic: Its format. One before 2 has no producer, and no place for what is missing.
    """

    entries: tuple[Entry, ...]
    producer: int = 0
    missing_before: int = 0
    missing_after: int = 0
    next_epoch: bool = False
    bump: bool = False
    from_zero: bool = False
    horizon_ms: int | None = None
    timestamp_ms: int = 0
    append_time: bool = False
    compression: Compression = "none"
    magic: Literal[0, 1, 2] = 2


@dataclass(frozen=True, slots=True)
class Marker:
    """The end of a transaction, or of one that wrote nothing here (its records may be gone, too).

    Attributes:
        producer: Counted on from the first transactional one.
        commit: COMMIT or ABORT.
        bump: The marker carries the next producer epoch (KIP-890, transaction version 2).
        emptied: Only the batch header is left, as earlier cleaning leaves it. Such a batch ends no
            transaction (Kafka's ProducerAppendInfo.append): a follower that still has the
            transaction's batches keeps it open.
        missing_before: Offsets before it whose batches are gone.
        horizon_ms: Delete horizon set by an earlier pass, here or on the leader.
        timestamp_ms: When it was written.
    """

    producer: int
    commit: bool
    bump: bool = False
    emptied: bool = False
    missing_before: int = 0
    horizon_ms: int | None = None
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """What a new leader writes first (KIP-595): a control batch that is nobody's transaction.

    Attributes:
        emptied: Only the batch header is left.
        missing_before: Offsets before it whose batches are gone.
        timestamp_ms: When it was written.
    """

    emptied: bool = False
    missing_before: int = 0
    timestamp_ms: int = 0


Write: TypeAlias = Data | Marker | LeaderChange


@dataclass(slots=True)
class _Producer:
    """What a broker knows of one producer."""

    epoch: int = 0
    next_sequence: int = 0
    open_since: int | None = None


class LogBuilder:
    """Writes batches one after the other and keeps a broker's books.

    Attributes:
        end: Log end offset, exclusive.
        compresses: A batch is compressed.
        aborted: Offsets of ABORT markers.
        bases: Base offsets of the segments, the active one last.
        offsets: Every offset worth cleaning from: base offsets and record offsets, in order.
        horizons: Delete horizons written so far, in ms.
        times: Largest timestamp of each batch that has one, in ms.
        sequences: (producer, producer epoch, base sequence, last sequence, keys) per data batch.
        log_start: Where the log starts.
        high_watermark: What is below is committed; None = all of it.
    """

    def __init__(
        self,
        start: int,
        first_sequences: Sequence[int],
        *,
        with_horizons: bool = True,
        with_compression: bool = True,
        with_old_formats: bool = False,
        keys: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Start an empty log.

        Args:
            start: Its first offset.
            first_sequences: Where producers begin to count, in turn.
            with_horizons: Batches may have a delete horizon (KIP-534); else it is left out.
            with_compression: Batches may be compressed; else none is.
            with_old_formats: Batches may be of magic 0 and 1; else all are of magic 2.
            keys: What some keys are really called.
        """
        self.end = start
        self.compresses = False
        self.aborted: list[int] = []
        self.bases = [start]
        self.offsets: list[int] = []
        self.horizons: list[int] = []
        self.times: list[int] = []
        self.sequences: list[tuple[int, int, int, int, list[Key]]] = []
        self.log_start = start
        self.high_watermark: int | None = None
        self._written: list[Document] = []
        self._segments: list[Document] = [{"base_offset": start, "batches": []}]
        self._producers: dict[int, _Producer] = {}
        self._first_sequences = first_sequences
        self._with_horizons = with_horizons
        self._with_compression = with_compression
        self._with_old_formats = with_old_formats
        self._keys = keys
        self._epoch = 0

    @property
    def last_stable_offset(self) -> int:
        """The first offset of the oldest open transaction, else the log end offset."""
        since = [p.open_since for p in self._producers.values() if p.open_since is not None]
        return min(since, default=self.end)

    @property
    def undecided(self) -> list[int]:
        """Producers with an open transaction, in order of their numbers."""
        known = sorted(self._producers.items())
        return [number for number, producer in known if producer.open_since is not None]

    def write(self, action: Write) -> Document:
        """Append a batch to the active segment; the batch as the log file has it."""
        match action:
            case Data():
                old = self._with_old_formats and action.magic < 2 and action.entries
                batch = self._old_data(action) if old else self._data(action)
            case Marker():
                batch = self._marker(action)
            case LeaderChange():
                batch = self._leader_change(action)
        self._segments[-1]["batches"].append(batch)
        self._written.append(batch)
        self.offsets.append(batch["base_offset"])
        self.offsets.extend(r["offset"] for r in batch["records"] if r["offset"] > self.offsets[-1])
        if batch.get("delete_horizon_ms") is not None:
            self.horizons.append(batch["delete_horizon_ms"])
        if batch.get("timestamp_ms", -1) >= 0:
            self.times.append(batch["timestamp_ms"])
        self.end = batch["last_offset"] + 1
        return batch

    def modified(self, time_ms: int) -> None:
        """Say when the active segment was last modified."""
        self._segments[-1]["last_modified_ms"] = time_ms

    def roll(self, missing: int = 0) -> None:
        """Begin a new active segment, `missing` offsets above the log end offset.

        An empty active segment stays the active one where nothing is missing.
        """
        base = self.end + missing
        if base == self.bases[-1]:
            return
        self.end = base
        self.bases.append(base)
        self._segments.append({"base_offset": base, "batches": []})

    @property
    def committed(self) -> int:
        """The high watermark."""
        return self.end if self.high_watermark is None else min(self.high_watermark, self.end)

    def truncate(self, offset: int) -> None:
        """The log ends at `offset`; transactions whose marker went are open again."""
        if offset >= self.end:
            return
        self.end = offset
        self.log_start = min(self.log_start, offset)
        self.high_watermark = None if self.high_watermark is None else self.committed
        self.bases[:] = [base for base in self.bases if base <= offset] or [offset]
        self.offsets[:] = [known for known in self.offsets if known < offset]
        self._written[:] = [batch for batch in self._written if batch["last_offset"] < offset]
        for number, producer in self._producers.items():
            producer.open_since = None
            for batch in self._written:
                if batch["producer_id"] != number or not batch["transactional"]:
                    continue
                if batch["control"] is not None and batch["records"]:
                    producer.open_since = None
                elif batch["control"] is None and producer.open_since is None:
                    producer.open_since = batch["base_offset"]

    def truncate_fully(self, offset: int) -> None:
        """Nothing is left; the log starts and ends at `offset`."""
        self.truncate(0)
        self.end = self.log_start = offset
        self.bases[:] = [offset]
        self.high_watermark = None if self.high_watermark is None else offset

    def start_at(self, offset: int) -> None:
        """The log starts at `offset`, if it did not start later."""
        self.log_start = max(self.log_start, offset)

    def delete_below_start(self) -> None:
        """Segments that end at the log start or below go."""
        while len(self.bases) > 1 and self.bases[1] <= min(self.log_start, self.committed):
            del self.bases[0]

    def segments(self) -> list[Any]:
        """The segments written so far; as plain lists where their base goes without saying."""
        written: list[Any] = []
        implied = 0
        for segment in self._segments:
            base, batches = segment["base_offset"], list(segment["batches"])
            plain = base == (batches[0]["base_offset"] if batches else implied)
            if plain and "last_modified_ms" not in segment:
                written.append(batches)
            else:
                written.append({**segment, "batches": batches})
            implied = batches[-1]["last_offset"] + 1 if batches else -1
        return written

    def _producer(self, number: int) -> _Producer:
        if number not in self._producers:
            first = self._first_sequences[number % len(self._first_sequences)]
            self._producers[number] = _Producer(next_sequence=first)
        return self._producers[number]

    def _data(self, action: Data) -> Document:
        self._epoch += action.next_epoch
        base = self.end + action.missing_before
        records: list[Document] = []
        end = base
        for entry in action.entries:
            offset = end + entry.missing_before
            records.append(_record(entry, offset, self._key(entry)))
            end = offset + 1
        last = max(end, base + 1) - 1 + action.missing_after
        largest = max((e.timestamp_ms for e in action.entries), default=action.timestamp_ms)
        odd: Document = {}
        if action.append_time:
            largest = action.timestamp_ms
            odd["timestamp_type"] = "LogAppendTime"
        if records and self._with_compression and action.compression != "none":
            odd["compression"] = action.compression
            self.compresses = True
        return {
            "base_offset": base,
            "last_offset": last,
            "epoch": self._epoch,
            **self._sequenced(action, base, last),
            "control": None,
            "timestamp_ms": largest,
            "delete_horizon_ms": self._horizon(action) if records else None,
            "records": records,
            **odd,
        }

    def _old_data(self, action: Data) -> Document:
        """A batch of magic 0 or 1: what holds several records is compressed."""
        records: list[Document] = []
        end = self.end + action.missing_before
        for entry in action.entries:
            offset = end + entry.missing_before
            record = {"offset": offset, "key": self._key(entry), "value": written(entry.value)}
            if action.magic == 1:
                record["timestamp_ms"] = entry.timestamp_ms
            records.append(record)
            end = offset + 1
        self.compresses |= len(records) > 1
        return {
            "base_offset": records[0]["offset"],
            "last_offset": records[-1]["offset"],
            "magic": action.magic,
            "records": records,
        }

    def _key(self, entry: Entry) -> Key:
        key = entry.key
        return written(key if key is None else self._keys.get(key, key))

    def _horizon(self, action: Data | Marker) -> int | None:
        return action.horizon_ms if self._with_horizons else None

    def _sequenced(self, action: Data, base: int, last: int) -> Document:
        """The fields of a batch that tell of its producer."""
        if action.producer == 0:
            return _of_producer(-1, -1, NO_SEQUENCE, transactional=False)
        producer = self._producer(action.producer)
        transactional = action.producer >= FIRST_TRANSACTIONAL
        if action.bump and producer.open_since is None:
            producer.epoch += 1
            producer.next_sequence = 0
        if transactional and producer.open_since is None:
            producer.open_since = base
        first = (producer.next_sequence + action.missing_before) % SEQUENCES
        if action.from_zero:
            first = 0
        count = last - base + 1
        producer.next_sequence = (first + count) % SEQUENCES
        keys = [self._key(entry) for entry in action.entries]
        last_sequence = (first + count - 1) % SEQUENCES
        self.sequences.append((action.producer, producer.epoch, first, last_sequence, keys))
        return _of_producer(action.producer, producer.epoch, first, transactional=transactional)

    def _marker(self, action: Marker) -> Document:
        number = max(action.producer, FIRST_TRANSACTIONAL)
        producer = self._producer(number)
        if action.bump:
            producer.epoch += 1
            producer.next_sequence = 0
        if not action.emptied:
            producer.open_since = None
        of_producer = _of_producer(number, producer.epoch, NO_SEQUENCE, transactional=True)
        kind = "COMMIT" if action.commit else "ABORT"
        horizon = None if action.emptied else self._horizon(action)
        return {**self._control(action, kind), **of_producer, "delete_horizon_ms": horizon}

    def _leader_change(self, action: LeaderChange) -> Document:
        self._epoch += 1
        nobody = _of_producer(-1, -1, NO_SEQUENCE, transactional=False)
        return {**self._control(action, "LEADER_CHANGE"), **nobody, "delete_horizon_ms": None}

    def _control(self, action: Marker | LeaderChange, kind: str) -> Document:
        """A control batch without what it says of its producer."""
        offset = self.end + action.missing_before
        if kind == "ABORT":
            self.aborted.append(offset)
        record: Document = {
            "offset": offset,
            "key": None,
            "value": None,
            "marker": kind,
            "timestamp_ms": action.timestamp_ms,
            "headers": [],
        }
        return {
            "base_offset": offset,
            "last_offset": offset,
            "epoch": self._epoch,
            "control": kind,
            "timestamp_ms": action.timestamp_ms,
            "records": [] if action.emptied else [record],
        }


def _record(entry: Entry, offset: int, key: Key) -> Document:
    headers = [
        [name, value if isinstance(value, int) else {"hex": value}] for name, value in entry.headers
    ]
    return {
        "offset": offset,
        "key": key,
        "value": written(entry.value),
        "timestamp_ms": entry.timestamp_ms,
        "headers": headers,
    }


def _of_producer(number: int, epoch: int, sequence: int, *, transactional: bool) -> Document:
    return {
        "producer_id": number,
        "producer_epoch": epoch,
        "base_sequence": sequence,
        "transactional": transactional,
    }
