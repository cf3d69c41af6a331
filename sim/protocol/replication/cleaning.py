"""Cleaning of a replica: the bound of a pass, the pass, its result; retention by age and size.

KIP-280 with KIP-534 forgets the version of a removed tombstone, so that a late lower one wins. A
`floor` is one number for the whole log: leaders refuse what is below it, of any key, and
followers learn it. A `stub` stays with the cleaner for each deleted key and beats a late record;
readers see that record until a pass has met it, and stubs are lost with the disk.

A version that a cleaner cannot read stops its pass (`header_form: unchecked_varint`). A leader with
a floor refuses it, since it cannot be compared.

Retention deletes whole segments from the start of the log, never beyond the high watermark, and
never the empty active one. Source: UnifiedLog.deleteOldSegments, .deletableSegments;
ReplicaFetcherThread.processPartitionData for the followers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from sim.protocol.compaction import Cleaning, CleaningPass, Strategy, UnreadableVersion, clean
from sim.protocol.compaction.eligibility import age_from_ms
from sim.protocol.compaction.strategies import Version
from sim.protocol.compaction.tombstones import TombstoneMark
from sim.protocol.events import (
    AppendRefused,
    Cleaned,
    CleaningFailed,
    Event,
    LogStartedAfresh,
    LogStartMoved,
    Removal,
)
from sim.protocol.log import Batch, Log, Record, Segment
from sim.protocol.replication.interrupting import interrupt
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules
from sim.protocol.rules.policy import cleaner_policy, cleaner_strategy


def order_of(record: Record, strategy: Strategy) -> Version:
    """The version of a record without its offset: equal ones are not below one another."""
    return strategy.version(record)[:-1]


def why_refused(leader: Replica, batch: Batch, *, rules: Rules) -> AppendRefused | None:
    """The refusal of a batch because of the leader's floor; None = it is accepted.

    It names the first keyed data record that is below the floor, or has no readable version.
    """
    floor = leader.version_floor
    if floor is None or rules.cleaner.late_versions != "floor" or batch.control is not None:
        return None
    strategy = cleaner_strategy(rules)
    for record in batch.records:
        if record.key is None:
            continue
        try:
            late = order_of(record, strategy) < floor
        except UnreadableVersion:
            return AppendRefused(leader.name, record.key, "unreadable_version")
        if late:
            return AppendRefused(leader.name, record.key)
    return None


def raise_floor(replica: Replica, floor: Version | None) -> None:
    """Takes over a higher floor: of a removed tombstone, or the leader's."""
    if floor is not None and (replica.version_floor is None or floor > replica.version_floor):
        replica.version_floor = floor


class CleaningResult(Struct, frozen=True, gc=False):
    """The result of a cleaning pass on a replica.

    Attributes:
        changed: True when the pass changed the log, if only by a delete horizon.
        events: Events of the pass.
    """

    changed: bool
    events: list[Event]


def stable_offset(replica: Replica, *, rules: Rules) -> int:
    """The last stable offset: where the cleaner has to stop (exclusive).

    The high watermark, or the log end with `cleaner_bound: leo`, but never past the first offset
    of a transaction without a marker below the high watermark (Log.firstUnstableOffset).
    """
    log = replica.log
    bound = log.log_end_offset if rules.cleaner.cleaner_bound == "leo" else log.high_watermark
    unstable = log.producers.first_unstable_offset(log.high_watermark)
    return bound if unstable is None else min(bound, unstable)


def write_checkpoint_anew(replica: Replica, *, now_ms: int) -> None:
    """Starts the cleaning checkpoints of KIP-534's rejected proposal, after an upgrade.

    The older file holds the end of the last pass, but not its time: the new one takes the present
    time. So every tombstone waits for `delete.retention.ms` from the upgrade on.
    """
    cleaned_end = replica.first_dirty_offset
    replica.last_cleaning = (cleaned_end, now_ms) if cleaned_end > 0 else None


def legacy_horizon_ms(replica: Replica, *, rules: Rules) -> int | None:
    """The horizon before KIP-534: when the last clean segment changed, minus the retention.

    Source: LogCleaner.clean in 2.8.

    Returns:
        The horizon in ms; None when nothing is clean yet, or under other rules.
    """
    cleaner, dirty = rules.cleaner, replica.first_dirty_offset
    if "last_modified" not in (cleaner.tombstone_removal, cleaner.unstamped_tombstones):
        return None
    clean = [segment for segment in replica.log.segments if segment.base_offset < dirty]
    return clean[-1].last_modified_ms - rules.topic.delete_retention_ms if clean else None


