"""Random partitions that a real broker wrote: read as Kafka dumps them, their next pass foretold.

A topic first keeps everything; then it becomes compacted, and the broker's cleaner runs a pass.
Both releases are dumped by DumpLogSegments of 3.8.0, which the broker's jars of that release have.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sim.api.partitions import OpenedPartition, open_partition
from sim.protocol.log import Batch
from sim.simulate.logfile.run import StepResult, run_steps
from sim.simulate.partition.folder import partition_in, partition_of_dump
from sim.simulate.partition.segments import Detail, _kafka_python
from tests.conformance.jvm import java_command, kafka_jars
from tests.conformance.nodes import Broker, await_that, running_broker

VERSIONS: Final = {"3.8.0": "kafka-3.8", "4.3.1": "kafka-4.0"}
"""Release of the broker -> preset."""
PARTITIONS: Final = 100
"""Partitions of each release."""
DUMPER: Final = "3.8.0"
HOUR_MS: Final = 3_600_000
PASS_S: Final = 40
TRANSACTION_MS: Final = 900_000
"""Longer than a run: an open transaction stays open."""
_CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")
_WRITTEN: Final = {
    "retention.ms": "-1",
    "segment.ms": str(HOUR_MS),
    "delete.retention.ms": "600000",
    "min.cleanable.dirty.ratio": "0.0",
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
_COMPARED: Final = ("base_offset", "last_offset", "control", "producer_id", "base_sequence")


@dataclass(frozen=True, slots=True)
class PartitionsResult:
    """The comparison of partitions of one release.

    Attributes:
        version: The release of the broker.
        read: Partitions that were compared with their dump.
        batches: Batches of these.
        foretold: Partitions whose pass came as it was said, and left what was said.
        held: Partitions for which no pass was due, and none came.
        differences: A sentence for each difference.
    """

    version: str
    read: int
    batches: int
    foretold: int
    held: int
    differences: tuple[str, ...]

    @property
    def summary(self) -> str:
        """A line for a terminal."""
        verdict = f"{len(self.differences)} differ" if self.differences else "all agree"
        return (
            f"partitions of a broker {self.version}: {self.read} read as DumpLogSegments does, "
            f"{self.batches:,} batches; {self.foretold} passes foretold, {self.held} not due: "
            f"{verdict}"
        )


def compare_partitions(
    version: str, count: int, *, seed: int, say: Callable[[str], None]
) -> PartitionsResult:
    """Has a broker write random partitions, and compares what is read and foretold of them.

    Args:
        version: The release of the broker.
        count: How many partitions.
        seed: Seed of what is written.
        say: Takes a line about progress.

    Raises:
        BadInput: No Java, no network, or the broker does not start.
    """
    topics = [f"t{number}" for number in range(count)]
    draws = random.Random(f"{seed} {version}")
    differences: list[str] = []
    batches = foretold = held = 0
    with running_broker(kafka_jars(version)) as broker, tempfile.TemporaryDirectory() as work:
        clients = _Clients(broker.address)
        clients.create(topics)
        for topic in topics:
            clients.write(topic, random.Random(draws.random()))
        say(f"{version}: {count} partitions are written")
        time.sleep(6)  # until the high watermarks are on disk
        before = Path(work) / "before"
        for topic in topics:
            shutil.copytree(broker.partition(topic), before / f"{topic}-0")
        for file in broker.data.glob("*-checkpoint"):
            shutil.copy(file, before)
        _dump([before / f"{topic}-0" for topic in topics])
        for topic in topics:
            read, wrong = _as_dumped(before / f"{topic}-0")
            batches += read
            differences += [f"{version} {topic}: {one}" for one in wrong]
        say(f"{version}: {batches:,} batches are compared with their dumps")
        settings = Path(work) / "settings.json"
        settings.write_text(json.dumps(_WRITTEN | {"cleanup.policy": "compact"}))
        now_ms = time.time_ns() // 1_000_000
        clients.compact(topics)
        for topic in topics:
            opened = open_partition(
                before / f"{topic}-0", settings=settings, preset=VERSIONS[version], now_ms=now_ms
            )
            if not opened.due().decision.eligible:
                held += 1
                differences += _untouched(broker, topic, version)
                continue
            wrong = _foretold(broker, topic, opened)
            foretold += not wrong
            differences += [f"{version} {topic}: {one}" for one in wrong]
        clients.close()
    return PartitionsResult(version, count, batches, foretold, held, tuple(differences))


def _dump(folders: Sequence[Path]) -> None:
    """Writes the dump of each partition beside its folder."""
    jars = ":".join(map(str, kafka_jars(DUMPER)))
    files = ",".join(str(file) for folder in folders for file in sorted(folder.glob("*.log")))
    command = [java_command(), "-cp", jars, "kafka.tools.DumpLogSegments", "--files", files]
    said = subprocess.run(
        [*command, "--deep-iteration", "--print-data-log"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=600,
    ).stdout
    for part in re.split(rb"^(?=Dumping )", said, flags=re.MULTILINE)[1:]:
        file = Path(part.partition(b"\n")[0].decode().removeprefix("Dumping "))
        with file.parent.with_suffix(".dump").open("ab") as text:
            text.write(part)


def _as_dumped(folder: Path) -> tuple[int, list[str]]:
    """Number of batches of a partition, and how they differ from what Kafka dumps of them."""
    dump = partition_of_dump(folder.with_suffix(".dump"))
    own = [_content(*one) for one in partition_in(folder).batches(Detail.WHOLE)]
    theirs = [_content(*one) for one in dump.batches(Detail.WHOLE)]
    pairs = zip(own, theirs, strict=False)
    wrong = [f"read {one}, dumped {other}" for one, other in pairs if one != other]
    if len(own) != len(theirs):
        wrong.append(f"{len(own)} batches are read, {len(theirs)} are dumped")
    return len(own), wrong


def _content(segment: Any, stored: Any) -> tuple[object, ...]:
    """A batch with its place and its records; a dump has no values of headers."""
    records = [(one.offset, one.key, one.value, one.timestamp_ms) for one in stored.batch.records]
    fields = stored.batch.__struct_fields__
    rest = [getattr(stored.batch, name) for name in fields if name != "records"]
    return (segment.base_offset, stored.position, stored.codec, *rest, records)


def _foretold(broker: Broker, topic: str, opened: OpenedPartition) -> list[str]:
    """How the broker's pass differs from what was said of it."""
    (said,) = run_steps(opened.log_file())
    assert said.cleaned is not None
    until = said.cleaned.cleaning.next_dirty_offset
    try:
        await_that(
            lambda: broker.checkpoint(topic) == until, f"a pass up to {until}", patience_s=PASS_S
        )
    except Exception as error:  # noqa: BLE001 - that it does not come is a difference
        return [f"{error}; its checkpoint is {broker.checkpoint(topic)}"]
    time.sleep(0.2)  # the checkpoint is written before old segments are renamed
    left = [
        stored.batch for _, stored in partition_in(broker.partition(topic)).batches(Detail.WHOLE)
    ]
    return list(_differences(said, left))


