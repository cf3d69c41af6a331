"""What decided a violation: the fate of its offset, or what a question of its own finds.

An invariant names its question as `explained_by`; one that names none is explained by the fate of
the offset, and so is one whose question finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sim.check.registry import INVARIANTS, discover
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import (
    WORDS,
    Case,
    Fact,
    Facts,
    as_context,
    first_also,
    first_is,
    listed,
    mechanisms_of,
)
from sim.diagnose.explain.fate import (
    cleaned,
    elected,
    end_fell,
    ends_in_a_hole,
    fate,
    lacks,
    led_twice,
    two_records_at,
)
from sim.diagnose.explain.past import Became
from sim.diagnose.explain.removed import holders, removal_at, span, why_needed
from sim.diagnose.explain.state import (
    last_removal,
    some_aborted,
    state,
    undecided,
    undeleted,
    why_kept,
)
from sim.protocol import events as on
from sim.protocol.events.sentences import describe
from sim.protocol.log.record import Record


def deciding(case: Case) -> Facts:
    """What decided a violation, the first of all first; never empty."""
    discover()
    invariant = INVARIANTS.get(case.violation.invariant)
    asked = QUESTIONS.get(invariant.explained_by if invariant else "", fate)
    return list(dict.fromkeys(asked(case) or fate(case)))


def _event(case: Case) -> Facts:
    """The event that showed it decided by itself."""
    shows = type(case.shown_by) in WORDS
    return [case.fact(case.judged)] if shows else []


# Elections, epochs, log ends.


def _compaction_bound(case: Case) -> Facts:
    """A pass went above the high watermark."""
    facts = as_context(lacks(case, case.replica, case.offset))
    return [*facts, case.fact(case.judged, of.BY_UNCOMMITTED)]


def _epoch_answers(case: Case) -> Facts:
    """Two replicas answer differently about an epoch: how each came to know what it knows."""
    offset, starts, facts = case.violation.offset, dict[int, int](), Facts()
    for name in case.replicas:
        at = case.last(on.EpochCacheChanged, replica=name)
        if at is not None:
            text = f"{name} knew the epochs {case.epochs_of(name, at + 1)} since {case.time(at)}"
            facts.append(Fact("epoch", text, at))
    for batch in (case.event(position).batch for position in case.all(on.Appended)):
        starts.setdefault(batch.epoch, batch.base_offset)
    last = case.steps_before(case.shown_by.replica or "", case.end)[:1]
    back = any(isinstance(step.event, on.ReplicaRestarted) for step in last)
    gone: Facts = []
    for below in () if offset is None else range(max(0, offset - 1), offset + 1):
        for name in case.replicas:
            if case.slot(name, below) is not None and not case.uid_at(name, below):
                gone += lacks(case, name, below)
    began = listed([f"{epoch} from {start}" for epoch, start in starts.items()]) or "none"
    why = of.EPOCHS_ON_FILE if back else of.EPOCHS_CLEANED
    return [
        *as_context(gone),
        *facts,
        Fact("epoch", f"the epochs began, as appended, {began}", None, (why,)),
    ]


def _stays_behind(case: Case) -> Facts:
    """A follower's log end does not reach the leader's: what is left to fetch there."""
    leader, led = case.leader_at(), case.last(on.LeaderElected) or 0
    if leader is None:
        return []
    name, end, high = leader[0], case.log_end(case.replica), case.log_end(leader[0])
    hole = end <= high and ends_in_a_hole(case, name, end)
    if hole:
        facts = end_fell(case, name, end)
    elif end > high:
        facts = [*lacks(case, name, high, before=led), *elected(case, led, high)]
    else:
        facts = [] if case.uid_at(name, end) else as_context(lacks(case, name, end))
        tried = case.last(on.SnapshotOffered, follower=case.replica)
        if tried is not None:
            facts.append(case.fact(tried, *[of.OFFERED_AGAIN] * (tried >= led)))
    failed = case.last(on.FetchingFailed, replica=case.replica)
    if failed is not None and failed > led:
        facts.append(case.fact(failed, of.FETCHING_FAILED))
    mechanisms = () if hole or mechanisms_of(facts) else (of.NEVER_COPIED,)
    text = f"{case.replica} stays at log end offset {end}, the leader {name} is at {high}"
    if hole:
        text += f", and nothing is left to copy from {end} to {high - 1}"
    elif end <= high:
        knows = f"{case.replica} knows the epochs {case.epochs_of(case.replica)}"
        text += f": it fetched no more; {knows}, {name} {case.epochs_of(name)}"
    return [*facts, Fact("position", text, None, mechanisms)]


def _watermark_stays(case: Case) -> Facts:
    """A high watermark stands still: whose position holds it back."""
    name, isr = case.replica, case.last(on.IsrChanged, on.LeaderElected)
    others = (each for each in case.replicas if each != name)
    positions = [
        f"{each} at {'no position' if at is None else at} (log end offset {case.log_end(each)})"
        for each in others
        for at in [case.position_of(name, each)]
    ]
    text = f"{name}, log end offset {case.log_end(name)}, has high watermark "
    text += f"{case.high_watermark(name)} and believes {listed(positions) or 'none'}"
    text += "" if isr is None else f", in sync: {', '.join(case.event(isr).isr)}"
    return [Fact("position", text, case.last(on.HighWatermarkMoved, replica=name))]


def _sequences(case: Case) -> Facts:
    """A sequence number is committed twice, or out of order: what its producer's leaders took."""
    known, facts = case.known(case.committed_at(case.offset)), Facts()
    if known is None:
        return []
    producer = known.batch.producer_id
    for position in case.all(on.Appended, on.ProducersForgotten):
        event = case.event(position)
        if isinstance(event, on.ProducersForgotten):
            facts += [case.fact(position)] * (producer in event.producers)
        elif event.batch.producer_id == producer:
            batch = event.batch
            low, high, first = batch.base_offset, batch.last_offset, batch.base_sequence
            text = f"{event.replica} appended sequence numbers {first} to {first + high - low} of "
            text += f"producer {producer} (its epoch {batch.producer_epoch}) at {low} to {high} "
            facts.append(Fact("sequence", text + case.when(position), position))
    return facts[-4:]


