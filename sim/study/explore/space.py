"""The states of a world, as rows of numbers: one for each replica and one for the rest.

A move is computed once for all states that are alike in what it reads (`sim.study.explore.acts`).
"""

from __future__ import annotations

from itertools import permutations

from sim.protocol.log import Log, LogConfig
from sim.protocol.replication import Replica
from sim.protocol.replication.coordination import RemovalCoordinator
from sim.protocol.replication.replica import log_config
from sim.protocol.rules import Rules
from sim.study.explore.acts import Acts
from sim.study.explore.judging import MemberJudge, StateJudge
from sim.study.explore.parts import OF_REST, Member, Members, Parts, of_replicas, of_rests, parts_of
from sim.study.explore.tables import Numbering
from sim.study.explore.views import Views
from sim.study.explore.world import NOBODY, Budgets, Effect, History, World


class Space:
    """Everything that a search has met of a world under some rules.

    Attributes:
        world: The world.
        rules: The rules.
        members: All replicas.
        rests: All rests.
        effects: All effects.
        acts: The acts of moves.
        judge: Judge of the events of acts.
        state_judge: Judge of states.
        columns: Members or rests that each column of a state numbers.
        logs: All logs.
        orders: The ways to rename the replicas, each from old number (index) to new one.
    """

    def __init__(self, world: World, rules: Rules, *, symmetry: bool = True) -> None:
        """Starts with the state of the start."""
        self.world, self.rules = world, rules
        everyone, names = range(world.replicas), world.names
        self.orders = list(permutations(everyone)) if symmetry else [tuple(everyone)]
        renamings = [{names[a]: names[b] for a, b in enumerate(order)} for order in self.orders]
        parts, rest_parts = Parts(renamings, of_replicas(rules)), Parts(renamings, of_rests())
        self._rest_values = rest_parts.values
        views = Views(parts)
        self.logs = views.logs
        config = log_config(rules, LogConfig())
        start = [parts.member(parts_of(Replica(name, Log(config)), ())) for name in names]
        isr = tuple(names[one] for one in world.isr)
        rest = [None, isr, isr, 0, RemovalCoordinator(), History(), *[0] * len(Budgets._fields)]
        self.members = Members(parts, len(self.orders), start, views.facts_of)
        self.rests = Members(
            rest_parts, len(self.orders), [rest_parts.member(rest)], self._facts_of_rest
        )
        self.columns = [self.members] * world.replicas + [self.rests]
        self._effects = Numbering()
        self.effects: list[Effect] = self._effects.values
        self.judge = MemberJudge(rules)
        self.state_judge = StateJudge(rules, self.judge, world)
        self.acts = Acts(world, rules, views, rest_parts, self.judge)

    def start(self) -> tuple[int, ...]:
        """The row of the state at the start."""
        return (*range(self.world.replicas), 0)

    def number_of(self, effect: Effect) -> int:
        """The number of an effect."""
        return self._effects.number(effect, effect)

    def _facts_of_rest(self, rest: Member) -> list[int]:
        """Facts of a rest: the last elected, the in-sync set as bits, the used budgets."""
        values, names = self._rest_values, self.world.names
        leader, isr = values[rest[OF_REST["leader"]]], values[rest[OF_REST["isr"]]]
        return [
            NOBODY if leader is None else names.index(leader),
            sum(1 << names.index(name) for name in isr),
            *[values[rest[OF_REST[budget]]] for budget in Budgets._fields],
        ]
