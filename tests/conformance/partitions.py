"""Partitions on disk as Replog reads and predicts them, against Kafka's classes and brokers.

Random logs are read batch for batch as Kafka's `FileRecords` does. On a broker of each release
partitions are written by clients, read as `kafka-dump-log` prints them, and become compacted; what
Replog said of the next pass, and when it is due, is what the broker's cleaner then does.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import jpype

import sim
from sim.errors import BadInput
from sim.protocol.log import Batch
from sim.simulate.logfile.run import run_steps
from sim.simulate.partition import Partition, partition_in
from sim.simulate.partition.dump import Dump
from sim.simulate.partition.segments import Detail, Stored, text_of
from tests.conformance.batches import batches_of, write_segments
from tests.conformance.broker_run import SETTINGS, RandomClients
from tests.conformance.clients import Administrator, administered_broker
from tests.conformance.compare import Json, Result
from tests.conformance.jvm import (
    KAFKA_VERSION,
    java_class,
    kafka_jars,
    record_class,
    run_java,
    start_jvm,
)
from tests.conformance.nodes import PATIENCE_S, Broker, await_that
from tests.conformance.random_batches import Choices, numbered
from tests.conformance.random_logs import random_log
from tests.conformance.segments import as_json

OLD_VERSION = "3.8.0"
"""A release whose jars of the broker have its tools, too; those of 4.3.1 have not."""
PRESETS = {OLD_VERSION: "kafka-3.8", KAFKA_VERSION: "kafka-4.0"}
LOGS, TOPICS = 300, 100
NEVER = 100
"""A round that no topic has."""
RETENTION_MS = "600000"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LATER_MS = (60_000, 70_000)
"""So long after the topics become compacted those are due that a lag holds back: later than all
questions are asked, also on a busy machine."""
LATE_MS = 5_000
"""So long after it is due a pass has begun and ended, also on a busy machine."""
_NUMBERS = {
    "position": "position",
    "size": "sizeInBytes",
    "base_offset": "baseOffset",
    "last_offset": "lastOffset",
    "epoch": "partitionLeaderEpoch",
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "base_sequence": "baseSequence",
    "timestamp_ms": "maxTimestamp",
}
"""Numbers of a batch, each with the method of Kafka's `RecordBatch`."""
_CHECKPOINTS = (
    "cleaner-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
)


def compare_reading(seed: int, *, count: int = LOGS) -> Result:
    """Reads random logs with all codecs and formats, also cleaned ones, as Kafka's classes do."""
    start_jvm()
    found = Result("partitions, random logs")
    with tempfile.TemporaryDirectory(prefix="replog-partitions-") as work:
        for number in range(count):
            document, drawn = random_log(numbered(seed, number)), Random(number)
            folder = Path(work, f"{number}-0")
            for segment in document["segments"]:
                for batch in batches_of(segment):
                    if batch["records"] and not batch.get("control") and "magic" not in batch:
                        batch["compression"] = drawn.choice(CODECS)
            write_segments(document["segments"], folder)
            compare_folder(folder, found)
    return found


def compare_folder(folder: Path, found: Result) -> None:
    """Compares a partition as Replog reads it with the same as Kafka's classes do."""
    try:
        ours = list(_read(partition_in(folder)))
    except BadInput as error:
        found.differences.append(f"{folder.name}: Replog refuses it: {error}")
        return
    theirs = [one for file in sorted(folder.glob("*.log")) for one in _read_by_kafka(file)]
    found.counts["partitions read"] += 1
    found.counts["batches"] += len(theirs)
    found.compare(ours, theirs, folder.name)


def _read(partition: Partition) -> Iterator[Json]:
    for segment, stored in partition.batches(Detail.WHOLE):
        batch = as_json(stored.batch)
        if batch["control"] and not batch["records"]:
            batch["control"] = "emptied"  # it has lost its type
        yield {
            "segment": segment.base_offset,
            "position": stored.position,
            "codec": stored.codec,
            "size": stored.batch.size_bytes,
            **batch,
        }


def _read_by_kafka(file: Path) -> Iterator[Json]:
    """The batches of a segment by Kafka's classes, in the form in which `_read` gives them."""
    records = record_class("FileRecords")
    opened = records.open(jpype.java.io.File(str(file)), False)
    try:
        for batch in opened.batches():
            control = bool(batch.isControlBatch())
            held = [_kafka_record(record, control=control) for record in batch]
            horizon = batch.deleteHorizonMs()
            yield {
                "segment": int(file.stem),
                "codec": str(batch.compressionType().name),
                "transactional": bool(batch.isTransactional()),
                "control": (held[0]["marker"] if held else "emptied") if control else None,
                "delete_horizon_ms": int(horizon.getAsLong()) if horizon.isPresent() else None,
                "records": held,
                **{name: int(getattr(batch, method)()) for name, method in _NUMBERS.items()},
            }
    finally:
        opened.closeHandlers()


