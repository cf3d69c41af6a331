"""Log files written batch by batch, valid by construction: offsets, sequences, transactions.

Callers give the event ("producer 4 aborts"), never an offset. The books are those that a broker
keeps; the log that they write is one that a replica's disk could hold, with holes left by earlier
cleaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.simulate.logfile.batches import written
from tests.conformance.compare import Json

SEQUENCES = 2**31
"""Sequences wrap: after 2^31 - 1 comes 0 (Kafka's DefaultRecordBatch.incrementSequence)."""
FIRST_TRANSACTIONAL = 3
"""Producers 1 and 2 are idempotent, producers from here on transactional; 0 stands for none."""

_DEFAULTS: Json = {
    "epoch": 0,
    "producer_id": -1,
    "producer_epoch": -1,
    "base_sequence": -1,
    "transactional": False,
    "control": None,
    "delete_horizon_ms": None,
    "compression": "none",
    "timestamp_type": "CreateTime",
    "headers": [],
}


@dataclass(slots=True)
class _Producer:
    """State of a producer in the broker's books."""

    epoch: int = 0
    next_sequence: int = 0
    open_since: int | None = None


class LogBooks:
    """Writes batches one after the other and keeps a broker's books.

    A record is given as `key`, `value` and `timestamp_ms`, perhaps `headers`, and `skip`: offsets
    just before it whose records are gone. Bytes that are no UTF-8 stand as lone surrogates.

    Args:
        start: The first offset.
        first_sequences: First sequences of producers, in turn.
        keys: Odd keys that replace some of the plain ones.

    Attributes:
        end: Log end offset, exclusive.
        compresses: True if a batch is compressed.
        aborted: Offsets of ABORT markers.
        bases: Base offsets of the segments, the active one last.
        offsets: Every offset worth cleaning from: base offsets and record offsets, in order.
        horizons: Delete horizons written so far, in ms.
        times: Largest timestamp of each batch that has one, in ms.
        sent: Batches of producers.
        log_start: Log start offset, inclusive.
        high_watermark: High watermark, exclusive; None while all of the log is committed.
    """

    def __init__(
        self,
        start: int = 0,
        first_sequences: Sequence[int] = (0,),
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self.end = self.log_start = start
        self.high_watermark: int | None = None
        self.compresses = False
        self.aborted: list[int] = []
        self.bases = [start]
        self.offsets: list[int] = []
        self.horizons: list[int] = []
        self.times: list[int] = []
        self.sent: list[Json] = []
        self.segments: list[Json] = [{"base_offset": start, "batches": []}]
        self._batches: list[Json] = []
        self._producers: dict[int, _Producer] = {}
        self._first_sequences = first_sequences
        self._keys = keys or {}
        self._epoch = 0

    @property
    def committed(self) -> int:
        """High watermark of the log, exclusive."""
        return self.end if self.high_watermark is None else min(self.high_watermark, self.end)

    @property
    def last_stable_offset(self) -> int:
        """First offset of the oldest open transaction, else the log end offset."""
        since = [p.open_since for p in self._producers.values() if p.open_since is not None]
        return min(since, default=self.end)

    @property
    def undecided(self) -> list[int]:
        """Producers with an open transaction, in order of their numbers."""
        known = sorted(self._producers.items())
        return [number for number, producer in known if producer.open_since is not None]

    def data(
        self,
        records: Sequence[Json],
        producer: int = 0,
        *,
        skip: int = 0,
        skip_after: int = 0,
        next_epoch: bool = False,
        bump: bool = False,
        from_zero: bool = False,
        horizon_ms: int | None = None,
        append_time: bool = False,
        timestamp_ms: int = 0,
        compression: str = "none",
        magic: int = 2,
    ) -> Json:
        """Appends a batch of records, and returns it as the log file has it.

        Args:
            records: Its records; empty for a batch that was emptied by earlier cleaning.
            producer: 0 for none, 1 and 2 are idempotent, from 3 on transactional.
            skip: Offsets before it whose batches are gone.
            skip_after: Offsets at its end whose records are gone.
            next_epoch: True for the first batch of a new leader.
            bump: True if the producer starts over with a higher epoch (not inside a transaction).
            from_zero: True for sequence 0 in any case, as in a coordinator's offset commits
                (KAFKA-8335).
            horizon_ms: Delete horizon set by an earlier pass, if it has records.
            append_time: True for timestamps by the broker's clock (`LogAppendTime`).
            timestamp_ms: Largest timestamp of an emptied batch; append time of a batch with log
                append times.
            compression: Codec of its records, if it has any.
            magic: Its format; a batch before magic 2 has no producer and no skipped offsets.
        """
        base = self.end + skip
        placed, end = self._placed(records, base)
        if magic < 2 and placed:
            return self._write_old(placed, magic)
        self._epoch += next_epoch
        self.compresses |= bool(placed) and compression != "none"
        last = max(end, base + 1) - 1 + skip_after
        times = [own["timestamp_ms"] for own in placed]
        batch = {
            "base_offset": base,
            "last_offset": last,
            "epoch": self._epoch,
            "timestamp_ms": timestamp_ms if append_time else max(times, default=timestamp_ms),
            "timestamp_type": "LogAppendTime" if append_time else "CreateTime",
            "delete_horizon_ms": horizon_ms if placed else None,
            "compression": compression if placed else "none",
            "records": placed,
        }
        if producer:
            known = self._producer(producer)
            if bump and known.open_since is None:
                known.epoch, known.next_sequence = known.epoch + 1, 0
            first = 0 if from_zero else (known.next_sequence + skip) % SEQUENCES
            batch |= self._sent(producer, first, batch)
        return self._write(batch)

    def _placed(self, records: Sequence[Json], base: int) -> tuple[list[Json], int]:
        """The records as the log file has them, and the offset after the last one."""
        placed, end = [], base
        for record in records:
            key = record["key"]
            own = {
                **record,
                "offset": end + record.get("skip", 0),
                "key": written(key if key is None else self._keys.get(key, key)),
                "value": written(record["value"]),
            }
            own.pop("skip", None)
            end = own["offset"] + 1
            placed.append(own)
        return placed, end

    def _write_old(self, placed: list[Json], magic: int) -> Json:
        """Appends a batch of magic 0 or 1; one with several records is compressed."""
        self.compresses |= len(placed) > 1
        for own in placed:
            own.pop("headers", None)
            if magic == 0:
                del own["timestamp_ms"]
        span = {"base_offset": placed[0]["offset"], "last_offset": placed[-1]["offset"]}
        return self._write({**span, "magic": magic, "records": placed})

    def _sent(self, producer: int, first: int, batch: Json) -> Json:
        """Fields of a batch about its producer, which the books know from now on."""
        known, transactional = self._producer(producer), producer >= FIRST_TRANSACTIONAL
        if transactional and known.open_since is None:
            known.open_since = batch["base_offset"]
        count = batch["last_offset"] - batch["base_offset"] + 1
        known.next_sequence = (first + count) % SEQUENCES
        return {
            "producer_id": producer,
            "producer_epoch": known.epoch,
            "base_sequence": first,
            "transactional": transactional,
        }

    def control(
        self,
        kind: str,
        producer: int | None = None,
        *,
        bump: bool = False,
        emptied: bool = False,
        skip: int = 0,
        horizon_ms: int | None = None,
        timestamp_ms: int = 0,
    ) -> Json:
        """Appends a control batch: COMMIT, ABORT, or LEADER_CHANGE without a producer (KIP-595).

        Args:
            kind: Type of its record.
            producer: Producer whose transaction ends, perhaps one without batches that are left.
            bump: True if the marker has the next producer epoch (KIP-890, transaction version 2).
            emptied: True if only the header is left, as after earlier cleaning. Such a batch ends
                no transaction (Kafka's ProducerAppendInfo.append): a follower that still has the
                transaction's batches keeps it open.
            skip: Offsets before it whose batches are gone.
            horizon_ms: Delete horizon set by an earlier pass, here or on the leader.
            timestamp_ms: Time at which it was written.
        """
        offset = self.end + skip
        record = {"offset": offset, "marker": kind, "timestamp_ms": timestamp_ms}
        batch: Json = {
            "base_offset": offset,
            "last_offset": offset,
            "control": kind,
            "timestamp_ms": timestamp_ms,
            "delete_horizon_ms": None if emptied else horizon_ms,
            "records": [] if emptied else [record],
        }
        if producer is None:
            self._epoch += 1
        else:
            known = self._producer(producer)
            if bump:
                known.epoch, known.next_sequence = known.epoch + 1, 0
            if not emptied:
                known.open_since = None
            batch |= {"producer_id": producer, "producer_epoch": known.epoch, "transactional": True}
        if kind == "ABORT":
            self.aborted.append(offset)
        return self._write({**batch, "epoch": self._epoch})

    def _producer(self, number: int) -> _Producer:
        if number not in self._producers:
            first = self._first_sequences[number % len(self._first_sequences)]
            self._producers[number] = _Producer(next_sequence=first)
        return self._producers[number]

    def _write(self, whole: Json) -> Json:
        batch = {name: value for name, value in whole.items() if value != _DEFAULTS.get(name, ...)}
        self.segments[-1]["batches"].append(batch)
        self._batches.append(batch)
        self.offsets.append(batch["base_offset"])
        self.offsets.extend(r["offset"] for r in batch["records"] if r["offset"] > self.offsets[-1])
        if "base_sequence" in batch:
            self.sent.append(batch)
        if "delete_horizon_ms" in batch:
            self.horizons.append(batch["delete_horizon_ms"])
        if batch.get("timestamp_ms", -1) >= 0:
            self.times.append(batch["timestamp_ms"])
        self.end = batch["last_offset"] + 1
        return batch

    def roll(self, base: int | None = None) -> None:
        """Begins a new active segment at the log end offset, or at `base` above it.

        An empty active segment stays the active one if it begins there.
        """
        base = self.end if base is None else base
        if base != self.bases[-1]:
            self.end = base
            self.bases.append(base)
            self.segments.append({"base_offset": base, "batches": []})

    def truncate(self, offset: int) -> None:
        """Truncates the log to `offset`; transactions whose marker goes are open again."""
        if offset >= self.end:
            return
        self.end = offset
        self.log_start = min(self.log_start, offset)
        self.high_watermark = None if self.high_watermark is None else self.committed
        self.bases[:] = [base for base in self.bases if base <= offset] or [offset]
        self.offsets[:] = [known for known in self.offsets if known < offset]
        self._batches[:] = [batch for batch in self._batches if batch["last_offset"] < offset]
        for producer in self._producers.values():
            producer.open_since = None
        for batch in self._batches:
            if not batch.get("transactional"):
                continue
            producer = self._producers[batch["producer_id"]]
            if "control" not in batch and producer.open_since is None:
                producer.open_since = batch["base_offset"]
            elif "control" in batch and batch["records"]:
                producer.open_since = None

    def truncate_fully(self, offset: int) -> None:
        """Empties the log, which then starts and ends at `offset`."""
        self.truncate(0)
        self.end = self.log_start = offset
        self.bases[:] = [offset]
        self.high_watermark = None if self.high_watermark is None else offset

    def delete_below_start(self) -> None:
        """Deletes segments that end at the log start or below."""
        while len(self.bases) > 1 and self.bases[1] <= min(self.log_start, self.committed):
            del self.bases[0]

    def written_segments(self) -> list[Any]:
        """The segments so far, as plain lists where the base follows from the batches."""
        found: list[Any] = []
        implied = 0
        for segment in self.segments:
            batches = list(segment["batches"])
            plain = segment["base_offset"] == (batches[0]["base_offset"] if batches else implied)
            whole = not plain or "last_modified_ms" in segment
            found.append({**segment, "batches": batches} if whole else batches)
            implied = batches[-1]["last_offset"] + 1 if batches else -1
        return found
