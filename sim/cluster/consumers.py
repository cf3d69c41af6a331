"""Consumers: they poll a leader, or one replica, read below its high watermark and go on.

A poll is one event, the moment of the read; nothing depends on when the answer arrives. What a poll
brings is up to `sim.replication.reading`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sim.cluster.converting import conversion, speaks
from sim.compaction import TOMBSTONE_MARKS
from sim.log import Record
from sim.log.formats import serve
from sim.replication.reading import Position, ReadingGoal, as_read, fetch, readable_end
from sim.scenario.model import Consumer as ConsumerSpec
from sim.trace import Consumed, Understood

if TYPE_CHECKING:
    from sim.cluster.context import World
    from sim.cluster.node import Node


class Consumer:
    """One consumer and its position.

    Attributes:
        name: What it is called.
        client: Its fetch version (KIP-87); None = the scenario is not about it.
    """

    __slots__ = (
        "_committed",
        "_done",
        "_goal",
        "_leader",
        "_place",
        "_spec",
        "_world",
        "client",
        "name",
    )

    def __init__(self, world: World, spec: ConsumerSpec) -> None:
        """A consumer at the very beginning."""
        self._world = world
        self._spec = spec
        self._committed = spec.isolation == "read_committed"
        self._leader: str | None = spec.replica
        self._place = Position()
        self._goal: ReadingGoal | None = None
        self._done = False
        self.name = spec.name
        self.client: int | None = spec.format

    @property
    def position(self) -> int:
        """The offset it reads next (inclusive)."""
        return self._place.offset

    def start(self, index: int) -> None:
        """Begin to poll; consumers do not poll in step."""
        spec = self._spec
        self._world.clock.after(spec.starts_ms + max(1, spec.poll_ms) + index, self._poll)

    def _poll(self) -> None:
        spec, clock = self._spec, self._world.clock
        if self._done:
            return
        now_ms = clock.now_ms
        clock.after(max(1, spec.poll_ms), self._poll)
        if spec.pauses and any(start_ms <= now_ms < end_ms for start_ms, end_ms in spec.pauses):
            return
        node = self._source()
        if node is None:
            return
        if spec.until is not None:
            self._towards_the_end(node, spec.max_batches)
        elif node.replica.log.high_watermark != self.position:
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

        A replica that does not know the consumer's version gives it nothing.
        """
        if not speaks(node, self.client):
            return False
        world, spec = self._world, self._spec
        fetched = fetch(
            self._place,
            node.replica,
            committed=self._committed,
            rules=world.rules,
            max_batches=max_batches,
        )
        start, end, batches = fetched
        if end == start:
            return False
        records: Sequence[Record] = [record for batch in batches for record in batch.records]
        if self.client is not None:
            flags = node.rules.cleaner.tombstone_mark != "null_value"
            served = serve(batches, understood=2 if flags else 1, client=self.client)
            world.tell(conversion(node.name, spec.name, served))
            records = [record for batch in served.batches for record in batch.records]
        given = as_read(records, rules=world.rules)
        if given and given[0].offset < start:
            given = tuple(record for record in given if record.offset >= start)
        if self._goal is not None:
            self._goal.note(given)
        now_ms = world.clock.now_ms
        world.tell([Consumed(node.name, spec.name, start, end, given, now_ms, self._committed)])
        if self.client is not None:
            by_flag = self.client == 3 and spec.deletes_by == "flag"
            world.tell([understood(spec.name, node.name, given, by_flag=by_flag)])
        return True

    def _towards_the_end(self, node: Node, max_batches: int | None) -> bool:
        """Read once, to the end that was asked for first; True when there was something."""
        log = node.replica.log
        if self._goal is None:
            end = readable_end(log, committed=self._committed)
            assert self._spec.until is not None
            self._goal = ReadingGoal(self._spec.until, log.log_start_offset, end)
        more = not self._goal.reached(self.position) and self.read(node, max_batches)
        if self._goal.reached(self.position):
            self._finish(node, self._goal)
        return more

    def _finish(self, node: Node, goal: ReadingGoal) -> None:
        self._done = True
        self._world.tell([goal.ended(node.name, self._spec.name, self.position)])

    def read_to_the_end(self, leader: Node) -> None:
        """Read everything that its replica, or the leader, has; then nothing more is to come."""
        tied = self._spec.replica
        node = leader if tied is None else self._world.nodes.get(tied, leader)
        if self._spec.until is None:
            while self.read(node, None):
                pass
            return
        while not self._done:
            if not self._towards_the_end(node, None) and not self._done:
                assert self._goal is not None
                self._finish(node, self._goal)


def understood(
    consumer: str, replica: str, given: Sequence[Record], *, by_flag: bool
) -> Understood:
    """What a consumer takes the keyed records for that `replica` gave it.

    `by_flag`: it asks `isTombstone`, which is the flag in magic 2, the null value before.
    """
    is_delete = TOMBSTONE_MARKS["magic" if by_flag else "null_value"]
    keyed = [record for record in given if record.key is not None]
    return Understood(
        replica,
        consumer,
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

    def roll_out(self, name: str, client: int) -> None:
        """A consumer fetches in another version from now on (KIP-87)."""
        for consumer in self._all:
            if consumer.name == name:
                consumer.client = client

    def read_to_the_end(self, leader: Node) -> None:
        """Let every one of them read all there is."""
        for consumer in self._all:
            consumer.read_to_the_end(leader)
