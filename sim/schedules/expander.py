"""What a move makes of many states at once: looked up, and computed only where it was never seen.

Every move is looked up for all states in one go: first by the replicas that it touches, then by
what it reads of them (`sim.schedules.acts`).
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.check.replica_view import ReplicaView
from sim.schedules import judging
from sim.schedules.judging import BIT
from sim.schedules.parts import Changes
from sim.schedules.space import Outcome, Shape, Space
from sim.schedules.tables import ODD, Column, Hashes, Known, Mask, Memo, Numbers
from sim.schedules.world import NOBODY, Budgets, Move, Rest, moves_of

Rows = NDArray[Any]
"""A row a state: the number of each replica, then that of the rest."""
BROKEN = 32
"""So many bits are kept for what is broken."""


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


class Outcomes:
    """What a move does, for every state in which it was met.

    Attributes:
        results: A row for each set of replicas it was met with: the number of each replica
            afterwards (-1 = as before), the number of the effect, what is broken.
    """

    def __init__(self, space: Space, move: Move) -> None:
        """It was met in no state yet."""
        self._space, self._move = space, move
        self._n = space.world.replicas
        self.results = Column(np.int64, self._n + 2)
        self._touched: set[int] = set()
        self._rest: set[str] = set()
        self._known = Known()
        self._outcomes: list[Outcome] = []
        self._by_shape: dict[Shape, tuple[Known, Column]] = {}

    def of(self, rows: Rows) -> Numbers:
        """The number of the result in each state."""
        hashes = self._by_replicas(rows)
        found = self._known.get(hashes)
        left = np.flatnonzero(found < 0)
        if len(left):
            different = left[Known().add(hashes[left])]
            touched = len(self._touched), len(self._rest)
            outcomes = self._outcomes_of(rows[different])
            if touched != (len(self._touched), len(self._rest)):
                self._known, self.results = Known(), Column(np.int64, self._n + 2)
                return self.of(rows)
            self._known.add(hashes[different])
            self.results.extend(self._after(rows[different], outcomes))
            found[left] = self._known.get(hashes[left])
        return found

    def _by_replicas(self, rows: Rows) -> Hashes:
        """A hash of the replicas that the move touches, and of what it reads of the rest."""
        hashes = self._space.rests.read(sorted(self._rest))[rows[:, self._n]]
        members = self._space.members.hashes
        for one in self._touched:
            hashes = hashes + members[rows[:, one]] * ODD[one]
        return hashes

    def _by_parts(self, shape: Shape, rows: Rows) -> Hashes:
        """A hash of all that a shape reads."""
        hashes = self._space.rests.read(shape.rest)[rows[:, self._n]]
        for one, places in enumerate(shape.parts):
            if places:
                hashes = hashes + self._space.members.read(places)[rows[:, one]] * ODD[one]
        return hashes

    def _outcomes_of(self, rows: Rows) -> Numbers:
        """The number of the outcome in each state; what was never seen is computed."""
        found = np.full(len(rows), -1, np.int64)
        left = np.arange(len(rows))
        for shape, (known, outcomes) in self._by_shape.items():
            numbers = known.get(self._by_parts(shape, rows[left]))
            found[left] = np.where(numbers < 0, -1, outcomes.values[numbers])
            left = left[numbers < 0]
        if len(left):
            found[left] = self._computed(rows[left])
        return found

    def _computed(self, rows: Rows) -> Numbers:
        """The outcomes in states of which no like was seen, but for one another."""
        space = self._space
        keys: dict[Shape, list[tuple[int, ...]]] = {}
        just: dict[Shape, dict[tuple[int, ...], int]] = {}
        found = []
        for place, state in enumerate(rows.tolist()):
            outcome = next(
                (seen for shape, of in just.items() if (seen := of.get(keys[shape][place]))), None
            )
            if outcome is None:
                taken = space.take(self._move, state[: self._n], space.rests.values[state[-1]])
                if taken.read not in just:
                    just[taken.read] = {}
                    hashes = self._by_parts(taken.read, rows)
                    keys[taken.read] = list(map(tuple, hashes.tolist()))
                self._outcomes.append(taken)
                self._note(taken)
                outcome = just[taken.read][keys[taken.read][place]] = len(self._outcomes)
            found.append(outcome)
        for shape, of in just.items():
            known, outcomes = self._by_shape.setdefault(shape, (Known(), Column(np.int64)))
            known.add(np.array(list(of), np.uint64))
            outcomes.extend(np.array(list(of.values())) - 1)
        return np.array(found, np.int64) - 1

    def _note(self, outcome: Outcome) -> None:
        """Take in what the move turned out to touch."""
        touched = zip(outcome.read.parts, outcome.changes, strict=True)
        self._touched.update(one for one, (read, set_) in enumerate(touched) if read or set_)
        self._rest.update(outcome.read.rest)

    def _after(self, rows: Rows, outcomes: Numbers) -> Numbers:
        """The results of outcomes in states."""
        results = np.full((len(rows), self._n + 2), -1, np.int64)
        numbers, inverse = np.unique(outcomes, return_inverse=True)
        taken = [self._outcomes[number] for number in numbers.tolist()]
        results[:, -2] = np.array([one.effect for one in taken])[inverse]
        results[:, -1] = np.array([one.broken for one in taken])[inverse]
        for one in self._touched:
            numbers_of: dict[Changes, int] = {(): 0}
            kinds = [numbers_of.setdefault(each.changes[one], len(numbers_of)) for each in taken]
            results[:, one] = self._space.members.changed(
                rows[:, one], np.array(kinds)[inverse], list(numbers_of)
            )
        return results


class Facts(NamedTuple):
    """What decides which moves are possible in some states; a column is a replica."""

    up: Numbers
    leads: Numbers
    rest: Numbers


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
        self._outcomes = [Outcomes(space, move) for move in self.moves]
        self._rests_after = Memo(self._rest_after)
        self._decides = Column(np.int64)
        self._incompletes, self._too_fews = Memo(self._incomplete), Memo(self._too_few)
        self._rests_broken = Memo(self._at_rest)
        self._clashes, self._deleted_shown = Memo(self._clash), Memo(self._shows)

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
        members, rests = self.space.members.hashes, self.space.rests.hashes
        hashes: Hashes = rests[rows[:, self.n]] * ODD[self.n]
        for one in range(self.n):
            hashes = hashes + members[rows[:, one]] * ODD[one]
        return hashes

    def facts_of(self, rows: Rows) -> Facts:
        """What decides which moves are possible."""
        facts = self.space.members.facts[rows[:, : self.n]]
        return Facts(facts[:, :, 0], facts[:, :, 1], self.space.rests.facts[rows[:, self.n]])

    def acting_leader(self, facts: Facts) -> Numbers:
        """Who was elected last, if it is up and leads; NOBODY = that is not so."""
        leader: Numbers = facts.rest[:, 0].copy()
        acts = (facts.up != 0) & (facts.leads != 0)
        for one in range(self.n):
            leader[~acts[:, one] & (leader == one)] = NOBODY
        return leader

    def idle(self, move: Move, rests: Numbers) -> Numbers:
        """The rests after a move that does nothing, but for what it uses of the budgets."""
        effect = self.space.nothing_but(move.uses)
        pairs = np.column_stack([rests, np.full(len(rests), effect)])
        return self._rests_after.of(pairs) >> BROKEN

    def possible(self, move: Move, facts: Facts) -> Mask:
        """In which states a move may do anything."""
        leader, isr = facts.rest[:, 0], facts.rest[:, 1]
        possible: Mask = np.ones(len(leader), np.bool_)
        if move.uses:
            place = Budgets._fields.index(move.uses)
            most = getattr(self.space.world.budgets, move.uses)
            if most is not None:
                possible &= facts.rest[:, 5 + place] < most
        if move.op == "restart":
            possible &= facts.up[:, move.who[0]] == 0
            return possible
        if move.op == "isr":
            bit = 1 << move.who[0]
            possible &= (isr & bit > 0) & (leader != move.who[0]) & (isr & (isr - 1) > 0)
            return possible
        for one in move.who:
            possible &= facts.up[:, one] == 1
        if move.op == "elect" and self.space.world.clean and len(move.who) == 1:
            possible &= isr >> move.who[0] & 1 == 1
        elif move.op in ("append", "expand_isr"):
            possible &= (leader == move.who[0]) & (facts.leads[:, move.who[0]] == 1)
        elif move.op in ("fetch", "follow", "fetch_snapshot"):
            possible &= facts.leads[:, move.who[1]] == 1
        return possible

    def apply(self, number: int, rows: Rows) -> tuple[Rows, Numbers]:
        """The states after a move, in each of which it is possible, and what it breaks there."""
        outcomes = self._outcomes[number]
        found = outcomes.of(rows)
        result = outcomes.results.values[found]
        after = rows.copy()
        after[:, : self.n] = np.where(result[:, : self.n] < 0, rows[:, : self.n], result[:, : self.n])
        effects, broken = result[:, -2], result[:, -1].copy()
        self._update_rests(rows, after, effects, broken)
        self._judge(self.moves[number], rows, after, effects, broken)
        return after, broken

    def changed(self, rows: Rows, after: Rows) -> Mask:
        """Where more is different than what was used of the budgets."""
        same = self.space.rests.facts[:, 3]
        n = self.n
        different: Mask = (rows[:, :n] != after[:, :n]).any(axis=1)
        different |= same[rows[:, n]] != same[after[:, n]]
        return different

    def _update_rests(self, rows: Rows, after: Rows, effects: Numbers, broken: Numbers) -> None:
        """Set the number of the rest after a move; what is broken by what was committed before."""
        pairs = np.column_stack([rows[:, self.n], effects])
        found = self._rests_after.of(pairs)
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
        rests, logs = space.rests.facts, space.members.facts[:, 2]
        if move.op == "elect":
            elected = np.flatnonzero(rests[after[:, n], 0] == move.who[0])
            keys = np.column_stack([logs[after[elected, move.who[0]]], rests[rows[elected, n], 4]])
            broken[elected] |= self._incompletes.of(keys)
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
            broken[at] |= self._too_fews.of(keys)

    def judge_states(self, rows: Rows) -> Numbers:
        """What states break by what is in them."""
        space, n = self.space, self.n
        facts, rests = space.members.facts, space.rests.facts
        logs = facts[:, 2][rows[:, :n]]
        broken = np.zeros(len(rows), np.int64)
        for one, other in combinations(range(n), 2):
            keys = np.sort(logs[:, [one, other]], axis=1)
            broken |= self._clashes.of(keys)
        for one in range(n):
            keys = np.column_stack([logs[:, one], rests[rows[:, n], 4]])
            broken |= self._deleted_shown.of(keys)
        return broken

    def judge_rest(self, rows: Rows) -> Numbers:
        """What states break in which everybody up has fetched all that there is."""
        n = self.n
        rest = self.space.rests.facts[rows[:, n]]
        logs = self.space.members.facts[:, 2][rows[:, :n]]
        keys = np.column_stack([logs, rest[:, [0, 2, 4]]])
        return self._rests_broken.of(keys)

    def _incomplete(self, key: list[int]) -> int:
        log, history = key
        space = self.space
        incomplete = space.court.incomplete(space.members.logs[log], space.rests.histories[history])
        return BIT["leader-completeness"] * incomplete

    def _too_few(self, key: list[int]) -> int:
        return self.space.court.too_few(*self._session(key))

    def _at_rest(self, key: list[int]) -> int:
        return self.space.court.at_rest(*self._session(key))

    def _session(self, key: list[int]) -> tuple[list[ReplicaView], Rest]:
        *logs, leader, told, history = key
        space = self.space
        rest = space.rests.histories[history]._replace(leader=leader, told=told)
        return [space.members.logs[log] for log in logs], rest

    def _clash(self, key: list[int]) -> int:
        one, other = key
        return judging.clash(self.space.members.logs[one], self.space.members.logs[other])

    def _shows(self, key: list[int]) -> int:
        log, history = key
        space = self.space
        shows = space.court.shows_deleted(space.members.logs[log], space.rests.histories[history])
        return BIT[judging.CAUGHT_UP] * shows
