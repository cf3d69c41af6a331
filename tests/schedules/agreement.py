"""Random schedules: what a search says of each step, against what the checker says of the story."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sim.check.folding import undone_deletes
from sim.protocol.rules import Rules
from sim.simulate.run.stories import run_story
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import STORY_DEFAULTS, Story
from sim.simulate.story.op import Step
from sim.study.explore.expander import Expander, Rows
from sim.study.explore.judging import AT_REST, CAUGHT_UP, JUDGED, names_of
from sim.study.explore.space import Space
from sim.study.explore.witness import differing
from sim.study.explore.world import Budgets, Move, World, step_of

STEPS = 30
BY_STEPS = tuple(name for name in JUDGED if name not in (*AT_REST, CAUGHT_UP))
CERTIFIED = 20
"""Of so many schedules one is judged by the oracle of traces, too, from beginning to end."""
AT_ONCE = 250
"""So many schedules are followed side by side."""

MUCH = Budgets(appends=6, epochs=5, shrinks=2, crashes=1, passes=2)
THREE = World(3, (0, 1, 2), ("k",), (0, 9), tombstones=True, clean=True, budgets=MUCH)
TWO = World(2, (0,), ("k",), (0, 9), tombstones=False, clean=True, budgets=MUCH._replace(crashes=0))
SNAPSHOTS = MUCH._replace(crashes=0, snapshots=3)
TRIED: tuple[tuple[World, dict[str, Any]], ...] = (
    (THREE, {"strategy": "header"}),
    (TWO, {"strategy": "header"}),
    (THREE, {"strategy": "offset", "fix": "leo_retention"}),
    (
        THREE,
        {
            "strategy": "header",
            "follower_position": "request",
            "truncation": "high_watermark",
        },
    ),
    (
        THREE,
        {"strategy": "header", "truncation": "epoch_kip101", "leo_source": "last_record"},
    ),
    (
        replace(THREE, budgets=MUCH._replace(crashes=0)),
        {"strategy": "header", "commit": "majority"},
    ),
    (
        replace(THREE, clean=False),
        {"strategy": "timestamp", "fix": "empty_batch", "tombstone_removal": "leo_gated"},
    ),
    (
        THREE,
        {"strategy": "header", "tombstone_removal": "coordinated", "map_range": "dirty"},
    ),
    (THREE, {"strategy": "header", "high_watermark_waits_for": "caught_up_eligible"}),
    (replace(THREE, budgets=SNAPSHOTS), {"strategy": "header", "commit": "majority"}),
    (replace(TWO, budgets=SNAPSHOTS), {"strategy": "offset", "snapshot_offer": "by_epoch"}),
    (
        replace(TWO, isr=(0, 1), budgets=MUCH._replace(passes=3)),
        {
            "strategy": "offset",
            "high_watermark_waits_for": "caught_up",
            "delete_retention_ms": 20_000,  # two passes are more than replica.lag.time.max.ms
        },
    ),
)


def rules_of(values: dict[str, Any]) -> Rules:
    """The rules of a story with some values."""
    return STORY_DEFAULTS.with_values({"follower_position": "read_end", **values})


@dataclass
class Schedule:
    """A random schedule: the story, and what the search says of it.

    Attributes:
        driver: The story as it stands.
        naming: Index = number of a replica in the search, value = its number in the story.
        said: What the search found broken so far.
        steps: Of the story.
        resurrected: Whether a replica that is live and caught up showed a deleted key.
    """

    driver: StoryDriver
    naming: list[int]
    said: set[str] = field(default_factory=set)
    steps: list[Step] = field(default_factory=list)
    resurrected: set[str] = field(default_factory=set)

    def take(self, step: Step | None) -> None:
        """One more step."""
        if step is None:
            return
        self.steps.append(step)
        self.driver.take(step)
        history = self.driver.checker.history
        known = len(history.committed)
        for view in history.replicas.values():
            caught_up = view.high_watermark >= known and len(view.slots) >= known
            if view.up and caught_up and undone_deletes(history, view):
                self.resurrected.add(CAUGHT_UP)

    def found(self) -> set[str]:
        """What the checker has found, but for states at rest."""
        return violated(self.driver) | self.resurrected

    def difference(self, found: set[str]) -> str:
        """What one of the two finds and the other does not, with the steps; empty = they agree."""
        if found == self.said:
            return ""
        return f"checker {found - self.said}, search {self.said - found}, after\n{self._told()}"

    def disputed(self) -> str:
        """What the oracle of traces does not find as the checker does; empty = they agree."""
        story = replace(self.driver.story, steps=(*self.steps, Step(0, "quiesce", {})))
        found = differing(run_story(story))
        return f"certify: {found}, after\n{self._told()}" if found else ""

    def _told(self) -> str:
        return "\n".join(f"  {one.op} {dict(one.fields)}" for one in self.steps)

    def at_rest(self) -> set[str]:
        """What the checker finds where everybody has fetched all there is."""
        driver = StoryDriver(self.driver.story, invariants=AT_REST)
        for step in (*self.steps, Step(0, "quiesce", {})):
            driver.take(step)
        return violated(driver)


def violated(driver: StoryDriver) -> set[str]:
    """What the checker of a story has found."""
    return {one.invariant for one in driver.checker.violations}


class Walk:
    """Many random schedules of a world under some rules, side by side."""

    def __init__(self, world: World, rules: Rules, seed: int) -> None:
        self.world, self.rules = world, rules
        self.space = Space(world, rules)
        self.expander = Expander(self.space)
        self._random = random.Random(seed)

    def differences(self, schedules: int) -> Iterator[str]:
        """Where search and checker differ, of so many schedules."""
        for begun in range(0, schedules, AT_ONCE):
            together = [self._begun() for _ in range(min(AT_ONCE, schedules - begun))]
            rows = np.array([self.space.start()] * len(together), np.int32)
            for _ in range(STEPS):
                self._take(rows, self._chosen(rows), together)
                yield from filter(None, (one.difference(one.found()) for one in together))
            yield from self._at_rest(rows, together)
            yield from filter(None, (one.disputed() for one in together[::CERTIFIED]))

    def _begun(self) -> Schedule:
        names = self.world.names
        isr = tuple(names[one] for one in self.world.isr)
        story = Story("", rules=self.rules, replicas=names, isr=isr, voters=names)
        return Schedule(StoryDriver(story, invariants=BY_STEPS), [*range(len(names))])

    def _chosen(self, rows: Rows) -> list[int]:
        """A move that is possible for each row; -1 = there is none."""
        facts = self.expander.facts_of(rows)
        possible = np.array(
            [self.expander.possible(one.move, facts) for one in self.expander.placed]
        )
        return [
            self._random.choice(choices) if choices else -1
            for choices in (np.flatnonzero(column).tolist() for column in possible.T)
        ]

    def _take(self, rows: Rows, chosen: list[int], schedules: list[Schedule]) -> None:
        for number in {*chosen} - {-1}:
            placed = self.expander.placed[number]
            at = np.flatnonzero(np.array(chosen) == number)
            before = self.expander.renamed(rows[at], placed.order)
            rows[at], broken = self.expander.apply(placed.number, before)
            broken |= self.expander.judge_states(rows[at])
            for row, mask in zip(at.tolist(), broken.tolist(), strict=True):
                one = schedules[row]
                one.take(self._step(placed.move, one))
                one.naming = _renamed(one.naming, self.space.orders[placed.order])
                one.said.update(names_of(mask))

    def _step(self, move: Move, schedule: Schedule) -> Step | None:
        named = move._replace(who=tuple(schedule.naming[one] for one in move.who))
        epoch = 1 + sum(one.op.startswith("elect") for one in schedule.steps)
        return step_of(named, self.world, schedule.driver, lambda: epoch)

    def _at_rest(self, rows: Rows, schedules: list[Schedule]) -> Iterator[str]:
        """Everybody fetches until nothing comes any more; then states at rest are judged."""
        fetches = [
            number
            for number, one in enumerate(self.expander.placed)
            if one.move.op.startswith("fetch")
        ]
        for number in fetches * 4 * self.world.replicas:
            placed = self.expander.placed[number]
            facts = self.expander.facts_of(rows)
            leads = self.expander.acting_leader(facts) == placed.move.who[1]
            possible = leads & self.expander.possible(placed.move, facts)
            self._take(rows, np.where(possible, number, -1).tolist(), schedules)
        led = np.flatnonzero(self.expander.acting_leader(self.expander.facts_of(rows)) >= 0)
        masks = self.expander.judge_rest(rows[led])
        for row, mask in zip(led.tolist(), masks.tolist(), strict=True):
            one = schedules[row]
            one.said.update(names_of(mask))
            yield from filter(None, [one.difference(one.found() | one.at_rest())])


def _renamed(naming: list[int], order: tuple[int, ...]) -> list[int]:
    found = [*naming]
    for old, new in enumerate(order):
        found[new] = naming[old]
    return found
