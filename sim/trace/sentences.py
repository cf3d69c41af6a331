"""Every event as one sentence, for explanations and timelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sim.foreign.lines import LONGEST, one_line
from sim.log import Batch, Record
from sim.trace import (
    Acknowledged,
    Appended,
    AppendRefused,
    Cleaned,
    CleanerLooked,
    CleaningFailed,
    ConfigChanged,
    Consumed,
    ConsumerReset,
    Converted,
    CoordinatorAnswered,
    CoordinatorLoaded,
    Copied,
    EpochCacheChanged,
    Event,
    FaultEnded,
    FaultInjected,
    FetchingFailed,
    GapLearned,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LeaderResigned,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PositionRecorded,
    PrefixDeleted,
    ProducersForgotten,
    Pushed,
    Quiesced,
    ReadingEnded,
    Removal,
    RemovalBoundMoved,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRemoved,
    ReplicaRestarted,
    ReplicaWiped,
    RoundsEnded,
    SegmentsLost,
    SnapshotChunkFetched,
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotFetched,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
    StateDiffers,
    StateLoaded,
    Truncated,
    UncleanElection,
    Understood,
)

About = Callable[[int, str | None], bool]
"""Whether the record of that key at that offset is to be named."""

_REFUSED = {
    "late_version": "its version is below that of a removed tombstone",
    "null_value": "its null value is not flagged as a delete",
    "client_version": "it does not know the producer's version",
    "not_enough_replicas": "fewer than min.insync.replicas are in sync",
    "producer_fenced": "its producer has a later instance, with a newer epoch",
}

_RESET = {
    "below_log_start": "that log starts there",
    "above_log_end": "that log ends there",
    "log_truncated": "there that log parts from what it has read",
}

NAMED = 4
"""A batch of more records is shown by their number and offsets."""


def describe(event: Event, *, about: About | None = None) -> str:
    """One event as one sentence in one line, whatever its keys and values are.

    Args:
        event: What happened.
        about: Tells by offset and key which records to name; the others are counted.
    """
    sentence = _on_the_log(event, about)
    parts = (
        _in_the_cluster,
        _of_leaders,
        _of_a_client,
        _of_a_replica,
        _of_a_snapshot,
        _of_start_and_state,
    )
    for part in parts:
        sentence = sentence or part(event)
    if sentence is None:
        fields = ", ".join(f"{key} {value}" for key, value in event._asdict().items())
        sentence = f"{type(event).__name__}: {fields}"
    return one_line(sentence, longest=LONGEST)


def _on_the_log(event: Event, about: About | None) -> str | None:
    name = event.replica
    match event:
        case Appended(_, batch):
            return f"{name} appends {_batches([batch], about)} in epoch {batch.epoch}"
        case Copied(_, leader, _, batches, end):
            return f"{name} copies {_batches(batches, about)} from {leader}, log end {end}"
        case Pushed(_, leader, batch):
            return f"{name} appends a copy of {_batches([batch], about)} of {leader} at its own end"
        case HighWatermarkMoved(_, offset, leading):
            return f"{name} {'commits below' if leading else 'learns high watermark'} {offset}"
        case Truncated(_, target, end, _, _, _):
            return f"{name} truncates from {end} to {target}"
        case Cleaned() | SegmentsLost():
            return _cleaning(event, about)
        case CleanerLooked():
            found = f"due below {event.upper_bound}" if event.eligible else "not due"
            return (
                f"{name} looks at its log from {event.first_dirty_offset}: {found}, "
                f"{event.delay_ms} ms overdue"
            )
        case Consumed(_, consumer, start, end, records, _):
            return f"{consumer} reads {name} from {start} to {end}: {_records(records, about)}"
        case RemovalBoundMoved(_, offset, marker_offset):
            markers = "" if marker_offset == offset else f" below {offset}"
            return f"{name} may remove tombstones{markers} and markers below {marker_offset}"
        case _:
            return None


def _of_a_client(event: Event) -> str | None:
    match event:
        case Acknowledged(_, producer, sequence, first, last, _, acks):
            whom = f"producer {producer}" if producer >= 0 else "a producer"
            number = f" (from sequence {sequence} on)" if sequence >= 0 else ""
            when = "committed" if acks == "all" else "written"
            return f"{event.replica} tells {whom} that {first} to {last}{number} are {when}"
        case Understood(_, consumer, values, deletes):
            return f"{consumer} takes {len(values)} records for values, {len(deletes)} for deletes"
        case ConsumerReset(replica, consumer, position, cause):
            return f"{consumer} goes on at {position} of {replica}: {_RESET[cause]}"
        case ReadingEnded(replica, consumer, until, _, end, position, last, given):
            return (
                f"{consumer} wanted to read {replica} up to {end} by {until}: it is at {position} "
                f"and was given {given} records, the last at {last}"
            )
        case _:
            return None


def _in_the_cluster(event: Event) -> str | None:
    name = event.replica
    match event:
        case PositionRecorded(_, follower, position):
            return f"{name} believes {follower} is at {position}"
        case FetchingFailed(_, leader, base, end):
            why = f"a batch begins at {base}, and its log ends at {end}"
            return f"{name} fetches no more from {leader}: {why}"
        case StateDiffers(_, what, about, offset, kept, by_log):
            whose = "" if about is None else f" of producer {about}"
            return f"{name} has {kept} for the {what}{whose} at {offset}; its log says {by_log}"
        case GapLearned(_, leader, start, end):
            return f"{name} learns from {leader} that nothing is left from {start} to {end}"
        case FaultInjected(_, fault, detail):
            return f"fault {fault} at {name}: {detail}"
        case ConfigChanged(_, settings, initial):
            has = "starts with settings of its own" if initial else "has new settings"
            return f"{name} {has}: {', '.join(f'{k} {v}' for k, v in settings)}"
        case RoundsEnded(_, rounds, interval_ms, cleaners):
            return f"{', '.join(cleaners)} cleaned {rounds} times, {interval_ms} ms apart"
        case Quiesced(_, synced):
            return "the cluster is at rest" + (" and in sync" if synced else "")
        case _:
            return None


def _of_leaders(event: Event) -> str | None:
    name = event.replica
    match event:
        case LeaderElected(_, epoch, start, isr, _):
            return f"{name} leads epoch {epoch} from {start}, in sync: {', '.join(isr)}"
        case UncleanElection(_, epoch, because):
            return f"{name} is made leader of epoch {epoch} whatever it has: {because}"
        case LeaderResigned(_, epoch):
            return f"{name} stops leading epoch {epoch}"
        case IsrChanged(_, isr, joined):
            return f"in sync: {', '.join(isr)}" + (f" ({joined} joined)" if joined else "")
        case _:
            return None


def _of_a_replica(event: Event) -> str | None:
    name = event.replica
    match event:
        case ReplicaAdded():
            return f"{name} joins with an empty log"
        case ReplicaRemoved():
            return f"{name} leaves for good"
        case ReplicaCrashed(_, end, _):
            return f"{name} crashes, log end {end}"
        case AppendRefused(_, key, reason):
            return f"{name} refuses {key or 'a batch'}: {_REFUSED[reason]}"
        case Converted(_, reader, _, lost):
            gone = f"; gone are the values of the deletes at {', '.join(map(str, lost))}"
            to = "its own log" if reader == name else reader
            return f"{name} writes records in an older format for {to}{gone if lost else ''}"
        case ProducersForgotten(_, producers):
            return f"{name} forgets the producers {', '.join(map(str, producers))}"
        case CleaningFailed(_, offset):
            return f"{name}'s pass cannot go on at {offset}: no more cleaning before a restart"
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
        case SnapshotChunkFetched(_, leader, end, epoch, position, entries, size, in_bytes):
            last, unit = position + (size if in_bytes else entries), "bytes" if in_bytes else "keys"
            return f"{name} fetches {unit} {position} to {last} of ({end}, {epoch}) from {leader}"
        case LogEmptied(_, end, epoch, before, _):
            return f"{name} empties its log, which ended at {before}, for snapshot ({end}, {epoch})"
        case SnapshotFetchDropped(_, end, epoch, reason):
            return f"{name} gives up fetching snapshot ({end}, {epoch}): {reason}"
        case SnapshotFetched(_, end, epoch, _):
            return f"{name} has snapshot ({end}, {epoch}) whole on disk beside its log"
        case SnapshotInstalled(_, end, epoch, _, _, _, _):
            return f"{name} installs snapshot ({end}, {epoch})"
        case SnapshotDeleted(_, end, epoch):
            return f"{name} deletes snapshot ({end}, {epoch})"
        case _:
            return None


def _of_start_and_state(event: Event) -> str | None:
    name = event.replica
    match event:
        case StateLoaded(_, end, records, more, took_ms):
            source = f"{records} records of a snapshot and {more} of its log"
            return f"{name} has loaded its state below {end} in {took_ms} ms from {source}"
        case CoordinatorLoaded(_, epoch, end, records, more, took_ms, pending):
            source = f"{records} records of a snapshot, {more} of its log, {took_ms} ms"
            then = f", and completes {', '.join(map(_record, pending))}" if pending else ""
            return f"{name}, coordinator of epoch {epoch}, has loaded below {end} ({source}){then}"
        case CoordinatorAnswered(_, epoch, client, key, records, below, error):
            known = ", ".join(map(_record, records)) or f"nothing of {key}"
            said = f"{known}, by its log below {below}" if error == "NONE" else error
            return f"{name}, coordinator of epoch {epoch}, tells {client} {said}"
        case FaultEnded(_, fault):
            return f"fault {fault} at {name} is over"
        case EpochCacheChanged(_, epochs):
            starts = ", ".join(f"{epoch} from {start}" for epoch, start in epochs)
            return f"{name} now knows the epochs {starts}" if epochs else f"{name} knows no epoch"
        case PrefixDeleted(_, start, _):
            return f"{name} starts its log at {start}"
        case LogStartMoved(_, start, _, cause):
            return f"{name} starts its log at {start}: {cause}"
        case LogStartedAfresh(_, start, end, _):
            return f"{name}, whose log ended at {end}, starts anew at {start}"
        case _:
            return None


def _cleaning(event: Cleaned | SegmentsLost, about: About | None) -> str:
    if isinstance(event, SegmentsLost):
        first, count = event.offsets[0], len(event.offsets)
        return f"{event.replica} finds {count} offsets from {first} on in no segment"
    named = [r for r in event.removals if about is None or about(r.offset, r.key)]
    gone = _and_others([_removal(removal) for removal in named], len(event.removals))
    kept = f", keeps {', '.join(map(str, event.emptied))} empty" if event.emptied else ""
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
    return ", ".join(map(_batch, batches))


def _batch(batch: Batch) -> str:
    if batch.control is not None:
        producer = f" of producer {batch.producer_id}" if batch.producer_id >= 0 else ""
        return f"{batch.control}{producer}@{batch.base_offset}"
    if not batch.records:
        return f"an empty batch@{batch.last_offset}"
    if len(batch.records) > NAMED:
        return f"{len(batch.records)} records@{batch.base_offset}..{batch.last_offset}"
    return ", ".join(map(_record, batch.records))


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
