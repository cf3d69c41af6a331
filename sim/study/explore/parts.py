"""The states of a search in parts, and which parts a move reads.

A replica is a tuple of numbers, one for the value of each attribute of the replica and of its log;
the rest of a state is another tuple. A move works on watched replicas, which make a part only when
it is read, and note that. So the parts that a move depends on are observed, not declared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sim.protocol.log import Log
from sim.protocol.log.segment import OffsetIndex, Segment
from sim.protocol.replication import Replica
from sim.protocol.replication.replica import Leadership, attributes, freeze, maker, renamed
from sim.protocol.rules import Rules
from sim.study.explore.tables import (
    GrowingColumn,
    Hashes,
    Known,
    Memo,
    Numbering,
    Numbers,
    hash_of_text,
)
from sim.study.explore.world import Budgets

OF_LOG: Final = attributes(Log)
OF_LEADERSHIP: Final = attributes(Leadership)
OF_REPLICA: Final = tuple(name for name in attributes(Replica) if name != "log")
"""All but the log. The part `leadership` is whether there is one; its attributes are parts, too."""
LINEAGE: Final = "lineage"
"""What a log ever held, by offset: a fact of the run, which no function of the protocol reads."""
PARTS: Final = (
    *OF_REPLICA,
    *[f"leadership.{name}" for name in OF_LEADERSHIP],
    *[f"log.{name}" for name in OF_LOG],
    LINEAGE,
)
PLACE: Final[Mapping[str, int]] = {name: place for place, name in enumerate(PARTS)}

REST: Final = ("leader", "isr", "reported", "now_ms", "coordinator", "history", *Budgets._fields)
"""All of a state but the replicas.

