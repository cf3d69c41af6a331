"""A run on a real broker: writes and passes of its cleaner in turn, kept as a log file.

The raw log before the first pass becomes a log file; each later batch becomes an append, each pass
of the broker's cleaner a `clean` step. The state of the disk before and after each pass is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from tests.conformance.clients import (
    ISOLATIONS,
    Administrator,
    Producer,
    Read,
    administered_broker,
    read_all,
)
from tests.conformance.compare import Json
from tests.conformance.log_books import FIRST_TRANSACTIONAL
from tests.conformance.nodes import Broker, await_that
from tests.conformance.random_batches import Choices, RandomLog, numbered
from tests.conformance.random_logs import FORMAT
from tests.conformance.running import say
from tests.conformance.segments import StoredLog, StoredSegment, bases_in, read_log

TOPIC = "compared"
RETENTION_MS = 6_000
SEGMENT_MS = 3_600_000
ROLL_MS = 2 * SEGMENT_MS
"""Jump of timestamps that makes the log roll (Kafka's LogSegment.timeWaitedForRoll)."""
_TRANSACTION_MS = 600_000  # on a slow machine, too, only the run ends a transaction
_HOLD_S = 1.0
_BETWEEN_MS = 200

SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "segment.ms": str(SEGMENT_MS),
    "delete.retention.ms": str(RETENTION_MS),
    "min.cleanable.dirty.ratio": "0.0",
    "message.timestamp.after.max.ms": str(2**63 - 1),
}


Reads: TypeAlias = dict[str, tuple[list[Read], int]]
"""Records that a consumer got, and the end offset it was given, by its isolation level."""


@dataclass(frozen=True, slots=True)
class BrokerPass:
    """A pass of the broker's cleaner.

    Attributes:
        step: Index among the steps of the log file.
        from_ms: Time before which it did not begin.
        to_ms: Time at which it was over.
        before: The log just before it.
        after: The log just after it.
        last_sequences: Last sequence of each producer that the broker then knew.
        reached: Checkpoint at which it ended: the end of its offset map (exclusive).
    """

    step: int
    from_ms: int
    to_ms: int
    before: StoredLog
    after: StoredLog
    last_sequences: dict[int, int]
    reached: int