class Cleaner:
    """The cleaner of replicas under certain rules, which are looked up once, here.

    Attributes:
        rules: The rules.
        policy: How it decides about records.
    """

    __slots__ = ("_coordinated", "_ends_with_last_record", "policy", "rules")

    def __init__(self, rules: Rules) -> None:
        """Looks the rules up; one cleaner has no other state and may serve several replicas."""
        self.rules = rules
        self.policy = cleaner_policy(rules)
        self._coordinated = rules.cleaner.removal.gates_markers
        self._ends_with_last_record = rules.storage.leo_source == "last_record"

    def run(
        self,
        replica: Replica,
        *,
        upper_bound: int,
        now_ms: int,
        rescan: bool = False,
        map_capacity: int | None = None,
        max_message_bytes: int | None = None,
        removal_limit: int = 0,
        legacy_horizon_ms: int | None = None,
        legacy_last_modified: tuple[tuple[int, int, int], ...] | None = None,
        crash_during: str | int | None = None,
    ) -> CleaningResult:
        """Runs one pass over everything below `upper_bound` (exclusive) and swaps the result in.

        After a pass that fails there is none until a restart (markPartitionUncleanable,
        KAFKA-7215).

        Args:
            replica: Replica whose log is cleaned.
            upper_bound: At most the last stable offset.
            now_ms: The replica's own clock in ms.
            rescan: Run although nothing is dirty; see CleaningPass.
            map_capacity: Most distinct keys the pass can map; the checkpoint moves as far as it
                got. None = no limit.
            max_message_bytes: `max.message.bytes`; larger rewritten batches are reported.
            removal_limit: The smallest log end offset over all replicas, for rules such as
                `leo_gated`. With coordinated removal the replica's own bounds count.
            legacy_horizon_ms: The horizon of `last_modified`, in ms.
            legacy_last_modified: See CleaningPass.
            crash_during: The moment in which it crashes, see
                `sim.protocol.replication.interrupting`.
        """
        if replica.uncleanable:
            return CleaningResult(changed=False, events=[])
        log = replica.log
        plan = CleaningPass(
            policy=self.policy,
            first_dirty_offset=replica.first_dirty_offset,
            upper_bound=upper_bound,
            now_ms=now_ms,
            delete_retention_ms=self.rules.topic.delete_retention_ms,
            high_watermark=log.high_watermark,
            log_start_offset=log.log_start_offset,
            last_records=log.producers.last_records(),
            map_capacity=map_capacity,
            rescan=rescan,
            max_message_bytes=max_message_bytes,
            removal_limit=replica.removal_bound if self._coordinated else removal_limit,
            marker_limit=replica.marker_removal_bound,
            legacy_horizon_ms=legacy_horizon_ms,
            legacy_last_modified=legacy_last_modified,
            segment_bytes=log.config.segment_bytes,
            last_cleaning=replica.last_cleaning,
            stubs=replica.stubs,
        )
        return self._run(replica, plan, crash_during)

    def _run(
        self, replica: Replica, plan: CleaningPass, crash_during: str | int | None
    ) -> CleaningResult:
        """Runs the pass, and swaps its result in as far as a crash or a failure allows."""
        result = clean(replica.log.segments, plan)
        if result.failure is not None:
            replica.uncleanable = True
            events: list[Event] = [CleaningFailed(replica.name, result.failure.offset)]
            if result.replaced:
                events.insert(0, self._put_in_place(replica, plan, result))
            return CleaningResult(result.changed, events)
        if crash_during is None:
            event = self._put_in_place(replica, plan, result)
            return CleaningResult(result.changed, [event])
        changed, crashing = interrupt(
            replica,
            result,
            during=crash_during,
            storage=self.rules.storage,
            now_ms=plan.now_ms,
            remember=partial(self._remember, replica, winners=result.winners),
        )
        return CleaningResult(changed, crashing)

    def _remember(
        self, replica: Replica, removed: Sequence[Record], *, winners: Mapping[str, Record]
    ) -> None:
        """Raises the floor over, or keeps stubs of, the tombstones that a pass removed.

        A stub that a winner of the pass supersedes is no longer needed and goes.
        """
        if self.rules.cleaner.late_versions == "floor":
            for record in removed:
                raise_floor(replica, order_of(record, self.policy.strategy))
        elif self.rules.cleaner.late_versions == "stub":
            stubs = replica.stubs
            kept = {key: stub for key, stub in stubs.items() if winners.get(key, stub) is stub}
            new = {record.key: record for record in removed if record.key is not None}
            replica.stubs = kept | new

    def _put_in_place(self, replica: Replica, plan: CleaningPass, result: Cleaning) -> Cleaned:
        """Swaps the segments, and moves the checkpoints if the pass reached its end."""
        log, first_dirty = replica.log, replica.first_dirty_offset
        before, high_watermark = log.size_bytes, log.high_watermark
        reached = max(first_dirty, result.next_dirty_offset)
        log.replace_segments(result.replaced, result.segments)
        if result.failure is None:
            replica.first_dirty_offset = reached
            replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, reached)
            replica.last_cleaning = (reached, plan.now_ms)
        for record in result.removed["tombstone"]:
            replica.removed_tombstone_end = max(replica.removed_tombstone_end, record.offset + 1)
        self._remember(replica, result.removed["tombstone"], winners=result.winners)
        if self._ends_with_last_record:
            persists = self.policy.fix.persists_log_end
            log.recompute_log_end_offset(at_least=reached if persists else 0)
            replica.first_dirty_offset = min(replica.first_dirty_offset, log.log_end_offset)
        return Cleaned(
            replica=replica.name,
            first_dirty_offset=first_dirty,
            upper_bound=reached,
            removals=result.removals,
            emptied=tuple(result.emptied),
            dropped=tuple(result.dropped),
            horizons=tuple(result.horizons),
            protected_offset=result.protected_offset,
            log_end_offset=log.log_end_offset,
            high_watermark=high_watermark,
            size_bytes=(before, log.size_bytes),
            oversized=tuple(result.oversized),
            partial=result.next_dirty_offset < plan.upper_bound,
            stubs=len(replica.stubs),
            rewritten=tuple(result.rewritten),
            now_ms=plan.now_ms,
        )