The leader that was elected last; the in-sync set of the controller, and the one that events
reported last (a leader that is down reports none); the time; the state of the coordinator of
removals; the committed history; the used part of each budget.
"""
OF_REST: Final[Mapping[str, int]] = {name: place for place, name in enumerate(REST)}
"""The places of the parts of a rest."""

_LEADS: Final = PLACE["leadership"]

Member = tuple[int, ...]
"""A replica: the number of each of its parts, in the order of `PARTS`; or a rest, of `REST`."""
Changes = tuple[tuple[int, int], ...]
"""Place and new number of each part that is different."""
Tidying = Mapping[int, Callable[[Any], Any]]
"""Place -> function that reduces the part there."""


class Parts:
    """Every value that a part of replicas, or of rests, ever had, by number.

    Attributes:
        values: The values; the index is their number.
        naming: Places of the parts that name replicas.
        makers: Function that makes the live part of each value; None if the value itself is it.
        hashes: Hash of 128 bits of each value, the same in every process.
    """

    def __init__(self, names: Sequence[Mapping[str, str]], tidying: Tidying) -> None:
        """Starts without values; `names` are the ways to rename the replicas."""
        self._tidying = tidying
        self._all = Numbering()
        self.values: list[Any] = self._all.values
        self.makers: list[Callable[[], Any] | None] = []
        self.hashes = GrowingColumn(np.uint64, 2)
        self._names = names
        self._images: dict[tuple[int, int, int], int] = {}
        self.naming: list[int] = []

    def number(self, place: int, value: Hashable) -> int:
        """The number of a value of the part at a place."""
        found = self._all.number((place, value), value)
        if found == len(self.makers):
            self.makers.append(maker(value) if type(value) is tuple else None)
            if place not in self.naming and self._names_replicas(value):
                self.naming.append(place)
            self.hashes.append(hash_of_text((place, value)))
        return found

    def member(self, live: Sequence[Any]) -> Member:
        """The numbers of all live parts."""
        return tuple([self.of(place, value) for place, value in enumerate(live)])

    def of(self, place: int, live: Any) -> int:
        """The number of a live part."""
        tidy = self._tidying.get(place)
        return self.number(place, freeze(live if tidy is None else tidy(live)))

    def images(self, rows: NDArray[np.int32], order: int) -> NDArray[np.int32]:
        """The members in `rows`, one each, with replicas renamed by the order of that number."""
        found = rows.copy()
        for place in self.naming:
            numbers, inverse = np.unique(rows[:, place], return_inverse=True)
            images = [self._image(place, number, order) for number in numbers.tolist()]
            found[:, place] = np.array(images, np.int32)[inverse]
        return found

    def _image(self, place: int, number: int, order: int) -> int:
        key = (place, number, order)
        found = self._images.get(key)
        if found is None:
            value = renamed(self.values[number], self._names[order])
            found = self._images[key] = self.number(place, value)
        return found

    def _names_replicas(self, value: Any) -> bool:
        return any(renamed(value, names) != value for names in self._names)


def parts_of(replica: Replica, lineage: tuple[int, ...]) -> list[Any]:
    """The live parts of a replica."""
    values = [getattr(replica, name) for name in OF_REPLICA]
    values += [getattr(replica.leadership, name, None) for name in OF_LEADERSHIP]
    values += [getattr(replica.log, name) for name in OF_LOG]
    return [*values, lineage]


def of_replicas(rules: Rules) -> Tidying:
    """Functions that reduce parts of replicas to what a search can read.

    Segments stay, as batches do not determine them: under `gap_fetch` a follower that learns of a
    gap at its log end rolls a segment. How far a cleaner may go depends on them.
    """

    def constant(value: Any) -> Callable[[Any], Any]:
        return lambda _live: value

    return {
        PLACE["log.segments"]: _without_index,
        PLACE["leadership.isr"]: _in_order,
        _LEADS: bool,
        **{PLACE[name]: constant(value) for name, value in unread(rules).items()},
    }


def of_rests() -> Tidying:
    """Functions that reduce parts of rests to what a search can read."""
    return {OF_REST["isr"]: _in_order, OF_REST["reported"]: _in_order}


def _in_order(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(names))


def _without_index(segments: list[Segment]) -> list[Segment]:
    """The segments without offset index, which is read for transactions alone."""
    for segment in segments:
        segment.index = OffsetIndex()
    return segments


def unread(rules: Rules) -> dict[str, Any]:
    """Parts that no move of a search reads under the rules, with the constant value they get.

    Otherwise they would distinguish states with the same futures.
    """
    removal, empty = rules.cleaner.removal, Log()
    found: dict[str, Any] = {
        "leadership.awaited": (),  # determined anew before it is read
        "log.acknowledged_end": 0,  # read when power is lost
        "log.flushed_end": 0,
        "log.snapshots": freeze(empty.snapshots),  # read for producers
        "log.producers": freeze(empty.producers),
    }
    if removal.name != "cleaning_checkpoint":
        found["last_cleaning"] = None
    if not removal.gates_markers:
        found["cleanly_compacted_offset"] = 0
    if rules.replication.lag_guard == "none":
        found["removed_tombstone_end"] = 0
    if rules.cleaner.map_range == "full" and rules.storage.leo_source == "stored":
        found["first_dirty_offset"] = 0
    return found


class Notes:
    """The parts of a replica, or of a rest, while a move is under way.

    Attributes:
        read: Places of the parts that were read.
        live: Place -> the live part, of those that were read or set.
    """

    __slots__ = ("_member", "_parts", "live", "read")

    def __init__(self, parts: Parts, member: Member) -> None:
        """Starts with no part read."""
        self._parts, self._member = parts, member
        self.read: set[int] = set()
        self.live: dict[int, Any] = {}

    def get(self, place: int) -> Any:
        """The live part at a place."""
        if place not in self.live:
            self.read.add(place)
            number = self._member[place]
            make = self._parts.makers[number]
            self.live[place] = self._parts.values[number] if make is None else make()
        return self.live[place]

    def asked(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of some parts before the move; they count as read."""
        self.read.update(places)
        return tuple([self._member[place] for place in places])

    def changes(self) -> Changes:
        """Place and new number of each changed part."""
        member, values, found = self._member, self._parts.values, []
        for place, live in self.live.items():
            known = place in self.read
            if known and live is values[member[place]]:
                continue  # the value itself, which is immutable
            number = self._parts.of(place, live)
            if number != member[place] or not known:
                found.append((place, number))
        return tuple(sorted(found))


