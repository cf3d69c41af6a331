"""Explains a violation: the events that led to it, one line each, in the order they happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sim.check import Violation
from sim.log import Batch, Record
from sim.trace import (
    Appended,
    Cleaned,
    Consumed,
    Copied,
    Event,
    FaultInjected,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LeaderResigned,
    PositionRecorded,
    PrefixDeleted,
    Pushed,
    Quiesced,
    Removal,
    RemovalBoundMoved,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
    Truncated,
)

_TURNING_POINTS = (
    LeaderElected,
    LeaderResigned,
    Truncated,
    IsrChanged,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotInstalled,
    PrefixDeleted,
    FaultInjected,
    Quiesced,
)
"""Events that matter to any violation."""


def explain(
    events: Iterable[tuple[int, Event]], violation: Violation, *, limit: int = 40
) -> list[str]:
    """What happened to the offset and the key of `violation` up to its detection.

    Args:
        events: (when, event) as a run or a story recorded them.
        violation: What to explain.
        limit: Most lines; the oldest are left out first.
    """
    before = [(at, event) for at, event in events if at <= violation.at]
    subject = _Subject([event for _, event in before], violation)
    lines = [f"{at:>6}  {describe(event)}" for at, event in before if subject.concerns(event)]
    left_out = len(lines) - limit
    shown = lines[-limit:] if left_out > 0 else lines
    if left_out > 0:
        shown = [f"        ({left_out} earlier events left out)", *shown]
    return [*shown, f"{violation.at:>6}  {violation.invariant}: {violation.sentence}"]


class _Subject:
    """What a violation is about: offsets and keys, and so which events belong to its story.

    An offset stands for the key of what was written there; that of a transaction's marker for all
    its producer wrote in transactions.
    """

    def __init__(self, events: Sequence[Event], violation: Violation) -> None:
        self._replica = violation.replica
        self._offset = violation.offset
        batches = [event.batch for event in events if isinstance(event, Appended | Pushed)]
        at_offset = [batch for batch in batches if _covers(batch, violation.offset)]
        producers = {b.producer_id for b in at_offset if b.control is not None} - {-1}
        keys = [r.key for b in at_offset for r in b.records if r.offset == violation.offset]
        self._keys = {key for key in (violation.key, *keys) if key is not None}
        self._offsets = set() if violation.offset is None else {violation.offset}
        for batch in batches:
            if batch.transactional and batch.producer_id in producers:
                self._offsets |= set(range(batch.base_offset, batch.last_offset + 1))
        self._positions: dict[str, int] = {}
        self._committed = False

    def concerns(self, event: Event) -> bool:
        """Whether this event, the next one in order, is part of the story."""
        if isinstance(event, _TURNING_POINTS):
            return True
        match event:
            case Appended(_, batch) | Pushed(_, _, batch):
                return self._touches([batch])
            case Copied(_, _, _, batches, _):
                return self._touches(batches)
            case Cleaned():
                return any(self._names(r.offset, r.key) for r in event.removals)
            case Consumed():
                return any(self._names(r.offset, r.key) for r in event.records)
            case HighWatermarkMoved():
                return self._commits(event)
            case PositionRecorded(_, follower, position):
                if self._offset is None or follower != self._replica or position <= self._offset:
                    return False
                known, self._positions[follower] = self._positions.get(follower), position
                return position != known
            case _:
                return False

    def _commits(self, event: HighWatermarkMoved) -> bool:
        """The first time that a leader commits the offset."""
        if self._committed or self._offset is None or not event.leading:
            return False
        self._committed = event.high_watermark > self._offset
        return self._committed

    def _names(self, offset: int, key: str | None) -> bool:
        return offset in self._offsets or (key is not None and key in self._keys)

    def _touches(self, batches: Sequence[Batch]) -> bool:
        return any(
            any(batch.base_offset <= offset <= batch.last_offset for offset in self._offsets)
            or any(record.key in self._keys for record in batch.records if record.key is not None)
            for batch in batches
        )


def _covers(batch: Batch, offset: int | None) -> bool:
    return offset is not None and batch.base_offset <= offset <= batch.last_offset


def describe(event: Event) -> str:
    """One event as one sentence."""
    for part in (_on_the_log, _in_the_cluster, _of_a_replica, _of_a_snapshot):
        sentence = part(event)
        if sentence is not None:
            return sentence
    fields = ", ".join(f"{key} {value}" for key, value in event._asdict().items())
    return f"{type(event).__name__}: {fields}"


def _on_the_log(event: Event) -> str | None:
    name = event.replica
    match event:
        case Appended(_, batch):
            return f"{name} appends {_batch(batch)} in epoch {batch.epoch}"
        case Copied(_, leader, _, batches, end):
            copied = ", ".join(map(_batch, batches))
            return f"{name} copies {copied} from {leader}, log end {end}"
        case Pushed(_, leader, batch):
            return f"{name} appends a copy of {_batch(batch)} of {leader} at its own end"
        case HighWatermarkMoved(_, offset, leading):
            return f"{name} {'commits below' if leading else 'learns high watermark'} {offset}"
        case Truncated(_, target, end, _, _, _):
            return f"{name} truncates from {end} to {target}"
        case Cleaned():
            return _cleaning(event)
        case Consumed(_, consumer, start, end, records, _):
            given = ", ".join(map(_record, records)) or "nothing"
            return f"{consumer} reads {name} from {start} to {end}: {given}"
        case RemovalBoundMoved(_, offset):
            return f"{name} may remove tombstones and markers below {offset}"
        case _:
            return None


def _in_the_cluster(event: Event) -> str | None:
    name = event.replica
    match event:
        case PositionRecorded(_, follower, position):
            return f"{name} believes {follower} is at {position}"
        case LeaderElected(_, epoch, start, isr, _):
            return f"{name} leads epoch {epoch} from {start}, in sync: {', '.join(isr)}"
        case LeaderResigned(_, epoch):
            return f"{name} stops leading epoch {epoch}"
        case IsrChanged(_, isr, joined):
            return f"in sync: {', '.join(isr)}" + (f" ({joined} joined)" if joined else "")
        case FaultInjected(_, fault, detail):
            return f"fault {fault} at {name}: {detail}"
        case Quiesced(_, synced):
            return "the cluster is at rest" + (" and in sync" if synced else "")
        case _:
            return None


def _of_a_replica(event: Event) -> str | None:
    name = event.replica
    match event:
        case ReplicaAdded():
            return f"{name} joins with an empty log"
        case ReplicaCrashed(_, end, _):
            return f"{name} crashes, log end {end}"
        case ReplicaRestarted(_, end, _):
            return f"{name} is back, log end {end}"
        case ReplicaWiped(_, reason):
            return f"{name} loses its log: {reason}"
        case _:
            return None


def _of_a_snapshot(event: Event) -> str | None:
    name = event.replica
    match event:
        case SnapshotTaken(_, end, epoch, records):
            return f"{name} takes snapshot ({end}, {epoch}) of {len(records)} keys"
        case SnapshotOffered(_, follower, offset, end, epoch):
            return f"{name} offers {follower}, which asks for {offset}, snapshot ({end}, {epoch})"
        case SnapshotChunkFetched(_, leader, end, epoch, position, entries, _):
            last = position + entries
            return f"{name} fetches keys {position} to {last} of ({end}, {epoch}) from {leader}"
        case SnapshotFetchDropped(_, end, epoch, reason):
            return f"{name} gives up fetching snapshot ({end}, {epoch}): {reason}"
        case SnapshotInstalled(_, end, epoch, _, _, _, _):
            return f"{name} installs snapshot ({end}, {epoch})"
        case SnapshotDeleted(_, end, epoch):
            return f"{name} deletes snapshot ({end}, {epoch})"
        case PrefixDeleted(_, start, _):
            return f"{name} starts its log at {start}"
        case _:
            return None


def _cleaning(event: Cleaned) -> str:
    gone = ", ".join(map(_removal, event.removals)) or "nothing"
    kept = f", keeps {_list(event.emptied)} empty" if event.emptied else ""
    span = f"[{event.first_dirty_offset}, {event.upper_bound})"
    return f"{event.replica} cleans {span}: removes {gone}{kept}; log end {event.log_end_offset}"


def _removal(removal: Removal) -> str:
    if removal.winner_offset is None:
        return f"{removal.offset} ({removal.reason})"
    return f"{removal.offset} ({removal.reason} by {removal.winner_offset})"


def _batch(batch: Batch) -> str:
    if batch.control is not None:
        producer = f" of producer {batch.producer_id}" if batch.producer_id >= 0 else ""
        return f"{batch.control}{producer}@{batch.base_offset}"
    if not batch.records:
        return f"an empty batch@{batch.last_offset}"
    if len(batch.records) > 4:
        return f"{len(batch.records)} records@{batch.base_offset}..{batch.last_offset}"
    return ", ".join(map(_record, batch.records))


def _record(record: Record) -> str:
    value = "null" if record.value is None else record.value
    return f"{record.key}={value}@{record.offset}"


def _list(offsets: Iterable[int]) -> str:
    return ", ".join(map(str, offsets))
