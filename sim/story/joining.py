"""Whom a story's leaders wait for beside the in-sync set (`high_watermark_waits_for`).

Time passes with `advance` alone. Whoever is up may join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.replication import Replica
from sim.replication.joining import (
    note_fetch,
    trust_the_in_sync,
    wait_for_joining,
    waits_for_joining,
)

if TYPE_CHECKING:
    from sim.story.driver import StoryDriver


class Joining:
    """Keeps the leaders of a story told of the time, and of who may join.

    Where they wait for the in-sync set alone nothing is looked at.
    """

    def __init__(self, world: StoryDriver) -> None:
        """The leaders of a story; there may be none yet."""
        self._world = world
        self._waits = waits_for_joining(world.rules)

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
            lag_max_ms=world.story.replica_lag_max_ms,
            rules=world.rules,
        )
