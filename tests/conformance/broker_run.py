"""A run on a real broker: write, let its cleaner pass, several times, and keep a log file of it.

The raw log before the first pass becomes a log file; each later batch becomes an append, each pass
of the broker's cleaner a `clean` step. What is on the disk before and after each pass is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.clients import (
    PATIENCE_S,
    Administrator,
    Producer,
    Read,
    java_failures,
    read_all,
)
from tests.conformance.compare import Json
from tests.conformance.log_books import FIRST_TRANSACTIONAL
from tests.conformance.nodes import Broker, await_that, running_broker
from tests.conformance.random_batches import RandomLog, numbered
from tests.conformance.random_logs import FORMAT
from tests.conformance.segments import RawLog, RawSegment, bases_in, read_raw, read_segments

TOPIC = "compared"
RETENTION_MS = 6_000
SEGMENT_MS = 3_600_000
ROLL_MS = 2 * SEGMENT_MS
"""Timestamps jump by so much to make the log roll (Kafka's LogSegment.timeWaitedForRoll)."""
_TRANSACTION_MS = 600_000  # on a slow machine, too, only the run ends a transaction
_HOLD_S = 1.0
_BETWEEN_MS = 200

_SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "segment.ms": str(SEGMENT_MS),
    "delete.retention.ms": str(RETENTION_MS),
    "min.cleanable.dirty.ratio": "0.0",
    "message.timestamp.after.max.ms": str(2**63 - 1),
}

Say = Callable[[str], None]
"""Takes what the run does now."""


@dataclass(frozen=True, slots=True)
class BrokerPass:
    """One pass of the broker's cleaner.

    Attributes:
        step: Its number among the steps of the log file.
        from_ms: It did not begin before this time.
        to_ms: It was over at this time.
        before: The log just before it.
        after: The log just after it.
        last_sequences: What the broker then knew of producers.
        reached: The checkpoint it ended at: the first offset it did not look up (exclusive).
    """

    step: int
    from_ms: int
    to_ms: int
    before: RawLog
    after: RawLog
    last_sequences: dict[int, int]
    reached: int


@dataclass(frozen=True, slots=True)
class BrokerRun:
    """What happened on the broker, as a log file, and what was seen of it.

    Attributes:
        document: The log file; the `now_ms` of a pass is when it was made possible.
        passes: The cleaner's passes.
        uncommitted: What a consumer reads that wants everything, and the end it is told.
        committed: What a consumer reads that wants committed records only, and the end.
        held_up: An open transaction held the cleaner up while it was watched.
    """

    document: Json
    passes: tuple[BrokerPass, ...]
    uncommitted: tuple[list[Read], int]
    committed: tuple[list[Read], int]
    held_up: bool


def run_on_broker(jars: Sequence[Path], seed: int, *, say: Say = lambda text: None) -> BrokerRun:
    """Write, clean and read on a broker of its own; takes about half a minute.

    Raises:
        BadInput: The broker does not start, or does not do in time what is waited for.
    """
    say("starting the broker")
    with (
        java_failures("the broker"),
        running_broker(jars) as broker,
        closing(Administrator(broker.address)) as administrator,
    ):
        with closing(_Driver(broker, administrator, seed)) as driver:
            driver.drive(say)
        return BrokerRun(
            document=driver.document,
            passes=tuple(driver.passes),
            uncommitted=read_all(broker.address, TOPIC, "read_uncommitted"),
            committed=read_all(broker.address, TOPIC, "read_committed"),
            held_up=driver.held_up,
        )


