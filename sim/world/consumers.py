"""Consumers: they poll a leader, or one replica, read below its high watermark and go on.

A poll is one event, the moment of the read; nothing depends on when the answer arrives. Consumers
read uncommitted: they are given the records of open and aborted transactions, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sim.compaction import TOMBSTONE_MARKS
from sim.log import Batch, Record
from sim.log.formats import serve
from sim.replication.reading import as_read
from sim.scenario.model import Consumer as ConsumerSpec
from sim.trace import Consumed, Understood

if TYPE_CHECKING:
    from sim.world.context import World
    from sim.world.node import Node


class Consumer:
    """One consumer and its position.

    Attributes:
        position: The offset it reads next (inclusive).
    """

    __slots__ = ("_leader", "_spec", "_world", "position")

    def __init__(self, world: World, spec: ConsumerSpec) -> None:
        """A consumer at the very beginning."""
        self._world = world
        self._spec = spec
        self._leader: str | None = spec.replica
        self.position = 0

    def start(self, index: int) -> None:
        """Begin to poll; consumers do not poll in step."""
        self._world.clock.after(max(1, self._spec.poll_ms) + index, self._poll)

    def _poll(self) -> None:
        spec, clock = self._spec, self._world.clock
        now_ms = clock.now_ms
        clock.after(max(1, spec.poll_ms), self._poll)
        if spec.pauses and any(start_ms <= now_ms < end_ms for start_ms, end_ms in spec.pauses):
            return
        node = self._source()
        if node is not None and node.replica.log.high_watermark != self.position:
            self.read(node, spec.max_batches)

    def _source(self) -> Node | None:
        """The replica to read from; when it does not lead any more, the next poll asks another."""
        world = self._world
        if self._leader is None:
            if world.leader is None:
                return None
            self._leader = world.leader[1]
        node = world.nodes.get(self._leader)
        if node is None or not node.replica.up:
            self._leader = self._spec.replica
            return None
        if self._spec.replica is None and node.desk is None:
            self._leader = None
            return None
        return node

    def read(self, node: Node, max_batches: int | None) -> bool:
        """Read once; True when there was something.

        A position below the log start moves up to it (`auto.offset.reset: earliest`), one above the
        log end moves back to it (a truncation that KIP-320 detects).
        """
        log = node.replica.log
        position = min(max(self.position, log.log_start_offset), log.log_end_offset)
        self.position = position
        high_watermark = log.high_watermark
        if position >= high_watermark:
            return False
        end = position
        records: list[Record] = []
        batches: list[Batch] = []
        for batch in log.read(position, max_batches=max_batches):
            if batch.last_offset >= high_watermark:
                break
            end = batch.last_offset + 1
            if batch.control is None:
                records += batch.records
                batches.append(batch)
        if end == position:
            return False
        self.position = end
        spec = self._spec
        if spec.format is not None:
            flags = node.rules.tombstone_mark != "null_value"
            served = serve(batches, understood=2 if flags else 1, client=spec.format)
            self._world.counts.bytes_down_converted += served.converted_bytes
            records = [record for batch in served.batches for record in batch.records]
        given = as_read(records, rules=self._world.rules)
        if given and given[0].offset < position:
            given = tuple(record for record in given if record.offset >= position)
        now_ms = self._world.clock.now_ms
        self._world.tell([Consumed(node.name, spec.name, position, end, given, now_ms)])
        if spec.format is not None:
            self._world.tell([understood(spec, node.name, given)])
        return True

    def read_to_the_end(self, leader: Node) -> None:
        """Read everything that its replica, or the leader, has."""
        tied = self._spec.replica
        node = leader if tied is None else self._world.nodes.get(tied, leader)
        while self.read(node, None):
            pass


def understood(spec: ConsumerSpec, replica: str, given: Sequence[Record]) -> Understood:
    """What a consumer takes the keyed records for that `replica` gave it."""
    asks_flag = spec.format == 3 and spec.deletes_by == "flag"
    is_delete = TOMBSTONE_MARKS["magic" if asks_flag else "null_value"]
    keyed = [record for record in given if record.key is not None]
    return Understood(
        replica,
        spec.name,
        tuple(record for record in keyed if not is_delete(record)),
        tuple(record for record in keyed if is_delete(record)),
    )


class Consumers:
    """All consumers of a scenario."""

    def __init__(self, world: World) -> None:
        """They start with `start`."""
        self._all = [Consumer(world, spec) for spec in world.scenario.consumers]

    def start(self) -> None:
        """Begin to poll."""
        for index, consumer in enumerate(self._all):
            consumer.start(index)

    def read_to_the_end(self, leader: Node) -> None:
        """Let every one of them read all there is."""
        for consumer in self._all:
            consumer.read_to_the_end(leader)