# Tombstones and markers.


def _removed_delete(case: Case) -> Facts:
    """A tombstone or a marker went while a replica needed it."""
    step = case.fate(case.replica, case.offset, None).step
    removal = None if step is None else removal_at(step.event, case.offset)
    if removal is None or step is None:
        return []
    facts, at = cleaned(case, step, case.offset), step.position
    for holder in list(holders(case, at, removal))[:1]:
        facts = first_also(facts, why_needed(case, holder, case.offset, removal.uid, at))
        if case.fate(holder, case.offset, removal.uid, at).became is Became.CUT:
            facts += lacks(case, holder, case.offset, removal.uid, at)
    return facts


def _still_there(case: Case) -> Facts:
    """A tombstone stays: what the passes over it went by."""
    replica, offset, rule = case.replica, case.offset, case.rules.cleaner.tombstone_removal
    uid, facts = case.uid_at(replica, offset), Facts()
    known = case.known(uid)
    if rule == "coordinated":
        bound = case.last(on.RemovalBoundMoved, replica=replica)
        ends = listed([f"{name} at {case.log_end(name)}" for name in case.replicas])
        below = 0 if bound is None else case.event(bound).offset
        text = f"coordinated removal allows only what is below {below}: {ends}"
        facts.append(Fact("position", text, bound))
    failed = next(iter(case.all(on.CleaningFailed, replica=replica)), None)
    if failed is not None:
        at = case.event(failed).offset
        text = f"a pass of {replica} could not go on at {at} {case.when(failed)}, "
        text += case.name(case.uid_at(replica, at, failed))
        facts.append(Fact("version", text, failed, (of.STOPPED_AT_RECORD,)))
    passes = case.all(on.Cleaned, replica=replica)
    if not passes:
        why = () if failed is not None else (of.NEVER_CLEANED,)
        text = f"{replica} holds {case.name(uid)} and never cleaned it: it has run no pass"
        return [*facts, Fact("position", text, None, why)]
    given = case.horizons(replica, known.batch.base_offset if known else offset)
    before = [horizon.at_ms for horizon in given if horizon.position < passes[-1]]
    event = case.event(passes[-1])
    text = f"{replica} kept the tombstone {case.name(uid)} in its pass up to {event.upper_bound} "
    text += f"{case.when(passes[-1])}, {case.clock(replica, event.now_ms)}"
    if event.upper_bound <= offset:
        text += f", which did not reach {offset}"
    elif before:
        text += f", its delete horizon being {before[-1]:,} ms (given {len(given)} times)"
    else:
        text += f" (tombstone_removal: {rule}; it has no delete horizon)"
    why = ()
    if failed is None:
        came = any(case.event(at).now_ms >= given[0].at_ms for at in passes) if given else False
        why = () if came else (of.NEVER_CLEANED,)
        if len(given) > 1:
            why = (of.STAMPED_AGAIN,)
        elif rule == "last_modified":
            why = (of.BY_SEGMENT_AGE,)
        elif rule in ("coordinated", "leo_gated"):
            down = any(not view.up for view in case.history.replicas.values())
            why = (of.WAITS_FOR_ABSENT,) if down else ()
    return [*facts, Fact("horizon", text, passes[-1], why)]


