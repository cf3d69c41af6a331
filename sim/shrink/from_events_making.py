"""The story that is being made of a run: what it has come to, and how steps are added to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sim.replication import Replica
from sim.rules import Rules
from sim.shrink.from_events_log import OffsetMap
from sim.story.driver import StoryDriver
from sim.story.format import Story
from sim.story.steps import Step


class Choice(NamedTuple):
    """What of a run becomes part of the story.

    Attributes:
        records: The uids of the records that are written; None = all.
        reads: Whether consumers read.
        exact: Whether a pass goes as far as in the run, and a fetch brings as much; otherwise as
            far as it can.
    """

    records: frozenset[int] | None
    reads: bool = False
    exact: bool = True


class Making:
    """A story in the making.

    Attributes:
        driver: What the story has come to.
        steps: Those taken so far.
        rules: Those of the run.
        choice: What of the run becomes part of it.
        map: Where the offsets of the run are.
    """

    def __init__(
        self, story: Story, *, rules: Rules, choice: Choice, invariants: Sequence[str]
    ) -> None:
        """A story without steps; `rules` are those of the run, `invariants` judge the story."""
        self.driver = StoryDriver(story, invariants=invariants)
        self.steps: list[Step] = []
        self.rules = rules
        self.choice = choice
        self.map = OffsetMap()
        self._followed: set[tuple[str, str, int]] = set()

    def step(self, op: str, **fields: Any) -> None:
        """Take one step; fields that are None are left out."""
        given = {name: value for name, value in fields.items() if value is not None}
        step = Step(len(self.steps) + 1, op, given)
        self.steps.append(step)
        self.driver.take(step)

    def replica(self, name: str) -> Replica | None:
        """The replica of the story, if it has one of that name."""
        return self.driver.replicas.get(name)

    def until(self, now_ms: int) -> None:
        """Let time pass up to a moment, unless that is over."""
        if now_ms > self.driver.now_ms:
            self.step("advance", ms=now_ms - self.driver.now_ms)

    def pair(self, follower: str, leader: str) -> tuple[Replica, Replica] | None:
        """Both, if the story's leader leads and both are up."""
        fetcher, source = self.replica(follower), self.replica(leader)
        if fetcher is None or source is None or fetcher is source:
            return None
        ready = fetcher.up and source.up and source.leadership is not None
        return (fetcher, source) if ready else None

    def follow(self, fetcher: Replica, source: Replica) -> None:
        """Become a follower first, where that is a step of its own."""
        mode = self.rules.replication.truncation
        if mode not in ("high_watermark", "epoch_kip101") or source.leadership is None:
            return
        known = (fetcher.name, source.name, source.leadership.epoch)
        if known not in self._followed:
            self._followed.add(known)
            self.step("follow", follower=fetcher.name, leader=source.name)

    def fetch(self, fetcher: Replica, source: Replica, most: int | None = None) -> None:
        """One round trip, with so many batches at most."""
        self.step("fetch", follower=fetcher.name, leader=source.name, max=most)

    def report(self, leader: str, follower: str) -> None:
        """The leader hears of the follower's end, if it has not."""
        pair = self.pair(follower, leader)
        if pair is None:
            return
        fetcher, source = pair
        assert source.leadership is not None
        known = source.leadership.positions.get(follower)
        if known is None or known < fetcher.log.log_end_offset:
            self.follow(fetcher, source)
            self.fetch(fetcher, source, 0)