def take_out(
    replica: Replica,
    offsets: Collection[int],
    *,
    horizons: Mapping[int, int],
    upto: int,
    now_ms: int,
    rules: Rules,
) -> list[Event]:
    """Removes records as earlier passes did, of which only the result is known; no rule decides.

    Args:
        replica: Replica whose log it is.
        offsets: Offsets of the records that are gone.
        horizons: Base offset of a batch -> its delete horizon in ms.
        upto: The cleaner's checkpoint (exclusive).
        now_ms: The replica's own clock in ms.
        rules: Rules that say what a tombstone is.
    """
    log, first_dirty = replica.log, replica.first_dirty_offset
    is_tombstone = rules.cleaner.is_tombstone
    batches = list(log.batches())
    newest: dict[str | None, int] = {r.key: r.offset for b in batches for r in b.records}
    newest.pop(None, None)
    removals = [
        _removal(batch, record, newest.get(record.key), is_tombstone)
        for batch in batches
        for record in batch.records
        if record.offset in offsets
    ]
    marked = [
        (b.base_offset, horizons[b.base_offset]) for b in batches if b.base_offset in horizons
    ]
    if not removals and not marked and upto <= first_dirty:
        return []
    before = log.size_bytes
    cleaned = [_left_in(segment, offsets, horizons) for segment in log.segments]
    log.replace_segments(len(cleaned), cleaned)
    replica.first_dirty_offset = replica.cleanly_compacted_offset = max(first_dirty, upto)
    tombstones = [one.offset + 1 for one in removals if one.reason == "tombstone"]
    replica.removed_tombstone_end = max([replica.removed_tombstone_end, *tombstones])
    return [
        Cleaned(
            replica=replica.name,
            first_dirty_offset=first_dirty,
            upper_bound=replica.first_dirty_offset,
            removals=tuple(removals),
            emptied=(),
            dropped=(),
            horizons=tuple(marked),
            protected_offset=None,
            log_end_offset=log.log_end_offset,
            high_watermark=log.high_watermark,
            size_bytes=(before, log.size_bytes),
            now_ms=now_ms,
        )
    ]


def _removal(
    batch: Batch, record: Record, newest: int | None, is_tombstone: TombstoneMark
) -> Removal:
    """The removal of a record, with the reason that its log gives; `newest` is that of its key."""
    winner = newest if newest is not None and newest > record.offset else None
    if batch.control is not None:
        reason = "marker"
    elif record.key is None:
        reason = "no key"
    else:
        reason = "tombstone" if is_tombstone(record) and winner is None else "superseded"
    return Removal(record.offset, record.uid, record.key, reason, winner)


