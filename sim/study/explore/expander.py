"""Applies a move to many states at once: results are looked up, and computed only when new.

Every act of a move is looked up for all states in one go, by what it reads of them
(`sim.study.explore.space`).
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.check.facts import ReplicaView
from sim.protocol.replication.messages import FetchResponse
from sim.study.explore import judging
from sim.study.explore.judging import BIT, BITS
from sim.study.explore.parts import LINEAGE, OF_REST, PLACE
from sim.study.explore.space import ACKNOWLEDGE, ANSWER, ASK, READ, RECEIVE, STEP, Shape, Space
from sim.study.explore.tables import (
    ODD,
    Derived,
    GrowingColumn,
    Hashes,
    Known,
    Mask,
    Numbering,
    Numbers,
    hash_of,
    hash_of_text,
    one_by_one,
)
from sim.study.explore.world import NOBODY, Budgets, Effect, History, Move, moves_of

Rows = NDArray[Any]
"""A row for each state: the number of each replica, then that of the rest of the state."""
AT_ONCE = 1000
"""Number of states that are computed before the others are looked up again."""
PRIME = 7919
"""Distance between states that are computed again, one in each look-up."""
_HISTORY = OF_REST["history"]
_LOOKED_AT = (_HISTORY, OF_REST["leader"], OF_REST["reported"])
"""Places in a rest of the parts that are needed to judge all logs of a state."""
_BUT_BUDGETS = tuple(place for name, place in OF_REST.items() if name not in Budgets._fields)
FETCH = (ASK, READ, ACKNOWLEDGE, ANSWER, RECEIVE)


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
    """All results of one act so far, by the parts of states that it read."""

    def __init__(self, space: Space, move: Move, act: str) -> None:
        """Starts without any known result."""
        self._space, self._move, self._act = space, move, act
        self._n = space.world.replicas
        self._shapes = Numbering()
        self._met = Counter[int]()  # results found by shape: a few find most
        self._known, self._outcomes = Known(), GrowingColumn(np.int64, self._n + 4)
        self._calls = 0

    def of(self, rows: Rows, said: Numbers) -> Numbers:
        """A row for each state: changes of all columns, effect, broken invariants, message.

        Args:
            rows: The states.
            said: Messages of earlier acts in each.
        """
        messages = hash_of(said)
        found = np.empty((len(rows), self._n + 4), np.int64)
        left = self._look_up(rows, messages, np.arange(len(rows)), found)
        while len(left):
            self._compute(rows[left[:AT_ONCE]], said[left[:AT_ONCE]], messages[left[:AT_ONCE]])
            left = self._look_up(rows, messages, left, found)
        self._calls += 1
        if len(rows):
            self._try_again(self._calls * PRIME % len(rows), rows, said, found)
        return found

    def _try_again(self, place: int, rows: Rows, said: Numbers, found: Numbers) -> None:
        """Computes one of the results again, to check that every part that it reads was noted."""
        _, again = self._outcome(rows[place].tolist(), said[place].tolist())
        if again != found[place].tolist():
            raise AssertionError(f"{self._move} ({self._act}) has read what nobody noted")

    def _look_up(self, rows: Rows, messages: Hashes, left: Numbers, found: Numbers) -> Numbers:
        """Sets the known results of the remaining states; returns the states without one."""
        for shape in sorted(range(len(self._shapes.values)), key=self._met.__getitem__)[::-1]:
            numbers = self._known.get(
                self._keys(shape, rows.take(left, axis=0), messages.take(left, axis=0))
            )
            met = numbers >= 0
            self._met[shape] += int(met.sum())
            found[left[met]] = self._outcomes.values.take(numbers[met], axis=0)
            left = left[~met]
        return left

    def _keys(self, number: int, rows: Rows, messages: Hashes) -> Hashes:
        """A hash for each state, of a shape, the parts that it reads, and the messages."""
        shape: Shape = self._shapes.values[number]
        hashes = messages + np.array(hash_of_text(shape), np.uint64)
        for one, (table, places) in enumerate(zip(self._space.columns, shape, strict=True)):
            if places:
                hashes += table.read(places).take(rows[:, one], axis=0) * ODD[one]
        return hashes

    def _compute(self, rows: Rows, said: Numbers, messages: Hashes) -> None:
        """Computes new results, once for all states that are alike in the parts read."""
        keys: dict[int, list[tuple[int, ...]]] = {}
        done: dict[tuple[int, ...], list[int]] = {}
        for place, (state, heard) in enumerate(zip(rows.tolist(), said.tolist(), strict=True)):
            if any(of_shape[place] in done for of_shape in keys.values()):
                continue
            read, outcome = self._outcome(state, heard)
            shape = self._shapes.of(read)
            if shape not in keys:
                keys[shape] = list(map(tuple, self._keys(shape, rows, messages).tolist()))
            done[keys[shape][place]] = outcome
        self._known.add(np.array(list(done), np.uint64))
        self._outcomes.extend(list(done.values()))

    def _outcome(self, state: list[int], said: list[int]) -> tuple[Shape, list[int]]:
        """The parts of a state that the act reads, and its result."""
        space = self._space
        *members, rest = [table[one] for table, one in zip(space.columns, state, strict=True)]
        outcome = space.acts.outcome(self._move, self._act, members, rest, said)
        changes = [
            table.changes.of(change)
            for table, change in zip(space.columns, outcome.changes, strict=True)
        ]
        effect = space.effects.of(outcome.effect)
        return outcome.read, [*changes, effect, outcome.broken, outcome.said]


REFUSED, NO_RECORDS, HAS_RECORDS = range(3)
"""Kinds of the answer that a leader gives in the act READ."""


class StateFacts(NamedTuple):
    """The facts that decide which moves are possible in some states, a row for each.

    Attributes:
        up: Whether it is up, a column for each replica.
        leads: Whether it leads, a column for each replica.
        rest: The replica that was elected last, the in-sync set as bits, the used budgets.
    """

    up: Numbers
    leads: Numbers
    rest: Numbers


class Expander:
    """Applies every move to the states of a level.

    Attributes:
        space: The space of the states.
        moves: The moves that are computed: of the first replicas, if replicas may be renamed.
        placed: The moves of all replicas, in order.
    """

    def __init__(self, space: Space) -> None:
        """Starts without results of any move."""
        self.space = space
        self.n = space.world.replicas
        self.moves: list[Move] = []
        self.placed: list[Placed] = []
        for move in moves_of(space.world, space.rules):
            self._place(move)
        self._outcomes = [
            {act: Outcomes(space, move, act) for act in (FETCH if move.op == "fetch" else (STEP,))}
            for move in self.moves
        ]
        self._rests_after = one_by_one(self._rest_after)
        self._effects = Derived(space.effects.values, self._read_of_effect, np.int64, 3)
        self._message_kinds = Derived(space.acts.messages.values, _kind, np.int64)
        self._incompletes, self._too_fews = one_by_one(self._incomplete), one_by_one(self._too_few)
        self._rests_broken = one_by_one(self._at_rest)
        self._clashes, self._deleted_shown = one_by_one(self._clash), one_by_one(self._shows)

    def _place(self, move: Move) -> None:
        """Renames replicas so that those of a move come first: it is computed for them alone."""
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
        other = np.empty_like(rows)
        places = (*self.space.orders[order], self.n)
        for old, (table, new) in enumerate(zip(self.space.columns, places, strict=True)):
            other[:, new] = _image(table.images(), rows[:, old], order)
        return other

    def hashed(self, rows: Rows) -> Hashes:
        """The hashes of states, in two words."""
        hashes: Hashes = np.zeros((len(rows), 2), np.uint64)
        for one, table in enumerate(self.space.columns):
            hashes += table.hashes.take(rows[:, one], axis=0) * ODD[one]
        return hashes

    def facts_of(self, rows: Rows) -> StateFacts:
        """The facts that decide which moves are possible."""
        facts = self.space.members.facts.take(rows[:, : self.n], axis=0)
        rests = self.space.rests.facts.take(rows[:, self.n], axis=0)
        return StateFacts(facts[:, :, 0], facts[:, :, 1], rests)

    def acting_leader(self, facts: StateFacts) -> Numbers:
        """The replica that was elected last, if it is up and leads, else NOBODY."""
        leader: Numbers = facts.rest[:, 0].copy()
        acts = (facts.up != 0) & (facts.leads != 0)
        for one in range(self.n):
            leader[~acts[:, one] & (leader == one)] = NOBODY
        return leader

    def idle(self, move: Move, rests: Numbers) -> Numbers:
        """The rests after a move that only uses up a budget."""
        effect = self.space.effects.of(Effect(move.uses))
        return self._rests_after.of(_columns(rests, effect, NOBODY)) >> BITS

    def possible(self, move: Move, facts: StateFacts) -> Mask:
        """The states in which a move may change something, as a mask."""
        leader, isr = facts.rest[:, 0], facts.rest[:, 1]
        possible: Mask = np.ones(len(leader), np.bool_)
        if move.uses:
            place = Budgets._fields.index(move.uses)
            most = getattr(self.space.world.budgets, move.uses)
            if most is not None:
                possible &= facts.rest[:, 2 + place] < most
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
        """The states after a possible move, and masks of broken invariants."""
        after, broken = rows.copy(), np.zeros(len(rows), np.int64)
        move, outcomes = self.moves[number], self._outcomes[number]

        def act(name: str, at: Numbers, *said: Any) -> Numbers:
            """Carries out an act in some of the states; returns its messages."""
            before = after.take(at, axis=0)
            found = outcomes[name].of(before, _columns(*said, rows=len(at)))
            after[at], mask = self._after(move, before, found)
            broken[at] |= mask
            return found[:, -1]

        everywhere = np.arange(len(rows))
        if move.op != "fetch":
            act(STEP, everywhere)
            return after, broken
        asked = act(ASK, everywhere)
        answer = act(READ, everywhere, asked)
        kinds = self._message_kinds.values[answer]
        at = np.flatnonzero(kinds != REFUSED)
        act(ACKNOWLEDGE, at, asked[at], kinds[at] == HAS_RECORDS)
        answer[at] = act(ANSWER, at, asked[at], answer[at])
        act(RECEIVE, everywhere, answer)
        return after, broken

    def _after(self, move: Move, rows: Rows, found: Numbers) -> tuple[Rows, Numbers]:
        """The states after the results of an act, and masks of broken invariants."""
        after, broken, effects = rows.copy(), found[:, -2].copy(), found[:, -3]
        for one, table in enumerate(self.space.columns):
            at = np.flatnonzero(found[:, one])
            if len(at):
                after[at, one] = table.changed(rows[at, one], found[at, one])
        at = np.flatnonzero(self._effects.values[effects, 0])
        if len(at):
            before, then, mask = rows.take(at, axis=0), after.take(at, axis=0), broken[at]
            self._update_rests(then, effects[at], mask)
            self._judge(move, before, then, effects[at], mask)
            after[at], broken[at] = then, mask
        return after, broken

    def changed(self, rows: Rows, after: Rows) -> Mask:
        """The states that differ in more than the used budgets, as a mask."""
        same, n = self.space.rests.read(_BUT_BUDGETS)[:, 0], self.n
        different: Mask = same[rows[:, n]] != same[after[:, n]]
        different |= (rows[:, :n] != after[:, :n]).any(axis=1)
        return different

    def _update_rests(self, after: Rows, effects: Numbers, broken: Numbers) -> None:
        """Sets the number of the rest after an act, and the bits of what the act broke."""
        commits = self._effects.values[effects, 1]
        committer = after[np.arange(len(after)), np.maximum(commits, 0)]
        lineages = self.space.members.parts_at(PLACE[LINEAGE], committer)
        lineages = np.where(commits < 0, NOBODY, lineages)
        found = self._rests_after.of(_columns(after[:, self.n], effects, lineages))
        after[:, self.n] = found >> BITS
        broken |= found & (1 << BITS) - 1

    def _rest_after(self, key: list[int]) -> int:
        """The number of the rest after an effect, and the broken invariants, in one number."""
        (number, effect_number, lineage), space = key, self.space
        parts, effect = space.rests.parts, space.effects.values[effect_number]
        rest = [*space.rests[number]]
        if effect.uses and getattr(space.world.budgets, effect.uses) is not None:
            place = OF_REST[effect.uses]
            rest[place] = parts.number(place, parts.values[rest[place]] + 1)
        held = () if lineage < 0 else space.members.parts.values[lineage]
        leader, was = parts.values[rest[OF_REST["leader"]]], parts.values[rest[_HISTORY]]
        history, mask = space.state_judge.after(was, effect.facts, leader, held)
        rest[_HISTORY] = parts.number(_HISTORY, history)
        return space.rests.number(rest) << BITS | mask

    def _judge(
        self, move: Move, rows: Rows, after: Rows, effects: Numbers, broken: Numbers
    ) -> None:
        """Adds what breaks for committed records where an act elects, commits or lets one join."""
        space, n = self.space, self.n
        leaders, logs = space.rests.facts[after[:, n], 0], space.members.facts[:, 2]
        if move.op == "elect":
            elected = np.flatnonzero(leaders == move.who[0])
            histories = space.rests.parts_at(_HISTORY, rows[elected, n])
            keys = _columns(logs[after[elected, move.who[0]]], histories)
            broken[elected] |= self._incompletes.of(keys)
        # A deposed leader's mark decides nothing; before an election (-1) no mark moves.
        leaders = np.maximum(leaders, 0)
        at = np.flatnonzero(self._effects.values[effects, 2] >> leaders & 1)
        if len(at):
            broken[at] |= self._too_fews.of(self._sessions(after[at]))

    def judge_states(self, rows: Rows) -> Numbers:
        """Judges states by their content; returns masks of broken invariants."""
        space, n = self.space, self.n
        logs = space.members.facts[:, 2].take(rows[:, :n])
        histories = space.rests.parts_at(_HISTORY, rows[:, n])
        broken = np.zeros(len(rows), np.int64)
        for one, other in combinations(range(n), 2):
            keys = np.sort(logs[:, [one, other]], axis=1)
            broken |= self._clashes.of(keys)
        for one in range(n):
            broken |= self._deleted_shown.of(_columns(logs[:, one], histories))
        return broken

    def judge_rest(self, rows: Rows) -> Numbers:
        """Judges states at rest: every live replica has fetched everything; returns masks."""
        return self._rests_broken.of(self._sessions(rows))

    def _sessions(self, rows: Rows) -> Numbers:
        """The numbers of all logs, and of the parts of the rest that are looked at with them."""
        logs = self.space.members.facts[:, 2].take(rows[:, : self.n])
        parts = [self.space.rests.parts_at(place, rows[:, self.n]) for place in _LOOKED_AT]
        return np.column_stack([logs, *parts])

    def _incomplete(self, key: list[int]) -> int:
        return BIT["leader-completeness"] * self.space.state_judge.incomplete(*self._one_log(key))

    def _too_few(self, key: list[int]) -> int:
        return self.space.state_judge.too_few(*self._session(key))

    def _at_rest(self, key: list[int]) -> int:
        views, was, leader, _ = self._session(key)
        return self.space.state_judge.at_rest(views, was, leader)

    def _session(self, key: list[int]) -> tuple[list[ReplicaView], History, str, tuple[str, ...]]:
        logs, values = key[: self.n], self.space.rests.parts.values
        history, leader, reported = (values[number] for number in key[self.n :])
        return [self.space.logs[log] for log in logs], history, leader, reported

    def _one_log(self, key: list[int]) -> tuple[ReplicaView, History]:
        return self.space.logs[key[0]], self.space.rests.parts.values[key[1]]

    def _clash(self, key: list[int]) -> int:
        one, other = key
        return self.space.state_judge.of_two(self.space.logs[one], self.space.logs[other])

    def _shows(self, key: list[int]) -> int:
        judge, (view, was) = self.space.state_judge, self._one_log(key)
        contradicts = BIT[judging.SNAPSHOTS] * judge.contradicts(view, was)
        return contradicts | BIT[judging.CAUGHT_UP] * judge.shows_deleted(view, was)

    def _read_of_effect(self, effect: Effect) -> tuple[bool, int, int]:
        """Reads an effect: whether it has any, who is elected or commits, whom to judge then.

        The last is a mask of leaders whose followers may lack committed records; -1 means all.
        """
        names = self.space.world.names
        who = {names.index(fact[1]) for fact in effect.facts if fact[0] != "appended"}
        assert len(who) < 2, "one replica leads in an act"
        commits = max(who, default=NOBODY)
        moves = any(fact[0] == "committed" for fact in effect.facts)
        return effect != Effect(), commits, -1 if effect.joined else 1 << commits if moves else 0


def _kind(answer: Any) -> int:
    """The kind of a leader's answer: a refusal, one without records, or one with records."""
    if isinstance(answer, FetchResponse):
        return REFUSED
    return HAS_RECORDS if answer else NO_RECORDS


def _image(images: Numbers, numbers: Numbers, order: int) -> Numbers:
    """The numbers of replicas, or of rests, under the names of an order."""
    orders = images.shape[1]
    found: Numbers = images.ravel().take(numbers * orders + order)
    return found


def _columns(*numbers: Any, rows: int | None = None) -> Numbers:
    """Rows of numbers; one number is the same in all of them."""
    if not numbers:
        return np.zeros((rows or 0, 0), np.int64)
    columns: Numbers = np.column_stack(np.broadcast_arrays(*numbers)).astype(np.int64)
    return columns
