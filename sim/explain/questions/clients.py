"""What decided where readers, producers and what they were told are not as they should be."""

from __future__ import annotations

from typing import Any

from sim import trace
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, FactKind, Facts, as_context
from sim.explain.deleted import with_mechanism
from sim.explain.lost import Why
from sim.explain.past import Became
from sim.explain.questions.logs import two_records
from sim.log.record import Record
from sim.trace.sentences import describe


def passed(case: Case, why: Why) -> Facts:
    """A consumer passed an offset, or two were given different records there."""
    past, offset, replica = case.past, case.violation.offset, case.shown_by.replica
    if offset is None:
        return []
    if len(past.uids_at.get(offset, ())) > 1:
        facts = two_records(case, why)
    elif past.fate(replica, offset, None).became is Became.HELD:
        facts = [_kept_from(case, replica, offset)]
    else:
        facts = why.lacks(replica, offset)
    return [*facts, *_reads(case, offset)]


def _kept_from(case: Case, replica: str, offset: int) -> Fact:
    known = case.written(case.past.uid_at(replica, offset))
    transactional = known is not None and known.batch.transactional
    text = f"{replica} holds {case.name(case.past.uid_at(replica, offset))} and did not give it"
    kind: FactKind = "marker" if transactional else "position"
    return Fact(kind, text, case.past.slot(replica, offset), (of.KEPT_FROM_READER,))


def passed_a_delete(case: Case, why: Why) -> Facts:
    """A consumer in time did not see a delete."""
    past, offset, replica = case.past, case.violation.offset or 0, case.violation.replica or ""
    fate = past.origin(replica, offset, None)
    cleaned = fate.became is Became.CLEANED and fate.step is not None
    facts = why.cleaned(fate.step, offset) if cleaned and fate.step else why.lacks(replica, offset)
    if cleaned and _read_elsewhere(case):
        facts = [with_mechanism(facts, of.OTHER_REPLICA), *facts[1:]]
    return [*facts, *_reads(case, offset)]


def _read_elsewhere(case: Case) -> bool:
    """Whether the reader had the value of the key from another replica."""
    last = case.shown_by
    reads = [case.past.event(one) for one in case.past.all(trace.Consumed, consumer=last.consumer)]
    return any(
        read.replica != last.replica
        for read in reads
        for record in read.records
        if record.key == case.violation.key
    )


def does_not_end(case: Case, why: Why) -> Facts:
    """A reader waits for what does not come."""
    event = case.shown_by
    holes = [
        offset
        for offset in range(event.start, event.end)
        if not case.past.uid_at(event.replica, offset)
    ]
    facts = why.lacks(event.replica, holes[-1]) if holes else []
    facts = [*as_context(facts), *_reads(case, None)]
    return [facts[0]._replace(mechanisms=(of.NO_RECORD_LEFT,)), *facts[1:]]


def moved_reader(case: Case, _: Why) -> Facts:
    """A consumer went on elsewhere than where it ended."""
    return _reads(case, None)


def _reads(case: Case, offset: int | None) -> Facts:
    """The read or the reset by which a consumer passed an offset, and the last one."""
    consumer = getattr(case.shown_by, "consumer", "")
    positions = case.past.all(
        trace.Consumed, trace.ConsumerReset, trace.ReadingEnded, consumer=consumer
    )
    if not positions or positions[-1] != case.judged:
        positions.append(case.judged)
    told = [(position, _read(case, position, offset)) for position in positions]
    return [Fact("read", text, position) for position, text in told if text][-3:]


def _read(case: Case, position: int, offset: int | None) -> str:
    event, when = case.past.event(position), case.when(position)
    match event:
        case trace.Consumed(replica, consumer, start, end, records, now_ms):
            if offset is not None and not start <= offset < end:
                return ""
            given = case.names([record.uid for record in records]) or "nothing"
            read = f"{consumer} read {replica} from {start} to {end} {when} (at {now_ms:,} ms)"
            return f"{read} and was given {given}"
        case trace.ConsumerReset(replica, consumer, to, cause):
            return f"{consumer} was moved to {to} of {replica} ({cause}) {when}"
        case trace.ReadingEnded(replica, consumer, until, _, end, at, last, given):
            return (
                f"{consumer} reads {replica} until {until} {end}: it is at position {at}, was "
                f"given {given} records, the last at {last}"
            )
        case _:
            return ""