class WatchedLog(Log):
    """A log whose parts are made on demand."""

    __slots__ = ("notes",)
    notes: Notes


class WatchedLeadership(Leadership):
    """A leadership whose parts are made on demand."""

    __slots__ = ("notes",)
    notes: Notes


class WatchedReplica(Replica):
    """A replica whose parts are made on demand."""

    __slots__ = ("notes", "watched_leadership", "watched_log")
    notes: Notes
    watched_leadership: WatchedLeadership
    watched_log: WatchedLog

    @classmethod
    def of(cls, parts: Parts, member: Member) -> WatchedReplica:
        """Makes a replica of a member."""
        made = cls.__new__(cls)
        made.notes = notes = Notes(parts, member)
        made.watched_log = WatchedLog.__new__(WatchedLog)
        made.watched_leadership = WatchedLeadership.__new__(WatchedLeadership)
        made.watched_log.notes = made.watched_leadership.notes = notes
        return made


def watched(place: int) -> property:
    """A property that reads and sets a part in the notes of its object."""

    def get(self: Any) -> Any:
        return self.notes.get(place)

    def set_(self: Any, value: Any) -> None:
        self.notes.live[place] = value

    return property(get, set_)


def _log(self: WatchedReplica) -> Log:
    return self.watched_log


def _set_log(self: WatchedReplica, log: Log) -> None:
    for name in OF_LOG:
        setattr(self.watched_log, name, getattr(log, name))


def _leadership(self: WatchedReplica) -> Leadership | None:
    return self.watched_leadership if self.notes.get(_LEADS) else None


def _set_leadership(self: WatchedReplica, leadership: Leadership | None) -> None:
    self.notes.live[_LEADS] = leadership
    for name in OF_LEADERSHIP:
        setattr(self.watched_leadership, name, getattr(leadership, name, None))


for _prefix, _names, _kind in (
    ("", OF_REPLICA, WatchedReplica),
    ("leadership.", OF_LEADERSHIP, WatchedLeadership),
    ("log.", OF_LOG, WatchedLog),
):
    for _name in _names:
        setattr(_kind, _name, watched(PLACE[_prefix + _name]))
setattr(WatchedReplica, "log", property(_log, _set_log))  # noqa: B010 - a slot of its base
setattr(WatchedReplica, "leadership", property(_leadership, _set_leadership))  # noqa: B010


