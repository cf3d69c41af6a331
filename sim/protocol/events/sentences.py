"""Every event as one sentence, for explanations and timelines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import asdict

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
}

_RESET = {
    "below_log_start": "that log starts there",
    "above_log_end": "that log ends there",
    "log_truncated": "there that log parts from what it has read",
}

NAMED = 4
"""A batch of more records is shown by their number and offsets."""


def describe(event: Event, *, about: About | None = None) -> str:
    """An event as one sentence in one line, for any keys and values.

    Args:
        event: What happened.
        about: Decides by offset and key which records are named; the others are counted.
    """
    kind = type(event)
    fields = {name: _shown(value, about) for name, value in asdict(event).items()}
    if kind in _SAID:
        sentence = _SAID[kind].format_map(fields)
    else:
        sentence = _of_a_log(event, about) or _of_others(event) or _plainly(kind, fields)
    return one_line(sentence, longest=LONGEST)


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


_SAID: Final[dict[type, str]] = {
    on.Copied: "{replica} copies {batches} from {leader}, log end {log_end_offset}",
    on.Pushed: "{replica} appends a copy of {batch} of {leader} at its own end",
    on.Truncated: "{replica} truncates from {log_end_offset} to {target}",
    on.PositionRecorded: "{replica} records {follower} at {position}",
    on.FetchingFailed: "{replica} fetches no more from {leader}: a batch begins at "
    "{base_offset}, and its log ends at {log_end_offset}",
    on.GapLearned: "{replica} learns from {leader} that nothing is left from {fetch_offset} to "
    "{log_end_offset}",
    on.ReadingEnded: "{consumer} wanted to read {replica} up to {end} by {until}: it is at "
    "{position} and was given {given} records, the last at {last_offset}",
    on.FaultInjected: "fault {fault} at {replica}: {detail}",
    on.FaultEnded: "fault {fault} at {replica} is over",
    on.RoundsEnded: "{cleaners} cleaned {rounds} times, {interval_ms} ms apart",
    on.LeaderElected: "{replica} leads epoch {epoch} from {epoch_start_offset}, in sync: {isr}",
    on.UncleanElection: "{replica} is made leader of epoch {epoch} uncleanly: {because}",
    on.LeaderResigned: "{replica} stops leading epoch {epoch}",
    on.ReplicaAdded: "{replica} joins with an empty log",
    on.ReplicaRemoved: "{replica} leaves for good",
    on.ReplicaCrashed: "{replica} crashes, log end {log_end_offset}",
    on.ReplicaRestarted: "{replica} is back, log end {log_end_offset}",
    on.ReplicaWiped: "{replica} loses its log: {reason}",
    on.ProducersForgotten: "{replica} forgets the producers {producers}",
    on.CleaningFailed: "{replica}'s pass cannot go on at {offset}: no more cleaning "
    "before a restart",
    on.SnapshotOffered: "{replica} offers {follower}, which asks for {fetch_offset}, snapshot "
    "({end_offset}, {epoch})",
    on.LogEmptied: "{replica} empties its log, which ended at {log_end_offset}, for snapshot "
    "({end_offset}, {epoch})",
    on.SnapshotFetchDropped: "{replica} gives up fetching snapshot ({end_offset}, {epoch}): "
    "{reason}",
    on.SnapshotFetched: "{replica} has snapshot ({end_offset}, {epoch}) whole on disk beside its "
    "log",
    on.SnapshotInstalled: "{replica} installs snapshot ({end_offset}, {epoch})",
    on.SnapshotDeleted: "{replica} deletes snapshot ({end_offset}, {epoch})",
    on.StateLoaded: "{replica} has loaded its state below {end_offset} in {took_ms} ms from "
    "{snapshot_records} records of a snapshot and {log_records} of its log",
    on.PrefixDeleted: "{replica} starts its log at {log_start_offset}",
    on.LogStartMoved: "{replica} starts its log at {log_start_offset}: {cause}",
    on.LogStartedAfresh: "{replica}, whose log ended at {log_end_offset}, starts anew at "
    "{log_start_offset}",
}
"""Class of event -> its sentence, with the names of its fields in braces."""


def _of_a_log(event: Event, about: About | None) -> str:
    """The sentence of an event of a log that is more than its fields; empty for other events."""
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
    """`named`, but not more than fit on a line, and how many more there are of the `count`."""
    shown = named if len(named) <= 2 * NAMED else named[-2 * NAMED :]
    others = count - len(shown)
    if not shown:
        return f"{others} others" if others else "nothing"
    return ", ".join(shown) + (f" and {others} more" if others else "")
