"""Runs a story: each step goes through the pure core, and invariants judge its events.

`StoryReplica` is a replica after a step, in the terms of story files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sim.bounds import bounded
from sim.check import Checker, Violation
from sim.protocol.events import Event, ReplicaAdded
from sim.protocol.log import Log, LogConfig
from sim.protocol.replication import Replica, leader
from sim.protocol.replication.cleaning import Cleaner
from sim.protocol.replication.coordination import RemovalCoordinator
from sim.protocol.replication.joining import (
    held_back_by,
    in_sync_end,
    note_fetch,
    trust_the_in_sync,
    wait_for_joining,
    waits_for_joining,
)
from sim.protocol.replication.messages import FetchResponse, FetchSnapshotResponse
from sim.protocol.replication.reading import Position, handed_on, readable_end
from sim.protocol.replication.replica import log_config
from sim.protocol.replication.snapshots import state_below
from sim.protocol.rules import Rules
from sim.simulate.story.idle import IdleStep, shows_effect, state_of
from sim.simulate.story.op import OPS, Step

if TYPE_CHECKING:
    from sim.simulate.story.format import Story


class StoryReplica(NamedTuple):
    """View of a replica, at the end of a story or at a moment that a step notes.

    Attributes:
        log: Entries of the log as `label@offset`; an empty batch as `-@offset`, by its last offset.
        batches: Batches with the leader epoch, `label@offset epoch N`, and ` horizon` at the end if
            the batch has a delete horizon.
        epochs: Leader epoch cache: epoch and start offset of each entry.
        offsets: Offsets of the entries.
        log_end_offset: Log end offset (exclusive).
        high_watermark: High watermark (exclusive).
        log_start_offset: Log start offset (inclusive).
        last_stable_offset: End of the records for consumers of committed records (exclusive).
        committed: Records that a new such consumer is given, as `label@offset`.
        state: State of the log below the high watermark, as key -> label; as key -> value with
            `state_machine: deltas`.
        up: True if the replica is up.
    """

    log: list[str]
    batches: list[str]
    epochs: list[tuple[int, int]]
    offsets: list[int]
    log_end_offset: int
    high_watermark: int
    log_start_offset: int
    last_stable_offset: int
    committed: list[str]
    state: dict[str, str]
    up: bool

    def claimable(self, part: str) -> Any:
        """The part with the short name that story files and `--json` use."""
        return getattr(self, _SHORT.get(part, part))

    def as_json(self) -> dict[str, Any]:
        """The view with short names, as `--json` prints it."""
        return {part: self.claimable(part) for part in _PRINTED}


_SHORT = {
    "leo": "log_end_offset",
    "hw": "high_watermark",
    "start": "log_start_offset",
    "lso": "last_stable_offset",
}
_PRINTED = ("log", "offsets", "leo", "hw", "start", "state", "up")


def views_of(
    replicas: Mapping[str, Replica], rules: Rules, labels: Mapping[int, str]
) -> dict[str, StoryReplica]:
    """Views of all replicas as they are now, by name."""
    return {name: view_of(replica, rules, labels) for name, replica in replicas.items()}


def view_of(replica: Replica, rules: Rules, labels: Mapping[int, str]) -> StoryReplica:
    """View of a replica as it is now."""
    log = replica.log
    entries: list[tuple[str, int]] = []
    batches: list[str] = []
    for batch in log.batches():
        held = [(labels[record.uid], record.offset) for record in batch.records]
        held = held or [("-", batch.last_offset)]
        entries += held
        horizon = "" if batch.delete_horizon_ms is None else " horizon"
        named = " ".join(f"{label}@{offset}" for label, offset in held)
        batches.append(f"{named} epoch {batch.epoch}{horizon}")
    state = state_below(replica, log.high_watermark, rules=rules)
    by_value = rules.snapshots.state_machine == "deltas"
    shown = {
        key: (state[key].value or "") if by_value else labels[state[key].uid]
        for key in sorted(state)
    }
    return StoryReplica(
        log=[f"{label}@{offset}" for label, offset in entries],
        batches=batches,
        epochs=[(entry.epoch, entry.start_offset) for entry in log.epochs.entries],
        offsets=[offset for _, offset in entries],
        log_end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        log_start_offset=log.log_start_offset,
        last_stable_offset=readable_end(log, committed=True),
        committed=[f"{labels[uid]}@{offset}" for uid, offset in _committed(replica, rules)],
        state=shown,
        up=replica.up,
    )


def _committed(replica: Replica, rules: Rules) -> Iterator[tuple[int, int]]:
    """Uid and offset of each record that a new consumer of committed records is given."""
    log = replica.log
    start, end = log.log_start_offset, readable_end(log, committed=True)
    batches = [batch for batch in log.read(start) if batch.base_offset < end]
    for batch in handed_on(replica, batches, start, end, committed=True, rules=rules):
        for record in batch.records:
            if start <= record.offset < end:
                yield record.uid, record.offset


Response = FetchResponse | FetchSnapshotResponse
NO_REASON = "it changed nothing"
_GO_BY_IT: Final = ("compact", "consume", "read_to_end")
"""Steps that depend on the high watermark of the replica that they name."""


class StoryDriver:
    """A cluster in which nothing happens but the steps of a story, with its state.

    Attributes:
        story: The story.
        rules: Rules of all replicas.
        replicas: Replicas by name, in order of creation.
        isr: Names of the replicas in sync.
        voters: Names of the replicas that a majority is counted over.
        leader: Name of the replica that was elected last, which may be down, or not lead any more;
            None before the first election.
        now_ms: Time of the story in ms.
        labels: Label of each record by its uid.
        producer_epochs: Epoch of each producer, under `producer_epochs: per_transaction`.
        checker: Invariants, which judge the events.
        events: Step number and event of everything that happened.
        step: Number of the present step.
        answers: Step number and text of each answer to a fetch, a read or a request for votes.
        idle: Watched steps that did nothing.
        cleaner: The cleaner of all replicas.
        coordinator: The coordinator of removals, for `coordinate`.
        delayed: Follower, leader and response, for each response in flight, the oldest first.
        joining: Followers outside the in-sync set for which leaders wait.
        positions: Position of each consumer by its name.
        moments: Views of all replicas at each moment that was noted, by its name.
        in_vain: True if the present step counts as doing nothing, although it changed state other
            than the log, such as a checkpoint.
    """

    def __init__(
        self,
        story: Story,
        *,
        invariants: Sequence[str],
        watched: Collection[int] = (),
    ) -> None:
        """Starts with all replicas empty, before the first step.

        Args:
            story: The story.
            invariants: Invariants that judge it.
            watched: Numbers of steps to watch for doing nothing; steps that are marked as doing
                nothing are always watched.
        """
        self.story = story
        self.rules = story.rules
        self.isr, self.voters = story.isr, story.voters
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
        self._reported = 0
        self._loses_power = any(step.get("power_loss") for step in story.steps)
        self.cleaner = Cleaner(story.rules)
        self.coordinator = RemovalCoordinator()
        self.delayed: list[tuple[str, str, Response]] = []
        self.joining = Joining(self, story.replica_lag_max_ms)
        self.positions: dict[str, Position] = {}
        self.moments: dict[str, dict[str, StoryReplica]] = {}
        self.replicas: dict[str, Replica] = {}
        for name in story.replicas:
            self.add(name)

    def take(self, step: Step) -> None:
        """Carries out one step."""
        self.step, self.in_vain = step.number, False
        watched = step.does_nothing or step.number in self._watched
        if watched:
            self.joining.look()  # what time alone has changed is no effect of this step
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
        """Carries out a step; returns the reason that holds if it did nothing; None if unknown."""
        self.joining.look()
        op = OPS[step.op]
        for name, field in op.fields.items():
            why = None if field.must is None else field.must(self.replicas[step[name]])
            if why is not None:
                return why
        return op.take(self, step)

    def _state(self) -> tuple[int, object]:
        reported = self._reported + len(self.checker.violations)
        return reported, state_of(self, loses_power=self._loses_power)

    def emit(self, events: Sequence[Event]) -> None:
        """Keeps events, and has the invariants judge them."""
        for event in events:
            self._reported += shows_effect(event)
            self.events.append((self.step, event))
            self.checker.on(self.step, event)
        self.joining.look()

    def answered(self, text: str) -> None:
        """Keeps an answer of the present step, as a sentence."""
        self.answers.append((self.step, text))

    def add(self, name: str) -> None:
        """Adds a replica with an empty log."""
        self.replicas[name] = Replica(name, Log(log_config(self.rules, LogConfig())))
        self.emit([ReplicaAdded(name)])

    def new_uid(self, label: str) -> int:
        """A new uid, for a record with that label."""
        uid = len(self.labels) + 1
        self.labels[uid] = label
        return uid

    def set_isr(self, isr: tuple[str, ...]) -> None:
        """Replaces the in-sync set, and gives it to every leader."""
        self.isr = isr
        acting = self.acting_leader()
        for replica in self.replicas.values():
            if replica.leadership is not None and replica is not acting:
                replica.leadership.isr = self.isr
        if acting is not None:
            self.joining.before_isr(acting, isr)
            self.emit(leader.set_isr(acting, self.isr, rules=self.rules))

    def remove_voter(self, name: str) -> None:
        """Counts majorities without a voter from now on, which may commit records (KIP-853)."""
        self.voters = tuple(voter for voter in self.voters if voter != name)
        acting = self.acting_leader()
        if acting is not None and acting.leadership is not None:
            acting.leadership.voters = self.voters
            self.emit(leader.advance_high_watermark(acting, rules=self.rules))

    def acting_leader(self) -> Replica | None:
        """The replica that was elected last, if it is up and leads; else None."""
        found = self.replicas[self.leader] if self.leader is not None else None
        return found if found is not None and found.up and found.leadership else None


class Joining:
    """Followers outside the in-sync set for which leaders wait (`high_watermark_waits_for`).

    Time passes with `advance` alone, and every replica that is up may join. A step that depends on
    a high watermark that is held back is noted: records that the author means to be committed are
    not, and a story may be green for that reason alone. Nothing is done where leaders wait for the
    in-sync set alone.

    Attributes:
        notes: A line for each high watermark that is held back, with the first step that depends
            on it; by leader, awaited followers, and the step since which they are awaited.
    """

    def __init__(self, world: StoryDriver, lag_max_ms: int) -> None:
        """Starts for a story with this `replica.lag.time.max.ms`; there may be no leader yet."""
        self._world = world
        self._lag_max_ms = lag_max_ms
        self._waits = waits_for_joining(world.rules)
        self._since: dict[tuple[str, str], int] = {}
        self.notes: dict[tuple[object, ...], str] = {}

    def elected(self, leader: Replica) -> None:
        """Notes that a replica leads from now on."""
        if self._waits:
            trust_the_in_sync(leader, now_ms=self._world.now_ms)

    def fetched(self, leader: Replica, follower: str) -> None:
        """Notes that a leader has answered a follower, and recorded its position."""
        if self._waits and leader.leadership is not None:
            end, now_ms = leader.log.log_end_offset, self._world.now_ms
            believed = leader.leadership.positions[follower]
            note_fetch(leader.leadership, follower, believed, end, now_ms)

    def look(self) -> None:
        """Updates in each leader the followers that its high watermark waits for."""
        for one in self._world.replicas.values():
            if one.leadership is not None:
                self.before_isr(one, one.leadership.isr)

    def before_isr(self, leader: Replica, isr: tuple[str, ...]) -> None:
        """Updates the followers that a leader waits for beyond `isr`, its own or its next set."""
        world = self._world
        if self._waits:
            wait_for_joining(
                leader,
                world.replicas,
                isr=isr,
                eligible=[name for name, one in world.replicas.items() if one.up],
                now_ms=world.now_ms,
                lag_max_ms=self._lag_max_ms,
                rules=world.rules,
            )

    def taken(self, step: Step) -> None:
        """Notes the awaited followers after a step, and a step that depends on them."""
        if not self._waits:
            return
        pairs = [
            (one.name, name)
            for one in self._world.replicas.values()
            if one.leadership is not None
            for name in one.leadership.awaited
        ]
        self._since = {pair: self._since.get(pair, step.number) for pair in pairs}
        acting = self._world.acting_leader()
        if acting is not None and step.op in _GO_BY_IT:
            self._note_held(acting, step)

    def _note_held(self, leader: Replica, step: Step) -> None:
        world, name = self._world, leader.name
        waits_for, reached = held_back_by(leader, world.rules), in_sync_end(leader)
        mark = world.replicas[step["replica"]].log.high_watermark
        by_end = step.op == "compact" and world.rules.cleaner.cleaner_bound == "leo"
        if by_end or not waits_for or mark >= min(reached, step.get("upto", reached)):
            return
        since = min(self._since[name, one] for one in waits_for)
        self.notes.setdefault(
            (name, waits_for, since),
            f"step {step.number} finds the high watermark of {name} at "
            f"{leader.log.high_watermark}, though all in sync have {reached}: since step {since} "
            f"it waits for {', '.join(waits_for)}, which had caught up and may join "
            f"(high_watermark_waits_for: {world.rules.replication.high_watermark_waits_for}, "
            f"replica_lag_max_ms: {self._lag_max_ms})",
        )


def idle_steps(
    story: Story, events: Sequence[tuple[int, Event]], violations: Iterable[Violation]
) -> tuple[IdleStep, ...]:
    """Steps of a story that did nothing and are not marked so, in order.

    The story is run once more to watch the steps for which neither an event nor a violation shows
    an effect.
    """
    did = {number for number, event in events if shows_effect(event)}
    did |= {violation.at for violation in violations}
    doubtful = {step.number for step in story.steps if not step.does_nothing} - did
    if not doubtful:
        return ()
    again = StoryDriver(story, invariants=(), watched=doubtful)
    with bounded():
        for step in story.steps:
            again.take(step)
    return tuple(step for step in again.idle if step.number in doubtful)
