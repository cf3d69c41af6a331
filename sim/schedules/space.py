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
from sim.schedules.judging import Court, MemberJudge, view_of
from sim.schedules.parts import LINEAGE, PLACE, Member, Parts, WatchedReplica
from sim.schedules.tables import Table
from sim.schedules.world import NOBODY, NOTHING_USED, Move, Rest, World, step_of
from sim.story.driver import StoryDriver
from sim.story.expect import StoryExpect
from sim.story.format import Story
from sim.story.op import Step
from sim.trace import Appended, Event, HighWatermarkMoved, IsrChanged, LeaderElected

_OF_VIEW: Final = tuple(
    PLACE[name]
    for name in (
        *("up", "snapshots", "first_dirty_offset", "log.high_watermark", "log.log_start_offset"),
        *("log.log_end_offset", "log.segments", LINEAGE),
    )
)
"""The parts that a view of a log is made of."""
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
        self._views: dict[tuple[int, ...], ReplicaView] = {}
        self.judge = MemberJudge(rules)
        self.court = Court(rules, self.judge, world)
        self._driver = _Driver(world, rules)
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
        names, driver = self.world.names, self._driver
        replicas = {
            name: WatchedReplica.of(self.parts, self.members.values[number])
            for name, number in zip(names, members, strict=True)
        }
        driver.begin(replicas, rest)
        step = driver.step_of(move)
        if step is not None:
            driver.carry_out(step)
        untouched = {
            name: WatchedReplica.of(self.parts, self.members.values[number])
            for name, number in zip(names, members, strict=True)
        }

        def before(name: str) -> ReplicaView:
            return self._view(name, untouched[name])

        lineages, broken = self.judge.follow(driver.happened, before)
        for name, lineage in lineages.items():
            replicas[name].notes.live[PLACE[LINEAGE]] = lineage
        effect = self._effect(move, driver, replicas, untouched)
        changes = tuple(replicas[name].notes.changes() for name in names)
        read = tuple(
            tuple(sorted(replicas[name].notes.read | untouched[name].notes.read)) for name in names
        )
        return Outcome(Shape(read, tuple(sorted(driver.read))), changes, effect, broken)

    def _view(self, name: str, replica: WatchedReplica) -> ReplicaView:
        """The log of a replica that no move has touched, as a view of its own."""
        key = replica.notes.asked(_OF_VIEW)
        known = self._views.get(key)
        if known is None:
            known = self._views[key] = view_of(name, replica, replica.notes.get(PLACE[LINEAGE]))
        view = copy(known)
        view.name, view.slots, view.lineage = name, [*known.slots], [*known.lineage]
        view.horizons, view.snapshots = {**known.horizons}, {**known.snapshots}
        view.unexplained_offsets = set()
        return view

    def _effect(
        self,
        move: Move,
        driver: _Driver,
        replicas: dict[str, WatchedReplica],
        untouched: dict[str, WatchedReplica],
    ) -> int:
        number = {name: one for one, name in enumerate(self.world.names)}
        facts: list[tuple[Any, ...]] = []
        leader, told, joined = NOBODY, None, False
        marks: dict[str, int] = {}
        for event in driver.happened:
            if isinstance(event, Appended):
                facts += [("appended", one.offset, one.uid) for one in event.batch.records]
            elif isinstance(event, HighWatermarkMoved) and event.leading:
                name, mark = event.replica, event.high_watermark
                before = marks.get(name)
                before = untouched[name].log.high_watermark if before is None else before
                lineage = replicas[name].notes.get(PLACE[LINEAGE])
                facts.append(("committed", number[name], before, mark, tuple(lineage[:mark])))
                marks[name] = mark
            elif isinstance(event, LeaderElected):
                leader, told = number[event.replica], _mask(event.isr, number)
            elif isinstance(event, IsrChanged) and event.replica == driver.leader:
                told, joined = _mask(event.isr, number), joined or event.joined is not None
        written = driver.written
        effect = Effect(
            move.uses,
            leader,
            _mask(written["isr"], number) if "isr" in written else None,
            told,
            tuple(facts),
            joined,
            _value_of(driver.coordinator) if move.op == "coordinate" else None,
            written.get("now_ms"),
        )
        return self._number("effect", effect, self.effects, effect)

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
        replica = WatchedReplica.of(self.parts, member)
        view = view_of("", replica, replica.notes.get(PLACE[LINEAGE]))
        shown = (tuple(view.slots), view.high_watermark, view.log_start_offset, view.up)
        log = self._number("log", (shown, tuple(view.snapshots)), self.views, view)
        return replica.up, replica.leadership is not None, log

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


