"""The states of a world, by number, and what a move makes of them.

A state is a row of numbers: one for each replica and one for the rest. What a move does is computed
by the product's own functions, which are those of stories, on watched replicas: with it comes what
the move has read, so that it is computed once for all states that are alike in that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import permutations
from typing import Any, Final, NamedTuple

from sim.check.replica_view import ReplicaView
from sim.log import LogConfig
from sim.replication import Replica
from sim.replication.coordination import RemovalCoordinator
from sim.replication.frozen import renamed
from sim.replication.replica import log_config
from sim.rules import Rules
from sim.schedules.acts import Acts, mask_of
from sim.schedules.judging import Court, MemberJudge
from sim.schedules.parts import PARTS, PLACE, Member, Parts
from sim.schedules.tables import Table
from sim.schedules.views import Views
from sim.schedules.world import NOBODY, NOTHING_USED, Move, Rest, World

OF_REST: Final = ("leader", "isr", "now_ms", "epochs", "appends", "coordinator")
"""What a move may read of the rest of a state; the budgets that it is counted against, too."""


class Effect(NamedTuple):
    """What a move does besides changing replicas.

    Attributes:
        uses: The budget that it is counted against.
        leader: Who was elected; NOBODY = there was no election.
        isr: The in-sync set as the controller has it from now on; None = as before.
        told: The in-sync set that the leader told; None = it told none.
        facts: What the committed history has to know, in order: ("appended", offset, uid) and
            ("committed", replica, mark before, mark, lineage below it).
        joined: Whether a replica was admitted to the in-sync set by its position.
        coordinator: What the coordinator knows from now on; None = as before.
        now_ms: What time it is from now on; None = no time passes.
    """

    uses: str
    leader: int
    isr: int | None
    told: int | None
    facts: tuple[tuple[Any, ...], ...]
    joined: bool
    coordinator: Any
    now_ms: int | None


class Shape(NamedTuple):
    """What a move has read: places of the parts of each replica, and names of the rest."""

    parts: tuple[tuple[int, ...], ...]
    rest: tuple[str, ...]


class Outcome(NamedTuple):
    """What came of a move.

    Attributes:
        read: What it depends on.
        changes: For each replica place and new number of the parts that changed.
        effect: The number of its effect.
        broken: What it breaks, as a mask.
    """

    read: Shape
    changes: tuple[tuple[tuple[int, int], ...], ...]
    effect: int
    broken: int


class Space:
    """All that was met of a world under some rules.

    Attributes:
        world: The world.
        rules: The rules.
        parts: Every part of a replica that was met.
        members: Every replica that was met.
        rests: Every rest that was met.
        views: Every log that was met, as a view; replicas whose logs look alike share one.
        histories: For every committed history that was met a rest that has it.
        orders: The ways to rename the replicas: index = old number, value = new number.
    """

    def __init__(self, world: World, rules: Rules, *, symmetry: bool = True) -> None:
        """Nothing is met yet."""
        self.world, self.rules = world, rules
        self.orders = (
            list(permutations(range(world.replicas)))
            if symmetry
            else [tuple(range(world.replicas))]
        )
        names = world.names
        self._names = [{names[a]: names[b] for a, b in enumerate(order)} for order in self.orders]
        self.parts = Parts(self._names, rules)
        self.members: Table[Member] = Table(
            self.parts.image, len(self.orders), self._member_facts, self._member_hash
        )
        self.rests: Table[Rest] = Table(self._rename_rest, len(self.orders), self._rest_facts)
        self.views: list[ReplicaView] = []
        self.histories: list[Rest] = []
        self.effects: list[Effect] = []
        self._numbers: dict[Any, int] = {}
        self._views = Views(self.parts)
        self.judge = MemberJudge(rules)
        self.court = Court(rules, self.judge, world)
        self._acts = Acts(world, rules, self._views, self.judge)
        self._coordinates = rules.cleaner.tombstone_removal == "coordinated"

    def start(self) -> tuple[int, ...]:
        """The row of the state at the start."""
        config = log_config(self.rules, LogConfig())
        members = [self.parts.member(Replica(name, config), ()) for name in self.world.names]
        isr = sum(1 << one for one in self.world.isr)
        coordinator = _value_of(RemovalCoordinator()) if self._coordinates else None
        rest = Rest(NOBODY, isr, isr, NOTHING_USED, 0, (), (), coordinator)
        return (*[self.members.number(one) for one in members], self.rests.number(rest))

    def take(self, move: Move, members: Sequence[int], rest: Rest) -> Outcome:
        """Compute what a move does in a state."""
        act = self._acts.of(move, [self.members.values[number] for number in members], rest)
        driver = self._acts.driver
        isr = driver.written.get("isr")
        effect = Effect(
            move.uses,
            act.leader,
            None if isr is None else mask_of(isr, self.world.names),
            act.told,
            act.facts,
            act.joined,
            _value_of(driver.coordinator) if move.op == "coordinate" else None,
            driver.written.get("now_ms"),
        )
        read: list[list[int]] = [[] for _ in members]
        for place in act.read:
            read[place // len(PARTS)].append(place % len(PARTS))
        shape = Shape(tuple(map(tuple, read)), tuple(sorted(driver.read)))
        number = self._number("effect", effect, self.effects, effect)
        return Outcome(shape, act.changes, number, act.broken)

    def nothing_but(self, uses: str) -> int:
        """The number of the effect of a move that does nothing but use a budget."""
        effect = Effect(uses, NOBODY, None, None, (), joined=False, coordinator=None, now_ms=None)
        return self._number("effect", effect, self.effects, effect)

    def _number(self, kind: str, value: Any, values: list[Any], kept: Any) -> int:
        """The number of a value among its kind; of a new one something is kept."""
        found = self._numbers.setdefault((kind, value), len(values))
        if found == len(values):
            values.append(kept)
        return found

    def _member_hash(self, member: Member) -> int:
        hashes = self.parts.hashes
        return sum([hashes[number] for number in member])

    def _member_facts(self, member: Member) -> tuple[int, ...]:
        view = self._views.of("", member).whole()
        shown = (tuple(view.slots), view.high_watermark, view.log_start_offset, view.up)
        log = self._number("log", (shown, tuple(view.snapshots)), self.views, view)
        values = self.parts.values
        return view.up, values[member[PLACE["leadership"]]], log

    def _rest_facts(self, rest: Rest) -> tuple[int, ...]:
        without = rest._replace(used=NOTHING_USED)
        same = self._numbers.setdefault(("same", without), len(self._numbers))
        history = self._number("history", (rest.committed, rest.twice), self.histories, rest)
        counts = [count or 0 for count in rest.used]
        return (rest.leader, rest.isr, rest.told, same, history, *counts)

    def _rename_rest(self, rest: Rest, order: int) -> Rest:
        by_number = self.orders[order]
        return rest._replace(
            leader=rest.leader if rest.leader == NOBODY else by_number[rest.leader],
            isr=_renamed_mask(rest.isr, by_number),
            told=_renamed_mask(rest.told, by_number),
            coordinator=renamed(rest.coordinator, self._names[order]),
        )


def _value_of(coordinator: RemovalCoordinator) -> Any:
    return tuple(sorted(coordinator.known.items())), coordinator.bounds


def _renamed_mask(mask: int, order: Sequence[int]) -> int:
    return sum(1 << new for old, new in enumerate(order) if mask >> old & 1)
