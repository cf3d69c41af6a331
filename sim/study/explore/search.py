"""Breadth-first search of every schedule of a world, a level at a time.

A level is an array with a row for each state. States are distinguished by a hash of 128 bits: among
ten million states two have the same one with a chance of 1 in 10**24.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.protocol.rules import Rules
from sim.study.explore import judging
from sim.study.explore.expander import Expander, Rows, StateFacts
from sim.study.explore.judging import BIT, searchable
from sim.study.explore.space import Space
from sim.study.explore.tables import ODD, Hashes, Known, Mask, Numbers
from sim.study.explore.world import Move, World

NO_MOVE = -1
CHUNK = 1 << 18
"""Number of states that are expanded at once."""
SHIFT = np.uint64(29)


class Level(NamedTuple):
    """Counts of one depth.

    Attributes:
        depth: Number of moves that lead there.
        states: Number of states that no shorter schedule reaches.
        transitions: Number of moves from those states that change something.
    """

    depth: int
    states: int
    transitions: int


class FirstBreak(NamedTuple):
    """The place in a search where an invariant breaks first.

    Attributes:
        depth: Number of moves after which it breaks, with the one that breaks it.
        row: Row of the state in its level; with a move, of the state before the move.
        move: Number of the move that breaks the invariant; NO_MOVE if the state does.
        ends_with: Step of a story that judges it after the moves; empty if it is judged at once.
    """

    depth: int
    row: int
    move: int
    ends_with: str = ""


class Parents(NamedTuple):
    """The first way to reach each state of a level.

    Attributes:
        rows: Row of the state before, in the level before.
        moves: Number of the move.
        orders: Number of the order that renamed the replicas after it.
    """

    rows: NDArray[np.int32]
    moves: NDArray[np.int16]
    orders: NDArray[np.int8]


Found = dict[tuple[int, str], FirstBreak]
"""World (0 or 1) and invariant -> the first break; with two worlds, one in that world alone."""


class Search:
    """A search from the start on, a level at a time, in one world or in two side by side.

    In two worlds, which have different rules, every schedule happens in both: a move that is not
    possible in one of them does nothing there. A state then has two more columns: for each world
    the mask of what it has broken so far.

    Attributes:
        expanders: One for each world, which applies moves.
        done: The counts of each finished level.
        found: The first break of each invariant so far.
        parents: How the states of each level but the first were reached.
        beginning: The state at the start, as a row.
        rows: The states of the present level.
        moves: Every move of the schedules, in order.
        start_order: Number of the order that renamed the replicas at the start.
    """

    def __init__(self, *spaces: Space) -> None:
        """Starts at the first state of the worlds."""
        searchable()  # so that invariants of plugins have a bit
        self.expanders = [Expander(space) for space in spaces]
        self.n = spaces[0].world.replicas
        self.orders = spaces[0].orders
        self.moves = list(dict.fromkeys(one.move for each in self.expanders for one in each.placed))
        self._placed = [{one.move: one for one in each.placed} for each in self.expanders]
        self._pair = len(spaces) > 1
        self.done: list[Level] = []
        self.found: Found = {}
        self.parents: list[Parents] = []
        start = [number for space in spaces for number in space.start()]
        rows = np.array([start + [0, 0] * self._pair], np.int32)
        self._order_numbers = self._by_code()
        self.beginning, hashes, orders = self._canonical(rows)
        self.rows = self.beginning.copy()
        self._seen = Known()
        self._seen.add(hashes)
        self.start_order = int(orders[0])
        self._left = [sum(BIT[name] for name in judging.JUDGED) for _ in spaces]

    def levels(self, depth: int | None = None) -> Iterator[Level]:
        """Yields the levels up to and including a depth, or until no new state is left."""
        while not self.exhausted and (depth is None or len(self.done) <= depth):
            yield self.step()

    @property
    def exhausted(self) -> bool:
        """True if every schedule was followed to its end."""
        return not len(self.rows)

    def only(self, invariants: Iterable[str]) -> None:
        """Restricts the search to these invariants."""
        self._left = [sum(BIT[name] for name in {*invariants})] * len(self.expanders)

    def step(self) -> Level:
        """Judges the states of this level and finds those of the next one; returns its counts."""
        depth, rows = len(self.done), self.rows
        self._judge(depth)
        transitions, parts = 0, [self._new([])]
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK]
            quiet, part = self._expanded(depth, chunk, start)
            transitions += sum(len(after) for after, *_ in part)
            self._judge_rest(depth, chunk, start, quiet)
            parts.append(self._new(part))
        self.rows = np.concatenate([new for new, _, _ in parts])
        how = zip(*(parents for _, _, parents in parts), strict=True)
        self.parents.append(Parents(*map(np.concatenate, how)))
        self.done.append(Level(depth, len(rows), transitions))
        return self.done[-1]

    def walk(self) -> Iterator[tuple[list[bytes], Numbers, list[Any]]]:
        """Yields the levels of one world with all their transitions.

        A level is the hash of each state, a mask of what each state breaks, and for each transition
        (number of the move, row of the state before, hash of the state after, mask of what the move
        breaks).
        """
        (expander,) = self.expanders
        while not self.exhausted:
            rows, broken = self.rows, expander.judge_states(self.rows)
            quiet, part = self._expanded(0, rows, 0)
            at_rest = np.flatnonzero(quiet)
            broken[at_rest] |= expander.judge_rest(rows[at_rest])
            edges = [
                (number, origin, hash_, mask)
                for after, origins, number, masks in part
                for origin, hash_, mask in zip(
                    origins.tolist(), self.hashes(after), masks.tolist(), strict=True
                )
            ]
            yield self.hashes(rows), broken, edges
            self.step()

    def expand(self, rows: Rows) -> tuple[int, Found, tuple[Rows, Hashes, Parents]]:
        """Expands any states, in place of those of the search.

        Returns the number of moves that change something, what breaks (depth 0 in a state, 1 by a
        move), and the states after a move, each once.
        """
        self.rows, self.found = rows, {}
        self.only(BIT)
        self._judge(0)
        quiet, part = self._expanded(0, rows, 0)
        self._judge_rest(0, rows, 0, quiet)
        self._seen = Known()
        return sum(len(after) for after, *_ in part), self.found, self._new(part)

    def follow(self, schedules: Numbers) -> Rows:
        """The states after schedules of one length.

        Args:
            schedules: A row for each: the number of each move, followed by that of the order that
                renames the replicas after it.
        """
        rows = np.repeat(self.beginning, len(schedules), axis=0)
        for place in range(0, schedules.shape[1], 2):
            self._set_broken(rows)
            rows = self._moved(rows, schedules[:, place], schedules[:, place + 1])
        return rows

    def take_up(self, level: Level, how: Parents) -> None:
        """Restores the next level from its parents, without trying any other move.

        Raises:
            ValueError: The parents are not of this search: a state that they lead to is not new.
        """
        self._set_broken(self.rows)
        self.rows = self._moved(self.rows[how.rows], how.moves, how.orders)
        if not self._seen.add(self._hashed(self.rows)).all():
            raise ValueError("a state is there twice")
        self.parents.append(how)
        self.done.append(level)

    def remember(self, found: Mapping[tuple[int, str], FirstBreak]) -> None:
        """Takes over what an earlier search found, which is not judged again."""
        self.found |= found
        for world, name in found:
            self._left[world] &= ~BIT[name]

    def _moved(self, rows: Rows, moves: NDArray[Any], orders: NDArray[Any]) -> Rows:
        """The states after a move and a renaming of each, by the numbers of move and order."""
        rows = rows.copy()
        for number in np.unique(moves).tolist():
            at, move = np.flatnonzero(moves == number), self.moves[number]
            possible = self._possible(move, self._facts_of(rows[at]))
            rows[at] = self._applied(move, rows[at], possible)[0]
        return self._renamed(rows, orders)

    def hashes(self, rows: Rows) -> list[bytes]:
        """The hash of each state, as 16 bytes."""
        return as_bytes(self._hashed(rows))

    def _block(self, rows: Rows, world: int) -> Rows:
        """The columns of one of the worlds, as a view."""
        width = self.n + 1
        return rows[:, world * width : (world + 1) * width]

    def _expanded(self, depth: int, rows: Rows, start: int) -> tuple[Mask, list[Any]]:
        """Applies every move to some states, and notes what the moves break.

        Returns a mask of the states that are at rest in all worlds, and for each move that changes
        any: the states after it, the rows of the states before, its number, and masks of what is
        broken in the first world (see `_applied`).

        Args:
            depth: Number of moves that lead to the states.
            rows: The states.
            start: Row of the first of them in the level.
        """
        quiet = np.ones(len(rows), np.bool_)
        facts, leaders = self._facts_of(rows), []
        for expander, of in zip(self.expanders, facts, strict=True):
            leaders.append(expander.acting_leader(of))
            quiet &= leaders[-1] >= 0
        found = []
        for number, move in enumerate(self.moves):
            possible = self._possible(move, facts)
            at = np.flatnonzero(np.logical_or.reduce(possible))
            if not len(at):
                continue
            after, changed, broken = self._applied(move, rows[at], [one[at] for one in possible])
            self._note_moves(depth + 1, broken, start + at, number)
            if move.op in ("fetch", "fetch_snapshot"):
                for leader in leaders:
                    quiet[at[changed & (leader[at] == move.who[1])]] = False
            kept = np.flatnonzero(changed)
            if len(kept):
                origins = (start + at[kept]).astype(np.int32)
                found.append((after[kept], origins, number, broken[0][kept]))
        return quiet, found

    def _facts_of(self, rows: Rows) -> list[StateFacts]:
        """The facts that decide which moves are possible in each world."""
        return [
            expander.facts_of(self._block(rows, world))
            for world, expander in enumerate(self.expanders)
        ]

    def _possible(self, move: Move, facts: list[StateFacts]) -> list[Mask]:
        """For each world, a mask of the states in which a move may change something."""
        return [
            expander.possible(move, of) if move in placed else np.zeros(len(of.rest), np.bool_)
            for expander, placed, of in zip(self.expanders, self._placed, facts, strict=True)
        ]

    def _applied(
        self, move: Move, rows: Rows, possible: list[Mask]
    ) -> tuple[Rows, Mask, list[Numbers]]:
        """The states after a move, a mask of those that it changes, and masks of what is broken.

        With one world the masks have what the move breaks, with two what is broken so far in each.
        """
        after = rows.copy()
        changed = np.zeros(len(rows), np.bool_)
        everything = []
        order = self.order_of(move)
        for world, expander in enumerate(self.expanders):
            before = expander.renamed(self._block(rows, world), order)
            broken = np.zeros(len(rows), np.int64)
            result = before.copy()
            at = np.flatnonzero(possible[world])
            if len(at):
                number = self._placed[world][move].number
                result[at], broken[at] = expander.apply(number, before[at])
            if self._pair and len(at) < len(rows):
                idle = np.flatnonzero(~possible[world])
                result[idle, self.n] = expander.idle(move, before[idle, self.n])
            changed |= expander.changed(before, result)
            self._block(after, world)[:] = result
            if self._pair:
                broken |= rows[:, world - 2]
                after[:, world - 2] = broken
            everything.append(broken)
        return after, changed, everything

    def order_of(self, move: Move) -> int:
        """The number of the order that renames the replicas for a move."""
        return next(each[move].order for each in self._placed if move in each)

    def _judge(self, depth: int) -> None:
        """Judges the states of the level by their content."""
        everything = self._set_broken(self.rows)
        self._note(
            everything,
            lambda row, name: FirstBreak(depth, row, NO_MOVE, judging.JUDGED_BY.get(name, "")),
        )

    def _set_broken(self, rows: Rows) -> list[Numbers]:
        """Judges states by their content; returns masks of broken invariants for each world.

        With two worlds the masks have what was broken before, too, and the states keep them.
        """
        everything = []
        for world, expander in enumerate(self.expanders):
            broken = expander.judge_states(self._block(rows, world))
            if self._pair:
                broken |= rows[:, world - 2]
                rows[:, world - 2] = broken
            everything.append(broken)
        return everything

    def _judge_rest(self, depth: int, rows: Rows, start: int, quiet: Mask) -> None:
        """Judges the states of `rows` that are at rest: live replicas have fetched everything."""
        at = np.flatnonzero(quiet)
        if len(at):
            rests = [
                expander.judge_rest(self._block(rows, world)[at])
                for world, expander in enumerate(self.expanders)
            ]
            self._note(
                rests,
                lambda row, _: FirstBreak(depth, start + int(at[row]), NO_MOVE, judging.QUIESCE),
            )

    def _note_moves(self, depth: int, everything: list[Numbers], at: Numbers, move: int) -> None:
        """Notes that a move breaks invariants which no earlier one broke; `at` are its rows."""
        self._note(everything, lambda row, _: FirstBreak(depth, int(at[row]), move))

    def _note(self, everything: list[Numbers], found: Callable[[int, str], FirstBreak]) -> None:
        """Notes the first break of each invariant; with two worlds, only in one alone."""
        for world, broken in enumerate(everything):
            alone = broken & ~everything[1 - world] if self._pair else broken
            for name in judging.names_of(
                self._left[world] & int(np.bitwise_or.reduce(alone, initial=0))
            ):
                row = int(np.flatnonzero(alone & BIT[name])[0])
                self.found.setdefault((world, name), found(row, name))
                self._left[world] &= ~BIT[name]

    def _new(self, part: list[Any]) -> tuple[Rows, Hashes, Parents]:
        """The new states among those after a move, each once, with their hashes and parents."""
        if not part:
            return (
                self.rows[:0],
                np.zeros((0, 2), np.uint64),
                Parents(np.zeros(0, np.int32), np.zeros(0, np.int16), np.zeros(0, np.int8)),
            )
        rows = np.concatenate([after for after, *_ in part])
        origins = np.concatenate([at for _, at, *_ in part])
        moves = np.concatenate([np.full(len(at), number, np.int16) for _, at, number, _ in part])
        rows, hashes, orders = self._canonical(rows)
        fresh = np.flatnonzero(self._seen.add(hashes))
        return rows[fresh], hashes[fresh], Parents(origins[fresh], moves[fresh], orders[fresh])

    def _canonical(self, rows: Rows) -> tuple[Rows, Hashes, NDArray[np.int8]]:
        """States with canonical names of replicas, their hashes, and the order that was applied.

        Replicas are sorted by a hash that does not depend on names; where two have the same one,
        the names with the least hash of the state are taken.
        """
        orders = np.zeros(len(rows), np.int8)
        if len(self.orders) == 1:
            return rows, self._hashed(rows), orders
        kinds = np.zeros((len(rows), self.n), np.uint64)
        for world, expander in enumerate(self.expanders):
            of = expander.space.members.orbits()
            kinds += of[self._block(rows, world)[:, : self.n]] * ODD[world]
        in_order = np.argsort(kinds, axis=1)
        orders = self._order_numbers[in_order @ self.n ** np.arange(self.n)]
        best = self._renamed(rows, orders)
        hashes = self._hashed(best)
        kinds = np.take_along_axis(kinds, in_order, axis=1)
        alike = np.flatnonzero((kinds[:, 1:] == kinds[:, :-1]).any(axis=1))
        if len(alike):
            best[alike], hashes[alike], orders[alike] = self._least(rows[alike])
        return best, hashes, orders

    def _least(self, rows: Rows) -> tuple[Rows, Hashes, NDArray[np.int8]]:
        """States with the names of replicas that have the least hash."""
        best, hashes = rows, self._hashed(rows)
        orders = np.zeros(len(rows), np.int8)
        for number in range(1, len(self.orders)):
            other = self._renamed(rows, np.full(len(rows), number))
            others = self._hashed(other)
            less = others[:, 0] < hashes[:, 0]
            best = np.where(less[:, None], other, best)
            hashes = np.where(less[:, None], others, hashes)
            orders[less] = number
        return best, hashes, orders

    def _renamed(self, rows: Rows, orders: NDArray[Any]) -> Rows:
        """States with replicas renamed, each by the order of its number."""
        other = rows.copy()
        for number in range(1, len(self.orders)):
            at = np.flatnonzero(orders == number)
            for world, expander in enumerate(self.expanders):
                block = self._block(rows, world)[at]
                self._block(other, world)[at] = expander.renamed(block, number)
        return other

    def _by_code(self) -> NDArray[np.int8]:
        """The number of each order, by its code: the sum of old number * n ** new number."""
        numbers = np.zeros(self.n**self.n, np.int8)
        for number, order in enumerate(self.orders):
            numbers[sum(old * self.n**new for old, new in enumerate(order))] = number
        return numbers

    def _hashed(self, rows: Rows) -> Hashes:
        hashes = np.zeros((len(rows), 2), np.uint64)
        for world, expander in enumerate(self.expanders):
            hashes = (hashes ^ hashes >> SHIFT) * ODD[0] + expander.hashed(self._block(rows, world))
            if self._pair:
                hashes += rows[:, world - 2, None].astype(np.uint64) * ODD[1]
        return hashes ^ hashes >> SHIFT


class Searched(NamedTuple):
    """The parameters of a search: a world, and one set of rules or two to compare."""

    world: World
    rules: tuple[Rules, ...]

    def search(self) -> Search:
        """A search of it, at its start."""
        return Search(*[Space(self.world, rules) for rules in self.rules])


def as_bytes(hashes: Hashes) -> list[bytes]:
    """Each hash as 16 bytes."""
    words = hashes.astype(">u8").tobytes()
    return [words[at : at + 16] for at in range(0, len(words), 16)]