def altered(case: Case, _: Why) -> Facts:
    """A copy or a read is not what was appended: what is different, and who wrote it anew."""
    event, offset = case.shown_by, case.violation.offset
    facts = [
        _changed(case, record, known.record, field)
        for record in _records(event)
        if record.offset == offset and (known := case.written(record.uid)) is not None
        for field in Record._fields
        if getattr(record, field) != getattr(known.record, field)
    ]
    return [*_rewritten(case, offset), *facts]


def _records(event: Any) -> list[Record]:
    if isinstance(event, trace.Copied):
        return [record for batch in event.batches for record in batch.records]
    return list(event.records)


def _changed(case: Case, record: Record, original: Record, field: str) -> Fact:
    kind: FactKind = "timestamp" if field == "timestamp_ms" else "version"
    was, now = getattr(original, field), getattr(record, field)
    text = f"{field} of {case.name(record.uid)} was {was!r} as appended and is {now!r}"
    return Fact(kind, text, case.judged, (f"{field} changed",))


def _rewritten(case: Case, offset: int | None) -> Facts:
    """The pass, or the conversion, that wrote a batch anew."""
    found: Facts = []
    for position in case.past.all(trace.Cleaned, trace.Converted):
        event = case.past.event(position)
        if isinstance(event, trace.Cleaned) and any(
            base <= (offset or 0) for base, _ in (*event.rewritten, *event.horizons)
        ):
            horizons = ", ".join(f"{base}: {at:,} ms" for base, at in event.horizons)
            text = (
                f"{event.replica} wrote batches anew {case.when(position)}, delete horizons "
                f"{horizons or 'none'} (horizon_rebase: {case.rules.cleaner.horizon_rebase}, "
                f"tombstone_removal: {case.rules.cleaner.tombstone_removal})"
            )
            found.append(Fact("horizon", text, position))
        elif isinstance(event, trace.Converted) and offset in event.values_lost:
            found.append(Fact("version", describe(event), position))
    return found[-1:]


def understood(case: Case, _: Why) -> Facts:
    """A consumer took a record for what it is not."""
    past, event, offset = case.past, case.shown_by, case.violation.offset
    told = [
        *[one for one in past.all(trace.Converted) if offset in past.event(one).values_lost][::-1],
        *past.all(trace.ConfigChanged, replica=event.consumer),
    ]
    facts = [Fact("version", describe(past.event(position)), position) for position in told]
    for record in (*event.values, *event.deletes):
        known = case.written(record.uid)
        if record.offset == offset and known is not None:
            took = "a delete" if record in event.deletes else "a value"
            original = known.record
            text = (
                f"{event.consumer} was given value {record.value!r}, flag {record.flagged}, and "
                f"took it for {took}; appended was value {original.value!r}, flag "
                f"{original.flagged} (tombstone_mark: {case.rules.cleaner.tombstone_mark})"
            )
            return [*facts, Fact("version", text, case.judged)]
    return facts


def sequences(case: Case, why: Why) -> Facts:
    """A sequence number is committed twice, or not although it was acknowledged."""
    past, offset = case.past, case.violation.offset
    uid = 0 if offset is None else past.committed_at(offset)
    known = case.written(uid)
    if known is None:
        return []
    told = [
        Fact("sequence", text, position)
        for position in past.all(trace.Appended, trace.ProducersForgotten)
        if (text := _sequence(case, position, known.batch.producer_id))
    ]
    written = past.appended_at[uid]
    leader = past.event(written).replica
    knew: Facts = []
    for earlier in case.history.written.values():
        batch = earlier.batch
        if (
            batch.producer_id == known.batch.producer_id
            and batch is not known.batch
            and batch.base_sequence >= max(0, known.batch.base_sequence)
            and not past.uid_at(leader, earlier.offset, written)
        ):
            knew += why.lacks(leader, earlier.offset, before=written)
    return [*as_context(list(dict.fromkeys(knew))), *told[-4:]]


def _sequence(case: Case, position: int, producer_id: int) -> str:
    """What an event says of a producer's sequence numbers; empty = nothing."""
    event, when = case.past.event(position), case.when(position)
    if isinstance(event, trace.ProducersForgotten):
        return f"{describe(event)} {when}" if producer_id in event.producers else ""
    one = event.batch
    if one.producer_id != producer_id:
        return ""
    last = one.base_sequence + one.last_offset - one.base_offset
    return (
        f"{event.replica} appended sequence numbers {one.base_sequence} to {last} of "
        f"producer {one.producer_id} (its epoch {one.producer_epoch}) at "
        f"{one.base_offset} to {one.last_offset} {when}"
    )
