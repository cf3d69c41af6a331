"""Every event as one sentence, for explanations and timelines.

One that needs no more than its fields is in the docstring of its class, after `Says:`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec.structs import asdict

from sim.files.attribute_docs import described
from sim.files.foreign import LONGEST, one_line
from sim.protocol import events as on
from sim.protocol.events import Event, Removal
from sim.protocol.log import Batch, Record

About = Callable[[int, str | None], bool]
"""Decides by offset and key whether a sentence names a record."""

_REFUSED = {
    "late_version": "its version is below that of a removed tombstone",
    "unreadable_version": "its version cannot be read, so it may be late",
    "null_value": "its null value is not flagged as a delete",
    "client_version": "it does not know the producer's version",
    "not_enough_replicas": "fewer than min.insync.replicas are in sync",
    "producer_fenced": "its producer is in a newer epoch, or its marker comes again",
    "not_in_transaction": "the coordinator has no such transaction under way",
}

_RESET = {
    "below_log_start": "that log starts there",
    "above_log_end": "that log ends there",
    "log_truncated": "that log diverges there from what it has read",
}

NAMED = 4
"""Most records of a batch that are named; a larger one is shown by their number and offsets."""


def describe(event: Event, *, about: About | None = None) -> str:
    """An event as one sentence in one line, for any keys and values.

    Args:
        event: What happened.
        about: Decides by offset and key which records are named; the others are counted.
    """
    kind = type(event)
    fields = {name: _shown(value, about) for name, value in asdict(event).items()}
    if template := _template(kind):
        sentence = template.format_map(fields)
    else:
        sentence = _of_a_log(event, about) or _of_others(event) or _plainly(kind, fields)
    return one_line(sentence, longest=LONGEST)


@cache
def _template(kind: type) -> str:
    """The sentence in the docstring of a class of events, with names of fields; may be empty."""
    return described(kind)[1].get("Says", "")


def _shown(value: Any, about: About | None) -> object:
    """The value of a field as a sentence has it."""
    if isinstance(value, Batch):
        return _batches([value], about)
    if not isinstance(value, tuple):
        return value
    of_batches = value and isinstance(value[0], Batch)
    return _batches(value, about) if of_batches else _joined(value)


def _joined(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _plainly(kind: type, fields: Mapping[str, object]) -> str:
    """An event without a sentence of its own: its kind and its fields."""
    return f"{kind.__name__}: {', '.join(f'{name} {value}' for name, value in fields.items())}"


def _of_a_log(event: Event, about: About | None) -> str:
    """The sentence of an event of a log where `Says:` is not enough; empty for other events."""
    name, said = event.replica, ""
    match event:
        case on.Appended(_, batch):
            said = f"{name} appends {_batches([batch], about)} in epoch {batch.epoch}"
        case on.Consumed(_, consumer, start, end, records):
            said = f"{consumer} reads {name} from {start} to {end}: {_records(records, about)}"
        case on.HighWatermarkMoved(_, offset, leading):
            said = f"{name} {'commits below' if leading else 'learns high watermark'} {offset}"
        case on.Cleaned():
            said = _cleaning(event, about)
        case on.SegmentsLost(_, offsets):
            said = f"{name} finds {len(offsets)} offsets from {offsets[0]} to {offsets[-1]} "
            said += "in no segment"
        case on.CleanerLooked():
            due = f"due below {event.upper_bound}" if event.eligible else "not due"
            said = f"{name} looks at its log from {event.first_dirty_offset}: {due}, "
            said += f"{event.delay_ms} ms overdue"
        case on.RemovalBoundMoved(_, offset, marker_offset):
            markers = "" if marker_offset == offset else f" below {offset}"
            said = f"{name} may remove tombstones{markers} and markers below {marker_offset}"
        case on.EpochCacheChanged(_, epochs):
            starts = _joined(f"{epoch} from {start}" for epoch, start in epochs)
            said = f"{name} now knows the epochs {starts}" if epochs else f"{name} knows no epoch"
        case on.Converted(_, reader, _, lost):
            gone = f"; gone are the values of the deletes at {_joined(lost)}" if lost else ""
            to = "its own log" if reader == name else reader
            said = f"{name} writes records in an older format for {to}{gone}"
        case on.SnapshotTaken(_, end, epoch, records):
            said = f"{name} takes snapshot ({end}, {epoch}) of {len(records)} keys"
        case on.SnapshotChunkFetched(_, leader, end, epoch, position, entries, size, in_bytes):
            last, unit = position + (size if in_bytes else entries), "bytes" if in_bytes else "keys"
            said = f"{name} fetches {unit} {position} to {last} of ({end}, {epoch}) from {leader}"
    return said


def _of_others(event: Event) -> str:
    """The sentence of an event of clients, settings or the cluster; empty for other events."""
    name, said = event.replica, ""
    match event:
        case on.Acknowledged(_, producer, sequence, first, last, _, acks):
            whom = f"producer {producer}" if producer >= 0 else "a producer"
            number = f" (from sequence {sequence} on)" if sequence >= 0 else ""
            when = "committed" if acks == "all" else "written"
            said = f"{name} answers {whom}: {first} to {last}{number} are {when}"
        case on.AppendRefused(_, key, reason):
            said = f"{name} refuses {key or 'a batch'}: {_REFUSED[reason]}"
        case on.Understood(_, consumer, values, deletes):
            said = f"{consumer} takes {len(values)} records for values, {len(deletes)} for deletes"
        case on.ConsumerReset(_, consumer, position, cause):
            said = f"{consumer} goes on at {position} of {name}: {_RESET[cause]}"
        case on.ConfigChanged(_, settings, initial):
            has = "starts with settings of its own" if initial else "has new settings"
            said = f"{name} {has}: {_joined(f'{key} {value}' for key, value in settings)}"
        case on.IsrChanged(_, isr, joined):
            said = f"in sync: {_joined(isr)}" + (f" ({joined} joined)" if joined else "")
        case on.Quiesced(_, synced):
            fetched = ", and every replica that is up has fetched to the end" if synced else ""
            said = f"the cluster is at rest{fetched}"
    return said


def _cleaning(event: on.Cleaned, about: About | None) -> str:
    named = [r for r in event.removals if about is None or about(r.offset, r.key)]
    gone = _and_others([_removal(removal) for removal in named], len(event.removals))
    kept = f", keeps {_joined(event.emptied)} empty" if event.emptied else ""
    span = f"[{event.first_dirty_offset}, {event.upper_bound})"
    return f"{event.replica} cleans {span}: removes {gone}{kept}; log end {event.log_end_offset}"


def _removal(removal: Removal) -> str:
    if removal.winner_offset is None:
        return f"{removal.offset} ({removal.reason})"
    return f"{removal.offset} ({removal.reason} by {removal.winner_offset})"


def _batches(batches: Sequence[Batch], about: About | None) -> str:
    records = [record for batch in batches if batch.control is None for record in batch.records]
    if about is not None and len(records) > NAMED:
        return _records(records, about)
    return _joined(map(_batch, batches))


def _batch(batch: Batch) -> str:
    if batch.control is not None:
        producer = f" of producer {batch.producer_id}" if batch.producer_id >= 0 else ""
        return f"{batch.control}{producer}@{batch.base_offset}"
    if not batch.records:
        return f"an empty batch@{batch.last_offset}"
    if len(batch.records) > NAMED:
        return f"{len(batch.records)} records@{batch.base_offset}..{batch.last_offset}"
    return _joined(map(_record, batch.records))


def _records(records: Sequence[Record], about: About | None) -> str:
    named = [r for r in records if about is None or about(r.offset, r.key)]
    return _and_others([_record(record) for record in named], len(records))


def _record(record: Record) -> str:
    value = "null" if record.value is None else record.value
    return f"{record.key}={value}@{record.offset}"


def _and_others(named: list[str], count: int) -> str:
    """The last of `named`, as many as fit on a line, and how many of the `count` are left out."""
    shown = named if len(named) <= 2 * NAMED else named[-2 * NAMED :]
    others = count - len(shown)
    if not shown:
        return "1 other" if others == 1 else f"{others} others" if others else "nothing"
    return ", ".join(shown) + (f" and {others} more" if others else "")