def rest_part(rest: Rest, name: str) -> Any:
    """A part of a rest by its name in `OF_REST`."""
    of: Any = rest.used if name in ("epochs", "appends") else rest
    return getattr(of, name)


class _Driver(StoryDriver):
    """A story without an end: each step begins in the state that it is given.

    Attributes:
        happened: What the step did.
        read: What it has read of the rest.
        written: What it has set of it, by name.
    """

    def __init__(self, world: World, rules: Rules) -> None:
        names = world.names
        isr = tuple(names[one] for one in world.isr)
        story = Story("", "", "", rules, names, isr, names, (), StoryExpect(()))
        self.happened: list[Event] = []
        self.read: set[str] = set()
        self.written: dict[str, Any] = {}
        self._world = world
        super().__init__(story, invariants=())

    def begin(self, replicas: dict[str, WatchedReplica], rest: Rest) -> None:
        """Be in a state."""
        self.replicas = dict(replicas)
        self._rest = rest
        self.happened, self.read, self.written = [], set(), {}

    def of_rest(self, name: str) -> Any:
        """A part of the rest, as it was."""
        self.read.add(name)
        return rest_part(self._rest, name)

    def step_of(self, move: Move) -> Step | None:
        """The step that a move is in this state; None = it is none."""
        return step_of(move, self._world, self, lambda: self.of_rest("epochs") + 1)

    def carry_out(self, step: Step) -> None:
        """Take the step, unless somebody is not what he has to be for it."""
        if step.op == "coordinate":
            known, bounds = self.of_rest("coordinator")
            self.coordinator = RemovalCoordinator(dict(known), bounds)
        self._taken = step
        self._carried_out(step)

    def emit(self, events: Sequence[Event]) -> None:
        """Note what happened."""
        self.happened += events

    def new_uid(self, label: str) -> int:
        """Name a record by what it is and where: no two appends of a schedule have all that alike.

        A log end that moves back may be given again, so that appends are counted then.
        """
        step, keys, versions = self._taken, self._world.keys, self._world.versions
        leader = self.replicas[step.get("leader", step.get("replica", ""))]
        what = 0
        if step.op == "append":
            epoch = leader.leadership.epoch if leader.leadership is not None else 0
            version = step.get("hdr", step.get("ts", 0))
            place = versions.index(version) if version in versions else 0
            marked = any(step.get(mark) for mark in ("tombstone", "null_value", "flag"))
            what = ((1 + place) * 2 + marked) * len(keys) + keys.index(step["key"])
        else:
            epoch = step.get("epoch", 0)
        if self.rules.storage.leo_source == "last_record":
            what += (self.of_rest("appends") + 1) << 10
        return 1 + (leader.log.log_end_offset << 24 | epoch << 16 | what)


def _of_rest(name: str, of: Callable[[_Driver, Any], Any]) -> property:
    def get(self: _Driver) -> Any:
        return self.written[name] if name in self.written else of(self, self.of_rest(name))

    def set_(self: _Driver, value: Any) -> None:
        self.written[name] = value

    return property(get, set_)


def _isr_names(driver: _Driver, mask: int) -> tuple[str, ...]:
    return tuple(n for one, n in enumerate(driver.story.replicas) if mask >> one & 1)


def _leader_name(driver: _Driver, leader: int) -> str | None:
    return None if leader == NOBODY else driver.story.replicas[leader]


_Driver.isr = _of_rest("isr", _isr_names)  # type: ignore[assignment]
_Driver.leader = _of_rest("leader", _leader_name)  # type: ignore[assignment]
_Driver.now_ms = _of_rest("now_ms", lambda _, now_ms: now_ms)  # type: ignore[assignment]


def _value_of(coordinator: RemovalCoordinator) -> Any:
    return tuple(sorted(coordinator.known.items())), coordinator.bounds


def _mask(names: Sequence[str], number: dict[str, int]) -> int:
    return sum(1 << number[name] for name in names)


def _renamed_mask(mask: int, order: Sequence[int]) -> int:
    return sum(1 << new for old, new in enumerate(order) if mask >> old & 1)
