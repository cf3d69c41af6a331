"""Kafka's own Java clients, driven from Python: producers, consumers, the administrator.

They come from the same jars as the broker, and need the Java machine of this process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

import jpype

from sim.errors import BadInput
from tests.conformance.jvm import java_class

PATIENCE_S = 60
ASK_AGAIN = {"request.timeout.ms": "10000"}
"""For administrators: what gets no answer for so long is asked again, of another broker perhaps."""
Isolation = Literal["read_uncommitted", "read_committed"]

_SERIALIZER = "org.apache.kafka.common.serialization.StringSerializer"
_DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"
_LINGER_MS = 30_000  # a batch is closed by flush alone


@dataclass(frozen=True, slots=True)
class Read:
    """One record as a consumer gets it."""

    offset: int
    key: str | None
    value: str | None
    timestamp_ms: int


class Producer:
    """A producer of one partition whose batches are what is sent between two flushes."""

    def __init__(self, address: str, topic: str, settings: Mapping[str, str]) -> None:
        """Connect; `settings` says how idempotent or transactional it is."""
        self._topic = topic
        self._producer = java_class("clients.producer.KafkaProducer")(
            to_properties(
                {
                    "bootstrap.servers": address,
                    "key.serializer": _SERIALIZER,
                    "value.serializer": _SERIALIZER,
                    "linger.ms": str(_LINGER_MS),
                    "delivery.timeout.ms": str(_LINGER_MS + 1000 * PATIENCE_S),
                    "acks": "all",
                    **settings,
                }
            )
        )
        if "transactional.id" in settings:
            self._producer.initTransactions()

    def batch(self, records: Sequence[tuple[str | None, str | None]], timestamp_ms: int) -> None:
        """Send records, key and value each, as one batch, and wait until it is committed."""
        record = java_class("clients.producer.ProducerRecord")
        partition = jpype.java.lang.Integer(0)
        at = jpype.java.lang.Long(timestamp_ms)
        sent = [
            self._producer.send(record(self._topic, partition, at, _object(key), _object(value)))
            for key, value in records
        ]
        self._producer.flush()
        for future in sent:
            future.get()

    def begin(self) -> None:
        """Begin a transaction."""
        self._producer.beginTransaction()

    def end(self, *, commit: bool) -> None:
        """Commit or abort the transaction; its marker is written a little later."""
        if commit:
            self._producer.commitTransaction()
        else:
            self._producer.abortTransaction()

    def close(self) -> None:
        """Disconnect at once; an open transaction stays open."""
        _forget_interrupt()
        self._producer.close(jpype.java.time.Duration.ZERO)


class Administrator:
    """Creates and changes topics of one partition and asks about them."""

    def __init__(self, address: str) -> None:
        """Connect."""
        admin = java_class("clients.admin.Admin")
        self._admin = admin.create(to_properties({"bootstrap.servers": address, **ASK_AGAIN}))

    def create(self, topic: str, settings: Mapping[str, str]) -> None:
        """Create a topic with one partition and one replica."""
        new_topic = java_class("clients.admin.NewTopic")
        created = new_topic(topic, 1, jpype.JShort(1)).configs(to_map(settings))
        self._admin.createTopics(jpype.java.util.List.of(created)).all().get()

    def change(self, topic: str, settings: Mapping[str, str]) -> None:
        """Change a topic's settings."""
        kind = java_class("common.config.ConfigResource$Type")
        self._alter(self._admin, kind.TOPIC, topic, settings)

    def _alter(self, by: Any, kind: Any, name: str, settings: Mapping[str, str]) -> None:
        """Change settings of a topic, or of brokers, by an administrator of Java's."""
        resource = java_class("common.config.ConfigResource")
        entry = java_class("clients.admin.ConfigEntry")
        operation = java_class("clients.admin.AlterConfigOp")
        kinds = java_class("clients.admin.AlterConfigOp$OpType")
        changes = jpype.java.util.ArrayList()
        for setting, value in settings.items():
            changes.add(operation(entry(setting, value), kinds.SET))
        wanted = jpype.java.util.Map.of(resource(kind, name), changes)
        by.incrementalAlterConfigs(wanted).all().get()

    def last_sequences(self, topic: str) -> dict[int, int]:
        """The last sequence of each producer the broker knows for a topic; -1 = none."""
        partition = partition_of(topic)
        asked = self._admin.describeProducers(jpype.java.util.List.of(partition))
        known = asked.partitionResult(partition).get().activeProducers()
        return {int(state.producerId()): int(state.lastSequence()) for state in known}

    def close(self) -> None:
        """Disconnect."""
        _forget_interrupt()
        self._admin.close()


def read_all(address: str, topic: str, isolation: Isolation) -> tuple[list[Read], int]:
    """Everything a consumer reads from the beginning, and where it ends for that isolation.

    Raises:
        BadInput: It does not come to the end in time.
    """
    consumer = java_class("clients.consumer.KafkaConsumer")(
        to_properties(
            {
                "bootstrap.servers": address,
                "key.deserializer": _DESERIALIZER,
                "value.deserializer": _DESERIALIZER,
                "isolation.level": isolation,
                "enable.auto.commit": "false",
            }
        )
    )
    try:
        partition = partition_of(topic)
        partitions = jpype.java.util.List.of(partition)
        consumer.assign(partitions)
        consumer.seekToBeginning(partitions)
        end = int(consumer.endOffsets(partitions).get(partition))
        return list(_records(consumer, partition, end, f"{topic}, {isolation}")), end
    finally:
        _forget_interrupt()
        consumer.close()


def _records(consumer: Any, partition: Any, end: int, what: str) -> Iterator[Read]:
    until = time.monotonic() + PATIENCE_S
    while int(consumer.position(partition)) < end:
        if time.monotonic() > until:
            raise BadInput(f"{what}: the consumer is not at {end} after {PATIENCE_S} s")
        for record in consumer.poll(jpype.java.time.Duration.ofMillis(200)):
            key, value = record.key(), record.value()
            yield Read(
                int(record.offset()),
                None if key is None else str(key),
                None if value is None else str(value),
                int(record.timestamp()),
            )


@contextmanager
def java_failures(where: str) -> Iterator[None]:
    """Let what Java's clients throw, a time-out for one, be one line that begins with `where`.

    Raises:
        BadInput: They threw something.
    """
    try:
        yield
    except jpype.JException as error:
        raise BadInput(f"{where}: {error}") from None


def _forget_interrupt() -> None:
    """Ctrl-C marks the Java thread, too, and the next call into Java fails: let it be this one.

    What has to be closed in order would refuse otherwise.
    """
    with suppress(jpype.JException):
        jpype.java.lang.Thread.interrupted()


def _object(text: str | None) -> Any:
    """A string or null, as an object without a doubt: Java has several constructors."""
    return jpype.JObject(text, jpype.JString)


def partition_of(topic: str) -> Any:
    """The only partition of a topic, as Java has it."""
    return java_class("common.TopicPartition")(topic, 0)


def to_properties(settings: Mapping[str, str]) -> Any:
    """Settings as Java's clients take them."""
    properties = jpype.java.util.Properties()
    for name, value in settings.items():
        properties.setProperty(name, value)
    return properties


def to_map(settings: Mapping[str, str]) -> Any:
    """Settings as a map of Java's."""
    written = jpype.java.util.HashMap()
    for name, value in settings.items():
        written.put(name, value)
    return written