def _left_in(segment: Segment, offsets: Collection[int], horizons: Mapping[int, int]) -> Segment:
    """A segment without some records, with delete horizons."""
    batches = []
    for batch in segment.batches:
        kept = tuple(record for record in batch.records if record.offset not in offsets)
        horizon = horizons.get(batch.base_offset, batch.delete_horizon_ms)
        if kept:
            unchanged = kept == batch.records and horizon == batch.delete_horizon_ms
            batches.append(batch if unchanged else batch.rebuilt(kept, horizon))
    return replace(segment, batches=batches, size_bytes=sum(b.size_bytes for b in batches))


class Retention(Struct, frozen=True, gc=False):
    """The age and size that are kept of a topic with `delete` in `cleanup.policy`, or of snapshots.

    Attributes:
        retention_ms: `retention.ms`, `metadata.max.retention.ms`; None = no bound.
        retention_bytes: `retention.bytes`, `metadata.max.retention.bytes`; None = no bound.
    """

    retention_ms: int | None = None
    retention_bytes: int | None = None


def delete_old_segments(
    replica: Replica, retention: Retention | None, *, now_ms: int
) -> list[Event]:
    """Deletes what lies below the log start; with a `retention` also what is too old or too much.

    `now_ms` is the replica's own clock. When everything goes the active segment is rolled first.
    """
    log = replica.log
    delete_below_start(log)
    if retention is None:
        return []
    events: list[Event] = []
    for cause, condition in _conditions(log, retention, now_ms):
        _delete_while(log, condition, now_ms=now_ms)
        begin = log.segments[0].base_offset
        if begin > log.log_start_offset:
            _move_start(replica, begin)
            events.append(LogStartMoved(replica.name, begin, log.high_watermark, cause))
    return events


Condition = Callable[[Segment, int], bool]
"""Decides whether a segment that ends at an offset (exclusive) may go."""


def _conditions(log: Log, retention: Retention, now_ms: int) -> list[tuple[str, Condition]]:
    found: list[tuple[str, Condition]] = []
    limit_bytes, limit_ms = retention.retention_bytes, retention.retention_ms
    if limit_bytes is not None:
        excess = log.size_bytes - limit_bytes

        def too_much(segment: Segment, _: int) -> bool:
            nonlocal excess
            excess -= segment.size_bytes
            return excess >= 0

        found.append(("retention.bytes", too_much))
    if limit_ms is not None:
        found.append(("retention.ms", lambda segment, _: now_ms - age_from_ms(segment) > limit_ms))
    return found


def delete_below_start(log: Log) -> None:
    """Deletes the segments that lie below the log start; the active one always stays.

    Source: UnifiedLog.deleteLogStartOffsetBreachedSegments.
    """
    start = log.log_start_offset
    _delete_while(log, lambda segment, end: end <= start and segment is not log.active, now_ms=0)


def _delete_while(log: Log, condition: Condition, *, now_ms: int) -> None:
    """Deletes whole segments from the start while `condition` holds, below the high watermark."""
    count = 0
    segments = log.segments
    for index, segment in enumerate(segments):
        last = index + 1 == len(segments)
        end = log.log_end_offset if last else segments[index + 1].base_offset
        if log.high_watermark < end or (last and not segment.batches):
            break
        if not condition(segment, end):
            break
        count += 1
    if count == len(segments):
        log.roll(now_ms=now_ms)
    log.snapshots.forget(segment.base_offset for segment in log.segments[:count])
    del log.segments[:count]


def _move_start(replica: Replica, offset: int) -> None:
    replica.log.log_start_offset = offset
    replica.first_dirty_offset = max(replica.first_dirty_offset, offset)


def take_log_start(replica: Replica, offset: int) -> list[Event]:
    """Takes over the leader's log start, unless the follower's high watermark is below it."""
    log = replica.log
    if offset <= log.log_start_offset or offset > log.high_watermark:
        return []
    _move_start(replica, offset)
    return [LogStartMoved(replica.name, offset, log.high_watermark, "the leader's log start")]


def start_afresh(replica: Replica, offset: int) -> list[Event]:
    """Empties a follower's log that ends below the leader's log start, and starts it there.

    Source: AbstractFetcherThread.fetchOffsetAndTruncate, truncateFullyAndStartAt.
    """
    log = replica.log
    before = (log.log_end_offset, log.high_watermark)
    log.reset_to(offset)
    replica.first_dirty_offset = replica.cleanly_compacted_offset = offset
    replica.last_cleaning = None
    return [LogStartedAfresh(replica.name, offset, *before)]
