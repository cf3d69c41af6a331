"""What decided where readers, producers and what they were told are not as they should be."""

from __future__ import annotations

from sim.diagnose.explain import lost
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import Case, Fact, Facts, as_context, first_also, first_is
from sim.diagnose.explain.past import Became
from sim.protocol.events import (
    Cleaned,
    ConfigChanged,
    Consumed,
    ConsumerReset,
    Converted,
    Copied,
    ReadingEnded,
)
from sim.protocol.events.sentences import describe
from sim.protocol.log.record import Record


def passed(case: Case, offset: int) -> Facts:
    """A consumer passed an offset, or two were given different records there."""
    replica = case.shown_by.replica
    if len(case.uids_at.get(offset, ())) > 1:
        facts = lost.two_records_at(case, offset)
    elif case.fate(replica, offset, None).became is Became.HELD:
        facts = [_kept_from(case, replica, offset)]
    else:
        facts = lost.lacks(case, replica, offset)
    return [*facts, *_reads(case, offset)]


def _kept_from(case: Case, replica: str, offset: int) -> Fact:
    uid, at = case.uid_at(replica, offset), case.slot(replica, offset)
    known = case.written(uid)
    kind = "marker" if known and known.batch.transactional else "position"
    text = f"{replica} holds {case.name(uid)} and did not give it"
    return Fact(kind, text, at, (of.KEPT_FROM_READER,))


def passed_a_delete(case: Case) -> Facts:
    """A consumer in time did not see a delete."""
    became, _, step = case.origin(case.replica, case.offset, None)
    if became is not Became.CLEANED or step is None:
        facts = lost.lacks(case, case.replica, case.offset)
    else:
        facts = lost.cleaned(case, step, case.offset)
        facts = (
            first_also(facts, of.OTHER_REPLICA) if _read_elsewhere(case, step.position) else facts
        )
    return [*facts, *_reads(case, case.offset)]


def _read_elsewhere(case: Case, removed_at: int) -> bool:
    """Whether the reader had the value from another replica, and came after the removal."""
    last = case.shown_by
    reads = case.all(Consumed, consumer=last.consumer)
    before = [case.event(one).replica for one in reads if one < removed_at]
    if before[-1:] == [last.replica]:
        return False
    others = [read for read in map(case.event, reads) if read.replica != last.replica]
    return any(record.key == case.violation.key for read in others for record in read.records)


def does_not_end(case: Case) -> Facts:
    """A reader waits for what does not come."""
    event = case.shown_by
    rest = range(event.start, event.end)
    holes = [offset for offset in rest if not case.uid_at(event.replica, offset)]
    facts = lost.lacks(case, event.replica, holes[-1]) if holes else []
    return first_is([*as_context(facts), *_reads(case, None)], of.NO_RECORD_LEFT)


def _reads(case: Case, offset: int | None) -> Facts:
    """The read or the reset by which a consumer passed an offset, and the last one."""
    reads = (Consumed, ConsumerReset, ReadingEnded)
    facts, consumer = [], getattr(case.shown_by, "consumer", "")
    for at in sorted({*case.all(*reads, consumer=consumer), case.judged}):
        match case.event(at):
            case Consumed(replica, _, start, end, records, now_ms):
                if offset is not None and not start <= offset < end:
                    continue
                given = case.names([record.uid for record in records]) or "nothing"
                text = f"{consumer} read {replica} from {start} to {end} {case.when(at)} (at "
                text += f"{now_ms:,} ms) and was given {given}"
            case ConsumerReset(replica, _, position, cause):
                text = f"{consumer} was moved to {position} of {replica} ({cause}) {case.when(at)}"
            case ReadingEnded(replica, _, until, _, end, position, last, count):
                text = f"{consumer} reads {replica} until {until} {end}: it is at position "
                text += f"{position}, was given {count} records, the last at {last}"
            case _:
                continue
        facts.append(Fact("read", text, at))
    return facts[-3:]


def altered(case: Case) -> Facts:
    """A copy or a read is not what was appended: what is different, and who wrote it anew."""
    event, offset = case.shown_by, case.violation.offset
    copied = isinstance(event, Copied)
    records = [r for batch in event.batches for r in batch.records] if copied else event.records
    facts = [
        _changed(case, record, known.record, field)
        for record in records
        if record.offset == offset and (known := case.written(record.uid)) is not None
        for field in Record._fields
        if getattr(record, field) != getattr(known.record, field)
    ]
    return [*_rewritten(case, offset), *facts]


def _changed(case: Case, record: Record, original: Record, field: str) -> Fact:
    kind = "timestamp" if field == "timestamp_ms" else "version"
    was, now = getattr(original, field), getattr(record, field)
    text = f"{field} of {case.name(record.uid)} was {was!r} as appended and is {now!r}"
    return Fact(kind, text, case.judged, (f"{field} changed",))


def _rewritten(case: Case, offset: int | None) -> Facts:
    """The pass, or the conversion, that wrote a batch anew."""
    found: Facts = []
    for position in case.all(Cleaned, Converted):
        event = case.event(position)
        if isinstance(event, Converted):
            found += [Fact("version", describe(event), position)] * (offset in event.values_lost)
        elif any(base <= (offset or 0) for base, _ in (*event.rewritten, *event.horizons)):
            stamps = ", ".join(f"{base}: {at:,} ms" for base, at in event.horizons) or "none"
            text = f"{event.replica} wrote batches anew {case.when(position)}, delete horizons "
            text += f"{stamps} " + case.by_rules("horizon_rebase", "tombstone_removal")
            found.append(Fact("horizon", text, position))
    return found[-1:]


def understood(case: Case) -> Facts:
    """A consumer took a record for what it is not."""
    event, offset = case.shown_by, case.violation.offset
    converted = case.all(Converted)[::-1]
    told = [one for one in converted if offset in case.event(one).values_lost]
    told += case.all(ConfigChanged, replica=event.consumer)
    facts = [Fact("version", describe(case.event(one)), one) for one in told]
    given = [record for record in (*event.values, *event.deletes) if record.offset == offset]
    for record in given:
        known = case.written(record.uid)
        if known is not None:
            what = "a delete" if record in event.deletes else "a value"
            text = f"{event.consumer} was given {_marks(record)}, and took it for {what}; appended "
            text += f"was {_marks(known.record)} {case.by_rules('tombstone_mark')}"
            return [*facts, Fact("version", text, case.judged)]
    return facts


def _marks(record: Record) -> str:
    """What may say of a record that it is a delete."""
    return f"value {record.value!r}, flag {record.flagged}"