def _horizon_changed(case: Case) -> Facts:
    """Two passes, or a pass and a copy, gave a batch different horizons."""
    facts = []
    for at_ms, at in case.horizons(case.replica, case.offset):
        event = case.event(at)
        if isinstance(event, on.Cleaned):
            text = f"{event.replica} gave the batch at {case.offset} the delete horizon {at_ms:,} "
            text += f"ms {case.when(at)}, {case.clock(event.replica, event.now_ms)} "
            facts.append(Fact("horizon", text + case.by_rules("horizon_stamp"), at))
    return facts


def _transaction(case: Case) -> Facts:
    """Data of a transaction counts otherwise in a log than in committed history."""
    uid = case.uid_at(case.replica, case.offset) or case.committed_at(case.offset)
    return undecided(case, case.replica, uid)


# Keys.


def _kept_both(case: Case) -> Facts:
    """A clean section holds two records of a key: which pass kept the one that loses."""
    replica, at = case.replica, case.last(on.Cleaned, replica=case.replica) or 0
    held = case.holding(replica, case.uids_of(case.key))
    best = max(held, key=lambda uid: case.written[uid].version)
    losers = case.names([uid for uid in held if uid != best]) or "nothing"
    text = f"{replica} holds {losers} beside {case.name(best)}, which beats it"
    passes = [case.event(one) for one in case.all(on.Cleaned, replica=replica)]
    kept, last = [case.written[uid].offset for uid in held], passes[-1]
    mechanism = of.NOT_MAPPED
    if any(event.protected_offset in kept for event in passes):
        mechanism = of.KEPT_AS_END
    elif some_aborted(case, case.uids_of(case.key)):
        mechanism = of.AS_ABORTED
    elif last.first_dirty_offset <= min(kept):
        mechanism = of.UNFINISHED
    beaten = [each for each in kept if each != case.written[best].offset]
    ends = [offset for offset in beaten if offset == last.protected_offset]
    because = why_kept(case, at, (ends or beaten)[0], case.written[best].offset)
    text += f"; its pass over {span(last)} {case.when(at)} kept both{because}"
    return [Fact(case.order_kind(), text, at, (mechanism,))]


def _ends_on(case: Case) -> Facts:
    """A key ends on a record that its producers did not mean to win: what the cleaner compared."""
    uids = case.uids_of(case.key)
    kept = case.known(case.uid_of(case.key, case.violation.offset))
    late = kept is not None and any(
        known.offset < kept.offset and known.record.timestamp_ms > kept.record.timestamp_ms
        for known in map(case.written.__getitem__, uids)
    )
    how = of.ARRIVED_LAST if late else of.BY_LOWER
    records = Fact("version", f"its records: {case.names(uids) or 'nothing'}", None, (how,))
    return [*as_context(last_removal(case)), records]


