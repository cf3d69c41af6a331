"""A topic on a real cluster: its writes, and the logs of all replicas compared with a story.

A story notes moments (its step `moment`); the run on the cluster stops at the same ones. At each
the batches in the segment files and the leader epoch caches on disk must be those of the story,
replica by replica; broker 1 is the story's r1. Records have the story's labels as their values.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import jpype

from sim.api.partitions import open_replicas
from sim.errors import BadInput
from sim.simulate.run.stories import run_story
from sim.simulate.story.driver import StoryReplica
from sim.simulate.story.format import load_story
from tests.conformance.broker_run import sleep_past_horizons
from tests.conformance.clients import Administrator, Isolation, Producer, read_all
from tests.conformance.compare import Json, Result, first_unequal
from tests.conformance.nodes import BROKERS, FETCH_WAIT_MS, POLL_S, Cluster, await_that
from tests.conformance.partitions import compare_folder
from tests.conformance.recordings import STORIES
from tests.conformance.segments import StoredLog, read_log
from tests.partition.clusters import UNSAFE, unsafe_in

PRODUCER = 7
"""Producer id of transactions in a story; a topic has one at most."""
SETTLING_S = 15
"""Seconds until the disk has to be as predicted: epoch caches are flushed in the background."""
SEGMENT_MS = 600_000
_COORDINATOR = "__transaction_state"
_QUIET_S = 20 * FETCH_WAIT_MS / 1000
_SETTINGS = {
    "cleanup.policy": "compact",
    "retention.ms": "-1",
    "segment.ms": str(SEGMENT_MS),
    "min.cleanable.dirty.ratio": "0.0",
    "file.delete.delay.ms": "0",
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
_PRODUCER = {"enable.idempotence": "false", "delivery.timeout.ms": "60000", "linger.ms": "1000"}

Views = Mapping[str, StoryReplica]
"""Views of replicas by name, as a story noted them at a moment."""


class Differs(Exception):
    """A difference of a cluster from a story's prediction; the text names the place."""


def moments_of(story: str) -> Mapping[str, Views]:
    """Predictions of a story under `STORIES`, by moment.

    Raises:
        BadInput: There is no such story.
    """
    return run_story(load_story(STORIES / f"{story}.yaml")).moments


def predicted(
    views: Views, *, leader: int | None = None, isolation: Isolation = "read_uncommitted"
) -> Json:
    """The compared part of a moment: all replicas, and the reads of a new consumer.

    Args:
        views: The replicas as the story noted them.
        leader: Broker from which the consumer reads; None without a consumer.
        isolation: Isolation level of the consumer.
    """
    moment: Json = {
        name: {
            "batches": view.batches,
            "epochs": [list(entry) for entry in view.epochs],
            "log_end": view.log_end_offset,
        }
        for name, view in views.items()
    }
    if leader is not None:
        view = views[f"r{leader}"]
        reads, end = view.committed, view.last_stable_offset
        if isolation == "read_uncommitted":
            end = view.high_watermark
            entries = zip(view.log, view.offsets, strict=True)
            reads = [text for text, at in entries if at < end and text[:2] != "-@"]
        moment["consumer"] = {"leader": leader, "isolation": isolation, "reads": reads, "end": end}
    return moment


