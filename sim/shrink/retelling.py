"""Takes the events of a timed run one by one, and takes the steps of a story that do the same.

A step is taken only where the story has not got there by itself, so that what a fetch brings, a
leader commits or a quorum decides comes out of the story's own rules, and what is left out of it
moves the rest no further than it has to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from sim import trace
from sim.compaction.strategies import ENCODERS, VERSION_HEADER_BYTES, decode_varint
from sim.log import Batch, Control, Record
from sim.replication import Replica
from sim.replication.cleaning import stable_offset
from sim.replication.elections import wins
from sim.rules import Rules
from sim.shrink.sought import Events
from sim.story.driver import StoryDriver
from sim.story.steps import Step

_AT_ONCE = 3
"""So many rounds of fetching until a follower has what it is to have: to part, and to copy."""
_MARKERS = {Control.COMMIT: "commit", Control.ABORT: "abort"}
_DURING = " during a pass ("
_SUFFIX: Final = {
    kind: re.sub("([A-Z])", r"_\1", name).lower() for kind, name in trace.NAMES.items()
}
"""Class of event -> how the names of the methods end that take it."""


Pair: TypeAlias = tuple[Replica, Replica]
"""A follower and its leader."""


class Retelling:
    """A story in the making out of the events of a run.

    An event is taken by the method with its name behind what has to be so in the story: `_any`
    nothing, `_there` its replica is there, `_up` it is up, `_pair` its follower and leader are such
    (the latter is the story's if the event does not say). They are what the method is given.

    Attributes:
        driver: What the story has come to.
        replicas: Those of the story, by name.
        steps: Those taken so far.
        rules: Those of the run.
    """

    def __init__(
        self, driver: StoryDriver, past: Events, rules: Rules, *, reads: bool, exact: bool
    ) -> None:
        """A story without steps.

        Args:
            driver: Runs it.
            past: What happened in the run.
            rules: Those of the run.
            reads: Whether consumers read.
            exact: Whether a pass goes as far as in the run, and a fetch brings as much; otherwise
                as far as it can.
        """
        self.driver, self.replicas, self.rules = driver, driver.replicas, rules
        self.steps: list[Step] = []
        self._reads, self._exact = reads, exact
        self._followed: set[tuple[str, str, int]] = set()
        self._interrupted = _interrupted(past)
        self._unclean: set[tuple[str, int]] = set()
        self._readers: dict[str, str] = {}

    def on(self, event: Any) -> None:
        """Take what steps the event needs."""
        for state, given in self._states(event):
            take = getattr(self, state + _SUFFIX[type(event)], None)
            if take is not None:
                take(event, *given)
                return

    def _states(self, event: Any) -> Iterator[tuple[str, tuple[object, ...]]]:
        """What is so in the story of whom an event is about, and who that is."""
        yield "_any", ()
        replica = self.replicas.get(getattr(event, "replica", ""))
        if replica is None:
            return
        yield "_there", (replica,)
        if replica.up:
            yield "_up", (replica,)
        follower = getattr(event, "follower", None)
        leader = event.replica if follower else getattr(event, "leader", self.driver.leader)
        pair = self.pair(follower or event.replica, leader)
        if pair is not None:
            yield "_pair", (pair,)

    def step(self, op: str, **fields: Any) -> None:
        """Take one step; fields that are None are left out."""
        given = {name: value for name, value in fields.items() if value is not None}
        step = Step(len(self.steps) + 1, op, given)
        self.steps.append(step)
        self.driver.take(step)

    def until(self, now_ms: int) -> None:
        """Let time pass up to a moment, unless that is over."""
        if now_ms > self.driver.now_ms:
            self.step("advance", ms=now_ms - self.driver.now_ms)

    def pair(self, follower: str, leader: str | None) -> Pair | None:
        """Both, if the leader leads in the story, too, and both are up."""
        fetcher, source = self.replicas.get(follower), self.replicas.get(leader or "")
        if fetcher is None or source is None or fetcher is source:
            return None
        ready = fetcher.up and source.up and source.leadership is not None
        return (fetcher, source) if ready else None

    def between(self, op: str, pair: Pair, **fields: Any) -> None:
        """Take one step of a follower and its leader."""
        self.step(op, follower=pair[0].name, leader=pair[1].name, **fields)

    def follow(self, pair: Pair) -> None:
        """Become a follower first, where that is a step of its own."""
        mode, leadership = self.rules.replication.truncation, pair[1].leadership
        if mode not in ("high_watermark", "epoch_kip101") or leadership is None:
            return
        known = (pair[0].name, pair[1].name, leadership.epoch)
        if known not in self._followed:
            self._followed.add(known)
            self.between("follow", pair)

    def tell(self, pair: Pair) -> None:
        """The leader hears where the follower is, and the follower what is committed."""
        self.follow(pair)
        self.between("fetch", pair, max=0)

    # Writing.

    def _there_appended(self, event: trace.Appended, replica: Replica) -> None:
        batch = event.batch
        if batch.control in _MARKERS:
            self._append(replica, batch, marker=_MARKERS[batch.control], pid=batch.producer_id)
        for record in batch.records if batch.control is None else ():
            pid = batch.producer_id if batch.transactional else None
            self._append(
                replica, batch, **fields_of(record, self.rules, self.driver.rules), pid=pid
            )

    def _append(self, replica: Replica, batch: Batch, **fields: Any) -> None:
        leadership = replica.leadership
        zombie = leadership is None or leadership.epoch != batch.epoch
        self.step("append", leader=replica.name, **fields, epoch=batch.epoch if zombie else None)

    # Leading.

    def _any_unclean_election(self, event: trace.UncleanElection) -> None:
        self._unclean.add((event.replica, event.epoch))

    def _there_leader_elected(self, event: trace.LeaderElected, candidate: Replica) -> None:
        if not candidate.up:
            self.step("restart", replica=event.replica)
        by_isr, is_first = self.rules.replication.commit == "isr", self.driver.leader is None
        unclean = (event.replica, event.epoch) in self._unclean
        in_sync = by_isr and not unclean and event.replica in self.driver.isr
        op = "elect_from_isr" if in_sync and not is_first else "elect"
        votes = None if by_isr or is_first else self._votes(candidate, event.epoch)
        self.step(op, leader=event.replica, epoch=event.epoch, votes=votes)
        if by_isr:
            self._set_isr(event.isr)

    def _votes(self, candidate: Replica, epoch: int) -> tuple[str, ...] | None:
        """A majority that votes for the candidate in the story; None = none does or has to."""
        voters = self.driver.story.voters
        asked = [self.replicas[name] for name in voters if name in self.replicas]
        rules = self.driver.rules
        granting = wins(candidate, asked, voter_count=len(voters), epoch=epoch, rules=rules)
        if granting is None:
            return None
        ranked = sorted(granting, key=lambda voter: voter.leadership is not None)
        return tuple(voter.name for voter in ranked[: len(voters) // 2]) or None

    def _set_isr(self, isr: tuple[str, ...]) -> None:
        known = tuple(name for name in isr if name in self.replicas)
        if set(known) != set(self.driver.isr):
            self.step("isr", isr=known)

    def _there_isr_changed(self, event: trace.IsrChanged, leader: Replica) -> None:
        if leader.name != self.driver.leader:
            return
        if event.joined is None or event.joined in self.driver.isr:
            self._set_isr(event.isr)
        elif event.joined in self.replicas:
            pair = self.pair(event.joined, leader.name)
            if pair is not None and self._known(pair) < pair[0].log.log_end_offset:
                self.tell(pair)
            self.step("expand_isr", replica=event.joined)

    def _known(self, pair: Pair) -> int:
        """Where the leader believes that its follower is; -1 = it has not heard of it."""
        leadership = pair[1].leadership
        return -1 if leadership is None else leadership.positions.get(pair[0].name, -1)

    # Following.

    def _pair_position_recorded(self, event: trace.PositionRecorded, pair: Pair) -> None:
        if self._known(pair) != held_at(pair[1], event.position):
            self.tell(pair)

    def _pair_copied(self, event: trace.Copied | trace.GapLearned, pair: Pair) -> None:
        """Fetch until the follower has what its leader has below a bound of the run."""
        (fetcher, source), bound = pair, event.log_end_offset
        for _ in range(_AT_ONCE):
            end = fetcher.log.log_end_offset
            wanted = held_at(source, bound)
            if end >= wanted:
                return
            most = count(source, end, bound)
            everything = most == count(source, end)
            self.follow(pair)
            self.between("fetch", pair, max=None if everything or not self._exact else most)
            if not most or fetcher.log.log_end_offset >= max(wanted, end + 1):
                return

    _pair_gap_learned = _pair_copied

    def _pair_truncated(self, event: trace.Truncated, pair: Pair) -> None:
        target = event.target if event.lowest is None else event.lowest
        end = pair[0].log.log_end_offset
        # What stood at the end may be cleaned away: then its place says nothing of the target.
        if end <= held_at(pair[0], target) and end <= pair[1].log.log_end_offset:
            return
        if self.rules.replication.truncation == "epoch_diverging":
            self.between("fetch", pair)
        else:
            self.follow(pair)

    def _pair_high_watermark_moved(self, event: trace.HighWatermarkMoved, pair: Pair) -> None:
        log, known = pair[0].log, pair[0].log.high_watermark
        wanted = held_at(pair[0], event.high_watermark)
        has_news = known < wanted <= log.log_end_offset and pair[1].log.high_watermark > known
        if has_news and not event.leading:
            self.tell(pair)

    # Cleaning.

    def _up_cleaned(self, event: trace.Cleaned, replica: Replica) -> None:
        self.until(event.now_ms)
        ripe = [each for each in event.removals if each.reason in ("tombstone", "marker")]
        self._ripen(replica, {held_at(replica, each.offset) for each in ripe})
        bound = held_at(replica, event.upper_bound)
        fields: dict[str, Any] = {}
        if self.rules.cleaner.tombstone_removal == "last_modified" and ripe:
            fields = {"legacy_horizon": 1, "segments": ((0, bound, 0),)}
        if self._exact and bound < stable_offset(replica, rules=self.driver.rules):
            fields["upto"] = bound
        crash = self._interrupted.get(id(event))
        self.step("compact", replica=replica.name, **fields, crash=crash)

    def _ripen(self, replica: Replica, offsets: set[int]) -> None:
        """Let so much time pass that what went in the run may go in the story."""
        batches = [batch for batch in replica.log.batches() if batch.base_offset in offsets]
        horizons = [batch.delete_horizon_ms for batch in batches]
        self.until(max((at for at in horizons if at is not None), default=0))

    def _up_removal_bound_moved(self, event: trace.RemovalBoundMoved, replica: Replica) -> None:
        if replica.removal_bound < held_at(replica, event.offset):
            self.step("coordinate")

    # Who goes down, comes back, joins and leaves.

    def _up_fault_injected(self, event: trace.FaultInjected, replica: Replica) -> None:
        if event.fault == "crash" and _DURING in event.detail:
            self.step("compact", replica=replica.name, crash=_moment(event))

    def _up_replica_crashed(self, event: trace.ReplicaCrashed, replica: Replica) -> None:
        lost = count(replica, event.log_end_offset)
        self.step("crash", replica=replica.name, lose=lost or None)

    def _there_replica_restarted(self, event: trace.ReplicaRestarted, replica: Replica) -> None:
        if not replica.up:
            self.step("restart", replica=event.replica)

    def _there_replica_wiped(self, event: trace.ReplicaWiped, replica: Replica) -> None:
        if event.reason != trace.REBUILT:
            self.step("wipe", replica=replica.name)

    def _any_replica_added(self, event: trace.ReplicaAdded) -> None:
        if event.replica not in self.replicas:
            self.step("add_replica", replica=event.replica)

    def _there_replica_removed(self, event: trace.ReplicaRemoved, replica: Replica) -> None:
        if event.replica != self.driver.leader:
            self.step("remove_replica", replica=replica.name)

    # Snapshots.

    def _up_snapshot_taken(self, event: trace.SnapshotTaken, replica: Replica) -> None:
        end = held_at(replica, event.end_offset)
        if end > replica.log.log_start_offset:
            self.step("snapshot", replica=replica.name, end=end)

    def _up_prefix_deleted(self, event: trace.PrefixDeleted, replica: Replica) -> None:
        to = held_at(replica, event.log_start_offset)
        if to > replica.log.log_start_offset:
            self.step("delete_prefix", replica=replica.name, to=to)

    def _pair_snapshot_offered(self, _: trace.Event, pair: Pair) -> None:
        if pair[0].download is None:
            self.between("fetch", pair)

    _pair_log_emptied = _pair_snapshot_offered

    def _pair_snapshot_chunk_fetched(self, event: trace.SnapshotChunkFetched, pair: Pair) -> None:
        if pair[0].download is not None:
            free = event.in_bytes or not self._exact
            self.between("fetch_snapshot", pair, chunk=None if free else event.entries or None)

    def _pair_snapshot_installed(self, _: trace.SnapshotInstalled, pair: Pair) -> None:
        if pair[0].download is not None:
            self.between("fetch_snapshot", pair)

    # Reading and asking.

    def _up_consumed(self, event: trace.Consumed, replica: Replica) -> None:
        if self._reads:
            self.until(event.now_ms)
            end = held_at(replica, event.end)
            upto = end if end < replica.log.high_watermark else None
            isolation = "read_committed" if event.committed else None
            self._consume(event.consumer, replica, upto, isolation)

    def _up_consumer_reset(self, event: trace.ConsumerReset, replica: Replica) -> None:
        """Its position moves when it asks; where that does not move it, another reader goes on.

        A story moves readers only as far as KIP-320 does; who is new begins where it likes.
        """
        if not self._reads:
            return
        seen = len(self.driver.events)
        self._consume(event.consumer, replica, held_at(replica, event.position))
        told = [each for _, each in self.driver.events[seen:]]
        if not any(isinstance(each, trace.ConsumerReset) for each in told):
            self._readers[event.consumer] = f"{self._reader(event.consumer)}+"

    def _reader(self, consumer: str) -> str:
        return self._readers.get(consumer, consumer)

    def _consume(
        self, consumer: str, replica: Replica, upto: int | None, isolation: str | None = None
    ) -> None:
        name = self._reader(consumer)
        self.step("consume", consumer=name, replica=replica.name, upto=upto, isolation=isolation)

    def _up_reading_ended(self, event: trace.ReadingEnded, replica: Replica) -> None:
        if self._reads:
            consumer, until = event.consumer, event.until
            self.step("read_to_end", consumer=consumer, replica=replica.name, until=until)

    def _there_coordinator_loaded(self, _: trace.CoordinatorLoaded, replica: Replica) -> None:
        self.step("load", replica=replica.name)

    def _there_coordinator_answered(
        self, event: trace.CoordinatorAnswered, replica: Replica
    ) -> None:
        self.step("ask", replica=replica.name, key=event.key)

    def _any_quiesced(self, event: trace.Quiesced) -> None:
        self.step("quiesce" if event.synced else "check")


def _moment(event: trace.FaultInjected) -> str:
    """When in a pass a crash came."""
    return event.detail.partition(_DURING)[2].partition(")")[0]


def _interrupted(past: Events) -> dict[int, str]:
    """The passes that a crash came in the midst of, by identity, with the moment."""
    found: dict[int, str] = {}
    last: dict[tuple[int, str], trace.Cleaned] = {}
    for at, event in past:
        if isinstance(event, trace.Cleaned):
            last[at, event.replica] = event
        elif isinstance(event, trace.FaultInjected) and _DURING in event.detail:
            cleaned = last.get((at, event.replica))
            if cleaned is not None:
                found[id(cleaned)] = _moment(event)
    return found


def held_at(replica: Replica, bound: int) -> int:
    """The first batch of a log that begins at an offset or above it, else the log's end."""
    bases = (batch.base_offset for batch in replica.log.batches())
    return next((base for base in bases if base >= bound), replica.log.log_end_offset)


def count(replica: Replica, since: int, below: int | None = None) -> int:
    """Batches of a log with a base offset from `since` on, below an offset or to the end."""
    bases = [batch.base_offset for batch in replica.log.batches()]
    return sum(since <= base and (below is None or base < below) for base in bases)


def fields_of(record: Record, rules: Rules, story: Rules) -> dict[str, Any]:
    """The fields of an `append` step that writes a record of a run again.

    Args:
        record: The record.
        rules: Those of the run: what is a delete there.
        story: Those of the story: what is a delete, and which version decides.
    """
    fields: dict[str, Any] = {"label": f"u{record.uid}", "key": record.key}
    strategy, mark = story.cleaner.strategy, story.cleaner.tombstone_mark
    if strategy == "timestamp":
        fields["ts"] = record.timestamp_ms
    elif strategy != "offset":
        fields |= _version(record, story)
    by_flag = record.flagged and rules.cleaner.tombstone_mark != "null_value"
    marks = {
        "explicit": ("tombstone", record.value is None or by_flag),
        "null_value": ("null_value", record.value is None),
    }
    field, deletes = marks.get(mark, ("flag", record.flagged))
    return fields | {field: True} if deletes else fields


def _version(record: Record, rules: Rules) -> dict[str, Any]:
    """The version headers of a record: the last one, and one before it, which some rules read."""
    form = rules.cleaner.header_form
    own = [value for name, value in record.headers if name == rules.topic.strategy_header]
    numbers = [_number(value, form) for value in own]
    if not own:
        return {}
    if len(own) > 1 and numbers[-2] is not None:
        return {"hdr": numbers[-2], "hdr_bytes": own[-1]}
    return {"hdr_bytes": own[-1]} if numbers[-1] is None else {"hdr": numbers[-1]}


def _number(value: bytes, form: str) -> int | None:
    """The number that a story would write as these bytes; None = there is none."""
    if len(value) == VERSION_HEADER_BYTES:
        found: int | None = int.from_bytes(value, "big", signed=True)
    else:
        found = decode_varint(value)
    return found if found is not None and ENCODERS[form](found) == value else None
