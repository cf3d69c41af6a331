"""Whom a story's leaders wait for beside the in-sync set (`high_watermark_waits_for`).

Time passes with `advance` alone. Whoever is up may join. A step that goes by a high watermark that
is held back is told: what was meant to be committed by then is not, and a story may be green for
that reason alone.
"""

from __future__ import annotations

from typing import Final, Protocol

from sim.protocol.replication import Replica
from sim.protocol.replication.joining import (
    held_back_by,
    in_sync_end,
    note_fetch,
    trust_the_in_sync,
    wait_for_joining,
    waits_for_joining,
)
from sim.protocol.rules import Rules
from sim.simulate.story.op import Step

_GO_BY_IT: Final = ("compact", "consume", "read_to_end")
"""The steps that go by the high watermark of the replica that they name."""


class World(Protocol):
    """The part of a story's driver that is looked at."""

    @property
    def rules(self) -> Rules:
        """They hold for everybody."""

    @property
    def replicas(self) -> dict[str, Replica]:
        """By name."""

    @property
    def now_ms(self) -> int:
        """The time."""

    def acting_leader(self) -> Replica | None:
        """The replica elected last, while it is up and leads."""


class Joining:
    """Keeps the leaders of a story told of the time, and of who may join.

    Where they wait for the in-sync set alone nothing is looked at.

    Attributes:
        notes: A line for each high watermark that is held back, with the first step that went by
            it, by leader, awaited followers, and since when they are.
    """

    def __init__(self, world: World, lag_max_ms: int) -> None:
        """The leaders of a story with this `replica.lag.time.max.ms`; there may be none yet."""
        self._world = world
        self._lag_max_ms = lag_max_ms
        self._waits = waits_for_joining(world.rules)
        self._since: dict[tuple[str, str], int] = {}
        self.notes: dict[tuple[object, ...], str] = {}

    def elected(self, leader: Replica) -> None:
        """A replica leads from now on."""
        if self._waits:
            trust_the_in_sync(leader, now_ms=self._world.now_ms)

    def fetched(self, leader: Replica, follower: str, offset: int) -> None:
        """A leader gave a follower what there is from `offset` on, be it nothing."""
        if self._waits and leader.leadership is not None:
            end, now_ms = leader.log.log_end_offset, self._world.now_ms
            note_fetch(leader.leadership, follower, offset, end, now_ms)

    def look(self) -> None:
        """Every leader sees whom it waits for: time may have passed, or somebody may be back."""
        if self._waits:
            for leader in self._world.replicas.values():
                if leader.leadership is not None:
                    self._look(leader, leader.leadership.isr)

    def before_isr(self, leader: Replica, isr: tuple[str, ...]) -> None:
        """A leader is about to be told of another in-sync set: who leaves it may come back."""
        if self._waits:
            self._look(leader, isr)

    def _look(self, leader: Replica, isr: tuple[str, ...]) -> None:
        world = self._world
        wait_for_joining(
            leader,
            world.replicas,
            isr=isr,
            eligible=[name for name, one in world.replicas.items() if one.up],
            now_ms=world.now_ms,
            lag_max_ms=self._lag_max_ms,
            rules=world.rules,
        )

    def taken(self, step: Step) -> None:
        """A step is over: note since when whom is waited for, and whether the step went by it."""
        if not self._waits:
            return
        pairs = [
            (one.name, name)
            for one in self._world.replicas.values()
            if one.leadership is not None
            for name in one.leadership.awaited
        ]
        self._since = {pair: self._since.get(pair, step.number) for pair in pairs}
        acting = self._world.acting_leader()
        if acting is not None and step.op in _GO_BY_IT:
            self._note_held(acting, step)

    def _note_held(self, leader: Replica, step: Step) -> None:
        world, name = self._world, leader.name
        waits_for, reached = held_back_by(leader, world.rules), in_sync_end(leader)
        mark = world.replicas[step["replica"]].log.high_watermark
        by_end = step.op == "compact" and world.rules.cleaner.cleaner_bound == "leo"
        if by_end or not waits_for or mark >= min(reached, step.get("upto", reached)):
            return
        since = min(self._since[name, one] for one in waits_for)
        self.notes.setdefault(
            (name, waits_for, since),
            f"step {step.number} finds the high watermark of {name} at "
            f"{leader.log.high_watermark}, though all in sync have {reached}: since step {since} "
            f"it waits for {', '.join(waits_for)}, which had caught up and may join "
            f"(high_watermark_waits_for: {world.rules.replication.high_watermark_waits_for}, "
            f"replica_lag_max_ms: {self._lag_max_ms})",
        )
