"""The states of a world, as rows of numbers, and the acts that lead from one to the next.

A state has a number for each replica and one for the rest. An act is a part of a move, computed by
the product's own functions on watched replicas, once for all states that are alike in what it
reads. A move is one act, the step of a story; but a fetch is five, between which a message goes
from one replica to the other. So an answer is made once for all followers that ask alike, and
received once from all leaders that give it.

The log of a replica is made on demand from its parts, as the checker would have built it from
events.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import permutations
from operator import itemgetter
from typing import Any, Final, NamedTuple

from sim.check.facts import EMPTY, HOLE, ReplicaView
from sim.protocol.events import Appended, Event, HighWatermarkMoved, IsrChanged, LeaderElected
from sim.protocol.log import Log, LogConfig
from sim.protocol.log.segment import Segment
from sim.protocol.replication import Replica, follower, leader
from sim.protocol.replication.coordination import RemovalCoordinator
from sim.protocol.replication.replica import freeze, log_config
from sim.protocol.rules import Rules
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story
from sim.simulate.story.op import Step
from sim.study.explore.judging import MemberJudge, StateJudge
from sim.study.explore.parts import (
    LINEAGE,
    OF_REST,
    PLACE,
    Changes,
    Member,
    Members,
    Notes,
    Parts,
    WatchedReplica,
    of_replicas,
    of_rests,
    parts_of,
    watched,
)
from sim.study.explore.tables import Numbering
from sim.study.explore.world import NOBODY, Budgets, Effect, History, Move, World, step_of

_END: Final = PLACE["log.log_end_offset"]
_SEGMENTS: Final = PLACE["log.segments"]
_SNAPSHOTS: Final = PLACE["snapshots"]
_AS_THEY_ARE: Final = {
    "up": PLACE["up"],
    "first_dirty_offset": PLACE["first_dirty_offset"],
    "high_watermark": PLACE["log.high_watermark"],
    "log_start_offset": PLACE["log.log_start_offset"],
}
"""Attributes that a view takes from the replica unchanged."""


_SHOWN: Final = itemgetter(
    *[_AS_THEY_ARE[name] for name in ("up", "high_watermark", "log_start_offset")],
    *[_SNAPSHOTS, _END, _SEGMENTS],
)
"""The parts of a replica that determine its log for others."""


class HeldLog(NamedTuple):
    """The content of a log; the attributes are those of a view."""

    slots: list[int]
    horizons: dict[int, int]


_ALL: Final = {*_AS_THEY_ARE, *HeldLog._fields, "lineage", "log_end_offset_before", "snapshots"}


class Views:
    """The logs of replicas, each made once.

    Attributes:
        logs: All logs, as views. Replicas share one if they are equal in slots, high watermark,
            log start, snapshots, and in being up or down.
    """

    def __init__(self, parts: Parts) -> None:
        """Starts without any log."""
        self.parts = parts
        self._held: dict[tuple[int, ...], HeldLog] = {}
        self.logs = Numbering()
        self._logs_of: dict[tuple[int, ...], int] = {}

    def of(self, name: str, member: Member) -> WatchedView:
        """The log of a replica, not compared with the committed history; events use its name."""
        return WatchedView(name, self, Notes(self.parts, member))

    def facts_of(self, member: Member) -> list[int]:
        """Facts of a replica: up or not, leader or not, the number of its log."""
        values, parts = self.parts.values, _SHOWN(member)
        log = self._logs_of.get(parts)
        if log is None:
            view = self.of("", member).whole()
            shown = (tuple(view.slots), view.high_watermark, view.log_start_offset, view.up)
            log = self.logs.number((shown, tuple(view.snapshots.items())), view)
            self._logs_of[parts] = log
        return [values[member[PLACE["up"]]], values[member[PLACE["leadership"]]], log]

    def held(self, notes: Notes) -> HeldLog:
        """The content of a replica's log."""
        key = notes.asked((_SEGMENTS, _END))
        found = self._held.get(key)
        if found is None:
            found = self._held[key] = _held(notes.get(_SEGMENTS), notes.get(_END))
        return found


