"""What a move makes of many states at once: looked up, and computed only where it was never seen.

Every move is looked up by what it reads (`sim.schedules.space`), for all states in one go.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.check.replica_view import ReplicaView
from sim.schedules import judging
from sim.schedules.judging import BIT
from sim.schedules.acts import rest_part
from sim.schedules.space import Shape, Space
from sim.schedules.tables import Column, Memo, once
from sim.schedules.world import NOBODY, Budgets, Move, Rest, moves_of

Rows = NDArray[Any]
"""A row a state: the number of each replica, then that of the rest."""
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Hashes = NDArray[np.uint64]
"""Two words of 64 bits a row."""
BROKEN = 32
"""So many bits are kept for what is broken."""
ODD = np.array([pow(0x9E3779B97F4A7C15, one + 1, 1 << 64) for one in range(9)], np.uint64)
"""Odd numbers by which the hashes of a row are multiplied, one for each place.

They are powers: no sum of some of them is the sum of others, as 1 + 7 is 3 + 5. Else two states
would have one hash in which the first and the last of four replicas are alike, and the two others.
"""


class Projection:
    """A number for what a shape reads of each value of a table.

    Attributes:
        column: Index = number of the value.
    """

    __slots__ = ("_numbers", "_of", "_values", "column")

    def __init__(self, values: list[Any], of: Callable[[Any], Any]) -> None:
        """What `of` gives for each of the values, which come to be more."""
        self._values, self._of = values, of
        self.column = Column(np.int64)
        self._numbers: dict[Any, int] = {}

    def extended(self) -> Projection:
        """This, with what came to be there."""
        numbers, column = self._numbers, self.column
        if column.length < len(self._values):
            for value in self._values[column.length :]:
                column.append(numbers.setdefault(self._of(value), len(numbers)))
        return self


class Placed(NamedTuple):
    """A move of certain replicas.

    Attributes:
        move: The move.
        number: The number of the move that it is once the replicas are renamed.
        order: The number of the order that renames them.
    """

    move: Move
    number: int
    order: int


class Expander:
    """Applies every move to the states of a level.

    Attributes:
        space: Whose states.
        moves: The moves, of the first replicas.
        placed: The moves of all replicas, in order.
    """

    def __init__(self, space: Space) -> None:
        """Nothing is known of any move yet."""
        self.space = space
        self.n = space.world.replicas
        self.moves: list[Move] = []
        self.placed: list[Placed] = []
        for move in moves_of(space.world, space.rules):
            self._place(move)
        self._known: list[dict[Shape, Memo]] = [{} for _ in self.moves]
        self._outcomes = [Column(np.int64, self.n + 2) for _ in self.moves]
        for outcomes in self._outcomes:
            outcomes.append(0)  # number 0 is none
        self._projections: dict[tuple[int, ...], Projection] = {}
        self._rest_projections: dict[tuple[str, ...], Projection] = {}
        self._changes: list[tuple[tuple[int, int], ...]] = [()]
        self._change_numbers: dict[tuple[tuple[int, int], ...], int] = {(): 0}
        self._decides = Column(np.int64)
        self._memos: dict[str, Memo] = {}

    def _place(self, move: Move) -> None:
        """Rename the replicas so that those of a move come first: it is computed for them alone."""
        first = tuple(range(len(move.who)))
        number = next(
            one
            for one, order in enumerate(self.space.orders)
            if len(self.space.orders) == 1 or tuple(order[who] for who in move.who) == first
        )
        named = move._replace(who=first) if len(self.space.orders) > 1 else move
        if named not in self.moves:
            self.moves.append(named)
        self.placed.append(Placed(move, self.moves.index(named), number))

    def renamed(self, rows: Rows, order: int) -> Rows:
        """States with the names of an order, by its number."""
        if order == 0:
            return rows
        members, rests = self.space.members.images(), self.space.rests.images()
        other = np.empty_like(rows)
        for old, new in enumerate(self.space.orders[order]):
            other[:, new] = members[rows[:, old], order]
        other[:, self.n] = rests[rows[:, self.n], order]
        return other

    def hashed(self, rows: Rows) -> Hashes:
        """The hashes of states, in two words."""
        members, rests = self.space.members.hashes.values, self.space.rests.hashes.values
        hashes: Hashes = rests[rows[:, self.n]] * ODD[self.n]
        for one in range(self.n):
            hashes = hashes + members[rows[:, one]] * ODD[one]
        return hashes

    def acting_leader(self, rows: Rows) -> Numbers:
        """Who was elected last, if it is up and leads; NOBODY = that is not so."""
        facts = self.space.members.facts()
        leader: Numbers = self.space.rests.facts()[rows[:, self.n], 0].copy()
        for one in range(self.n):
            does_not = (facts[rows[:, one], 0] == 0) | (facts[rows[:, one], 1] == 0)
            leader[does_not & (leader == one)] = NOBODY
        return leader

    def idle(self, move: Move, rests: Numbers) -> Numbers:
        """The rests after a move that does nothing, but for what it uses of the budgets."""
        effect = self.space.nothing_but(move.uses)
        pairs = np.column_stack([rests, np.full(len(rests), effect)])
        return self._memo("rest").resolve(pairs, self._rest_after) >> BROKEN

    def possible(self, move: Move, rows: Rows) -> Mask:
        """In which states a move may do anything."""
        members, rests = self.space.members.facts(), self.space.rests.facts()
        rest = rests[rows[:, self.n]]
        leader, isr = rest[:, 0], rest[:, 1]
        possible: Mask = np.ones(len(rows), np.bool_)
        if move.uses:
            place = Budgets._fields.index(move.uses)
            most = getattr(self.space.world.budgets, move.uses)
            if most is not None:
                possible &= rest[:, 5 + place] < most
        facts = [members[rows[:, one]] for one in move.who]
        if move.op == "restart":
            possible &= facts[0][:, 0] == 0
            return possible
        if move.op == "isr":
            bit = 1 << move.who[0]
            possible &= (isr & bit > 0) & (leader != move.who[0]) & (isr & (isr - 1) > 0)
            return possible
        for one in facts:
            possible &= one[:, 0] == 1
        if move.op == "elect" and self.space.world.clean and len(move.who) == 1:
            possible &= isr >> move.who[0] & 1 == 1
        elif move.op in ("append", "expand_isr"):
            possible &= (leader == move.who[0]) & (facts[0][:, 1] == 1)
        elif move.op in ("fetch", "follow", "fetch_snapshot"):
            possible &= facts[1][:, 1] == 1
        return possible

    def apply(self, number: int, rows: Rows) -> tuple[Rows, Numbers]:
        """The states after a move, in each of which it is possible, and what it breaks there."""
        found = self._outcomes_of(number, rows)
        result = self._outcomes[number].values[found]
        after = rows.copy()
        for one in range(self.n):
            at = np.flatnonzero(result[:, one])
            if len(at):
                keys = np.column_stack([rows[at, one], result[at, one]])
                after[at, one] = self._memo("changed").resolve(keys, self._changed)
        broken: Numbers = result[:, -1].copy()
        effects = result[:, -2]
        self._update_rests(rows, after, effects, broken)
        self._judge(self.moves[number], rows, after, effects, broken)
        return after, broken

    def _outcomes_of(self, number: int, rows: Rows) -> Numbers:
        """The number of the outcome of a move in each state; what was never seen is computed."""
        found = np.full(len(rows), -1, np.int64)
        left = np.arange(len(rows))
        for shape, known in self._known[number].items():
            outcomes = known.look_up(self._projected(shape, rows[left]))
            found[left] = outcomes
            left = left[outcomes < 0]
            if not len(left):
                return found
        first, inverse = once(rows[left])
        found[left] = self._computed(number, rows[left[first]])[inverse]
        return found

    def _computed(self, number: int, rows: Rows) -> Numbers:
        """The outcomes in states of which no like was seen, but for one another."""
        space, outcomes, known = self.space, self._outcomes[number], self._known[number]
        just: dict[Shape, dict[tuple[int, ...], int]] = {}
        keys: dict[Shape, list[tuple[int, ...]]] = {}
        found = []
        for place, state in enumerate(rows.tolist()):
            outcome = next(
                (seen for shape, of in just.items() if (seen := of.get(keys[shape][place]))), None
            )
            if outcome is None:
                rest = space.rests.values[state[self.n]]
                taken = space.take(self.moves[number], state[: self.n], rest)
                if taken.read not in just:
                    just[taken.read] = {}
                    keys[taken.read] = list(map(tuple, self._projected(taken.read, rows).tolist()))
                changes = [self._change(change) for change in taken.changes]
                outcomes.append((*changes, taken.effect, taken.broken))
                outcome = just[taken.read][keys[taken.read][place]] = outcomes.length - 1
            found.append(outcome)
        for shape, of in just.items():
            memo = known.setdefault(shape, Memo())
            memo.add(np.array(list(of), np.int64), np.array(list(of.values()), np.int64))
        return np.array(found, np.int64)

    def _change(self, change: tuple[tuple[int, int], ...]) -> int:
        """The number of a change of parts; 0 = nothing changes."""
        found = self._change_numbers.setdefault(change, len(self._changes))
        if found == len(self._changes):
            self._changes.append(change)
        return found

    def _changed(self, key: list[int]) -> int:
        """The number of the member that a change makes of another one."""
        member, change = key
        parts = list(self.space.members.values[member])
        for place, number in self._changes[change]:
            parts[place] = number
        return self.space.members.number(tuple(parts))

    def _projected(self, shape: Shape, rows: Rows) -> Numbers:
        """A number for all that a shape reads of each replica, and of the rest."""
        columns = [
            self._projection(of_one).column.values[rows[:, one]]
            for one, of_one in enumerate(shape.parts)
            if of_one
        ]
        columns.append(self._rest_projection(shape.rest).column.values[rows[:, self.n]])
        return np.column_stack(columns)

    def _projection(self, places: tuple[int, ...]) -> Projection:
        found = self._projections.get(places)
        if found is None:
            found = Projection(self.space.members.values, itemgetter(*places))
            self._projections[places] = found
        return found.extended()

    def _rest_projection(self, names: tuple[str, ...]) -> Projection:
        found = self._rest_projections.get(names)
        if found is None:
            rests = self.space.rests.values
            found = Projection(rests, lambda rest: tuple([rest_part(rest, one) for one in names]))
            self._rest_projections[names] = found
        return found.extended()

    def changed(self, rows: Rows, after: Rows) -> Mask:
        """Where more is different than what was used of the budgets."""
        same = self.space.rests.facts()[:, 3]
        n = self.n
        different: Mask = (rows[:, :n] != after[:, :n]).any(axis=1)
        different |= same[rows[:, n]] != same[after[:, n]]
        return different

    def _update_rests(self, rows: Rows, after: Rows, effects: Numbers, broken: Numbers) -> None:
        """Set the number of the rest after a move; what is broken by what was committed before."""
        pairs = np.column_stack([rows[:, self.n], effects])
        found = self._memo("rest").resolve(pairs, self._rest_after)
        after[:, self.n] = found >> BROKEN
        broken |= found & (1 << BROKEN) - 1

    def _rest_after(self, key: list[int]) -> int:
        """The number of the rest after an effect, and what that breaks, in one number."""
        (number, effect_number), space = key, self.space
        rest, effect = space.rests.values[number], space.effects[effect_number]
        used = rest.used
        if effect.uses and getattr(space.world.budgets, effect.uses) is not None:
            used = used._replace(**{effect.uses: getattr(used, effect.uses) + 1})
        changed, mask = judging.after(rest, effect, used)
        return space.rests.number(changed) << BROKEN | mask

    def _judge(
        self, move: Move, rows: Rows, after: Rows, effects: Numbers, broken: Numbers
    ) -> None:
        """Add what breaks by what is committed, where a move elects, commits or admits."""
        space, n = self.space, self.n
        rests, logs = space.rests.facts(), space.members.facts()[:, 2]
        if move.op == "elect":
            elected = np.flatnonzero(rests[after[:, n], 0] == move.who[0])
            keys = np.column_stack([logs[after[elected, move.who[0]]], rests[rows[elected, n], 4]])
            broken[elected] |= self._memo("incomplete").resolve(keys, self._incomplete)
        while self._decides.length < len(space.effects):
            effect = space.effects[self._decides.length]
            who = {fact[1] for fact in effect.facts if fact[0] == "committed"}
            self._decides.append(-1 if effect.joined else sum(1 << one for one in who))
        leaders = np.maximum(rests[after[:, n], 0], 0)  # a deposed leader's mark decides nothing
        at = np.flatnonzero(self._decides.values[effects] >> leaders & 1)
        if len(at):
            rest = rests[after[at, n]]
            leader = rest[:, 0]
            held = logs[rows[at, :n]]  # a follower copies after the leader has moved its mark
            held[np.arange(len(at)), leader] = logs[after[at, leader]]
            keys = np.column_stack([held, rest[:, [0, 2, 4]]])
            broken[at] |= self._memo("too few").resolve(keys, self._too_few)

    def judge_states(self, rows: Rows) -> Numbers:
        """What states break by what is in them."""
        space, n = self.space, self.n
        facts, rests = space.members.facts(), space.rests.facts()
        logs = facts[:, 2][rows[:, :n]]
        broken = np.zeros(len(rows), np.int64)
        for one, other in combinations(range(n), 2):
            keys = np.sort(logs[:, [one, other]], axis=1)
            broken |= self._memo("clash").resolve(keys, self._clash)
        for one in range(n):
            keys = np.column_stack([logs[:, one], rests[rows[:, n], 4]])
            broken |= self._memo("shows").resolve(keys, self._shows)
        return broken

    def judge_rest(self, rows: Rows) -> Numbers:
        """What states break in which everybody up has fetched all that there is."""
        n = self.n
        rest = self.space.rests.facts()[rows[:, n]]
        logs = self.space.members.facts()[:, 2][rows[:, :n]]
        keys = np.column_stack([logs, rest[:, [0, 2, 4]]])
        return self._memo("rest").resolve(keys, self._at_rest)

    def _memo(self, kind: str) -> Memo:
        return self._memos.setdefault(kind, Memo())

    def _incomplete(self, key: list[int]) -> int:
        log, history = key
        space = self.space
        incomplete = space.court.incomplete(space.views[log], space.histories[history])
        return BIT["leader-completeness"] * incomplete

    def _too_few(self, key: list[int]) -> int:
        return self.space.court.too_few(*self._session(key))

    def _at_rest(self, key: list[int]) -> int:
        return self.space.court.at_rest(*self._session(key))

    def _session(self, key: list[int]) -> tuple[list[ReplicaView], Rest]:
        *logs, leader, told, history = key
        space = self.space
        rest = space.histories[history]._replace(leader=leader, told=told)
        return [space.views[log] for log in logs], rest

    def _clash(self, key: list[int]) -> int:
        one, other = key
        return judging.clash(self.space.views[one], self.space.views[other])

    def _shows(self, key: list[int]) -> int:
        log, history = key
        space = self.space
        shows = space.court.shows_deleted(space.views[log], space.histories[history])
        return BIT[judging.CAUGHT_UP] * shows
