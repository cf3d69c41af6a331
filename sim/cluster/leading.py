"""What a leader does in time: take writes, answer fetches, let them wait, acknowledge commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sim.cluster.converting import follower_is_understood
from sim.log import Batch
from sim.replication.leader import advance_high_watermark, answer_fetch, append
from sim.replication.messages import Answer, FetchRequest, FetchResponse
from sim.trace import AcknowledgedEarly, Event

if TYPE_CHECKING:
    from sim.cluster.node import Node


class Parked(NamedTuple):
    """A fetch that waits: who asked what, and when it is answered at the latest."""

    follower: Node
    number: int
    request: FetchRequest
    deadline_ms: int


class Progress:
    """How far behind a follower is, as Replica.updateFetchStateOrThrow keeps it.

    Attributes:
        contact_ms: When it last asked for something.
        caught_up_ms: When it last had everything the leader had.
        fetch_ms: When it last fetched.
        leader_end: The leader's log end offset at that time.
    """

    __slots__ = ("caught_up_ms", "contact_ms", "fetch_ms", "leader_end")

    def __init__(self, now_ms: int) -> None:
        """A follower that is given the benefit of the doubt."""
        self.contact_ms = now_ms
        self.caught_up_ms = now_ms
        self.fetch_ms = now_ms
        self.leader_end = 0


class Desk:
    """A leader's working memory for one epoch; it is gone when the leadership ends.

    A fetch that finds nothing new waits until something is appended or `fetch_wait_ms` is over. In
    majority mode a moved high watermark ends the wait, too (KafkaRaftClient); in ISR mode followers
    learn it with their next answer (KAFKA-9731).

    Attributes:
        epoch: The epoch.
        progress: Follower name -> how far behind it is.
        parked: Follower name -> its waiting fetch.
        state_version: ISR mode: version of the controller's state it acts on.
        asked_ms: ISR mode: when it asked the controller for another in-sync set; None = not now.
        eligible: ISR mode: replicas the controller allows in the set.
    """

    __slots__ = (
        "_acknowledgements",
        "_committed",
        "_node",
        "_told",
        "_waiting",
        "_wakes_on_commit",
        "asked_ms",
        "eligible",
        "epoch",
        "parked",
        "progress",
        "state_version",
    )

    def __init__(self, node: Node, epoch: int) -> None:
        """The desk of a leader that was elected just now."""
        self._node = node
        self.epoch = epoch
        now_ms = node.world.clock.now_ms
        self.progress = {name: Progress(now_ms) for name in node.world.nodes if name != node.name}
        self.parked: dict[str, Parked] = {}
        self.state_version = 0
        self.asked_ms: int | None = None
        self.eligible: tuple[str, ...] = ()
        self._told: dict[str, int] = {}
        self._committed = -1
        self._waiting = False
        self._wakes_on_commit = node.world.rules.replication.commit == "majority"
        self._acknowledgements: list[tuple[int, Callable[[], None]]] = []

    def react(self, events: Sequence[Event]) -> None:
        """Tell of events; when the high watermark moved, answer those who wait for that."""
        if not events:
            return
        node = self._node
        world = node.world
        world.tell(events)
        committed = node.replica.log.high_watermark
        if committed == self._committed:
            return
        self._committed = committed
        world.committed = max(world.committed, committed)
        if node.snapshotter.watches:
            node.snapshotter.committed()
        if self._acknowledgements:
            waiting = self._acknowledgements
            self._acknowledgements = [entry for entry in waiting if entry[0] >= committed]
            for last_offset, acknowledge in waiting:
                if last_offset < committed:
                    acknowledge()
        if self._wakes_on_commit:
            self.wake()

    @property
    def takes_writes(self) -> bool:
        """Whether enough replicas are in sync for producers that want all acknowledgements.

        Else they are told NOT_ENOUGH_REPLICAS before anything is written
        (Partition.appendRecordsToLeader). NOT_ENOUGH_REPLICAS_AFTER_APPEND does not occur: a high
        watermark that only moves with enough replicas in sync is past a batch whenever the answer
        is due (KAFKA-15583). A set that shrinks after the append leaves the producer waiting.
        """
        rules, leadership = self._node.world.rules, self._node.replica.leadership
        few = leadership is not None and leadership.in_sync < rules.topic.min_isr
        return not (few and rules.replication.commit == "isr")

    def append(
        self,
        batch: Batch,
        acknowledge: Callable[[], None] | None = None,
        *,
        early: bool = False,
    ) -> bool:
        """Append a batch; `acknowledge` is called when it is committed, if this leader sees it.

        With `early` it is called at once (`acks: 1`). False when the batch is refused, for a
        version that comes too late.
        """
        node = self._node
        result = append(node.replica, batch, rules=node.rules, now_ms=node.now_ms)
        if not result.accepted:
            node.world.tell(result.events)
            return False
        if acknowledge is not None and not early:
            self._acknowledgements.append((batch.last_offset, acknowledge))
        self.react(result.events)
        if acknowledge is not None and early:
            node.world.tell([AcknowledgedEarly(node.name, batch)])
            acknowledge()
        self.wake()
        return True

    def count_over(self, voters: tuple[str, ...]) -> None:
        """Count majorities over other voters from now on; perhaps something is committed by it."""
        replica = self._node.replica
        if replica.leadership is not None:
            replica.leadership.voters = voters
            self.react(advance_high_watermark(replica, rules=self._node.rules))

    def when_committed(self, last_offset: int, acknowledge: Callable[[], None]) -> None:
        """Call `acknowledge` when everything up to `last_offset` (inclusive) is committed."""
        if last_offset < self._node.replica.log.high_watermark:
            acknowledge()
        else:
            self._acknowledgements.append((last_offset, acknowledge))

    def fetch(self, follower: Node, number: int, request: FetchRequest) -> None:
        """A fetch arrived."""
        node = self._node
        world = node.world
        if request.epoch > self.epoch and world.rules.replication.fencing:
            world.elections.heard_epoch(node, request.epoch)
        name = follower.name
        response, events = answer_fetch(
            node.replica, request, rules=node.rules, snapshots=world.retention is None
        )
        if response.answer is Answer.RECORDS:
            self._note_fetch(name, request.offset)
            self.react(events)
            leadership = node.replica.leadership
            if leadership is not None and name not in leadership.isr:
                world.elections.fetched(node, name)
            if not response.batches and not (
                self._wakes_on_commit
                and self._told.get(name, -1) != node.replica.log.high_watermark
            ):
                self._park(follower, number, request)
                return
            self._told[name] = response.high_watermark
        else:
            self.react(events)
        world.network.send(node.name, name, follower.fetcher.receive, number, response)

    def note_contact(self, follower: str) -> None:
        """A follower asked for something that says nothing about its position."""
        progress = self.progress.get(follower)
        if progress is not None:
            progress.contact_ms = self._node.world.clock.now_ms

    def caught_up_ms(self, follower: str) -> int:
        """When a follower last had everything; long ago, if nobody knows it."""
        progress = self.progress.get(follower)
        return progress.caught_up_ms if progress is not None else -(10**9)

    def _note_fetch(self, follower: str, offset: int) -> None:
        """Replica.updateFetchStateOrThrow: caught up now, or at the time of the last fetch."""
        now_ms = self._node.world.clock.now_ms
        progress = self.progress.get(follower)
        if progress is None:
            progress = self.progress[follower] = Progress(now_ms)
        end = self._node.replica.log.log_end_offset
        if offset >= end:
            progress.caught_up_ms = now_ms
        elif offset >= progress.leader_end:
            progress.caught_up_ms = max(progress.caught_up_ms, progress.fetch_ms)
        progress.leader_end = end
        progress.fetch_ms = progress.contact_ms = now_ms

    def _park(self, follower: Node, number: int, request: FetchRequest) -> None:
        clock = self._node.world.clock
        wait_ms = self._node.world.scenario.timers.fetch_wait_ms
        self.parked[follower.name] = Parked(follower, number, request, clock.now_ms + wait_ms)
        if not self._waiting:
            self._waiting = True
            clock.after(wait_ms, self._end_waits)

    def wake(self) -> None:
        """Answer every waiting fetch."""
        if self.parked:
            parked, self.parked = self.parked, {}
            self._answer(parked.values())

    def _answer(self, fetches: Iterable[Parked]) -> None:
        """Answer fetches that have waited, whatever there is to say.

        Their positions are recorded already, so equal questions have equal answers.
        """
        node = self._node
        world = node.world
        same: tuple[FetchRequest, FetchResponse] | None = None
        for follower, number, request, _ in fetches:
            if node.desk is not self:
                return
            if same is not None and same[0][1:6] == request[1:6]:
                response = same[1]
            else:
                response, events = answer_fetch(
                    node.replica, request, rules=node.rules, snapshots=world.retention is None
                )
                self.react(events)
                if response.answer is Answer.RECORDS:
                    same = request, response
            self._told[follower.name] = response.high_watermark
            world.network.send(node.name, follower.name, follower.fetcher.receive, number, response)

    def _renews(self, fetch: Parked) -> bool:
        """Whether a wait that is over goes on; nobody would notice the difference.

        When the answer would say nothing new, no message can be lost, and the follower would ask
        the same again at once, then the empty answer and the next fetch are left out.
        """
        follower = fetch.follower
        log = follower.replica.log
        world = self._node.world
        known = min(self._node.replica.log.high_watermark, log.log_end_offset)
        if (
            log.high_watermark < known
            or world.rules.replication.lag_guard != "none"
            or not follower.fetcher.waits_for(fetch.number)
            or not follower_is_understood(self._node, follower)
            or not world.network.is_sound(self._node.name, follower.name)
        ):
            return False
        follower.heard_ms = world.clock.now_ms
        follower.fetcher.wait_on()
        self._note_fetch(follower.name, fetch.request.offset)
        self._park(follower, fetch.number, fetch.request)
        return True

    def _end_waits(self) -> None:
        """Answer the fetches that have waited long enough; come back for the others."""
        node = self._node
        if node.desk is self and self.parked:
            clock = node.world.clock
            now_ms = clock.now_ms
            due = [fetch for fetch in self.parked.values() if fetch.deadline_ms <= now_ms]
            for fetch in due:
                del self.parked[fetch.follower.name]
            self._answer([fetch for fetch in due if not self._renews(fetch)])
            if self.parked:
                first_ms = min([fetch.deadline_ms for fetch in self.parked.values()])
                clock.after(max(1, first_ms - now_ms), self._end_waits)
                return
        self._waiting = False