class WatchedView(ReplicaView):
    """A log that is made on demand.

    Attributes:
        notes: The parts that were read.
    """

    def __init__(self, name: str, views: Views, notes: Notes) -> None:
        """Starts with no attribute made."""
        self.name, self.notes, self._views = name, notes, views
        self.unexplained_offsets, self.losses, self.last_batch = set(), 0, None

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record that will be written (exclusive end of the log)."""
        end: int = len(self.slots) if "slots" in vars(self) else self.notes.get(_END)
        return end

    def whole(self) -> WatchedView:
        """Makes every attribute; returns this view."""
        for name in _ALL:
            getattr(self, name)
        return self

    def __getattr__(self, name: str) -> Any:
        """Makes an attribute when it is first read."""
        if name not in _ALL:
            raise AttributeError(name)
        value = self._made(name)
        setattr(self, name, value)
        return value

    def _made(self, name: str) -> Any:
        get = self.notes.get
        if name in _AS_THEY_ARE:
            return get(_AS_THEY_ARE[name])
        if name in HeldLog._fields:
            return copy(getattr(self._views.held(self.notes), name))
        if name == "lineage":
            return [*get(PLACE[LINEAGE])]
        if name == "log_end_offset_before":
            return self.log_end_offset
        return {(key[0], key[1]): one.records for key, one in get(_SNAPSHOTS).items()}


def _held(segments: list[Segment], end: int) -> HeldLog:
    slots, horizons = [HOLE] * end, {}
    for batch in [batch for segment in segments for batch in segment.batches]:
        for record in batch.records:
            slots[record.offset] = record.uid
        if not batch.records:
            slots[batch.last_offset] = EMPTY
        if batch.delete_horizon_ms is not None:
            horizons[batch.base_offset] = batch.delete_horizon_ms
    return HeldLog(slots, horizons)


_MARK: Final = PLACE["log.high_watermark"]
STEP: Final = "step"
"""The only act of a move that is no fetch."""
ASK, READ, ACKNOWLEDGE, ANSWER, RECEIVE = "ask", "read", "acknowledge", "answer", "receive"
"""The acts of a fetch, in order: one of the follower, three of the leader, one of the follower."""


Shape = tuple[tuple[int, ...], ...]
"""For each replica and the rest, the places of the parts that an act has read."""


class Outcome(NamedTuple):
    """The result of an act.

    Attributes:
        read: The parts of the state on which it depends, besides the messages of earlier acts.
        changes: For each replica and the rest, place and new number of the parts that changed.
        effect: Its effects on the rest of the state.
        broken: Mask of the invariants that it breaks.
        said: Number of the message to the next act; -1 for none.
    """

    read: Shape
    changes: tuple[Changes, ...]
    effect: Effect
    broken: int
    said: int


class Acts:
    """Computes acts.

    Attributes:
        messages: Messages between acts.
    """

    def __init__(
        self, world: World, rules: Rules, views: Views, rests: Parts, judge: MemberJudge
    ) -> None:
        """Starts without results; `rests` are the parts of rests."""
        self._views, self._judge, self._rules = views, judge, rules
        self._names = world.names
        self._driver = Driver(world, rules, rests)
        self.messages = Numbering()

    def outcome(
        self, move: Move, act: str, members: Sequence[Member], rest: Member, said: Sequence[int]
    ) -> Outcome:
        """Computes an act of a move in a state.

        Args:
            move: The move.
            act: Name of the act.
            members: The replicas.
            rest: The rest of the state.
            said: Numbers of the messages of earlier acts that it needs; for ACKNOWLEDGE also
                whether the answer has records.
        """
        driver, parts = self._driver, self._views.parts
        replicas = [WatchedReplica.of(parts, member) for member in members]
        driver.begin(dict(zip(self._names, replicas, strict=True)), rest)
        says = self._done(move, act, said)
        message = -1 if says is None else self.messages.number(freeze(says), says)
        before: dict[str, WatchedView] = {}
        if driver.happened:
            views = [self._views.of(*one) for one in zip(self._names, members, strict=True)]
            before = dict(zip(self._names, views, strict=True))
        lineages, broken = self._judge.follow(driver.happened, before)
        for name, lineage in lineages.items():
            driver.replicas[name].notes.live[PLACE[LINEAGE]] = lineage
        effect = self._effect(move.uses if act == STEP else "")
        notes = [*[one.notes for one in replicas], driver.notes]
        changes = tuple([one.changes() for one in notes])
        for one, view in zip(notes, before.values(), strict=False):
            one.read.update(view.notes.read)
        shape = tuple([tuple(sorted(one.read)) for one in notes])
        return Outcome(shape, changes, effect, broken, message)

    def _done(self, move: Move, act: str, said: Sequence[int]) -> Any:
        """Carries out an act; returns its message to the next one, None without any."""
        driver, rules, messages = self._driver, self._rules, self.messages.values
        if act == STEP:
            step = driver.step_of(move)
            if step is not None:
                driver.carry_out(step)
            return None
        fetcher, source = (driver.replicas[self._names[one]] for one in move.who)
        if act == ASK:
            return follower.fetch_request(fetcher)
        message = messages[said[0]]
        if act == READ:
            refused = leader.refuse_fetch(source, message, rules, snapshots=True)
            if refused is None:
                return tuple(source.log.read(message.offset))
            driver.emit(refused.events)
            return refused.response
        if act == ACKNOWLEDGE:
            driver.joining.look()
            events = leader.acknowledge_fetch(source, message, rules, has_records=bool(said[1]))
            driver.joining.fetched(source, message.follower)
            return driver.emit(events)
        if act == ANSWER:
            return leader.answer_with(source, message, messages[said[1]], rules)
        return driver.emit(follower.receive_fetch(fetcher, message, rules, driver.now_ms).events)

    def _effect(self, uses: str) -> Effect:
        driver, joined = self._driver, False
        facts: list[tuple[Any, ...]] = []
        marks: dict[str, int] = {}
        for event in driver.happened:
            if isinstance(event, Appended):
                facts += [("appended", one.offset, one.uid) for one in event.batch.records]
            elif isinstance(event, HighWatermarkMoved) and event.leading:
                name, mark = event.replica, event.high_watermark
                notes = driver.replicas[name].notes
                (known,) = notes.asked((_MARK,))
                before = marks.get(name, self._views.parts.values[known])
                facts.append(("committed", name, before, mark))
                marks[name] = mark
            elif isinstance(event, LeaderElected):
                driver.notes.live[OF_REST["reported"]] = event.isr
                (known,) = driver.replicas[event.replica].notes.asked((_MARK,))
                facts.append(("elected", event.replica, self._views.parts.values[known]))
            elif isinstance(event, IsrChanged) and event.replica == driver.leader:
                driver.notes.live[OF_REST["reported"]] = event.isr
                joined = joined or event.joined is not None
        return Effect(uses, tuple(facts), joined)


class Driver(StoryDriver):
    """A story without an end: each step begins in the state that it is given.

    Attributes:
        happened: Events of the act.
        notes: The rest of the state.
    """

    def __init__(self, world: World, rules: Rules, rests: Parts) -> None:
        """Starts in no state; `rests` are the parts of rests."""
        names = world.names
        isr = tuple(names[one] for one in world.isr)
        story = Story("", rules=rules, replicas=names, isr=isr, voters=names)
        self.happened: list[Event] = []
        self.notes = Notes(rests, ())
        self._world, self._rests = world, rests
        super().__init__(story, invariants=())

    def begin(self, replicas: dict[str, WatchedReplica], rest: Member) -> None:
        """Begins an act in a state."""
        self.replicas: dict[str, Any] = replicas
        self.happened, self.notes = [], Notes(self._rests, rest)

    def used(self, budget: str) -> int:
        """Number of uses of a budget; 0 for one without a bound, which is not counted."""
        used: int = self.notes.get(OF_REST[budget])
        return used

    def step_of(self, move: Move) -> Step | None:
        """The step that a move is in this state; None if it is no step here."""
        return step_of(move, self._world, self, lambda: self.used("epochs") + 1)

    def carry_out(self, step: Step) -> None:
        """Takes the step, unless a replica cannot take part in it."""
        self._taken = step
        self._carried_out(step)

    def emit(self, events: Sequence[Event]) -> None:
        """Notes the events of an act."""
        self.happened += events

    def answered(self, text: str) -> None:
        """Ignores the answer, which a search does not read."""

    def new_uid(self, label: str) -> int:
        """Numbers a record by its fields and its place, which no two appends of a schedule share.

        Where cleaning or a restart may move the log end back, an offset may be given again; there
        the number of the append counts, too.
        """
        step, keys, versions = self._taken, self._world.keys, self._world.versions
        leads = self.replicas[step.get("leader", step.get("replica", ""))]
        what = 0
        if step.op == "append":
            epoch = leads.leadership.epoch if leads.leadership is not None else 0
            version = step.get("hdr", step.get("ts"))
            place = versions.index(version) if version in versions else 0
            marked = any(step.get(mark) for mark in ("tombstone", "null_value", "flag"))
            what = ((1 + place) * 2 + marked) * len(keys) + keys.index(step["key"])
        else:
            epoch = step.get("epoch", 0)
        if self.rules.storage.leo_source == "last_record":
            what += (self.used("appends") + 1) << 10
        end: int = leads.log.log_end_offset
        return 1 + (end << 24 | epoch << 16 | what)


for _name in ("isr", "leader", "now_ms", "coordinator"):
    setattr(Driver, _name, watched(OF_REST[_name]))


class Space:
    """Everything that a search has met of a world under some rules.

    Attributes:
        world: The world.
        rules: The rules.
        members: All replicas.
        rests: All rests.
        effects: All effects (`Effect`).
        acts: Computes the acts of moves.
        judge: Judge of the events of acts.
        state_judge: Judge of states.
        columns: Members or rests that each column of a state numbers.
        logs: All logs; the index is their number.
        orders: The ways to rename the replicas, each from old number (index) to new one.
    """

    def __init__(self, world: World, rules: Rules, *, symmetry: bool = True) -> None:
        """Starts with the state of the start; without `symmetry` no replica is ever renamed."""
        self.world, self.rules = world, rules
        everyone, names = range(world.replicas), world.names
        self.orders = list(permutations(everyone)) if symmetry else [tuple(everyone)]
        renamings = [{names[a]: names[b] for a, b in enumerate(order)} for order in self.orders]
        parts, rest_parts = Parts(renamings, of_replicas(rules)), Parts(renamings, of_rests())
        self._rest_values = rest_parts.values
        views = Views(parts)
        self.logs: list[ReplicaView] = views.logs.values
        config = log_config(rules, LogConfig())
        start = [parts.member(parts_of(Replica(name, Log(config)), ())) for name in names]
        isr = tuple(names[one] for one in world.isr)
        rest = [None, isr, isr, 0, RemovalCoordinator(), History(), *[0] * len(Budgets._fields)]
        self.members = Members(parts, len(self.orders), start, views.facts_of)
        self.rests = Members(
            rest_parts, len(self.orders), [rest_parts.member(rest)], self._facts_of_rest
        )
        self.columns = [self.members] * world.replicas + [self.rests]
        self.effects = Numbering()
        self.judge = MemberJudge(rules)
        self.state_judge = StateJudge(rules, self.judge, world)
        self.acts = Acts(world, rules, views, rest_parts, self.judge)

    def start(self) -> tuple[int, ...]:
        """The row of the state at the start."""
        return (*range(self.world.replicas), 0)

    def _facts_of_rest(self, rest: Member) -> list[int]:
        """Facts of a rest: the replica elected last, the in-sync set as bits, the used budgets."""
        values, names = self._rest_values, self.world.names
        leader, isr = values[rest[OF_REST["leader"]]], values[rest[OF_REST["isr"]]]
        return [
            NOBODY if leader is None else names.index(leader),
            sum(1 << names.index(name) for name in isr),
            *[values[rest[OF_REST[budget]]] for budget in Budgets._fields],
        ]
