"""Runs a story: each step goes through the pure core, and every invariant judges what it did."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from sim.bounds import bounded
from sim.check import Checker
from sim.check.checker import story_invariants
from sim.log import Batch, LogConfig
from sim.replication import Replica, elections, follower, leader
from sim.replication.cleaning import Cleaner, stable_offset
from sim.replication.coordination import RemovalCoordinator, hold_round
from sim.replication.coordinator import COMPLETES, completion
from sim.replication.messages import ErrorCode, FetchResponse, FetchSnapshotResponse
from sim.replication.recovery import OldFiles, crash_with_files, durable_end, recover
from sim.replication.replica import crash, log_config, wipe
from sim.replication.snapshots.delete import delete_prefix, may_delete_prefix
from sim.replication.snapshots.fetch import (
    answer_fetch_snapshot,
    receive_snapshot_chunk,
    snapshot_request,
)
from sim.replication.snapshots.take import take_snapshot
from sim.replication.truncation import (
    answer_offsets_for_leader_epoch,
    receive_offsets_for_leader_epoch,
    start_following,
)
from sim.rules import Rules
from sim.story.awaiting import CaughtUp
from sim.story.consumers import StoryConsumers
from sim.story.coordinators import StoryCoordinators
from sim.story.format import Story
from sim.story.records import batch_of, label_of
from sim.story.result import ReplicaView, StoryRun, views_of
from sim.story.steps import Step
from sim.trace import Event, Quiesced, ReplicaAdded, ReplicaRemoved, TombstoneProbed

Response = FetchResponse | FetchSnapshotResponse


def run_story(story: Story) -> StoryRun:
    """Run all steps of a story."""
    return StoryDriver(story).run()


class StoryDriver:
    """A cluster that does nothing but what the steps say, and the state it is in."""

    def __init__(self, story: Story, *, invariants: Sequence[str] | None = None) -> None:
        """Before its first step; `invariants` judge it, default those of the format and its own."""
        self.story = story
        self.rules = story.rules
        self.cleaner = Cleaner(story.rules)
        self.labels: dict[int, str] = {}
        if invariants is None:
            named = story.expect.checked or story.expect.violated
            invariants = [*story_invariants(liveness=True), *named]
        self.checker = Checker(story.rules, invariants, label=self.labels.get)
        self.events: list[tuple[int, Event]] = []
        self.step = 0
        self.now_ms = 0
        self.isr = story.isr
        self.leader: str | None = None
        self.coordinator = RemovalCoordinator()
        self.delayed = DelayedResponses()
        self.caught_up = CaughtUp(story.rules)
        self.consumers = StoryConsumers(story.rules)
        self.moments: dict[str, dict[str, ReplicaView]] = {}
        self.coordinators = StoryCoordinators(story.rules)
        self.replicas: dict[str, Replica] = {}
        for name in story.replicas:
            self._add(name)

    def take(self, step: Step) -> None:
        """Carry out one step."""
        self.step = step.number
        getattr(self, f"_{step.op}")(step)
        self.coordinators.follow(self.replicas)

    def run(self) -> StoryRun:
        """Take all steps, and look at what has come of them."""
        views: dict[str, ReplicaView] = {}
        with bounded() as watch:
            for step in self.story.steps:
                self.take(step)
            views = views_of(self.replicas, self.rules, self.labels)
        return StoryRun(
            self.story,
            tuple(self.checker.violations),
            views,
            self.leader,
            tuple(self.events),
            self.labels,
            self.moments,
            watch.reached,
        )

    def _emit(self, events: Sequence[Event]) -> None:
        for event in events:
            self.events.append((self.step, event))
            self.checker.on(self.step, event)
        self.caught_up.follow(events, self.replicas)

    def _add(self, name: str) -> None:
        self.replicas[name] = Replica(name, log_config(self.rules, LogConfig()))
        self._emit([ReplicaAdded(name)])

    def _new_uid(self, label: str) -> int:
        uid = len(self.labels) + 1
        self.labels[uid] = label
        return uid

    def _acting_leader(self) -> Replica | None:
        """The replica elected last, while it is up and leads."""
        found = self.replicas[self.leader] if self.leader is not None else None
        return found if found is not None and found.up and found.leadership else None

    def _pair(self, step: Step) -> tuple[Replica, Replica] | None:
        """Follower and leader of a step, if both are up and the leader leads."""
        fetcher, source = self.replicas[step["follower"]], self.replicas[step["leader"]]
        ready = fetcher.up and source.up and source.leadership is not None
        return (fetcher, source) if ready and fetcher is not source else None

    # Writing and leading.

    def _append(self, step: Step) -> None:
        writer = self.replicas[step["leader"]]
        zombie = "epoch" in step.fields
        if not writer.up or (writer.leadership is None and not zombie):
            return
        epoch = step["epoch"] if zombie else writer.leadership.epoch  # type: ignore[union-attr]
        batch = batch_of(
            step,
            writer.log.log_end_offset,
            epoch=epoch,
            uid=self._new_uid(label_of(step)),
            now_ms=self.now_ms,
            rules=self.rules,
        )
        self._emit(leader.append(writer, batch, rules=self.rules, now_ms=self.now_ms).events)

    def _elect(self, step: Step) -> None:
        candidate = self.replicas[step["leader"]]
        if not candidate.up:
            return
        epoch, voters = step["epoch"], self.story.voters
        if "votes" in step.fields:
            asked = [self.replicas[name] for name in step["votes"] if name in voters]
            granting = elections.wins(
                candidate, asked, voter_count=len(voters), epoch=epoch, rules=self.rules
            )
            if granting is None:
                return
            for voter in (candidate, *granting):
                elections.votes_for(voter, epoch, candidate.name)
        self.leader = candidate.name
        self._emit(
            elections.become_leader(
                candidate,
                epoch,
                isr=self.isr,
                voters=voters,
                rules=self.rules,
                now_ms=self.now_ms,
                leader_change_uid=self._new_uid(f"LC{epoch}"),
            )
        )
        self.coordinators.elected(candidate)

    def _elect_from_isr(self, step: Step) -> None:
        if step["leader"] in self.isr:
            self._elect(step)

    def _isr(self, step: Step) -> None:
        self._set_isr(step["isr"])

    def _set_isr(self, isr: tuple[str, ...]) -> None:
        self.isr = isr
        acting = self._acting_leader()
        for replica in self.replicas.values():
            if replica.leadership is not None and replica is not acting:
                replica.leadership.isr = self.isr
        if acting is not None:
            self._emit(leader.set_isr(acting, self.isr, rules=self.rules))

    def _expand_isr(self, step: Step) -> None:
        acting = self._acting_leader()
        if acting is not None and self.replicas[step["replica"]].up:
            self._emit(leader.expand_isr(acting, step["replica"], rules=self.rules))
            if acting.leadership is not None:
                self.isr = acting.leadership.isr

    # Following.

    def _follow(self, step: Step) -> None:
        """Becoming a follower, with all that is asked and answered for it."""
        pair = self._pair(step)
        if pair is None:
            return
        fetcher, source = pair
        assert source.leadership is not None
        result = start_following(fetcher, source.leadership.epoch, rules=self.rules)
        self._emit(result.events)
        while (request := result.request) is not None:
            response = answer_offsets_for_leader_epoch(source, request, rules=self.rules)
            if response.error is not ErrorCode.NONE:
                return
            result = receive_offsets_for_leader_epoch(fetcher, request, response, rules=self.rules)
            self._emit(result.events)

    def _fetch(self, step: Step) -> None:
        pair = self._pair(step)
        if pair is None:
            return
        response = self._answer(*pair, step.get("max"))
        if step.get("delay_response", False):
            self.delayed.put(step["follower"], step["leader"], response)
        elif not step.get("drop_response", False):
            self._receive(pair[0], response)

    def _deliver(self, step: Step) -> None:
        """The oldest delayed response of this leader arrives, whoever leads by now."""
        name = step["follower"]
        self._receive(self.replicas[name], self.delayed.take(name, step["leader"]))

    def _answer(self, fetcher: Replica, source: Replica, limit: int | None = None) -> FetchResponse:
        request = follower.fetch_request(fetcher, max_batches=limit)
        answered = leader.answer_fetch(source, request, rules=self.rules)
        self._emit(answered.events)
        return answered.response

    def _receive(self, fetcher: Replica, response: Response | None) -> None:
        if isinstance(response, FetchResponse):
            result = follower.receive_fetch(fetcher, response, rules=self.rules, now_ms=self.now_ms)
            events = result.events
        else:
            events = _receive_chunk(fetcher, response, rules=self.rules)
        self._emit(events)

    def _fetch_snapshot(self, step: Step) -> None:
        pair = self._pair(step)
        if pair is None:
            return
        response = _chunk_response(*pair, rules=self.rules, limit=step.get("chunk"))
        if response is not None and step.get("delay_response", False):
            self.delayed.put(step["follower"], step["leader"], response)
        else:
            crashes = step.get("crash", False)
            self._emit(_receive_chunk(pair[0], response, rules=self.rules, crashes=crashes))

    def _sync(self, step: Step) -> None:
        pair = self._pair(step)
        if pair is not None:
            self._until_stable(*pair)

    def _until_stable(self, fetcher: Replica, source: Replica) -> None:
        """Rounds until nothing changes or a state comes back."""
        seen = set()
        while (state := _progress(fetcher, source)) not in seen:
            seen.add(state)
            chunk = _chunk_response(fetcher, source, rules=self.rules) if fetcher.download else None
            self._receive(fetcher, chunk or self._answer(fetcher, source))

    def _push(self, step: Step) -> None:
        target, source = self.replicas[step["follower"]], self.replicas[step["leader"]]
        batch = self._latest_held(source, step["label"])
        if target.up and source.up and batch is not None:
            self._emit(follower.push(target, source.name, batch, now_ms=self.now_ms))

    def _latest_held(self, source: Replica, label: str) -> Batch | None:
        """The batch of the latest record of that label that `source` still holds, if it has one."""
        held = {record.uid: batch for batch in source.log.batches() for record in batch.records}
        named = [uid for uid, name in self.labels.items() if name == label]
        return next((held[uid] for uid in reversed(named) if uid in held), None)

    # Cleaning, coordination and snapshots.

    def _compact(self, step: Step) -> None:
        replica = self.replicas[step["replica"]]
        if not replica.up or self.rules.cleaner.cleanup == "snapshot":
            return
        bound = min(stable_offset(replica, rules=self.rules), step.get("upto", 1 << 62))
        result = self.cleaner.run(
            replica,
            upper_bound=bound,
            now_ms=self.now_ms,
            rescan=True,
            keep_producers=False,
            removal_limit=min(r.log.log_end_offset for r in self.replicas.values()),
            legacy_horizon_ms=step.get("legacy_horizon"),
            legacy_last_modified=step.get("segments", ()),
            crash_during=step.get("crash"),
        )
        self._emit(result.events)
        if "crash" in step.fields:
            self._emit(crash(replica))

    def _coordinate(self, step: Step) -> None:
        reachable = step.get("reachable")
        if reachable is None:
            reachable = [name for name, replica in self.replicas.items() if replica.up]
        present = [self.replicas[name] for name in reachable]
        self._emit(hold_round(self.coordinator, self.replicas.values(), present, rules=self.rules))

    def _snapshot(self, step: Step) -> None:
        replica = self.replicas[step["replica"]]
        if replica.up and self.rules.cleaner.cleanup != "compact":
            end = step["end"]
            in_log = self.rules.snapshots.snapshot_placement == "in_log"
            uid = self._new_uid(f"SN{end}") if in_log else 0
            self._emit(take_snapshot(replica, end, rules=self.rules, now_ms=self.now_ms, uid=uid))

    def _delete_prefix(self, step: Step) -> None:
        replica = self.replicas[step["replica"]]
        if replica.up and self.rules.cleaner.cleanup != "compact":
            to = step["to"]
            live_ends = [r.log.log_end_offset for r in self.replicas.values() if r.up]
            if may_delete_prefix(
                replica, to, live_ends=live_ends, rules=self.rules, now_ms=self.now_ms
            ):
                self._emit(delete_prefix(replica, to))

    # Time and faults.

    def _advance(self, step: Step) -> None:
        self.now_ms += step["ms"]

    def _crash(self, step: Step) -> None:
        name = step["replica"]
        self.delayed.drop_those_to(name)
        replica = self.replicas[name]
        end = durable_end(replica.log, rules=self.rules) if step.get("power_loss") else None
        old = OldFiles(*(step.get(name) for name in OldFiles._fields))
        lost = step.get("lose", 0)
        self._emit(
            crash_with_files(replica, rules=self.rules, lost_batches=lost, lost_from=end, old=old)
        )

    def _flush(self, step: Step) -> None:
        replica = self.replicas[step["replica"]]
        if replica.up:
            replica.log.flush()

    def _restart(self, step: Step) -> None:
        self._emit(recover(self.replicas[step["replica"]], rules=self.rules))

    def _wipe(self, step: Step) -> None:
        self._emit(wipe(self.replicas[step["replica"]], reason="its disk was replaced"))

    def _add_replica(self, step: Step) -> None:
        self._add(step["replica"])

    def _remove_replica(self, step: Step) -> None:
        """It leaves with its disk; nothing happens while it is the leader."""
        name = step["replica"]
        if name == self.leader:
            return
        self.delayed.drop_all_of(name)
        del self.replicas[name]
        self._emit([ReplicaRemoved(name)])
        if name in self.isr:
            self._set_isr(tuple(member for member in self.isr if member != name))

    # Reading and checking.

    def _consume(self, step: Step) -> None:
        replica = self.replicas[step["replica"]]
        if replica.up:
            self._emit(self.consumers.consume(step, replica, now_ms=self.now_ms))

    def _read_to_end(self, step: Step) -> None:
        replica = self.replicas[step["replica"]]
        if replica.up:
            self._emit(self.consumers.read_to_end(step, replica, now_ms=self.now_ms))

    def _load(self, step: Step) -> None:
        """A coordinator reads on; when it is done it completes what was decided before."""
        replica = self.replicas[step["replica"]]
        loaded = self.coordinators.load(step, replica)
        if loaded is None or replica.leadership is None:
            return
        self._emit(loaded.events)
        for record in loaded.pending:
            batch = completion(
                record,
                offset=replica.log.log_end_offset,
                epoch=replica.leadership.epoch,
                uid=self._new_uid(COMPLETES[record.value or ""]),
                now_ms=self.now_ms,
            )
            self._emit(leader.append(replica, batch, rules=self.rules, now_ms=self.now_ms).events)

    def _ask(self, step: Step) -> None:
        self._emit(self.coordinators.ask(step, self.replicas[step["replica"]]))

    def _expect_tombstone_gone(self, step: Step) -> None:
        self._emit([TombstoneProbed(self.leader or "", step["key"])])

    def _quiesce(self, step: Step) -> None:
        synced = not step.get("nosync", False)
        source = self._acting_leader()
        if synced and source is not None:
            for _ in range(2):
                for fetcher in self.replicas.values():
                    if fetcher.up and fetcher is not source and source.leadership is not None:
                        self._until_stable(fetcher, source)
        self._emit([Quiesced(self.leader, synced)])

    def _check(self, step: Step) -> None:
        del step
        self._emit([Quiesced(self.leader, synced=False)])

    def _moment(self, step: Step) -> None:
        self.moments[step["name"]] = views_of(self.replicas, self.rules, self.labels)


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


def _chunk_response(
    fetcher: Replica, source: Replica, *, rules: Rules, limit: int | None = None
) -> FetchSnapshotResponse | None:
    """The answer to a request for the next `limit` entries (None = all); None = no download."""
    request = snapshot_request(fetcher, max_entries=limit)
    return None if request is None else answer_fetch_snapshot(source, request, rules=rules)


def _receive_chunk(
    fetcher: Replica,
    response: FetchSnapshotResponse | None,
    *,
    rules: Rules,
    crashes: bool = False,
) -> list[Event]:
    """What a chunk does at the follower; with `crashes` it goes down before the install."""
    events: list[Event] = []
    if response is not None:
        result = receive_snapshot_chunk(
            fetcher, response, rules=rules, crash_before_install=crashes
        )
        events += result.events
    return events + (crash(fetcher) if crashes else [])


def _progress(fetcher: Replica, source: Replica) -> tuple[object, ...]:
    """What `sync` watches: it stops when none of this changes any more."""
    log, leadership = fetcher.log, source.leadership
    return (
        tuple((batch.base_offset, batch.epoch, len(batch.records)) for batch in log.batches()),
        log.log_start_offset,
        log.log_end_offset,
        log.high_watermark,
        tuple(log.epochs.entries),
        source.log.high_watermark,
        None if leadership is None else leadership.positions.get(fetcher.name),
        None if fetcher.download is None else fetcher.download.position,
    )