def _differences(said: StepResult, left: Sequence[Batch]) -> Iterator[str]:
    def shown(batch: Batch) -> tuple[object, ...]:
        kept = tuple(record.offset for record in batch.records)
        has_horizon = batch.delete_horizon_ms is not None
        return (
            *(getattr(batch, name) for name in _COMPARED),
            batch.timestamp_ms,
            kept,
            has_horizon,
        )

    own, theirs = [shown(one) for one in said.log.batches()], [shown(one) for one in left]
    if own != theirs:
        only = (
            [one for one in own if one not in theirs],
            [one for one in theirs if one not in own],
        )
        yield "said {}, left {}".format(*only)


def _untouched(broker: Broker, topic: str, version: str) -> Iterator[str]:
    if broker.checkpoint(topic) is not None:
        yield f"{version} {topic}: a pass came up to {broker.checkpoint(topic)}; none was due"


class _Clients:
    """Clients of kafka-python that write random topics."""

    def __init__(self, address: str) -> None:
        _kafka_python()  # imports it without its own warning
        from kafka.admin import KafkaAdminClient

        self._address = address
        self._admin = KafkaAdminClient(bootstrap_servers=address)

    def create(self, topics: Sequence[str]) -> None:
        """Creates topics of one partition that keep everything."""
        from kafka.admin import NewTopic

        configs = {**_WRITTEN, "cleanup.policy": "delete"}
        self._admin.create_topics([NewTopic(one, 1, 1, topic_configs=configs) for one in topics])
        time.sleep(1)

    def compact(self, topics: Sequence[str]) -> None:
        """Makes topics compacted."""
        from kafka.admin import ConfigResource, ConfigResourceType

        configs = {**_WRITTEN, "cleanup.policy": "compact"}
        resources = [ConfigResource(ConfigResourceType.TOPIC, one, configs) for one in topics]
        self._admin.alter_configs(resources)

    def write(self, topic: str, draw: random.Random) -> None:
        """Writes a topic: a codec, producers with ids or transactions, deletes, headers, rolls."""
        codec, transactional = draw.choice(_CODECS), draw.random() < 0.6
        writers = [
            self._producer(f"{topic}-{number}", codec, transactional, draw.random() < 0.5)
            for number in range(draw.choice([1, 2]))
        ]
        clock = _Clock()
        for _ in range(draw.randrange(4, 10)):
            writer = draw.choice(writers)
            if transactional:
                writer.begin_transaction()
            for _ in range(draw.randrange(1, 3)):
                _send(writer, topic, draw, clock)
            if transactional:
                commits = draw.random() < 0.6
                (writer.commit_transaction if commits else writer.abort_transaction)()
            clock.now_ms += 2 * HOUR_MS * (draw.random() < 0.4)
        clock.now_ms += 2 * HOUR_MS
        if transactional and draw.random() < 0.2:
            writers[0].begin_transaction()  # left open
            _send(writers[0], topic, draw, clock)
            clock.now_ms += 2 * HOUR_MS
        last = self._producer(None, None, transactional=False, idempotent=False)
        last.send(topic, key=b"k0", value=b"end", timestamp_ms=clock.now_ms)
        last.flush()

    def _producer(
        self,
        name: str | None,
        codec: str | None,
        transactional: bool,
        idempotent: bool,
    ) -> Any:
        from kafka import KafkaProducer

        made = KafkaProducer(
            bootstrap_servers=self._address,
            compression_type=codec,
            linger_ms=5_000,
            acks="all",
            batch_size=1 << 20,
            enable_idempotence=transactional or idempotent,
            transaction_timeout_ms=TRANSACTION_MS,
            **({"transactional_id": name} if transactional else {}),
        )
        if transactional:
            made.init_transactions()
        return made

    def close(self) -> None:
        """Closes the connection of the administrator."""
        self._admin.close()


class _Clock:
    """The time that records are given, in ms."""

    def __init__(self) -> None:
        self.now_ms = time.time_ns() // 1_000_000


def _send(writer: Any, topic: str, draw: random.Random, clock: _Clock) -> None:
    """Sends one to four records, which become a batch."""
    for _ in range(draw.randrange(1, 5)):
        clock.now_ms += draw.randrange(3)
        version = draw.randrange(100).to_bytes(8, "big")
        writer.send(
            topic,
            key=f"k{draw.randrange(6)}".encode(),
            value=None if draw.random() < 0.25 else b"v" * draw.randrange(60),
            headers=[("version", version)] if draw.random() < 0.3 else [],
            timestamp_ms=clock.now_ms,
        )
    writer.flush()
