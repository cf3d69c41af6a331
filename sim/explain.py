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
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotInstalled,
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
    lines = [
        f"{at:>6}  {describe(event)}"
        for at, event in events
        if at <= violation.at and _matters(event, violation)
    ]
    left_out = len(lines) - limit
    shown = lines[-limit:] if left_out > 0 else lines
    if left_out > 0:
        shown = [f"        ({left_out} earlier events left out)", *shown]
    return [*shown, f"{violation.at:>6}  {violation.invariant}: {violation.sentence}"]


def describe(event: Event) -> str:
    """One event as one sentence."""
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
        case PositionRecorded(_, follower, position):
            return f"{name} believes {follower} is at {position}"
        case LeaderElected(_, epoch, start, isr, _):
            return f"{name} leads epoch {epoch} from {start}, in sync: {', '.join(isr)}"
        case Truncated(_, target, end, _, _, _):
            return f"{name} truncates from {end} to {target}"
        case IsrChanged(_, isr, joined):
            return f"in sync: {', '.join(isr)}" + (f" ({joined} joined)" if joined else "")
        case Cleaned(_, dirty, bound, removals, emptied, _, _, _, end, _, _):
            gone = ", ".join(f"{r.offset} ({r.reason})" for r in removals) or "nothing"
            kept = f", keeps {_list(emptied)} empty" if emptied else ""
            return f"{name} cleans [{dirty}, {bound}): removes {gone}{kept}; log end {end}"
        case Consumed(_, consumer, start, end, records, _):
            given = ", ".join(map(_record, records)) or "nothing"
            return f"{consumer} reads {name} from {start} to {end}: {given}"
        case _:
            return _describe_rare(event)


def _describe_rare(event: Event) -> str:
    name = event.replica
    match event:
        case LeaderResigned(_, epoch):
            return f"{name} stops leading epoch {epoch}"
        case ReplicaCrashed(_, end, _):
            return f"{name} crashes, log end {end}"
        case ReplicaRestarted(_, end, _):
            return f"{name} is back, log end {end}"
        case ReplicaWiped(_, reason):
            return f"{name} loses its log: {reason}"
        case SnapshotTaken(_, end, epoch, records):
            return f"{name} takes snapshot ({end}, {epoch}) of {len(records)} keys"
        case SnapshotInstalled(_, end, epoch, _, _, _, _):
            return f"{name} installs snapshot ({end}, {epoch})"
        case PrefixDeleted(_, start, _):
            return f"{name} starts its log at {start}"
        case FaultInjected(_, fault, detail):
            return f"fault {fault} at {name}: {detail}"
        case Quiesced(_, synced):
            return "the cluster is at rest" + (" and in sync" if synced else "")
        case _:
            fields = ", ".join(f"{key} {value}" for key, value in event._asdict().items())
            return f"{type(event).__name__}: {fields}"


def _matters(event: Event, violation: Violation) -> bool:
    if isinstance(event, _TURNING_POINTS):
        return True
    offset, key = violation.offset, violation.key
    match event:
        case Appended(_, batch) | Pushed(_, _, batch):
            return _touches([batch], offset, key)
        case Copied(_, _, _, batches, _):
            return _touches(batches, offset, key)
        case Cleaned():
            return any(r.offset == offset or (key and r.key == key) for r in event.removals)
        case Consumed(_, _, _, _, records, _):
            return any(r.offset == offset or (key and r.key == key) for r in records)
        case PositionRecorded(_, follower, position):
            return offset is not None and follower == violation.replica and position > offset
        case _:
            return False


def _touches(batches: Sequence[Batch], offset: int | None, key: str | None) -> bool:
    return any(
        (offset is not None and batch.base_offset <= offset <= batch.last_offset)
        or (key is not None and any(record.key == key for record in batch.records))
        for batch in batches
    )


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
