"""What an operator does to a cluster, by Kafka's own Java administrator: replicas and leaders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jpype

from sim.errors import BadInput
from tests.conformance.broker_clients import (
    ASK_AGAIN,
    PATIENCE_S,
    Administrator,
    partition_of,
    to_map,
    to_properties,
)
from tests.conformance.jvm import java_class
from tests.conformance.nodes import Cluster, await_that

_UNKNOWN = "UnknownTopicOrPartitionException"
_LEADS_ALREADY = "ElectionNotNeededException"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What the controller has decided about a partition.

    Attributes:
        leader: The leader's broker id; None = there is none, or it is not known.
        replicas: Broker ids in the order of the assignment, the preferred leader first.
        isr: The in-sync replicas, sorted.
    """

    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class ClusterAdministrator(Administrator):
    """Creates topics on chosen brokers, asks brokers about them, changes them at the controller.

    Changes go to the controller directly (KIP-919): a broker they went through might be paused.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Connect to brokers and to the controller."""
        super().__init__(",".join(broker.address for broker in cluster.brokers.values()))
        admin = java_class("clients.admin.Admin")
        self._direct = admin.create(
            to_properties({"bootstrap.controllers": cluster.controller, **ASK_AGAIN})
        )

    def create_on(self, topic: str, replicas: Sequence[int], settings: Mapping[str, str]) -> None:
        """Create a topic with one partition on these brokers, the preferred leader first."""
        new_topic = java_class("clients.admin.NewTopic")
        assigned = jpype.java.util.Map.of(jpype.java.lang.Integer(0), _integers(replicas))
        created = new_topic(topic, assigned).configs(to_map(settings))
        self._admin.createTopics(jpype.java.util.List.of(created)).all().get()

    def reassign(self, topic: str, replicas: Sequence[int]) -> None:
        """Begin to move a partition to these brokers, the preferred leader first.

        As `kafka-reassign-partitions.sh` does; the same brokers in another order are so at once.
        """
        reassignment = java_class("clients.admin.NewPartitionReassignment")
        wanted = jpype.java.util.Optional.of(reassignment(_integers(replicas)))
        changes = jpype.java.util.Map.of(partition_of(topic), wanted)
        self._direct.alterPartitionReassignments(changes).all().get()

    def prefer(self, topic: str, replicas: Sequence[int]) -> None:
        """Put the replicas in this order and let the first one lead.

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
        """What a broker has heard of the partition from the controller.

        Any broker may be asked, also one that has not heard of the topic yet: nothing is known.
        """
        asked = self._admin.describeTopics(jpype.java.util.List.of(topic))
        try:
            (partition,) = asked.allTopicNames().get().get(topic).partitions()
        except jpype.JException as error:
            if _UNKNOWN in str(error):
                return PartitionState(None, (), ())
            raise
        leader = partition.leader()
        return PartitionState(
            None if leader is None or int(leader.id()) < 0 else int(leader.id()),
            _ids(partition.replicas()),
            tuple(sorted(_ids(partition.isr()))),
        )

    def expire_producers_after(self, silent_ms: int) -> None:
        """Set `producer.id.expiration.ms` of all brokers while they run (KIP-854)."""
        kind = java_class("common.config.ConfigResource$Type")
        settings = {"producer.id.expiration.ms": str(silent_ms)}
        self._alter(self._direct, kind.BROKER, "", settings)

    def await_forgotten(self, topic: str, broker: int) -> None:
        """Wait until a replica knows no producer any more.

        Raises:
            BadInput: It still does.
        """

        def known() -> list[Any]:
            return list(self._producers(topic, broker))

        await_that(
            lambda: not known(),
            f"broker {broker} to forget the producers of {topic}",
            patience_s=PATIENCE_S,
            last=known,
        )

    def abort_open(self, topic: str) -> None:
        """Have the leader abort a partition's only open transaction.

        As `kafka-transactions.sh abort` does.
        """
        (state,) = self._producers(topic, self.state(topic).leader)
        spec = java_class("clients.admin.AbortTransactionSpec")
        coordinator_epoch = state.coordinatorEpoch().orElse(0)
        epoch = jpype.JShort(state.producerEpoch())
        hanging = spec(partition_of(topic), state.producerId(), epoch, coordinator_epoch)
        self._admin.abortTransaction(hanging).all().get()

    def _producers(self, topic: str, broker: int | None) -> Any:
        """What a replica knows of producers; one that leads, or another one."""
        options = java_class("clients.admin.DescribeProducersOptions")().brokerId(broker)
        partition = partition_of(topic)
        asked = self._admin.describeProducers(jpype.java.util.List.of(partition), options)
        return asked.partitionResult(partition).get().activeProducers()

    def await_live(self, brokers: Sequence[int]) -> None:
        """Wait until these brokers, and no others, are registered and not fenced.

        Raises:
            BadInput: They are not in time.
        """

        def live() -> set[int]:
            return set(_ids(self._admin.describeCluster().nodes().get()))

        await_that(
            lambda: live() == set(brokers),
            f"the brokers {tuple(brokers)} to be alive",
            patience_s=PATIENCE_S,
            last=live,
        )

    def close(self) -> None:
        """Disconnect."""
        super().close()
        self._direct.close()


def _integers(numbers: Sequence[int]) -> Any:
    listed = jpype.java.util.ArrayList()
    for number in numbers:
        listed.add(jpype.java.lang.Integer(number))
    return listed


def _ids(nodes: Any) -> tuple[int, ...]:
    return tuple(int(node.id()) for node in nodes)
