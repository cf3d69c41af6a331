"""Runs a story: each step goes through the pure core, and every invariant judges what it did."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from sim.bounds import bounded
from sim.check import Checker, Violation
from sim.protocol.events import Event, ReplicaAdded
from sim.protocol.log import Log, LogConfig
from sim.protocol.replication import Replica, leader
from sim.protocol.replication.cleaning import Cleaner
from sim.protocol.replication.coordination import RemovalCoordinator
from sim.protocol.replication.messages import FetchResponse, FetchSnapshotResponse
from sim.protocol.replication.reading import Position
from sim.protocol.replication.replica import log_config
from sim.simulate.story.idle import IdleStep, state_of, surely_tells
from sim.simulate.story.joining import Joining
from sim.simulate.story.op import OPS, Step
from sim.simulate.story.views import StoryReplica

if TYPE_CHECKING:
    from sim.simulate.story.format import Story

Response = FetchResponse | FetchSnapshotResponse
NO_REASON = "it changed nothing"


class StoryDriver:
    """A cluster that does nothing but what the steps say, and the state it is in.

    Attributes:
        rules: They hold for everybody.
        replicas: By name, in order of creation.
        isr: Who is in sync.
        leader: Who was elected last; it may be down, or not lead any more.
        now_ms: The time.
        labels: The label of each record by its uid.
        producer_epochs: The epoch of each producer, under `producer_epochs: per_transaction`.
        checker: Judges what happens.
        events: (step, event) of everything that happened.
        step: The number of the present step.
        answers: (step, text) of what was answered to fetches, reads and requests for votes.
        idle: The watched steps that did nothing.
        delayed: Responses on their way.
        positions: Where each consumer is, by its name.
        moments: The replicas as they were at each moment that was noted.
        in_vain: Whether the present step is void though it moved something beside the log, as a
            pass its checkpoint.
    """

    def __init__(
        self,
        story: Story,
        *,
        invariants: Sequence[str],
        watched: Collection[int] = (),
    ) -> None:
        """Before its first step.

        Args:
            story: Whose steps.
            invariants: They judge it.
            watched: Numbers of steps of which it is to be known whether they do anything; of those
                that are marked it is always known.
        """
        self.story = story
        self.rules = story.rules
        self.isr = story.isr
        self.leader: str | None = None
        self.now_ms = 0
        self.step = 0
        self.labels: dict[int, str] = {}
        self.producer_epochs: dict[int, int] = {}
        self.checker = Checker(story.rules, invariants, label=self.labels.get)
        self.events: list[tuple[int, Event]] = []
        self.answers: list[tuple[int, str]] = []
        self.idle: list[IdleStep] = []
        self._watched = watched
        self.in_vain = False
        self._observed: set[tuple[str, str]] = set()
        self._told = 0
        self._loses_power = any(step.get("power_loss") for step in story.steps)
        self.cleaner = Cleaner(story.rules)
        self.coordinator = RemovalCoordinator()
        self.delayed = DelayedResponses()
        self.joining = Joining(self, story.replica_lag_max_ms)
        self.positions: dict[str, Position] = {}
        self.moments: dict[str, dict[str, StoryReplica]] = {}
        self.replicas: dict[str, Replica] = {}
        for name in story.replicas:
            self.add(name)

    def take(self, step: Step) -> None:
        """Carry out one step."""
        self.step, self.in_vain = step.number, False
        watched = step.does_nothing or step.number in self._watched
        if watched:
            self.joining.look()  # what the time that passed has done is of no step
        before = self._state() if watched else None
        why = self._carried_out(step)
        self.joining.taken(step)
        did = not watched or (self._state() != before and not self.in_vain)
        if did:
            self._observed.clear()
        if OPS[step.op].observes and why is None:
            seen = (step.op, str(step.fields))
            did, why = did or seen not in self._observed, "nothing has happened since the last one"
            self._observed.add(seen)
        if watched and not did:
            self.idle.append(IdleStep(step.number, step.line, why or NO_REASON))

    def _carried_out(self, step: Step) -> str | None:
        """Do what the step says; why nothing came of it, if nothing did and that is known."""
        self.joining.look()
        op = OPS[step.op]
        for name, field in op.told.items():
            why = None if field.must is None else field.must(self.replicas[step[name]])
            if why is not None:
                return why
        return op.take(self, step)

    def _state(self) -> tuple[int, object]:
        told = self._told + len(self.checker.violations)
        return told, state_of(self, loses_power=self._loses_power)

    def emit(self, events: Sequence[Event]) -> None:
        """Note what happened, and let it be judged."""
        for event in events:
            self._told += surely_tells(event)
            self.events.append((self.step, event))
            self.checker.on(self.step, event)
        self.joining.look()

    def answered(self, text: str) -> None:
        """Note what somebody was answered in the present step, for those who look at the run."""
        self.answers.append((self.step, text))

    def add(self, name: str) -> None:
        """A replica with an empty log is there from now on."""
        self.replicas[name] = Replica(name, Log(log_config(self.rules, LogConfig())))
        self.emit([ReplicaAdded(name)])

    def new_uid(self, label: str) -> int:
        """The uid of the next record, which has that label."""
        uid = len(self.labels) + 1
        self.labels[uid] = label
        return uid

    def set_isr(self, isr: tuple[str, ...]) -> None:
        """These are in sync from now on; every leader is told."""
        self.isr = isr
        acting = self.acting_leader()
        for replica in self.replicas.values():
            if replica.leadership is not None and replica is not acting:
                replica.leadership.isr = self.isr
        if acting is not None:
            self.joining.before_isr(acting, isr)
            self.emit(leader.set_isr(acting, self.isr, rules=self.rules))

    def acting_leader(self) -> Replica | None:
        """The replica elected last, while it is up and leads."""
        found = self.replicas[self.leader] if self.leader is not None else None
        return found if found is not None and found.up and found.leadership else None


class DelayedResponses:
    """Responses on their way, the oldest first, until a step lets them arrive."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], deque[Response]] = {}

    def put(self, follower: str, leader: str, response: Response) -> None:
        """One more from `leader` to `follower`."""
        self._waiting.setdefault((follower, leader), deque()).append(response)

    def take(self, follower: str, leader: str) -> Response | None:
        """The oldest from `leader` to `follower`; None where there is none."""
        waiting = self._waiting.get((follower, leader))
        return waiting.popleft() if waiting else None

    def drop_those_to(self, replica: str) -> None:
        """The replica went down: nothing arrives there any more."""
        for names in [names for names in self._waiting if names[0] == replica]:
            del self._waiting[names]

    def drop_all_of(self, replica: str) -> None:
        """The replica left: nothing arrives there any more, nor from there."""
        for names in [names for names in self._waiting if replica in names]:
            del self._waiting[names]


def idle_steps(
    story: Story, events: Sequence[tuple[int, Event]], violations: Iterable[Violation]
) -> tuple[IdleStep, ...]:
    """The steps of a story that did nothing and are not marked so, in order.

    To see them, the story is run once more, and those are watched of which neither an event nor a
    violation says that they did something.
    """
    did = {number for number, event in events if surely_tells(event)}
    did |= {violation.at for violation in violations}
    doubtful = {step.number for step in story.steps if not step.does_nothing} - did
    if not doubtful:
        return ()
    again = StoryDriver(story, invariants=(), watched=doubtful)
    with bounded():
        for step in story.steps:
            again.take(step)
    return tuple(step for step in again.idle if step.number in doubtful)
