"""Kafka's own Java clients, driven from Python: producers, consumers, the administrator.

They come from the same jars as the broker, and need the Java machine of this process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

import jpype

from sim.errors import BadInput
from tests.conformance.jvm import java_class, start_jvm
from tests.conformance.nodes import PATIENCE_S, Broker, await_that, running_broker

ASK_AGAIN = {"request.timeout.ms": "10000"}
"""For administrators: a request without an answer is repeated, perhaps to another broker."""
Isolation = Literal["read_uncommitted", "read_committed"]
ISOLATIONS: tuple[Isolation, ...] = get_args(Isolation)

_SERIALIZER = "org.apache.kafka.common.serialization.StringSerializer"
_DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"
_LINGER_MS = 30_000  # a batch is closed by flush alone
_UNKNOWN = "UnknownTopicOrPartitionException"
_LEADS_ALREADY = "ElectionNotNeededException"


@dataclass(frozen=True, slots=True)
class Read:
    """A record as a consumer gets it."""

    offset: int
    key: str | None
    value: str | None
    timestamp_ms: int


class PartitionState(NamedTuple):
    """State of a partition as the controller decided it.

    Attributes:
        leader: Broker id of the leader; None without a known one.
        replicas: Broker ids in the order of the assignment, the preferred leader first.
        isr: The in-sync replicas, sorted.
    """

    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class Producer:
    """A producer of one partition; the records between two flushes are one batch."""

    def __init__(self, address: str, topic: str, settings: Mapping[str, str]) -> None:
        """Connects with `settings`, which make it idempotent or transactional."""
        self._topic = topic
        self._producer = java_class("clients.producer.KafkaProducer")(
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
        if "transactional.id" in settings:
            self._producer.initTransactions()

    def batch(
        self,
        records: Sequence[tuple[str | None, str | None]],
        timestamp_ms: int,
        headers: Mapping[str, bytes] | None = None,
    ) -> None:
        """Sends records, key and value each, as one batch, and waits until it is committed.

        Args:
            records: Key and value of each.
            timestamp_ms: Their time, in ms.
            headers: Headers of each of them, if they have any.
        """
        record = java_class("clients.producer.ProducerRecord")
        where = (self._topic, jpype.java.lang.Integer(0), jpype.java.lang.Long(timestamp_ms))
        header = java_class("common.header.internals.RecordHeader")
        more = jpype.java.util.ArrayList([header(*one) for one in (headers or {}).items()])
        # Java has several constructors: a null is an object without a doubt.
        sent = [
            self._producer.send(
                record(*where, *(jpype.JObject(one, jpype.JString) for one in both), more)
            )
            for both in records
        ]
        self._producer.flush()
        for future in sent:
            future.get()

    def begin(self) -> None:
        """Begins a transaction of this producer."""
        self._producer.beginTransaction()

    def end(self, *, commit: bool) -> None:
        """Commits or aborts the transaction; its marker is written a little later."""
        if commit:
            self._producer.commitTransaction()
        else:
            self._producer.abortTransaction()

    def close(self) -> None:
        """Disconnects at once; an open transaction stays open."""
        _forget_interrupt()
        self._producer.close(jpype.java.time.Duration.ZERO)


class Administrator:
    """Creates and changes topics of one partition, asks about them, moves their leaders.

    Args:
        address: Addresses of brokers.
        controller: Address at which replicas and brokers' settings are changed (KIP-919), as a
            broker might be paused; None to change them through a broker.
    """

    def __init__(self, address: str, controller: str | None = None) -> None:
        create = java_class("clients.admin.Admin").create
        self._admin = self._direct = create({"bootstrap.servers": address, **ASK_AGAIN})
        if controller is not None:
            self._direct = create({"bootstrap.controllers": controller, **ASK_AGAIN})

    def create(
        self, topic: str, settings: Mapping[str, str], replicas: Sequence[int] | None = None
    ) -> None:
        """Creates a topic with one partition on these brokers, the preferred leader first."""
        new_topic = java_class("clients.admin.NewTopic")
        if replicas is None:
            created = new_topic(topic, 1, jpype.JShort(1))
        else:
            created = new_topic(topic, {jpype.java.lang.Integer(0): _integers(replicas)})
        self._admin.createTopics([created.configs(settings)]).all().get()

    def change(self, topic: str, settings: Mapping[str, str]) -> None:
        """Changes settings of a topic."""
        kind = java_class("common.config.ConfigResource$Type")
        self._alter(self._admin, kind.TOPIC, topic, settings)

    def commit_offset(self, group: str, topic: str, offset: int) -> None:
        """Commits the offset of a consumer group."""
        committed = java_class("clients.consumer.OffsetAndMetadata")(offset)
        self._admin.alterConsumerGroupOffsets(group, {partition_of(topic): committed}).all().get()

    def expire_producers_after(self, silent_ms: int) -> None:
        """Sets `producer.id.expiration.ms` of all brokers while they run (KIP-854)."""
        kind = java_class("common.config.ConfigResource$Type")
        settings = {"producer.id.expiration.ms": str(silent_ms)}
        self._alter(self._direct, kind.BROKER, "", settings)

    def _alter(self, by: Any, kind: Any, name: str, settings: Mapping[str, str]) -> None:
        resource = java_class("common.config.ConfigResource")
        entry = java_class("clients.admin.ConfigEntry")
        operation = java_class("clients.admin.AlterConfigOp")
        set_to = java_class("clients.admin.AlterConfigOp$OpType").SET
        changes = jpype.java.util.ArrayList(
            [operation(entry(setting, value), set_to) for setting, value in settings.items()]
        )
        by.incrementalAlterConfigs({resource(kind, name): changes}).all().get()

    def reassign(self, topic: str, replicas: Sequence[int]) -> None:
        """Begins to move a partition to these brokers, the preferred leader first.

        As `kafka-reassign-partitions.sh` does; another order of the same brokers holds at once.
        """
        reassignment = java_class("clients.admin.NewPartitionReassignment")
        wanted = jpype.java.util.Optional.of(reassignment(_integers(replicas)))
        self._direct.alterPartitionReassignments({partition_of(topic): wanted}).all().get()

    def prefer(self, topic: str, replicas: Sequence[int]) -> None:
        """Puts the replicas in this order and has the first one elected.

        As `kafka-reassign-partitions.sh` and `kafka-leader-election.sh` do one after the other.

        Raises:
            BadInput: There is no election, and it does not lead already.
        """
        if self.state(topic).replicas != tuple(replicas):
            self.reassign(topic, replicas)
        kinds = java_class("common.ElectionType")
        partition = partition_of(topic)
        asked = self._admin.electLeaders(kinds.PREFERRED, jpype.java.util.Set.of(partition))
        refused = asked.partitions().get().get(partition)
        if refused.isPresent() and _LEADS_ALREADY not in str(refused.get()):
            raise BadInput(f"{topic}: no election: {refused.get()}")

    def state(self, topic: str) -> PartitionState:
        """State of the partition as a broker knows it from the controller.

        It is empty if the broker does not know the topic yet.
        """
        try:
            topics = self._admin.describeTopics([topic]).allTopicNames().get()
        except jpype.JException as error:
            if _UNKNOWN in str(error):
                return PartitionState(None, (), ())
            raise
        (partition,) = topics.get(topic).partitions()
        leader = partition.leader()
        return PartitionState(
            None if leader is None or int(leader.id()) < 0 else int(leader.id()),
            _ids(partition.replicas()),
            tuple(sorted(_ids(partition.isr()))),
        )

    def last_sequences(self, topic: str) -> dict[int, int]:
        """Last sequence of each producer that the leader knows for a topic; -1 without one."""
        known = self._producers(topic)
        return {int(state.producerId()): int(state.lastSequence()) for state in known}

    def await_forgotten(self, topic: str, broker: int) -> None:
        """Waits until a replica knows no producer any more.

        Raises:
            BadInput: It still knows one.
        """
        what = f"broker {broker} to forget the producers of {topic}"
        await_that(what, lambda: self._producers(topic, broker), [])

    def abort_open(self, topic: str) -> None:
        """Has the leader abort a partition's only open transaction.

        As `kafka-transactions.sh abort` does.
        """
        (state,) = self._producers(topic, self.state(topic).leader)
        spec = java_class("clients.admin.AbortTransactionSpec")
        coordinator_epoch = state.coordinatorEpoch().orElse(0)
        epoch = jpype.JShort(state.producerEpoch())
        hanging = spec(partition_of(topic), state.producerId(), epoch, coordinator_epoch)
        self._admin.abortTransaction(hanging).all().get()

    def _producers(self, topic: str, broker: int | None = None) -> list[Any]:
        """States of producers that a replica knows: the leader, or that on `broker`."""
        options = java_class("clients.admin.DescribeProducersOptions")()
        if broker is not None:
            options = options.brokerId(broker)
        partition = partition_of(topic)
        asked = self._admin.describeProducers([partition], options)
        return list(asked.partitionResult(partition).get().activeProducers())

    def await_live(self, brokers: Sequence[int]) -> None:
        """Waits until exactly these brokers are registered and not fenced.

        Raises:
            BadInput: They are not in time.
        """
        await_that(
            f"the brokers {tuple(brokers)} to be alive",
            lambda: set(_ids(self._admin.describeCluster().nodes().get())),
            set(brokers),
        )

    def close(self) -> None:
        """Disconnects from brokers and controller."""
        _forget_interrupt()
        self._admin.close()
        self._direct.close()


def read_all(address: str, topic: str, isolation: Isolation) -> tuple[list[Read], int]:
    """All records that a consumer gets from the beginning, and its end offset.

    Raises:
        BadInput: It does not come to the end in time.
    """
    consumer = java_class("clients.consumer.KafkaConsumer")(
        {
            "bootstrap.servers": address,
            "key.deserializer": _DESERIALIZER,
            "value.deserializer": _DESERIALIZER,
            "isolation.level": isolation,
            "enable.auto.commit": "false",
        }
    )
    try:
        partition = partition_of(topic)
        consumer.assign([partition])
        consumer.seekToBeginning([partition])
        end = int(consumer.endOffsets([partition]).get(partition))
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
            key, value = (
                None if one is None else str(one) for one in (record.key(), record.value())
            )
            yield Read(int(record.offset()), key, value, int(record.timestamp()))


@contextmanager
def java_failures(where: str) -> Iterator[None]:
    """Turns an exception of Java's clients into one line that begins with `where`.

    Raises:
        BadInput: A client threw an exception.
    """
    try:
        yield
    except jpype.JException as error:
        raise BadInput(f"{where}: {error}") from None


@contextmanager
def administered_broker(
    version: str, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[Broker, Administrator]]:
    """Runs a broker of a release, with an administrator; the rest as for `running_broker`.

    Raises:
        BadInput: The broker does not start, or a client threw an exception.
    """
    start_jvm()
    with (
        java_failures(f"broker of Kafka {version}"),
        running_broker(version, settings) as broker,
        closing(Administrator(broker.address)) as administrator,
    ):
        yield broker, administrator


def _forget_interrupt() -> None:
    """Clears the interrupt that Ctrl-C sets on the Java thread.

    The next call into Java would fail, so that clients could not be closed.
    """
    with suppress(jpype.JException):
        jpype.java.lang.Thread.interrupted()


def partition_of(topic: str) -> Any:
    """The only partition of a topic, as Java has it."""
    return java_class("common.TopicPartition")(topic, 0)


def _integers(numbers: Sequence[int]) -> Any:
    return jpype.java.util.ArrayList([jpype.java.lang.Integer(number) for number in numbers])


def _ids(nodes: Any) -> tuple[int, ...]:
    return tuple(int(node.id()) for node in nodes)