class Topic:
    """The topic of one story, with its producers. To be closed.

    Its segments roll by the timestamps of its records. These begin at the present time, so that
    markers, whose timestamps the broker sets, roll no segment.

    Args:
        cluster: A running cluster.
        administrator: Its administrator.
        story: Name of the story, and of the topic.
        replicas: Brokers of the partition, the first leader first.
        settings: Settings of the topic.
        acks: Setting `acks` of the producer of `write`.
        transactional: True for a topic with a transactional producer.

    Attributes:
        story: The name of the story.
        seen: State of the cluster at each moment, in the form of `predicted`.
    """

    def __init__(
        self,
        cluster: Cluster,
        administrator: Administrator,
        story: str,
        replicas: tuple[int, ...] = BROKERS,
        settings: Mapping[str, str] | None = None,
        *,
        acks: str = "all",
        transactional: bool = False,
    ) -> None:
        self.story = story
        self.seen: dict[str, Json] = {}
        self._cluster = cluster
        self._administrator = administrator
        self._moments = moments_of(story)
        self._producers: list[Producer] = []
        administrator.create(story, {**_SETTINGS, **(settings or {})}, replicas)
        self.await_leader(replicas[0], replicas)
        self.connect(replicas[0], acks)
        if transactional:
            own = {"enable.idempotence": "true", "transactional.id": story}
            address = cluster.brokers[replicas[0]].address
            self.transactions = Producer(address, story, {**_PRODUCER, **own})
            self._producers.append(self.transactions)

    def connect(self, leader: int, acks: str = "all") -> None:
        """Starts a new producer for `write`, with timestamps that begin now."""
        self._at_ms = time.time_ns() // 1_000_000
        address = self._cluster.brokers[leader].address
        self._records = Producer(address, self.story, {**_PRODUCER, "acks": acks})
        self._producers.append(self._records)

    def close(self) -> None:
        """Disconnects all producers of the topic."""
        for producer in self._producers:
            producer.close()

    def write(self, key: str | None, value: str | None) -> None:
        """Writes a record as a batch to the active segment, and waits until it is acknowledged."""
        self._at_ms += 1
        self._records.batch([(key, value)], self._at_ms)

    def write_in_transaction(self, key: str, value: str) -> None:
        """Begins a transaction with a record."""
        self._at_ms += 1
        self.transactions.begin()
        self.transactions.batch([(key, value)], self._at_ms)

    def roll(self, key: str, value: str) -> None:
        """Begins a new segment with a record, whose timestamp is that much later.

        Source: LogSegment.timeWaitedForRoll.
        """
        self._at_ms += 2 * SEGMENT_MS
        self.write(key, value)

    def elect(self, *replicas: int) -> None:
        """Has the first of the replicas elected, and waits until all are in sync."""
        self._administrator.prefer(self.story, replicas)
        self.await_leader(replicas[0], tuple(sorted(replicas)))

    def moment(
        self,
        name: str,
        *,
        leader: int | None = None,
        isolation: Isolation = "read_uncommitted",
    ) -> None:
        """Compares the disks with the prediction; with `leader`, the reads of a new consumer, too.

        `replog replicas` on the folders has to name what a failover would break, and no more.

        Raises:
            Differs: The cluster is not as predicted within `SETTLING_S`.
        """
        expected = predicted(self._moments[name], leader=leader, isolation=isolation)
        replicas = [int(replica[1:]) for replica in self._moments[name]]
        until = time.monotonic() + SETTLING_S
        while True:
            held = {f"r{broker}": self._replica(broker) for broker in replicas}
            if leader is not None:
                address = self._cluster.brokers[leader].address
                records, end = read_all(address, self.story, isolation)
                reads = [_label(record.key, record.value, record.offset) for record in records]
                consumer = {"leader": leader, "isolation": isolation, "reads": reads, "end": end}
                held["consumer"] = consumer
            found = first_unequal(expected, held) or self._unsafe(name, replicas)
            if found is None:
                self.seen[name] = held
                return
            if time.monotonic() > until:
                raise Differs(f"{self.story}: {name}: {found}")
            time.sleep(POLL_S)

    def _unsafe(self, moment: str, replicas: Sequence[int]) -> str | None:
        """First difference between the findings of `replog replicas` on the logs and `UNSAFE`."""
        expected = UNSAFE.get((self.story, moment))
        places = [self._cluster.brokers[one].partition(self.story) for one in replicas]
        read = Result(moment)
        try:
            for place in places:
                compare_folder(place, read)
            held = unsafe_in(open_replicas(places).compared.findings)
        except (BadInput, OSError, jpype.JException) as error:  # while files are swapped
            return str(error)
        read.compare(held, [expected] if expected else [], "replicas")
        return read.differences[0] if read.differences else None

    def await_end(self, end: int, *brokers: int) -> None:
        """Waits until the logs of replicas end at an offset (exclusive)."""

        def ends() -> list[object]:
            return [self._replica(broker).get("log_end") for broker in brokers]

        what = f"the log of {self.story} to end at {end} on brokers {brokers}"
        await_that(what, ends, [end] * len(brokers))

    def await_cleaned(self, bound: int, *brokers: int) -> None:
        """Waits until the cleaners of brokers have reached an offset (exclusive)."""
        for broker in brokers:
            self._cluster.brokers[broker].await_cleaned(self.story, bound)

    def await_leader(self, leader: int, isr: tuple[int, ...]) -> None:
        """Waits until brokers report that this one leads with these replicas in sync."""

        def state() -> tuple[int | None, tuple[int, ...]]:
            known = self._administrator.state(self.story)
            return known.leader, known.isr

        await_that(f"broker {leader} to lead {self.story} with {isr} in sync", state, (leader, isr))

    def await_epoch(self, broker: int, epoch: int) -> None:
        """Waits until the leader epoch cache of a replica ends with an epoch."""

        def last() -> list[int]:
            return [of for of, _ in self._cluster.brokers[broker].epochs(self.story)[-1:]]

        await_that(f"epoch {epoch} of {self.story} in the cache of broker {broker}", last, [epoch])

    def await_horizons(self, *brokers: int) -> None:
        """Waits until the clock is past every delete horizon on these brokers."""
        sleep_past_horizons(*map(self._raw, brokers))

    def _raw(self, broker: int) -> StoredLog:
        return read_log(self._cluster.brokers[broker].partition(self.story))

    def _replica(self, broker: int) -> Json:
        """State of a replica on disk, or the error of reading it while its files are swapped."""
        try:
            raw = self._raw(broker)
        except (BadInput, ValueError, OSError) as error:
            return {"error": str(error)}
        return {
            "batches": [_batch_text(batch) for batch in raw.batches],
            "epochs": [list(entry) for entry in self._cluster.brokers[broker].epochs(self.story)],
            "log_end": raw.end,
        }