def _snapshot_content(case: Case) -> Facts:
    """A snapshot says something else of a key than committed history."""
    at = case.last(on.SnapshotTaken, end_offset=case.violation.offset)
    if at is None:
        return []
    event, winner, taken = case.event(at), case.history.winners.get(case.key, 0), case.fact(at)
    held = [record.uid for record in event.records if record.key == case.key]
    text = f"{taken.text}; it has {case.names(held) or 'nothing'} for {case.key}"
    known, facts = case.known(winner), [taken._replace(text=text)]
    if known is None or known.offset >= event.end_offset or winner in held:
        return facts
    return [*lacks(case, event.replica, known.offset, winner, at), *facts]


def _snapshot_fetch(case: Case) -> Facts:
    """A snapshot's download did not get on: who had deleted what it fetched."""
    dropped = case.all(on.SnapshotFetchDropped, replica=case.replica)
    facts = []
    for at in (*dropped[-1:], *dropped[:-1]):
        event, fact = case.event(at), case.fact(at)
        which = {"end_offset": event.end_offset, "epoch": event.epoch}
        gone = case.last(on.SnapshotDeleted, before=at, **which)
        if gone is not None:
            text = f"{fact.text}, which {case.event(gone).replica} had deleted {case.when(gone)}"
            fact = fact._replace(text=text)
        facts.append(fact)
    last = case.last(on.SnapshotChunkFetched, replica=case.replica)
    return facts or ([] if last is None else [case.fact(last)])


# Readers.


def _read(case: Case) -> Facts:
    """A consumer passed an offset, or two were given different records there."""
    event, offset = case.shown_by, case.offset
    became, _, step = case.origin(event.replica, offset, None)
    if len(case.uids_at(offset)) > 1:
        facts = two_records_at(case, offset)
    elif step is None:
        facts = fate(case)
    elif became is Became.HELD:
        uid = case.uid_at(event.replica, offset)
        known, at = case.known(uid), case.slot(event.replica, offset)
        kind = "marker" if known and known.batch.transactional else "position"
        text = f"{event.replica} holds {case.name(uid)} and did not give it"
        facts = [Fact(kind, text, at, (of.KEPT_FROM_READER,))]
    elif became is Became.CLEANED:
        facts = cleaned(case, step, offset)
        reads = [case.event(at) for at in case.all(on.Consumed, consumer=event.consumer)]
        early = case.last(on.Consumed, consumer=event.consumer, before=step.position)
        others = [read for read in reads if read.replica != event.replica]
        had = any(record.key == case.key for read in others for record in read.records)
        if case.key and had and (early is None or case.event(early).replica != event.replica):
            facts = first_also(facts, of.OTHER_REPLICA)
    else:
        facts = fate(case)
    return [*facts, *_reads(case, offset)]


def _reader_waits(case: Case) -> Facts:
    """A reader waits for what does not come."""
    event = case.shown_by
    rest = range(event.start, event.end)
    holes = [offset for offset in rest if not case.uid_at(event.replica, offset)]
    facts = lacks(case, event.replica, holes[-1]) if holes else []
    return first_is([*as_context(facts), *_reads(case, None)], of.NO_RECORD_LEFT)


def _reads(case: Case, offset: int | None) -> Facts:
    """The reads or the resets by which a consumer passed an offset, and the last one."""
    kinds = (on.Consumed, on.ConsumerReset, on.ReadingEnded)
    facts = []
    for at in case.all(*kinds, consumer=getattr(case.shown_by, "consumer", "")):
        event = case.event(at)
        if (
            not isinstance(event, on.Consumed)
            or offset is None
            or event.start <= offset < event.end
        ):
            facts.append(case.fact(at))
    return facts[-3:]


