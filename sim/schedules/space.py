"""The states of a world, by number, and what a move makes of them.

A state is a row of numbers: one for each replica and one for the rest. What a move does is computed
by the product's own functions, which are those of stories, on watched replicas: with it comes what
the move has read, so that it is computed once for all states that are alike in that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

from sim.log import LogConfig
from sim.replication import Replica
from sim.replication.coordination import RemovalCoordinator
from sim.replication.frozen import renamed
from sim.replication.replica import log_config
from sim.rules import Rules
from sim.schedules.acts import Acts, mask_of, places_of
from sim.schedules.judging import Court, MemberJudge
from sim.schedules.members import Members
from sim.schedules.parts import PARTS, Parts
from sim.schedules.rests import Rests
from sim.schedules.views import Views
from sim.schedules.world import NOBODY, NOTHING_USED, Move, Rest, World

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
        members: Every replica that was met.
        rests: Every rest that was met.
        effects: Every effect that was met.
        court: Judges them.
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
        views = Views(self.parts)
        self.members = Members(self.parts, views, len(self.orders))
        self.rests = Rests(self._rename_rest, len(self.orders))
        self.effects: list[Effect] = []
        self._effect_numbers: dict[Effect, int] = {}
        self.judge = MemberJudge(rules)
        self.court = Court(rules, self.judge, world)
        self._acts = Acts(world, rules, views, self.judge)
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
        act = self._acts.of(move, [self.members[number] for number in members], rest)
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
        shape = _shape(act.read, len(members), tuple(sorted(driver.read)))
        return Outcome(shape, act.changes, self._number(effect), act.broken)

    def nothing_but(self, uses: str) -> int:
        """The number of the effect of a move that does nothing but use a budget."""
        effect = Effect(uses, NOBODY, None, None, (), joined=False, coordinator=None, now_ms=None)
        return self._number(effect)

    def _number(self, effect: Effect) -> int:
        found = self._effect_numbers.setdefault(effect, len(self.effects))
        if found == len(self.effects):
            self.effects.append(effect)
        return found

    def _rename_rest(self, rest: Rest, order: int) -> Rest:
        by_number = self.orders[order]
        return rest._replace(
            leader=rest.leader if rest.leader == NOBODY else by_number[rest.leader],
            isr=_renamed_mask(rest.isr, by_number),
            told=_renamed_mask(rest.told, by_number),
            coordinator=renamed(rest.coordinator, self._names[order]),
        )


@cache
def _shape(bits: int, replicas: int, rest: tuple[str, ...]) -> Shape:
    whole = (1 << len(PARTS)) - 1
    each = (bits >> one * len(PARTS) & whole for one in range(replicas))
    return Shape(tuple(map(places_of, each)), rest)


def _value_of(coordinator: RemovalCoordinator) -> Any:
    return tuple(sorted(coordinator.known.items())), coordinator.bounds


def _renamed_mask(mask: int, order: Sequence[int]) -> int:
    return sum(1 << new for old, new in enumerate(order) if mask >> old & 1)
