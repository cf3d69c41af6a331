"""What every replica of a real cluster holds at a moment, beside what a story predicts for it.

A story notes moments (its step `moment`); the run on the cluster stops at the same ones. At each
the batches in the segment files and the leader epoch caches on disk must be those of the story,
replica by replica; broker 1 is the story's r1. Records have the story's labels as their values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import jpype

from sim.simulate.run.stories import run_story
from sim.simulate.story.format import load_story
from sim.simulate.story.views import StoryReplica
from tests.conformance.broker_clients import Isolation, read_all
from tests.conformance.cluster_clients import ClusterAdministrator, PartitionState
from tests.conformance.compare import Json, first_unequal, shown
from tests.conformance.nodes import POLL_S, Cluster, await_that
from tests.conformance.raw_log import RawLog, read_raw

STORIES = Path("scenarios/seen_on_kafka")
PRODUCER = 7
"""The producer of transactions in a story; a topic has one at most."""
PATIENCE_S = 60
SETTLING_S = 15
"""How long the disk may take to be as predicted: epoch caches are flushed behind."""

Views = Mapping[str, StoryReplica]
"""Replicas by name, as a story noted them at a moment."""


class Differs(Exception):
    """A cluster does not hold what a story predicts; the text says where."""


def moments_of(story: str) -> Mapping[str, Views]:
    """What a story under `STORIES` predicts, by moment.

    Raises:
        BadInput: There is no such story.
    """
    return run_story(load_story(STORIES / f"{story}.yaml")).moments


def predicted(
    views: Views, *, leader: int | None = None, isolation: Isolation = "read_uncommitted"
) -> Json:
    """What is compared of a moment: all replicas, and what a new consumer reads from a leader.

    Args:
        views: What the story noted.
        leader: The broker that is read from; None = nobody reads.
        isolation: Whether open and aborted transactions are read.
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
        reads, end = _readable(views[f"r{leader}"], isolation)
        moment["consumer"] = {"leader": leader, "isolation": isolation, "reads": reads, "end": end}
    return moment


def _readable(view: StoryReplica, isolation: Isolation) -> tuple[list[str], int]:
    """What a new consumer is given, and where it ends (exclusive)."""
    if isolation == "read_committed":
        return view.committed, view.last_stable_offset
    entries = zip(view.log, view.offsets, strict=True)
    readable = [text for text, at in entries if at < view.high_watermark and text[:2] != "-@"]
    return readable, view.high_watermark


class Witness:
    """Looks at one topic of a running cluster while a run drives it.

    Attributes:
        seen: What the cluster held at each moment, in the form of `predicted`.
    """

    def __init__(
        self, cluster: Cluster, administrator: ClusterAdministrator, topic: str, story: str
    ) -> None:
        """Watch a topic beside a story."""
        self.topic = topic
        self.story = story
        self.seen: dict[str, Json] = {}
        self._cluster = cluster
        self._administrator = administrator
        self._moments = moments_of(story)

    def moment(
        self,
        name: str,
        *,
        leader: int | None = None,
        isolation: Isolation = "read_uncommitted",
    ) -> None:
        """Compare what is on the disks now; with `leader`, what a new consumer reads, too.

        Raises:
            Differs: It is not as predicted, and does not come to be so.
        """
        expected = predicted(self._moments[name], leader=leader, isolation=isolation)
        replicas = [int(replica[1:]) for replica in self._moments[name]]
        until = time.monotonic() + SETTLING_S
        while True:
            held = self._held(replicas, leader, isolation)
            found = first_unequal(expected, held, "")
            if found is None:
                self.seen[name] = held
                return
            if time.monotonic() > until:
                path, mine, theirs = found
                raise Differs(
                    f"{self.story}: {name}: {path[1:]}: "
                    f"Replog says {shown(mine)}, Kafka has {shown(theirs)}"
                )
            time.sleep(POLL_S)

    def await_end(self, broker: int, end: int) -> None:
        """Wait until the log of a replica ends at an offset (exclusive)."""
        self._until(
            lambda: self._replica(broker).get("log_end") == end,
            f"the log end offset {end} on broker {broker}",
            lambda: self._replica(broker),
        )

    def await_cleaned(self, broker: int, bound: int) -> None:
        """Wait until the cleaner of a broker has come to an offset (exclusive)."""
        node = self._cluster.brokers[broker]
        self._until(
            lambda: node.checkpoint(self.topic) == bound,
            f"the cleaner's checkpoint {bound} on broker {broker}",
            lambda: node.checkpoint(self.topic),
        )

    def await_leader(self, leader: int, isr: tuple[int, ...]) -> None:
        """Wait until brokers say that so it leads with these replicas in sync."""

        def state() -> PartitionState:
            return self._administrator.state(self.topic)

        self._until(
            lambda: (state().leader, state().isr) == (leader, isr),
            f"broker {leader} to lead with {isr} in sync",
            state,
        )

    def await_epoch(self, broker: int, epoch: int) -> None:
        """Wait until the leader epoch cache of a replica ends with an epoch."""

        def entries() -> list[tuple[int, int]]:
            return self._cluster.brokers[broker].epochs(self.topic)

        self._until(
            lambda: entries()[-1:] != [] and entries()[-1][0] == epoch,
            f"epoch {epoch} in the cache of broker {broker}",
            entries,
        )

    def await_horizons(self, brokers: tuple[int, ...]) -> None:
        """Wait until the clock is past every delete horizon on these brokers."""
        horizons = [
            batch["delete_horizon_ms"]
            for broker in brokers
            for batch in self._raw(broker).batches
            if batch["delete_horizon_ms"] is not None
        ]
        latest = max(horizons, default=0)
        patience_s = max(0.0, latest / 1000 - time.time()) + PATIENCE_S
        await_that(lambda: _now_ms() > latest, f"the time {latest} ms", patience_s=patience_s)

    def _until(self, happened: Callable[[], bool], what: str, last: Callable[[], object]) -> None:
        await_that(happened, f"{self.topic}: {what}", patience_s=PATIENCE_S, last=last)

    def _raw(self, broker: int) -> RawLog:
        return read_raw(self._cluster.brokers[broker].partition(self.topic))

    def _held(self, replicas: list[int], leader: int | None, isolation: Isolation) -> Json:
        """What is there; a replica whose files are being swapped has its error in place of that."""
        held = {f"r{broker}": self._replica(broker) for broker in replicas}
        if leader is not None:
            address = self._cluster.brokers[leader].address
            records, end = read_all(address, self.topic, isolation)
            held["consumer"] = {
                "leader": leader,
                "isolation": isolation,
                "reads": [_label(record.key, record.value, record.offset) for record in records],
                "end": end,
            }
        return held

    def _replica(self, broker: int) -> Json:
        try:
            raw = self._raw(broker)
        except (jpype.JException, OSError, IndexError) as error:
            return {"error": str(error)}
        return {
            "batches": [batch_text(batch) for batch in raw.batches],
            "epochs": [list(entry) for entry in self._cluster.brokers[broker].epochs(self.topic)],
            "log_end": raw.end,
        }


def batch_text(batch: Json) -> str:
    """A batch on disk as a story writes it: `label@offset epoch N`, ` horizon` if it has one.

    A batch whose header spans more offsets than its first and last record says so, which no story
    with one record in a batch does.
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
    """Values are labels; a tombstone, which has none, is named after its key."""
    return f"{f'{key}=null' if value is None else value}@{offset}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