def _kafka_record(record: Any, *, control: bool) -> Json:
    headers = [(str(one.key()), bytes(one.value() or b"")) for one in record.headers()]
    found: Json = {
        "offset": int(record.offset()),
        "key": None if control else _text(record.key()),
        "value": None if control else _text(record.value()),
        "timestamp_ms": int(record.timestamp()),
        "headers": [[name, {"hex": content.hex()}] for name, content in headers],
    }
    if control:
        found["marker"] = str(record_class("ControlRecordType").parse(record.key()).name())
    return found


def _text(buffer: Any) -> str | None:
    if buffer is None:
        return None
    return text_of(bytes(java_class("common.utils.Utils").toArray(buffer)))


@dataclass(slots=True)
class _Topic:
    """A topic on the broker, and what Replog says of it.

    Attributes:
        name: Its name.
        held_by: What holds its pass back: nothing, `min.compaction.lag.ms` or the maximal lag.
        due_ms: When Replog says that a pass is due; None = not at all.
        said: The log after that pass, as Replog says.
        reached: The checkpoint after it.
        seen_ms: When the broker's checkpoint was first seen.
    """

    name: str
    held_by: str
    due_ms: int | None = None
    said: list[Json] = field(default_factory=list)
    reached: int | None = None
    seen_ms: int | None = None

    def settings(self, before: Path, now_ms: int, drawn: Random) -> dict[str, str]:
        """Settings of the topic from now on: a lag ends within `LATER_MS`."""
        first = next(iter(partition_in(before).segments))
        times = [stored.batch.timestamp_ms for stored in first.read(Detail.HEADERS)]
        later_ms = now_ms + drawn.randrange(*LATER_MS)
        ratio = "1.0" if self.held_by == "max" else "0.0"
        given = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": ratio}
        if self.held_by == "min":
            given["min.compaction.lag.ms"] = str(later_ms - max(times))
        elif self.held_by == "max":
            given["max.compaction.lag.ms"] = str(later_ms - times[0])
        return given


def compare_broker(version: str, seed: int, *, count: int = TOPICS) -> Result:
    """Compares what partitions of a broker hold, and what its cleaner makes of them; three minutes.

    Raises:
        BadInput: The broker does not start, or does not do in time what is waited for.
    """
    found, drawn = Result(f"partitions, broker of Kafka {version}"), Random(seed)
    topics = [_Topic(f"t{number}", ("", "min", "max")[number % 3]) for number in range(count)]
    with (
        tempfile.TemporaryDirectory(prefix="replog-partitions-") as work,
        administered_broker(version) as (broker, administrator),
    ):
        before = Path(work, "before")
        _write_all(broker, administrator, topics, drawn)
        _copy(broker, before)
        for folder in sorted(before.glob("*-0")):
            compare_folder(folder, found)
        _compare_dumps(before, found)
        changed_ms = time.time_ns() // 1_000_000
        for topic in topics:
            given = topic.settings(before / f"{topic.name}-0", changed_ms, drawn)
            administrator.change(topic.name, given)
        settings = Path(work, "settings.txt")
        settings.write_text(_described(broker))
        for topic in topics:
            _predict(topic, before, settings, PRESETS[version], changed_ms)
        _watch(broker, topics)
        for topic in topics:
            _compare_pass(topic, broker, found)
    return found


def _write_all(
    broker: Broker, administrator: Administrator, topics: Sequence[_Topic], drawn: Random
) -> None:
    """Writes to all topics, and waits until all of it counts as committed on disk."""
    for topic in topics:
        administrator.create(topic.name, {**SETTINGS, "delete.retention.ms": RETENTION_MS})
        _write(broker, topic, Choices(rng=drawn), drawn)
    administrator.commit_offset("a-group", topics[0].name, 1)

    def uncommitted() -> list[str]:
        found = [partition_in(one) for one in sorted(broker.data.glob("t*-0"))]
        return [one.name for one in found if one.committed != _end_of(one)]

    await_that("high watermarks on disk", uncommitted, [])


def _end_of(partition: Partition) -> int:
    *_, (_, last) = partition.batches(Detail.HEADERS)
    return last.batch.last_offset + 1


def _write(broker: Broker, topic: _Topic, choices: Choices, drawn: Random) -> None:
    """Writes random batches with one codec; a transaction may stay open from some round on."""
    codec = {"compression.type": drawn.choice(CODECS)}
    with closing(RandomClients(broker.address, topic.name, choices, codec)) as clients:
        opens_in = drawn.choice((NEVER, NEVER, NEVER, 0, 1, 2))
        for number in range(drawn.randrange(3, 6)):
            clients.write(drawn.randrange(1, 5), stays_open=number >= opens_in)
            clients.roll()


def _copy(broker: Broker, to: Path) -> None:
    """Copies all partitions with the checkpoints, the internal topics among them."""
    to.mkdir()
    for folder in broker.data.glob("*-0"):
        if folder.name != "__cluster_metadata-0":
            shutil.copytree(folder, to / folder.name)
    for name in _CHECKPOINTS:
        with suppress(FileNotFoundError):
            shutil.copy(broker.data / name, to / name)


