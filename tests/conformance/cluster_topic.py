"""A topic of one partition on a cluster, and a producer of single records for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from tests.conformance.broker_clients import PATIENCE_S, Producer
from tests.conformance.cluster_clients import ClusterAdministrator, PartitionState
from tests.conformance.nodes import FETCH_WAIT_MS, Cluster, await_that

SEGMENT_MS = 600_000
_COORDINATOR = "__transaction_state"
_QUIET_S = 20 * FETCH_WAIT_MS / 1000
_SETTINGS = {
    "retention.ms": "-1",
    "segment.ms": str(SEGMENT_MS),
    "min.cleanable.dirty.ratio": "0.0",
    "file.delete.delay.ms": "0",
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
_PRODUCER = {"enable.idempotence": "false", "delivery.timeout.ms": "60000", "linger.ms": "1000"}

Say = Callable[[str], None]
"""Takes what the run does now."""


class SingleRecords:
    """Writes records, each a batch of its own."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        leader: int,
        *,
        acks: str = "all",
        transactional_id: str | None = None,
    ) -> None:
        """Connect to the leader.

        Timestamps begin now: those of markers, which the broker sets, roll no segment.
        """
        settings = {**_PRODUCER, "acks": acks}
        if transactional_id is not None:
            settings |= {"enable.idempotence": "true", "transactional.id": transactional_id}
        self._producer = Producer(cluster.brokers[leader].address, topic, settings)
        self._at_ms = time.time_ns() // 1_000_000

    def write(self, key: str | None, value: str | None) -> None:
        """Write a record to the active segment, and wait until it is acknowledged."""
        self._at_ms += 1
        self._producer.batch([(key, value)], self._at_ms)

    def roll(self, key: str, value: str) -> None:
        """Begin a new segment with a record: its timestamp is that far on.

        Source: LogSegment.timeWaitedForRoll.
        """
        self._at_ms += 2 * SEGMENT_MS
        self.write(key, value)

    def begin(self) -> None:
        """Begin a transaction."""
        self._producer.begin()

    def end(self, *, commit: bool) -> None:
        """Commit or abort the transaction; its marker is written a little later."""
        self._producer.end(commit=commit)

    def close(self) -> None:
        """Disconnect."""
        self._producer.close()


def coordinate_on(administrator: ClusterAdministrator, replicas: Sequence[int]) -> None:
    """Let the transaction coordinator be on the first of these brokers.

    Raises:
        BadInput: It does not come to be there in time.
    """

    def state() -> PartitionState:
        return administrator.state(_COORDINATOR)

    def in_sync() -> bool:
        return state().isr == tuple(sorted(replicas))

    if not state().replicas:
        administrator.create_on(_COORDINATOR, replicas, {"cleanup.policy": "compact"})
    await_that(in_sync, f"{_COORDINATOR} in sync", patience_s=PATIENCE_S, last=state)
    administrator.prefer(_COORDINATOR, replicas)


def create_topic(
    administrator: ClusterAdministrator,
    topic: str,
    replicas: Sequence[int],
    settings: Mapping[str, str],
) -> None:
    """Create a topic whose segments roll by the timestamps of its records."""
    administrator.create_on(topic, replicas, {**_SETTINGS, **settings})


def let_fetches_end() -> None:
    """Let the last fetch of a follower that was just paused be answered with nothing.

    A leader holds a fetch for `replica.fetch.wait.max.ms`, and would answer it with what is written
    meanwhile; the follower would take that when it goes on. Nothing outside the leader shows that
    it has answered. What follows is compared, so that an answer that is later still is noticed.
    """
    time.sleep(_QUIET_S)