class WatchedTopic:
    """A topic of a running broker, with the writes and passes so far as a log file.

    Attributes:
        topic: Its name.
        document: The log file, once it is begun.
        passes: The cleaner's passes.
        held_up: False if a pass ran in spite of an open transaction.
        reads: What consumers got in the end.
        at_ms: Timestamp of the last record that was sent.
    """

    def __init__(
        self, broker: Broker, administrator: Administrator, topic: str, settings: Mapping[str, str]
    ) -> None:
        self.topic = topic
        self.document: Json = {}
        self.passes: list[BrokerPass] = []
        self.held_up = True
        self.reads: Reads = {}
        self.at_ms = now_ms()
        self._broker = broker
        self._administrator = administrator
        self._partition = broker.partition(topic)
        self._noted_end = 0
        self._new_markers = 0
        administrator.create(topic, settings)

    def read(self) -> None:
        """Notes the records that consumers get now."""
        for isolation in ISOLATIONS:
            self.reads[isolation] = read_all(self._broker.address, self.topic, isolation)

    def send(self, producer: Producer, *records: tuple[str | None, str | None]) -> None:
        """Sends a batch by a client, a millisecond later than the one before."""
        self.at_ms += 1
        producer.batch(records, self.at_ms)

    def end(self, producer: Producer, *, commit: bool) -> None:
        """Ends the transaction of a client; its marker is written a little later."""
        producer.end(commit=commit)
        self._new_markers += 1

    def await_markers(self) -> None:
        """Waits until all markers are in the log."""

        def markers() -> int:
            batches = [batch for segment in self._new_segments() for batch in segment.batches]
            new = [batch for batch in batches if batch["base_offset"] >= self._noted_end]
            return sum(batch["control"] is not None for batch in new)

        await_that(f"the new markers in the log of {self.topic}", markers, self._new_markers)

    def begin_log_file(self, **rules: int) -> None:
        """Begins the log file with the batches that are on disk."""
        raw = read_log(self._partition)
        self.document = {
            "format": FORMAT,
            "rules": {"preset": "kafka-4.0", "delete_retention_ms": RETENTION_MS, **rules},
            "segments": [
                {"base_offset": segment.base_offset, "batches": segment.batches}
                for segment in raw.segments
            ],
            "steps": [],
        }
        self._noted(raw.end)

    def note_appends(self) -> None:
        """Adds what was written since to the log file, as appends and rolls."""
        steps = self.document["steps"]
        for segment in self._new_segments():
            new = [b for b in segment.batches if b["base_offset"] >= self._noted_end]
            if new and segment.base_offset == self._noted_end:
                steps.append({"op": "roll"})
            if new:
                steps.append({"op": "append", "batches": new, "roll_after": False})
                self._noted(new[-1]["last_offset"] + 1)

    def clean(
        self, begin: Callable[[], None], dirty: int, *, reached: int | None = None, **more: int
    ) -> int:
        """Runs a pass of the broker's cleaner; returns the checkpoint at which it ended.

        Args:
            begin: Makes the pass possible. No transaction is open then, so that it goes up to the
                active segment.
            dirty: Start of its dirty section.
            reached: Checkpoint at which it ends; None for the base of the active segment.
            more: Further fields of the step.
        """
        self.note_appends()
        before, from_ms = read_log(self._partition), now_ms()
        begin()
        self.note_appends()
        bound = bases_in(self._partition)[-1]
        end = bound if reached is None else reached
        self._broker.await_cleaned(self.topic, end)
        to_ms = now_ms()
        steps = self.document["steps"]
        bounds = {"first_dirty_offset": dirty, "upper_bound": bound}
        steps.append({"op": "clean", "now_ms": from_ms, **bounds, **more})
        known = self._administrator.last_sequences(self.topic)
        after = read_log(self._partition)
        self.passes.append(BrokerPass(len(steps) - 1, from_ms, to_ms, before, after, known, end))
        return end

    def await_horizons(self) -> None:
        """Waits until all delete horizons on disk have passed."""
        sleep_past_horizons(read_log(self._partition))

    def _new_segments(self) -> Sequence[StoredSegment]:
        """Segments with batches that are not noted yet; the cleaner works on none of them."""
        since = max(base for base in bases_in(self._partition) if base <= self._noted_end)
        return read_log(self._partition, since=since).segments

    def _noted(self, end: int) -> None:
        self._noted_end = end
        self._new_markers = 0


