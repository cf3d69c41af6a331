"""A topic of one partition on a cluster, and a producer of single records for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from tests.conformance.broker_clients import Producer
from tests.conformance.cluster_clients import ClusterAdministrator
from tests.conformance.nodes import FETCH_WAIT_MS, Cluster

SEGMENT_MS = 60_000
_QUIET_S = 20 * FETCH_WAIT_MS / 1000
_SETTINGS = {
    "retention.ms": "-1",
    "segment.ms": str(SEGMENT_MS),
    "min.cleanable.dirty.ratio": "0.0",
    "file.delete.delay.ms": "0",
}
_PRODUCER = {"enable.idempotence": "false", "delivery.timeout.ms": "60000", "linger.ms": "1000"}

Say = Callable[[str], None]
"""Takes what the run does now."""


class SingleRecords:
    """Writes records, each a batch of its own, with timestamps that lie in the past."""

    def __init__(self, cluster: Cluster, topic: str, leader: int, *, acks: str = "all") -> None:
        """Connect to the leader."""
        settings = {**_PRODUCER, "acks": acks}
        self._producer = Producer(cluster.brokers[leader].address, topic, settings)
        self._at_ms = time.time_ns() // 1_000_000 - 10 * SEGMENT_MS

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

    def close(self) -> None:
        """Disconnect."""
        self._producer.close()


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
