"""The states of a world, by number, and what a move makes of them.

A state is a row of numbers: one for each replica and one for the rest. What a move does is computed
once for all states that are alike in what it reads (`sim.schedules.acts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from sim.log import Log, LogConfig
from sim.replication import Replica
from sim.replication.coordination import RemovalCoordinator
from sim.replication.frozen import renamed
from sim.replication.replica import log_config
from sim.rules import Rules
from sim.schedules.acts import Acts, value_of
from sim.schedules.judging import Court, MemberJudge
from sim.schedules.members import Members
from sim.schedules.parts import Parts
from sim.schedules.rests import Rests
from sim.schedules.tables import Numbering
from sim.schedules.views import Views
from sim.schedules.world import NOBODY, NOTHING_USED, Effect, Rest, World


class Space:
    """All that was met of a world under some rules.

    Attributes:
        world: The world.
        rules: The rules.
        members: Every replica that was met.
        rests: Every rest that was met.
        effects: Every effect that was met.
        acts: Computes what moves do.
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
        self._effects = Numbering()
        self.effects: list[Effect] = self._effects.values
        self.judge = MemberJudge(rules)
        self.court = Court(rules, self.judge, world)
        self.acts = Acts(world, rules, views, self.judge)
        self._coordinates = rules.cleaner.tombstone_removal == "coordinated"

    def start(self) -> tuple[int, ...]:
        """The row of the state at the start."""
        config = log_config(self.rules, LogConfig())
        members = [self.parts.member(Replica(name, Log(config)), ()) for name in self.world.names]
        isr = sum(1 << one for one in self.world.isr)
        coordinator = value_of(RemovalCoordinator()) if self._coordinates else None
        rest = Rest(NOBODY, isr, isr, NOTHING_USED, 0, (), (), coordinator)
        return (*[self.members.number(one) for one in members], self.rests.number(rest))

    def number_of(self, effect: Effect) -> int:
        """The number of an effect."""
        return self._effects.number(effect, effect)

    def _rename_rest(self, rest: Rest, order: int) -> Rest:
        by_number = self.orders[order]
        return rest._replace(
            leader=rest.leader if rest.leader == NOBODY else by_number[rest.leader],
            isr=_renamed_mask(rest.isr, by_number),
            told=_renamed_mask(rest.told, by_number),
            coordinator=_renamed_coordinator(rest.coordinator, self._names[order]),
        )


def _renamed_coordinator(value: Any, names: Mapping[str, str]) -> Any:
    """What a coordinator knows with other names, in the order of `value_of`."""
    if value is None:
        return None
    known, bounds = value
    return tuple(sorted(renamed(known, names))), renamed(bounds, names)


def _renamed_mask(mask: int, order: Sequence[int]) -> int:
    return sum(1 << new for old, new in enumerate(order) if mask >> old & 1)