class _Driver:
    """Writes to one topic of a running broker and keeps the log file of what happens."""

    def __init__(self, broker: Broker, administrator: Administrator, seed: int) -> None:
        self.document: Json = {}
        self.passes: list[BrokerPass] = []
        self.held_up = False
        self._broker = broker
        self._administrator = administrator
        self._log = RandomLog(numbered(seed, 0))
        self._partition = broker.partition(TOPIC)
        self._producers: dict[int, Producer] = {}
        self._open: set[int] = set()
        self._new_markers = 0
        self._timestamp_ms = now_ms()
        self._noted_end = 0
        self._bound = 0
        administrator.create(TOPIC, _SETTINGS)

    def close(self) -> None:
        """Disconnect all producers."""
        for producer in self._producers.values():
            producer.close()

    def drive(self, say: Say) -> None:
        """The whole run."""
        say("writing three segments")
        for _ in range(3):
            self._write(12, unkeyed=True)
            self._roll()
        raw = read_raw(self._partition)
        self.document = begun_log_file(raw)
        self._noted(raw.end)
        say("first pass: the topic becomes compacted")
        self._clean(lambda: self._administrator.change(TOPIC, {"cleanup.policy": "compact"}))
        say("second pass: more of everything")
        self._write(16)
        self._clean(self._roll)
        say("third pass: an open transaction holds it up, then ends")
        self._write(12, stays_open=True)
        self._roll()
        self.held_up = self._nothing_is_cleaned()
        self._clean(lambda: self._write(0))
        for number in ("fourth", "fifth", "sixth"):
            say(f"{number} pass: after the delete horizons")
            await_horizons(self._partition)
            self._write(4)
            self._clean(self._roll)
        say("more that no pass sees, with an open transaction, for the readers")
        self._write(10)
        self._write(4, stays_open=True)
        self._note_appends()

    def _producer(self, number: int) -> Producer:
        if number not in self._producers:
            settings = {"enable.idempotence": str(number > 0).lower()}
            if number >= FIRST_TRANSACTIONAL:
                settings["transactional.id"] = f"transactional-{number}"
                settings["transaction.timeout.ms"] = str(_TRANSACTION_MS)
            self._producers[number] = Producer(self._broker.address, TOPIC, settings)
        return self._producers[number]

    def _write(self, count: int, *, unkeyed: bool = False, stays_open: bool = False) -> None:
        """Write batches, end all transactions, and wait until all markers are in the log.

        With `stays_open` the first transaction, that of the first batch, is not ended.
        """
        books = self._log.books
        if stays_open:
            self._send(self._log.client_batch(producer=FIRST_TRANSACTIONAL))
        kept = {FIRST_TRANSACTIONAL} if stays_open else set()
        for _ in range(count):
            self._send(self._log.client_batch(unkeyed=unkeyed, but=kept))
        for number in set(books.undecided) - kept:
            self._send(books.control(self._log.choices.pick("COMMIT", "ABORT"), number))
        await_that(
            self._markers_are_there,
            f"{self._new_markers} new markers in the log",
            patience_s=PATIENCE_S,
            last=lambda: [segment.batches[-1:] for segment in self._new_segments()],
        )

    def _send(self, batch: Json) -> None:
        """Have a client write a batch; a transaction begins with its first one."""
        self._timestamp_ms += 1
        number = batch.get("producer_id", 0)
        producer = self._producer(number)
        if "control" in batch:
            producer.end(commit=batch["control"] == "COMMIT")
            self._open.remove(number)
            self._new_markers += 1
            return
        if number >= FIRST_TRANSACTIONAL and number not in self._open:
            producer.begin()
            self._open.add(number)
        records = [(record["key"], record["value"]) for record in batch["records"]]
        producer.batch(records, self._timestamp_ms)

    def _new_segments(self) -> list[RawSegment]:
        """Segments with what is not noted yet; the cleaner is not at work on any of them."""
        since = max(base for base in bases_in(self._partition) if base <= self._noted_end)
        return read_segments(self._partition, since=since)

    def _markers_are_there(self) -> bool:
        markers = [
            batch
            for segment in self._new_segments()
            for batch in segment.batches
            if batch["control"] and batch["base_offset"] >= self._noted_end
        ]
        return len(markers) >= self._new_markers

    def _roll(self) -> None:
        """Begin a new segment with one record."""
        self._timestamp_ms += ROLL_MS
        self._producer(0).batch([("roll", str(self._timestamp_ms))], self._timestamp_ms)

    def _note_appends(self) -> None:
        """What was written since goes into the log file, with the segments it went to."""
        steps = self.document["steps"]
        for segment in self._new_segments():
            new = [b for b in segment.batches if b["base_offset"] >= self._noted_end]
            if new and segment.base_offset == self._noted_end:
                steps.append({"op": "roll"})
            if new:
                steps.append({"op": "append", "batches": new, "roll_after": False})
                self._noted(new[-1]["last_offset"] + 1)

    def _noted(self, end: int) -> None:
        self._noted_end = end
        self._new_markers = 0

    def _clean(self, begin: Callable[[], None]) -> None:
        """Let the cleaner pass: `begin` makes it possible; then wait for its checkpoint.

        No transaction is open then: the pass goes up to the active segment.
        """
        if self.document["steps"]:
            self._note_appends()
        before = read_raw(self._partition)
        from_ms = now_ms()
        begin()
        self._note_appends()
        bound = bases_in(self._partition)[-1]
        step = {"first_dirty_offset": self._bound, "upper_bound": bound}
        steps = self.document["steps"]
        watched = (self._broker, self._administrator, TOPIC)
        self.passes.append(awaited_pass(*watched, steps, step, before, from_ms, bound))
        self._bound = bound

    def _nothing_is_cleaned(self) -> bool:
        """Whether the checkpoint stands still although a closed segment is dirty."""
        self._note_appends()
        time.sleep(_HOLD_S)
        return self._broker.checkpoint(TOPIC) == self._bound


