"""What replicas do in a move, one act after the other, and what each act has read.

An act is computed by the product's own functions on watched replicas. A move is one act, the step
of a story; but a fetch is five, between which a message goes from one replica to the other: so the
same answer, made by one leader, is made once for all followers who ask alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple

from sim.replication import follower, leader
from sim.replication.coordination import RemovalCoordinator
from sim.replication.frozen import freeze_part
from sim.rules import Rules
from sim.schedules.judging import MemberJudge
from sim.schedules.parts import LINEAGE, PARTS, PLACE, Changes, Member, WatchedReplica
from sim.schedules.views import Views, WatchedView
from sim.schedules.world import NOBODY, Move, Rest, World, rest_part, step_of
from sim.story.driver import StoryDriver
from sim.story.expect import StoryExpect
from sim.story.format import Story
from sim.story.op import Step
from sim.trace import Appended, Event, HighWatermarkMoved, IsrChanged, LeaderElected


class Act(NamedTuple):
    """What came of an act.

    Attributes:
        read: The parts it depends on, as bits, by their places in those of all replicas, one replica
            after another.
        set: The parts that change.
        changes: For each replica what changes.
        leader: Who was elected; NOBODY = there was no election.
        told: The in-sync set that the leader told; None = it told none.
        facts: What the committed history has to know, in order: ("appended", offset, uid) and
            ("committed", replica, mark before, mark, lineage below it).
        joined: Whether a replica was admitted to the in-sync set by its position.
        broken: What it breaks, as a mask.
        said: What it says to the next act: a message by number.
    """

    read: int
    set: int
    changes: tuple[Changes, ...]
    leader: int
    told: int | None
    facts: tuple[tuple[Any, ...], ...]
    joined: bool
    broken: int
    said: int = -1


class Acts:
    """Computes moves, and remembers the acts that moves share."""

    def __init__(self, world: World, rules: Rules, views: Views, judge: MemberJudge) -> None:
        """Nothing was done yet."""
        self._parts, self._views, self._judge, self._rules = views.parts, views, judge, rules
        self._names = world.names
        self.driver = Driver(world, rules)
        self._known: dict[str, dict[int, tuple[Callable[..., Any], dict[Hashable, Act]]]] = {}
        self._messages: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def of(self, move: Move, members: Sequence[Member], rest: Rest) -> Act:
        """What a move does in a state; the driver knows what it has read and set of the rest."""
        driver = self.driver
        driver.begin(rest)
        if move.op == "fetch":
            return self._fetched(move.who, members, driver.now_ms)

        def do() -> None:
            step = driver.step_of(move)
            if step is not None:
                driver.carry_out(step)

        return self._computed(self._names, members, do)

    def _fetched(self, who: Sequence[int], everyone: Sequence[Member], now_ms: int) -> Act:
        """The first replica asks the second one, which reads, acknowledges and answers."""
        names = fetcher, source = [self._names[one] for one in who]
        members = [everyone[one] for one in who]
        rules, driver, messages = self._rules, self.driver, self._messages
        done: list[Act] = []

        def replica(name: str) -> Any:
            return driver.replicas[name]

        def act(name: str, message: Hashable, do: Callable[[], Any]) -> int:
            done.append(self._remembered(name, names, members, message, do))
            for one, changes in enumerate(done[-1].changes):
                members[one] = with_changes(members[one], changes)
            return done[-1].said

        def read() -> Any:
            refused = leader.refuse_fetch(replica(source), request, rules, snapshots=True)
            if refused is None:
                return tuple(replica(source).log.read(request.offset))
            driver.emit(refused.events)
            return refused.response

        def acknowledge() -> None:
            has_records = bool(found)
            driver.emit(
                leader.acknowledge_fetch(replica(source), request, rules, has_records=has_records)
            )

        def receive() -> None:
            response, name = messages[answer], replica(fetcher)
            driver.emit(follower.receive_fetch(name, response, rules, now_ms).events)

        asked = act("ask", None, lambda: follower.fetch_request(replica(fetcher)))
        request = messages[asked]
        answer = act("read", asked, read)
        found = messages[answer]
        if isinstance(found, tuple):
            act("acknowledge", (asked, bool(found)), acknowledge)
            key = (asked, answer)
            answer = act(
                "answer", key, lambda: leader.answer_with(replica(source), request, found, rules)
            )
        act("receive", (answer, now_ms), receive)
        return _placed(_together(done), who, len(everyone))

    def _remembered(
        self,
        name: str,
        names: Sequence[str],
        members: Sequence[Member],
        message: Hashable,
        do: Callable[[], Any],
    ) -> Act:
        """An act that depends on what it reads of the replicas, and on a message alone."""
        flat = tuple(chain.from_iterable(members))
        known = self._known.setdefault(name, {})
        for pick, acts in known.values():
            found = acts.get((message, pick(flat)))
            if found is not None:
                return found
        found = self._computed(names, members, do)
        if found.read not in known:
            places = places_of(found.read)
            known[found.read] = (itemgetter(*places) if places else lambda _: None, {})
        pick, acts = known[found.read]
        acts[message, pick(flat)] = found
        return found

    def _computed(
        self, names: Sequence[str], members: Sequence[Member], do: Callable[[], Any]
    ) -> Act:
        driver, parts = self.driver, self._parts
        replicas = {
            name: WatchedReplica.of(parts, member)
            for name, member in zip(names, members, strict=True)
        }
        driver.on(replicas)
        said = self._number(do())
        before: dict[str, WatchedView] = {}
        if driver.happened:
            before = {
                name: self._views.of(name, member)
                for name, member in zip(names, members, strict=True)
            }
        lineages, broken = self._judge.follow(driver.happened, before)
        for name, lineage in lineages.items():
            replicas[name].notes.live[PLACE[LINEAGE]] = lineage
        told = self._told(driver.happened, replicas)
        changes = tuple([replicas[name].notes.changes() for name in names])
        read = set_ = 0
        for one, name in enumerate(names):
            seen = replicas[name].notes.read
            if before:
                seen = seen | before[name].notes.read
            read |= _bits(seen) << one * len(PARTS)
            set_ |= _bits([place for place, _ in changes[one]]) << one * len(PARTS)
        return Act(read, set_, changes, *told, broken, said)

    def _told(
        self, events: Sequence[Event], replicas: dict[str, WatchedReplica]
    ) -> tuple[int, int | None, tuple[tuple[Any, ...], ...], bool]:
        """What events say to whoever keeps the rest of a state."""
        names = self._names
        facts: list[tuple[Any, ...]] = []
        chosen, told, joined = NOBODY, None, False
        marks: dict[str, int] = {}
        for event in events:
            if isinstance(event, Appended):
                facts += [("appended", one.offset, one.uid) for one in event.batch.records]
            elif isinstance(event, HighWatermarkMoved) and event.leading:
                name, mark = event.replica, event.high_watermark
                one = names.index(name)
                notes = replicas[name].notes
                before = marks.get(name, self._parts.values[notes.asked((_MARK,))[0]])
                facts.append(("committed", one, before, mark, tuple(notes.get(PLACE[LINEAGE])[:mark])))
                marks[name] = mark
            elif isinstance(event, LeaderElected):
                chosen, told = names.index(event.replica), mask_of(event.isr, names)
            elif isinstance(event, IsrChanged) and event.replica == self.driver.leader:
                told, joined = mask_of(event.isr, names), joined or event.joined is not None
        return chosen, told, tuple(facts), joined

    def _number(self, message: Any) -> int:
        if message is None:
            return -1
        found = self._numbers.setdefault(freeze_part(message), len(self._messages))
        if found == len(self._messages):
            self._messages.append(message)
        return found


_MARK: Final = PLACE["log.high_watermark"]
_WHOLE: Final = (1 << len(PARTS)) - 1


def with_changes(member: Member, changes: Changes) -> Member:
    """A replica with other parts at some places."""
    if not changes:
        return member
    parts = list(member)
    for place, number in changes:
        parts[place] = number
    return tuple(parts)


def _together(acts: Sequence[Act]) -> Act:
    """Some acts as one; what one of them reads that another one has set is not read from outside."""
    read = set_ = broken = 0
    facts: tuple[tuple[Any, ...], ...] = ()
    for act in acts:
        read |= act.read & ~set_
        set_ |= act.set
        facts += act.facts
        broken |= act.broken
    changes = []
    for each in zip(*[act.changes for act in acts], strict=True):
        some = [one for one in each if one]
        if len(some) > 1:
            latest = dict(chain.from_iterable(some))
            changes.append(tuple(sorted(latest.items())))
        else:
            changes.append(some[0] if some else ())
    return Act(read, set_, tuple(changes), NOBODY, None, facts, joined=False, broken=broken)


def _placed(act: Act, who: Sequence[int], replicas: int) -> Act:
    """An act of some replicas as one of all of them."""
    read = set_ = 0
    changes: list[Changes] = [()] * replicas
    for place, one in enumerate(who):
        read |= (act.read >> place * len(PARTS) & _WHOLE) << one * len(PARTS)
        set_ |= (act.set >> place * len(PARTS) & _WHOLE) << one * len(PARTS)
        changes[one] = act.changes[place]
    return act._replace(read=read, set=set_, changes=tuple(changes))


def _bits(places: Iterable[int]) -> int:
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits


@cache
def places_of(bits: int) -> tuple[int, ...]:
    """The places of parts that are given as bits."""
    return tuple(place for place in range(bits.bit_length()) if bits >> place & 1)


class Driver(StoryDriver):
    """A story without an end: each step begins in the state that it is given.

    Attributes:
        happened: What the act did.
        read: What the move has read of the rest.
        written: What it has set of it, by name.
    """

    def __init__(self, world: World, rules: Rules) -> None:
        """In no state yet."""
        names = world.names
        isr = tuple(names[one] for one in world.isr)
        story = Story("", "", "", rules, names, isr, names, (), StoryExpect(()))
        self.happened: list[Event] = []
        self.read: set[str] = set()
        self.written: dict[str, Any] = {}
        self._world = world
        super().__init__(story, invariants=())

    def begin(self, rest: Rest) -> None:
        """A move begins."""
        self._rest = rest
        self.read, self.written = set(), {}

    def on(self, replicas: dict[str, WatchedReplica]) -> None:
        """An act begins, with these replicas."""
        self.replicas = dict(replicas)
        self.happened = []

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
        leads = self.replicas[step.get("leader", step.get("replica", ""))]
        what = 0
        if step.op == "append":
            epoch = leads.leadership.epoch if leads.leadership is not None else 0
            version = step.get("hdr", step.get("ts", 0))
            place = versions.index(version) if version in versions else 0
            marked = any(step.get(mark) for mark in ("tombstone", "null_value", "flag"))
            what = ((1 + place) * 2 + marked) * len(keys) + keys.index(step["key"])
        else:
            epoch = step.get("epoch", 0)
        if self.rules.storage.leo_source == "last_record":
            what += (self.of_rest("appends") + 1) << 10
        return 1 + (leads.log.log_end_offset << 24 | epoch << 16 | what)


def _of_rest(name: str, of: Callable[[Driver, Any], Any]) -> property:
    def get(self: Driver) -> Any:
        return self.written[name] if name in self.written else of(self, self.of_rest(name))

    def set_(self: Driver, value: Any) -> None:
        self.written[name] = value

    return property(get, set_)


def _isr_names(driver: Driver, mask: int) -> tuple[str, ...]:
    return tuple(n for one, n in enumerate(driver.story.replicas) if mask >> one & 1)


def _leader_name(driver: Driver, leader: int) -> str | None:
    return None if leader == NOBODY else driver.story.replicas[leader]


Driver.isr = _of_rest("isr", _isr_names)  # type: ignore[assignment]
Driver.leader = _of_rest("leader", _leader_name)  # type: ignore[assignment]
Driver.now_ms = _of_rest("now_ms", lambda _, now_ms: now_ms)  # type: ignore[assignment]


def mask_of(names: Sequence[str], everyone: Sequence[str]) -> int:
    """A set of replicas as bits."""
    return sum(1 << everyone.index(name) for name in names)