def _tool(name: str, *arguments: str) -> bytes:
    """Output of a tool of the old release, which knows the newest brokers and files, too."""
    jars = ":".join(map(str, kafka_jars(OLD_VERSION)))
    done = run_java("-cp", jars, name, *arguments, what=name, patience_s=PATIENCE_S)
    if done.returncode != 0:
        raise BadInput(f"{name}: {done.stderr.decode(errors='replace')[-300:]}")
    return done.stdout


def _described(broker: Broker) -> str:
    """Text of `kafka-configs --describe --all` about all topics."""
    words = ("--bootstrap-server", broker.address, "--entity-type", "topics", "--describe", "--all")
    return _tool("kafka.admin.ConfigCommand", *words).decode()


def _compare_dumps(data: Path, found: Result) -> None:
    """Compares all partitions with their text by `kafka-dump-log`, which has no header's value."""
    files = ",".join(map(str, sorted(data.glob("*-0/*.log"))))
    words = ("--deep-iteration", "--print-data-log", "--files", files)
    text = data.with_name("dump.txt")
    text.write_bytes(_tool("kafka.tools.DumpLogSegments", *words))
    dumped: dict[str, list[Json]] = {}
    for name, segment in Dump(text).segments():
        dumped.setdefault(name, []).extend(map(_as_dumped, segment.dumped or ()))
    for folder in sorted(data.glob("*-0")):
        ours = [_as_dumped(stored) for _, stored in partition_in(folder).batches(Detail.WHOLE)]
        found.counts["partitions dumped"] += 1
        found.compare(ours, dumped.get(folder.name, []), f"dump of {folder.name}")


def _as_dumped(stored: Stored) -> Json:
    """A batch without what a dump hides: headers, and bytes that are no UTF-8."""
    batch = as_json(stored.batch) | {"position": stored.position, "codec": stored.codec}
    for record in batch["records"]:
        del record["headers"]
        for name in ("key", "value"):
            if record[name] is not None:
                content = record[name].encode(errors="surrogateescape").decode(errors="replace")
                record[name] = re.sub("\ufffd+", "\ufffd", content)  # Java puts fewer of them
    return batch


def _predict(topic: _Topic, before: Path, settings: Path, preset: str, now_ms: int) -> None:
    """Asks Replog when the topic is due, and what its next pass then leaves."""
    place = before / f"{topic.name}-0"
    options = {"settings": settings, "preset": preset}
    decision = sim.open_partition(place, now_ms=now_ms, **options).due().decision
    topic.due_ms = now_ms if decision.eligible else decision.due_ms
    if topic.due_ms is not None:
        file = sim.open_partition(place, now_ms=topic.due_ms + 1, **options).log_file()
        (after,) = run_steps(file)
        topic.said = [_after(batch) for batch in after.log.batches()]
        assert after.cleaned is not None
        topic.reached = after.cleaned.cleaning.next_dirty_offset


def _after(batch: Batch) -> Json:
    """A batch after a pass; the time of the pass is the broker's."""
    has_horizon = batch.delete_horizon_ms is not None
    return as_json(batch) | {"delete_horizon_ms": has_horizon}


def _watch(broker: Broker, topics: Sequence[_Topic]) -> None:
    """Notes when the checkpoint of each topic is there, until some time after the last is due."""
    until_ms = max(one.due_ms or 0 for one in topics) + LATE_MS
    while (now_ms := time.time_ns() // 1_000_000) < until_ms:
        for topic in topics:
            if topic.seen_ms is None and broker.checkpoint(topic.name) is not None:
                topic.seen_ms = now_ms
        time.sleep(0.1)


def _compare_pass(topic: _Topic, broker: Broker, found: Result) -> None:
    """Compares a pass with what was said of it, and its time with when it was due."""
    if topic.due_ms is None:
        found.counts["said not to be due"] += 1
        if topic.seen_ms is not None:
            found.differences.append(f"{topic.name}: was cleaned, and said not to be due")
        return
    found.counts["passes predicted"] += 1
    if topic.held_by:
        found.counts["of them held back by a lag"] += 1
    late_ms = None if topic.seen_ms is None else topic.seen_ms - topic.due_ms
    if late_ms is None or late_ms < 0 or (topic.held_by and late_ms > LATE_MS):
        when = "never" if late_ms is None else f"{late_ms} ms after it was due"
        found.differences.append(f"{topic.name}, {topic.held_by} lag: cleaned {when}")
        return
    reached = broker.checkpoint(topic.name)
    after = partition_in(broker.partition(topic.name)).batches(Detail.WHOLE)
    found.compare(topic.reached, reached, f"checkpoint of {topic.name}")
    found.compare(topic.said, [_after(stored.batch) for _, stored in after], topic.name)


def compare_partitions(seed: int) -> Iterator[Result]:
    """Runs all comparisons; yields each result."""
    yield compare_reading(seed)
    for version in PRESETS:
        yield compare_broker(version, seed)