def coordinate_on(administrator: Administrator, replicas: Sequence[int]) -> None:
    """Moves the transaction coordinator to the first of these brokers.

    Raises:
        BadInput: It is not there in time.
    """
    if not administrator.state(_COORDINATOR).replicas:
        administrator.create(_COORDINATOR, {"cleanup.policy": "compact"}, replicas)
    in_sync = tuple(sorted(replicas))
    await_that(f"{_COORDINATOR} in sync", lambda: administrator.state(_COORDINATOR).isr, in_sync)
    administrator.prefer(_COORDINATOR, replicas)


def let_fetches_end() -> None:
    """Waits until the last fetch of a follower that was just paused has an empty answer.

    A leader holds a fetch for `replica.fetch.wait.max.ms`, and would answer it with records that
    are written meanwhile; the follower would append them when it goes on. The leader does not show
    that it has answered. The comparisons that follow would show an answer that comes even later.
    """
    time.sleep(_QUIET_S)


def _batch_text(batch: Json) -> str:
    """Text of a batch on disk as in a story: `label@offset epoch N`, then ` horizon` if it has one.

    A batch whose header spans more offsets than its records has ` span`, which no story has.
    """
    first, last = batch["base_offset"], batch["last_offset"]
    named = list(_entries(batch)) or [f"-@{last}"]
    held = [record["offset"] for record in batch["records"]] or [last]
    span = "" if (held[0], held[-1]) == (first, last) else f" span {first}..{last}"
    horizon = "" if batch["delete_horizon_ms"] is None else " horizon"
    return f"{' '.join(named)} epoch {batch['epoch']}{span}{horizon}"


def _entries(batch: Json) -> Iterator[str]:
    for record in batch["records"]:
        if batch["control"] is not None:
            yield f"{record['marker'][0]}:{PRODUCER}@{record['offset']}"
        else:
            yield _label(record["key"], record["value"], record["offset"])


def _label(key: str | None, value: str | None, offset: int) -> str:
    """Label of a record: its value, or its key if it is a tombstone; then its offset."""
    return f"{f'{key}=null' if value is None else value}@{offset}"
