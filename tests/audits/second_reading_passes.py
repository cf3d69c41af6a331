"""Every cleaning pass of a run, compared with a second reading of the rules.

The log before a pass, the rules by name, the settings of the topic and the state of the replica say
what the pass has to do (`tests.audits.second_reading`): up to where, which records go and why,
which batches stay empty or get a horizon, which segments are merged, which aborted transactions
stay in the index. The event and the log afterwards are compared with all of that:

* A pass begins at the cleaner's checkpoint, but not below the log start, and ends at the base of a
  closed segment below the last stable offset and `min.compaction.lag.ms`; it runs when the log is
  dirty enough (LogCleanerManager.cleanableOffsets, LogToClean), by the clock of the replica.
* One that fails has removed what is gone, and nothing else.
* One that a crash interrupts leaves each group of segments as it was, or merged, the first ones
  first (LocalLog.replaceSegments); the replica goes down at once.
* Nothing but a pass changes a closed segment, so those that it does not cover stay.

Not judged: rules of which a pass does not depend on the log alone (`map_reads_from: offset_index`
where the index leads into the middle of a segment, `horizon_stamp: each_pass`, deltas that are
kept), other ways to swap files, batches in old formats, versions that cannot be read, and a map
over aborted data below the log start, which the map leaves out and copying takes for committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from sim.check.promise import promised_mark, promised_order
from sim.plugins import Report
from sim.protocol import events as on
from sim.protocol.log import Batch, Record, Segment
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from sim.simulate.scenario.model import Topic
from tests.audits.following import Following
from tests.audits.second_reading import Order, Reading
from tests.audits.second_reading_compared import Compared, bytes_of, differences

NAME: Final = "second-reading"
_OF_A_CRASH: Final = (on.ReplicaCrashed, on.SegmentsLost, on.FaultInjected, on.LeaderResigned)
_KEY_BYTES, _VERSION_BYTES = 24, 8
"""Bytes of an entry of the offset map, and of a version in it (SkimpyOffsetMap, KIP-280)."""


class Before(NamedTuple):
    """The state of a replica before something happened.

    Attributes:
        segments: The segments of its log.
        stubs: The removed tombstones that still take part.
        last_cleaning: (end exclusive, time in ms) of its last pass.
        log_start: Where its log starts (inclusive).
    """

    segments: tuple[Segment, ...]
    stubs: dict[str, Record]
    last_cleaning: tuple[int, int] | None
    log_start: int

    @classmethod
    def of(cls, replica: Replica) -> Before:
        """The present state, which is the one before the next event."""
        log = replica.log
        return cls(tuple(log.segments), replica.stubs, replica.last_cleaning, log.log_start_offset)


class Unreadable(Exception):
    """Raised for a version that stops a pass."""


class SecondReading(Following):
    """Compares each pass of each replica with the second reading."""

    name = NAME

    def __init__(self, cluster: Cluster, report: Report) -> None:
        """Starts before the replicas connect."""
        super().__init__(cluster, report)
        self._before: dict[str, Before] = {}
        self._half_done: str | None = None

    def after(self, _at_ms: int, events: Iterable[on.Event]) -> None:
        """Compares the passes among some events."""
        events = list(events)
        for event in events:
            half_done = self._half_done
            if half_done is not None and not (
                type(event) in _OF_A_CRASH and event.replica == half_done
            ):
                self._tell(half_done, "the end of a half-done pass", event, "a crash")
            self._half_done = None if type(event) is on.ReplicaCrashed else half_done
            if type(event) is on.LogStartMoved:
                self._judge_retention(event)
            if type(event) is on.Cleaned:
                self._judge(event, failed=any(type(each) is on.CleaningFailed for each in events))
        nodes = self._cluster.nodes
        # Old segments are deleted without an event.
        silent = self._cluster.context.retention is not None
        for name in nodes if silent else {event.replica for event in events}:
            if name in nodes:
                self._before[name] = Before.of(nodes[name].replica)

    def _tell(self, replica: str, what: str, found: object, expected: object) -> None:
        said = f"{replica}: {what}: {shortened(found)}; the rules say {shortened(expected)}."
        self._report(NAME, said, replica, None)

    def _judge_retention(self, event: on.LogStartMoved) -> None:
        node, before = self._cluster.nodes[event.replica], self._before[event.replica]
        topic, start = node.context.scenario.topic, event.log_start_offset
        gone = [each for each in before.segments if before.log_start <= each.base_offset < start]
        left = bytes_of([each for each in before.segments if each.base_offset >= start])
        oldest_ms = clock_of(node) - (topic.retention_ms or 0)
        young = [each.base_offset for each in gone if newest_ms(each) >= oldest_ms]
        if event.cause == "retention.ms" and young:
            self._tell(node.name, "segments that go for their age", young, "they stay")
        if event.cause == "retention.bytes" and left < (topic.retention_bytes or 0):
            self._tell(node.name, "bytes that retention leaves", left, topic.retention_bytes)
        self._before[node.name] = before._replace(log_start=start)

    def _judge(self, event: on.Cleaned, *, failed: bool) -> None:
        node, before = self._cluster.nodes[event.replica], self._before.get(event.replica)
        log = node.replica.log
        if before is None:
            return
        # Old segments are deleted, and the active one is closed, without an event.
        first, active = log.segments[0].base_offset, before.segments[-1].base_offset
        left = [each for each in before.segments if each.base_offset >= first]
        segments = [*left, *[each for each in log.segments if each.base_offset > active]]
        before = before._replace(segments=tuple(segments))
        if failed:
            self._judge_removals(event, segments, log.segments)
            return
        if overlap(segments):
            return
        chosen: Compared | None = None
        try:
            for order in orders(node, event, before):
                found = differences(event, segments, log.segments, Reading(segments, order))
                if chosen is None or len(found.differs) < len(chosen.differs):
                    chosen = found
                if not found.differs:
                    break
        except Unreadable:
            return
        if chosen is None:
            return
        for what, kept, expected in chosen.differs:
            self._tell(
                event.replica, f"{what} of the pass from {event.first_dirty_offset}", kept, expected
            )
        self._half_done = event.replica if chosen.half_done else None
        first_dirty, start = event.first_dirty_offset, log.log_start_offset
        if first_dirty < start and not node.context.settling:
            self._tell(event.replica, "begins a pass", first_dirty, f"at the log start, {start}")
        bound = dirty_bound(node, segments, event.first_dirty_offset)
        if not is_dirty_enough(node, segments, event.first_dirty_offset, bound):
            self._tell(event.replica, "cleans", f"below {bound}", "the log is not dirty enough")

    def _judge_removals(
        self, event: on.Cleaned, before: Sequence[Segment], after: Sequence[Segment]
    ) -> None:
        """Compares the removals of a pass that failed with the records that are gone."""
        left = offsets_of(after)
        gone = [offset for offset in offsets_of(before) if offset not in left]
        removed = sorted(each.offset for each in event.removals)
        if removed != gone:
            self._tell(event.replica, "removals of a pass that failed", removed, gone)


def offsets_of(segments: Iterable[Segment]) -> dict[int, None]:
    """The offsets of all records of some segments, in order."""
    batches = [batch for each in segments for batch in each.batches]
    return {one.offset: None for batch in batches for one in batch.records}


def overlap(segments: Sequence[Segment]) -> bool:
    """Decides whether an aborted transaction in the index begins before an earlier one's marker.

    Kafka writes such an entry when it has forgotten all producers and cuts its log
    (reports/kafka_cut_marker.md); the rules do not say what a pass makes of it. The earlier one may
    be committed, or its entry gone with its data.
    """
    entries = {(one.producer_id, one.last_offset): one for each in segments for one in each.aborted}
    markers = {
        (one.producer_id, one.base_offset)
        for each in segments
        for one in each.batches
        if one.control is not None and one.records
    }
    ends: dict[int, int] = {}
    for producer, end in sorted({*entries, *markers}, key=lambda one: one[1]):
        entry = entries.get((producer, end))
        if entry is not None and entry.first_offset <= ends.get(producer, -1):
            return True
        ends[producer] = end
    return False


def shortened(said: object) -> str:
    """A text of some words."""
    text = str(said)
    return text if len(text) <= 300 else f"{text[:300]} ..."


# What the pass is ordered to do.


def orders(node: Node, event: on.Cleaned, before: Before) -> Iterator[Order]:
    """The orders that a pass may have had; none where the rules are not read here.

    While the cluster comes to rest, logs are cleaned as far as it goes, dirty or not.
    """
    rules, first_dirty = node.rules, event.first_dirty_offset
    if not is_read(rules, before.segments, first_dirty, node.replica.log.log_start_offset):
        return
    dirty = dirty_bound(node, before.segments, first_dirty)
    yield _order(node, before, event, upper_bound=dirty, rescan=False)
    if node.context.settling:
        active = before.segments[-1].base_offset
        everything = max(dirty, min(first_dirty, active))
        yield _order(node, before, event, upper_bound=everything, rescan=True)


def is_read(rules: Rules, segments: Sequence[Segment], first_dirty: int, log_start: int) -> bool:
    """Decides whether all that a pass under these rules does is read here."""
    cleaner, storage = rules.cleaner, rules.storage
    usual = (
        cleaner.horizon_stamp != "each_pass"
        and cleaner.horizon_rebase == "deltas_rewritten"
        and cleaner.ties == "latest"
        and cleaner.header_form != "last_bytes"
        and storage.leo_source == "stored"
        and storage.cleaner_checkpoint != "before_work"
        and storage.segment_swap == "swap_files"
    )
    if not usual or any(type(batch) is not Batch for each in segments for batch in each.batches):
        return False
    start = 0 if cleaner.map_range == "full" else first_dirty
    ended = [entry.last_offset for each in segments for entry in each.aborted]
    if any(start <= end < log_start for end in ended):
        return False
    holding = [each for each in segments if each.base_offset <= first_dirty][-1:]
    by_index = cleaner.map_reads_from == "offset_index" and cleaner.map_range == "dirty"
    return not by_index or all(
        each.base_offset == first_dirty
        or (each.size_bytes <= rules.topic.index_interval_bytes and not each.index.below_start)
        for each in holding
    )


def stable_end(replica: Replica, bound: int) -> int:
    """The last stable offset below a bound (UnifiedLog.fetchLastStableOffsetMetadata)."""
    log = replica.log
    open_since = [each.open_since for each in log.producers.producers.values()]
    undecided = [first for first, marker in log.producers.ended if marker >= log.high_watermark]
    return min([bound, *undecided, *[first for first in open_since if first is not None]])


def dirty_bound(node: Node, segments: Sequence[Segment], first_dirty: int) -> int:
    """Where a pass ends: the base of a segment (exclusive)."""
    lag_ms = node.context.scenario.topic.min_compaction_lag_ms
    log, own_mark = node.replica.log, node.rules.cleaner.cleaner_bound == "hw"
    end = log.high_watermark if own_mark else log.log_end_offset
    limits = [segments[-1].base_offset, stable_end(node.replica, end)]
    for segment, later in pairwise(segments):
        young = lag_ms > 0 and newest_ms(segment) > clock_of(node) - lag_ms
        if young and later.base_offset > first_dirty:
            limits.append(segment.base_offset)
    bound = max(first_dirty, min(limits))
    below = [each.base_offset for each in segments if each.base_offset <= bound]
    return max(below, default=segments[0].base_offset)


def newest_ms(segment: Segment) -> int:
    """The largest timestamp of a segment in ms, or the time of its last change without one."""
    return segment.largest_ms if segment.largest_ms >= 0 else segment.last_modified_ms


def clock_of(node: Node) -> int:
    """The time in ms by the clock of a replica."""
    return node.context.now_ms + node.spec.clock_skew_ms


def _order(
    node: Node, before: Before, event: on.Cleaned, *, upper_bound: int, rescan: bool
) -> Order:
    replica, rules, topic = node.replica, node.rules, node.context.scenario.topic
    cleaner, log, producers = rules.cleaner, replica.log, replica.log.producers.producers
    retention_ms, dirty = rules.topic.delete_retention_ms, event.first_dirty_offset
    clean = [each for each in before.segments if each.base_offset < dirty]
    legacy_ms = clean[-1].last_modified_ms - retention_ms if clean else None
    by_lag = cleaner.tombstone_removal == "leo_gated"
    ends = [each.log.log_end_offset for each in node.context.replicas.values()]
    version, unmapped = order_of(rules)
    return Order(
        version=version,
        is_tombstone=promised_mark(rules),
        fix=cleaner.fix,
        removal=cleaner.tombstone_removal,
        full_map=cleaner.map_range == "full",
        first_dirty_offset=dirty,
        upper_bound=upper_bound,
        now_ms=clock_of(node),
        delete_retention_ms=retention_ms,
        high_watermark=log.high_watermark,
        log_start_offset=log.log_start_offset,
        last_records={
            pid: (known.batches[-1].last_offset if known.batches else None, known.epoch)
            for pid, known in producers.items()
        },
        map_capacity=None if rescan else capacity_of(rules, topic),
        rescan=rescan,
        segment_bytes=topic.segment_bytes,
        max_message_bytes=topic.max_message_bytes,
        removal_limit=min(ends) if by_lag else replica.removal_bound,
        marker_limit=replica.marker_removal_bound,
        legacy_horizon_ms=legacy_ms,
        last_cleaning=before.last_cleaning,
        stamp_beyond_map=cleaner.horizon_stamp == "on_sight",
        unstamped_by_segment=cleaner.unstamped_tombstones == "last_modified",
        markers_like_tombstones=cleaner.marker_removal == "as_tombstones",
        markers_by_key=cleaner.marker_lookup == "by_key",
        last_abort_only=cleaner.marker_lookup == "last_abort",
        unmapped_version=unmapped,
        indexes_calls=cleaner.index_entries == "per_append",
        stubs=before.stubs if cleaner.late_versions == "stub" else {},
    )


def capacity_of(rules: Rules, topic: Topic) -> int | None:
    """Most keys of an offset map (CleanerConfig); None = no limit."""
    if topic.dedupe_buffer_bytes is None:
        return None
    entry = _KEY_BYTES + (0 if rules.cleaner.strategy == "offset" else _VERSION_BYTES)
    return max(1, int(topic.dedupe_buffer_bytes // entry * topic.dedupe_load_factor))


def order_of(rules: Rules) -> tuple[Callable[[Record], tuple[int, ...]], tuple[int, ...] | None]:
    """The order of records, and the lowest version of a key that is not in the map, if any."""
    form, header = rules.cleaner.header_form, rules.topic.strategy_header
    if rules.cleaner.strategy != "header" or form == "last_long":
        return promised_order(rules), None
    checked = form == "first_varint"

    def version(record: Record) -> tuple[int, int]:
        for name, value in record.headers:
            if value and name.strip().casefold() == header.strip().casefold():
                number = varint_of(value)
                if number is None and not checked:
                    raise Unreadable
                if number is None or (checked and number <= 0):
                    number = -1
                return (number, record.offset)
        return (-1, record.offset)

    return version, None if checked else (-1, -1)


def varint_of(value: bytes) -> int | None:
    """The zig-zag variable-length number at the beginning of some bytes; None without one."""
    number = 0
    for index, byte in enumerate(value[:10]):
        number += byte % 128 << 7 * index
        if byte < 128:
            return number // 2 if number % 2 == 0 else -(number + 1) // 2
    return None


def is_dirty_enough(node: Node, segments: Sequence[Segment], first_dirty: int, bound: int) -> bool:
    """Decides whether a log is cleaned, by its dirty ratio, strictly, or its age (LogToClean)."""
    topic = node.context.scenario.topic
    longest_ms = topic.max_compaction_lag_ms
    if node.context.settling:
        return True
    holding = max([e.base_offset for e in segments if e.base_offset <= first_dirty], default=0)
    clean = bytes_of([each for each in segments if each.base_offset < first_dirty])
    dirty = bytes_of([each for each in segments if holding <= each.base_offset < bound])
    if longest_ms is not None and dirty:
        closed = [each.first_timestamp_ms for each in segments[:-1] if each.base_offset >= holding]
        if any(0 < written_ms < clock_of(node) - longest_ms for written_ms in closed):
            return True
    return dirty > topic.min_cleanable_dirty_ratio * (clean + dirty)