def awaited_pass(
    broker: Broker,
    administrator: Administrator,
    topic: str,
    steps: list[Json],
    step: Json,
    before: RawLog,
    from_ms: int,
    reached: int,
) -> BrokerPass:
    """Wait for a pass that was made possible, and note it as a step of the log file.

    Args:
        broker: The broker.
        administrator: Asks it what it knows of producers.
        topic: The topic that is cleaned.
        steps: Those of the log file, which get one more.
        step: Its bounds, and what else the pass is given.
        before: What was on the disk before the pass.
        from_ms: The time before it was made possible.
        reached: The checkpoint that it ends at.
    """
    await_that(
        lambda: broker.checkpoint(topic) == reached,
        f"the cleaner's checkpoint {reached} of {topic}",
        patience_s=PATIENCE_S,
        last=lambda: broker.checkpoint(topic),
    )
    to_ms = now_ms()
    steps.append({"op": "clean", "now_ms": from_ms, **step})
    known = administrator.last_sequences(topic)
    after = read_raw(broker.partition(topic))
    return BrokerPass(len(steps) - 1, from_ms, to_ms, before, after, known, reached)


def begun_log_file(raw: RawLog) -> Json:
    """A log file that begins with what is on a broker's disk, without a step."""
    return {
        "format": FORMAT,
        "rules": {"preset": "kafka-4.0", "delete_retention_ms": RETENTION_MS},
        "segments": [
            {"base_offset": segment.base_offset, "batches": list(segment.batches)}
            for segment in raw.segments
        ],
        "steps": [],
    }


def await_horizons(partition: Path) -> None:
    """Wait until all delete horizons in a partition's folder have passed."""
    horizons = [batch["delete_horizon_ms"] for batch in read_raw(partition).batches]
    latest = max((at for at in horizons if at is not None), default=0) + _BETWEEN_MS
    patience_s = max(0, latest - now_ms()) / 1000 + PATIENCE_S
    await_that(lambda: now_ms() >= latest, f"the time {latest} ms", patience_s=patience_s)


def now_ms() -> int:
    """The time of day."""
    return time.time_ns() // 1_000_000