class Members:
    """Replicas, or rests, by number; each is a row of numbers of parts, its hash the sum of theirs.

    Attributes:
        parts: Their parts.
        changes: Every set of changes (`Changes`); 0 is the number of the empty one.
    """

    def __init__(
        self,
        parts: Parts,
        orders: int,
        start: Sequence[Member],
        facts: Callable[[Member], list[int]],
    ) -> None:
        """Starts with the replicas, or the rest, of the start.

        Args:
            parts: Their parts.
            orders: Number of ways to rename replicas; 0 is the identity.
            start: The members of the start, which get the first numbers.
            facts: Function that computes numbers about a member for quick look-ups.
        """
        self.parts, self._facts_of = parts, facts
        self._rows = GrowingColumn(np.int32, len(start[0]))
        self._hashes = GrowingColumn(np.uint64, 2)
        self._known = Known()
        self._facts = GrowingColumn(np.int32, len(facts(start[0])))
        self._images = GrowingColumn(np.int32, orders)
        self._orbits = GrowingColumn(np.uint64)
        self._read: dict[tuple[int, ...], GrowingColumn] = {}
        self._changed = Memo(self._with_changes)
        self.changes = Numbering(())
        for one in start:
            self.number(one)

    def __getitem__(self, number: int) -> Member:
        """The member of a number."""
        return tuple(self._rows.values[number].tolist())

    def __len__(self) -> int:
        """Number of members so far."""
        return self._rows.length

    def number(self, member: Sequence[int]) -> int:
        """The number of a member, a new one if it is new."""
        row = np.array([member], np.int32)
        return int(self._numbers(row, self._hashes_of(row))[0])

    @property
    def hashes(self) -> Hashes:
        """The hashes; the index is the number of a member."""
        found: Hashes = self._hashes.values
        return found

    @property
    def facts(self) -> Numbers:
        """The facts; the row is the number of a member."""
        found: Numbers = self._facts.values
        return found

    def images(self) -> Numbers:
        """The numbers under other names: a row for each member, a column for each order."""
        while self._images.length < len(self):
            begin = self._images.length
            rows = self._rows.values[begin:].copy()
            images = [np.arange(begin, len(self))]
            for order in range(1, self._images.values.shape[1]):
                other = self.parts.images(rows, order)
                places = self.parts.naming
                more = self._hashes_of(other[:, places]) - self._hashes_of(rows[:, places])
                images.append(self._numbers(other, self.hashes[begin : begin + len(rows)] + more))
            self._images.extend(np.column_stack(images))
        found: Numbers = self._images.values
        return found

    def orbits(self) -> NDArray[np.uint64]:
        """A number for each member that does not depend on names."""
        images = self.images()
        new = images[self._orbits.length :]
        self._orbits.extend(self.hashes[new, 0].min(axis=1))
        found: NDArray[np.uint64] = self._orbits.values
        return found

    def read(self, places: tuple[int, ...]) -> Hashes:
        """A hash of the parts at some places, for each member."""
        found = self._read.setdefault(places, GrowingColumn(np.uint64, 2))
        if found.length < len(self):
            rows = self._rows.values[found.length :]
            found.extend(self._hashes_of(rows[:, places]))
        hashes: Hashes = found.values
        return hashes

    def changed(self, numbers: Numbers, changes: Numbers) -> Numbers:
        """The numbers of members after changes, which are given by number."""
        return self._changed.of(np.column_stack([numbers, changes]))

    def parts_at(self, place: int, numbers: Numbers) -> Numbers:
        """The numbers of the parts of members at a place."""
        found: Numbers = self._rows.values[numbers, place]
        return found

    def _with_changes(self, pairs: Numbers) -> Numbers:
        """The numbers of changed members; a row has a member and a set of changes."""
        hash_of = self.parts.hashes.values
        numbers, kinds = pairs[:, 0], pairs[:, 1]
        rows = self._rows.values.take(numbers, axis=0)
        hashes = self.hashes.take(numbers, axis=0)
        in_order = np.argsort(kinds, kind="stable")
        different, begins = np.unique(kinds[in_order], return_index=True)
        for change, at in zip(different.tolist(), np.split(in_order, begins[1:]), strict=True):
            places, parts = (list(one) for one in zip(*self.changes.values[change], strict=True))
            before = rows[at[:, None], places]
            hashes[at] += hash_of[parts].sum(axis=0) - hash_of[before].sum(axis=1)
            rows[at[:, None], places] = parts
        return self._numbers(rows, hashes)

    def _hashes_of(self, parts: NDArray[np.int32]) -> Hashes:
        """The sum of the hashes of each row of parts."""
        hashes = self.parts.hashes.values
        found: Hashes = np.zeros((len(parts), 2), np.uint64)
        for place in range(parts.shape[1]):
            found += hashes.take(parts[:, place], axis=0)
        return found

    def _numbers(self, rows: NDArray[np.int32], hashes: Hashes) -> Numbers:
        found = self._known.get(hashes)
        at = np.flatnonzero(found < 0)
        if len(at):
            new = at[self._known.add(hashes[at])]
            self._rows.extend(rows.take(new, axis=0))
            self._hashes.extend(hashes[new])
            self._facts.extend([self._facts_of(tuple(row)) for row in rows[new].tolist()])
            found[at] = self._known.get(hashes[at])
        return found