def _reader_keeps(case: Case) -> Facts:
    """A consumer that takes the last record it is given ends on another than committed history."""
    by = case.order_kind()
    winner = case.history.winners.get(case.key, 0)
    kept = case.uid_of(case.key, case.violation.offset)
    last = case.last(on.Consumed)
    replica = "" if last is None else case.event(last).replica
    facts: Facts = []
    if winner and not case.holding(replica, [winner]):
        facts = undeleted(case, replica, kept, winner)
    mechanisms = () if mechanisms_of(facts) else (of.LAST_OFFSET_WINS,)
    text = f"the consumer was given {case.name(kept)} last and goes by offsets; "
    text += f"{case.name(winner)} wins by {by}"
    return [*facts, Fact(by, text, case.appended_at.get(kept), mechanisms)]


def _altered(case: Case) -> Facts:
    """A copy or a read is not what was appended, or is taken for something else: what differs."""
    event, offset, facts = case.shown_by, case.offset, Facts()
    for at in case.all(on.Cleaned, on.Converted):
        wrote = case.event(at)
        if isinstance(wrote, on.Converted):
            facts += [Fact("version", describe(wrote), at)] * (offset in wrote.values_lost)
        elif any(base <= offset for base, _ in (*wrote.rewritten, *wrote.horizons)):
            stamps = ", ".join(f"{base}: {ms:,} ms" for base, ms in wrote.horizons) or "none"
            text = f"{wrote.replica} wrote batches anew {case.when(at)}, delete horizons "
            text += f"{stamps} " + case.by_rules("horizon_rebase", "tombstone_removal")
            facts.append(Fact("horizon", text, at))
    if isinstance(event, on.Understood):
        settings = case.all(on.ConfigChanged, replica=event.consumer)
        facts += [Fact("version", describe(case.event(one)), one) for one in settings]
        return [*facts, *_understood(case, event)]
    given = (
        [r for b in event.batches for r in b.records]
        if isinstance(event, on.Copied)
        else event.records
    )
    return [
        *facts[-1:],
        *(
            _changed(case, record, known.record, field)
            for record in given
            if record.offset == offset and (known := case.known(record.uid)) is not None
            for field in Record._fields
            if getattr(record, field) != getattr(known.record, field)
        ),
    ]


def _changed(case: Case, record: Record, original: Record, field: str) -> Fact:
    kind = "timestamp" if field == "timestamp_ms" else "version"
    was, now = getattr(original, field), getattr(record, field)
    text = f"{field} of {case.name(record.uid)} was {was!r} as appended and is {now!r}"
    return Fact(kind, text, case.judged, (f"{field} changed",))


def _understood(case: Case, event: on.Understood) -> Facts:
    """What a consumer took a record for, and by what it could have known."""
    for records, what in ((event.values, "a value"), (event.deletes, "a delete")):
        for record in records:
            known = case.known(record.uid)
            if record.offset == case.offset and known is not None:
                given, was = (
                    f"value {one.value!r}, flag {one.flagged}" for one in (record, known.record)
                )
                text = f"{event.consumer} was given {given}, and took it for {what}; appended was "
                text += f"{was} {case.by_rules('tombstone_mark')}"
                return [Fact("version", text, case.judged)]
    return []


QUESTIONS: Final[dict[str, Callable[[Case], Facts]]] = {
    "altered": _altered,
    "compaction_bound": _compaction_bound,
    "ends_on": _ends_on,
    "epoch_answers": _epoch_answers,
    "event": _event,
    "horizon_changed": _horizon_changed,
    "kept_both": _kept_both,
    "read": _read,
    "reader_keeps": _reader_keeps,
    "reader_waits": _reader_waits,
    "removed_delete": _removed_delete,
    "sequences": _sequences,
    "snapshot_content": _snapshot_content,
    "snapshot_fetch": _snapshot_fetch,
    "state": state,
    "stays_behind": _stays_behind,
    "still_there": _still_there,
    "transaction": _transaction,
    "two_leaders": led_twice,
    "watermark_stays": _watermark_stays,
}
"""Name that an invariant gives as `explained_by` -> what finds the deciding facts; [] = nothing."""