class RandomClients:
    """Producers of all kinds that write the batches of a random log. To be closed.

    Args:
        address: Address of the broker.
        topic: Topic that they write to.
        choices: The choices that decide.
        settings: Settings of every producer.

    Attributes:
        at_ms: Timestamp of the last record that was sent; each batch is a millisecond later.
    """

    def __init__(
        self,
        address: str,
        topic: str,
        choices: Choices,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.at_ms = now_ms()
        self._address = address
        self._topic = topic
        self._settings = settings
        self._log = RandomLog(choices)
        self._producers: dict[int, Producer] = {}
        self._open: set[int] = set()

    def close(self) -> None:
        """Closes all producers; an open transaction stays open."""
        for producer in self._producers.values():
            producer.close()

    def write(self, count: int, *, unkeyed: bool = False, stays_open: bool = False) -> int:
        """Writes batches, and ends all transactions; returns how many ended.

        With `stays_open` the first transaction, that of the first batch, is not ended.
        """
        books, ended = self._log.books, 0
        if stays_open:
            ended += self._write(self._log.client_batch(producer=FIRST_TRANSACTIONAL))
        kept = {FIRST_TRANSACTIONAL} if stays_open else set()
        for _ in range(count):
            ended += self._write(self._log.client_batch(unkeyed=unkeyed, but=kept))
        for number in set(books.undecided) - kept:
            kind = self._log.choices.pick("COMMIT", "ABORT")
            ended += self._write(books.control(kind, number))
        return ended

    def roll(self) -> None:
        """Begins a new segment with one record."""
        self.at_ms += ROLL_MS
        self._producer(0).batch([("roll", str(self.at_ms))], self.at_ms)

    def _producer(self, number: int) -> Producer:
        if number not in self._producers:
            settings = {**self._settings, "enable.idempotence": str(number > 0).lower()}
            if number >= FIRST_TRANSACTIONAL:
                settings["transactional.id"] = f"{self._topic}-{number}"
                settings["transaction.timeout.ms"] = str(_TRANSACTION_MS)
            self._producers[number] = Producer(self._address, self._topic, settings)
        return self._producers[number]

    def _write(self, batch: Json) -> bool:
        """Writes a batch; a transaction begins with its first one. True if it ended one."""
        number = batch.get("producer_id", 0)
        producer = self._producer(number)
        if "control" in batch:
            producer.end(commit=batch["control"] == "COMMIT")
            self._open.remove(number)
            return True
        if number >= FIRST_TRANSACTIONAL and number not in self._open:
            producer.begin()
            self._open.add(number)
        self.at_ms += 1
        records = [(record["key"], record["value"]) for record in batch["records"]]
        headers = batch["records"][0].get("headers", ())
        named = {name: bytes.fromhex(content["hex"]) for name, content in headers}
        producer.batch(records, self.at_ms, named)
        return False


class _RandomTopic(WatchedTopic):
    """A topic to which producers of all kinds write random batches."""

    def __init__(self, broker: Broker, administrator: Administrator, seed: int) -> None:
        super().__init__(broker, administrator, TOPIC, SETTINGS)
        self._clients = RandomClients(broker.address, TOPIC, numbered(seed, 0))
        self._bound = 0

    def close(self) -> None:
        """Closes all producers of the topic."""
        self._clients.close()

    def drive(self) -> None:
        """Drives the whole run, pass by pass."""
        say("writing three segments")
        for _ in range(3):
            self._write(12, unkeyed=True)
            self._clients.roll()
        self.begin_log_file()
        say("first pass: the topic becomes compacted")
        self._pass(lambda: self._administrator.change(TOPIC, {"cleanup.policy": "compact"}))
        say("second pass: more of everything")
        self._write(16)
        self._pass(self._clients.roll)
        say("third pass: an open transaction holds it up, then ends")
        self._write(12, stays_open=True)
        self._clients.roll()
        self.note_appends()
        time.sleep(_HOLD_S)
        self.held_up = self._broker.checkpoint(TOPIC) == self._bound
        self._pass(lambda: self._write(0))
        for number in ("fourth", "fifth", "sixth"):
            say(f"{number} pass: after the delete horizons")
            self.await_horizons()
            self._write(4)
            self._pass(self._clients.roll)
        say("more that no pass sees, with an open transaction, for the readers")
        self._write(10)
        self._write(4, stays_open=True)
        self.note_appends()

    def _pass(self, begin: Callable[[], None]) -> None:
        self._bound = self.clean(begin, self._bound)

    def _write(self, count: int, *, unkeyed: bool = False, stays_open: bool = False) -> None:
        """Writes batches, and waits until all markers are in the log."""
        self._new_markers += self._clients.write(count, unkeyed=unkeyed, stays_open=stays_open)
        self.await_markers()


def run_on_broker(version: str, seed: int) -> WatchedTopic:
    """Writes, cleans and reads on a broker of its own; takes about half a minute.

    Raises:
        BadInput: The broker does not start, or does not do in time what is waited for.
    """
    say("starting the broker")
    with administered_broker(version) as (broker, administrator):
        with closing(_RandomTopic(broker, administrator, seed)) as topic:
            topic.drive()
        topic.read()
        return topic


def sleep_past_horizons(*logs: StoredLog) -> None:
    """Sleeps until all delete horizons of logs have passed."""
    horizons = [batch["delete_horizon_ms"] or 0 for log in logs for batch in log.batches]
    latest_ms = max(horizons, default=0) + _BETWEEN_MS
    time.sleep(max(0, latest_ms - now_ms()) / 1000)


def now_ms() -> int:
    """Time of day in ms."""
    return time.time_ns() // 1_000_000
