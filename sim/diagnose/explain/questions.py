"""The questions that explain violations, and the signature of a violation that the answers give.

An invariant names its question as `explained_by`. The fate of the offset explains the violations of
all other invariants, and those for which the question finds nothing.

Two violations with the same signature are one bug as far as events show, in a run of a thousand
events and in its smallest example alike. The mechanisms are those that the deciding facts name
(`sim.diagnose.explain.mechanisms`); where they name none, the class of the event that showed the
violation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, NamedTuple

from sim.check import Violation
from sim.check.registry import INVARIANTS, discover
from sim.check.violation import DELETED_KEY_RETURNS, LATE_WRITE, TRANSACTIONS
from sim.diagnose.explain import fate, state
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import (
    KINDS,
    Case,
    Fact,
    Facts,
    as_context,
    first_also,
    first_is,
    listed,
    mechanisms_of,
)
from sim.diagnose.explain.past import Became, Past
from sim.diagnose.explain.removed import holders, removal_at, why_needed
from sim.protocol import events as on
from sim.protocol.log.record import Control, Record


def deciding(case: Case) -> Facts:
    """The deciding facts of a violation, the first cause first; never empty."""
    discover()
    invariant = INVARIANTS.get(case.violation.invariant)
    asked = QUESTIONS.get(invariant.explained_by if invariant else "", fate.answer)
    return asked(case) or fate.answer(case)


def _event(case: Case) -> Facts:
    """Explains a violation by the event that showed it."""
    for batch in getattr(case.shown_by, "batches", ()):
        if batch.base_offset == case.offset and batch.control is Control.SNAPSHOT:
            text = f"{case.fact(case.judged).text}: {batch.size_bytes:,} bytes "
            return [Fact("snapshot", text + case.by_rules("snapshot_placement"), case.judged)]
    return [case.fact(case.judged)] if type(case.shown_by) in KINDS else []


# Elections, epochs, log ends.


def _epoch_answers(case: Case) -> Facts:
    """Explains two answers about an epoch: how each replica came to know its epochs."""
    starts, facts = dict[int, int](), Facts()
    for below in (case.offset - 1, case.offset):
        for name in case.replicas:
            if case.slot(name, below) is not None and not case.uid_at(name, below):
                facts += as_context(fate.lacks(case, name, below))
    for name in case.replicas:
        at = case.last(on.EpochCacheChanged, replica=name)
        if at is not None:
            text = f"{name} knew the epochs {case.epochs_of(name, at + 1)} since {case.time(at)}"
            facts.append(Fact("epoch", text, at))
    for batch in (case.event(position).batch for position in case.all(on.Appended)):
        starts.setdefault(batch.epoch, batch.base_offset)
    last = case.steps_before(case.shown_by.replica or "", case.end)[:1]
    back = any(isinstance(step.event, on.ReplicaRestarted) for step in last)
    began = listed([f"{epoch} from {start}" for epoch, start in starts.items()]) or "none"
    why = of.EPOCHS_ON_FILE if back else of.EPOCHS_CLEANED
    return [*facts, Fact("epoch", f"the epochs began, as appended, {began}", None, (why,))]


def _stays_behind(case: Case) -> Facts:
    """Explains a follower that stays behind: what was left to fetch, and why it was not."""
    leader, led = case.leader_at(), case.last(on.LeaderElected) or 0
    if leader is None:
        return []
    name, end, high = leader[0], case.log_end(case.replica), case.log_end(leader[0])
    hole = end <= high and fate.ends_in_a_hole(case, name, end)
    if hole:
        facts = fate.end_fell(case, name, end)
    elif end > high:
        facts = [*fate.lacks(case, name, high, before=led), *fate.elected(case, led, high)]
    else:
        facts = [] if case.uid_at(name, end) else as_context(fate.lacks(case, name, end))
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
        text += f": it got no more; {knows}, {name} {case.epochs_of(name)}"
    return [*facts, Fact("position", text, None, mechanisms)]


# Tombstones and markers.


def _removed_delete(case: Case) -> Facts:
    """Explains why a tombstone or a marker was removed while a replica needed it."""
    step = case.fate(case.replica, case.offset, None).step
    removal = None if step is None else removal_at(step.event, case.offset)
    if removal is None or step is None:
        return []
    facts, at = fate.cleaned(case, step, case.offset), step.position
    for holder in list(holders(case, at, removal))[:1]:
        facts = first_also(facts, why_needed(case, holder, case.offset, removal.uid, at))
        if case.fate(holder, case.offset, removal.uid, at).became is Became.CUT:
            facts += fate.lacks(case, holder, case.offset, removal.uid, at)
    return facts


def _still_there(case: Case) -> Facts:
    """Explains why a tombstone stays: the clocks and horizons of the passes over it."""
    replica, offset, rule = case.replica, case.offset, case.rules.cleaner.tombstone_removal
    known, facts = case.known(case.uid_at(replica, offset)), Facts()
    what, why = case.name(case.uid_at(replica, offset)), ""
    if rule == "coordinated":
        bound = case.last(on.RemovalBoundMoved, replica=replica)
        ends = listed([f"{name} at {case.log_end(name)}" for name in case.replicas])
        below = 0 if bound is None else case.event(bound).offset
        text = f"coordinated removal allows only what is below {below}: {ends}"
        facts.append(Fact("position", text, bound))
    for at in case.all(on.CleaningFailed, replica=replica)[:1]:
        stopped = case.event(at).offset
        text = f"a pass of {replica} could not go on at {stopped} {case.when(at)}, "
        text += case.name(case.uid_at(replica, stopped, at))
        facts.append(Fact("version", text, at, (of.STOPPED_AT_RECORD,)))
    passes = case.all(on.Cleaned, replica=replica)
    given = case.horizons(replica, known.batch.base_offset if known else offset)
    came = given and any(case.event(at).now_ms >= given[0].at_ms for at in passes)
    if passes and len(given) > 1:
        why = of.STAMPED_AGAIN
    elif passes and rule == "last_modified":
        why = of.BY_SEGMENT_AGE
    elif passes and rule in ("coordinated", "leo_gated"):
        down = any(not view.up for view in case.history.replicas.values())
        why = of.WAITS_FOR_ABSENT if down else ""
    elif not came:
        why = of.NEVER_CLEANED
    mechanisms = (why,) if why and not mechanisms_of(facts) else ()
    if not passes:
        text = f"{replica} holds {what} and never cleaned it: it has run no pass"
        return [*facts, Fact("position", text, None, mechanisms)]
    event, before = case.event(passes[-1]), [h.at_ms for h in given if h.position < passes[-1]]
    text = f"{replica} kept the tombstone {what} in its pass up to {event.upper_bound} "
    text += f"{case.when(passes[-1])}, {case.clock(replica, event.now_ms)}"
    if event.upper_bound <= offset:
        text += f", which did not reach {offset}"
    elif before:
        text += f", its delete horizon being {before[-1]:,} ms (given {len(given)} times)"
    else:
        text += f" (tombstone_removal: {rule}; it has no delete horizon)"
    return [*facts, Fact("horizon", text, passes[-1], mechanisms)]


def _horizon_changed(case: Case) -> Facts:
    """Explains why a batch got different delete horizons: each pass that set one."""
    facts = []
    for at_ms, at in case.horizons(case.replica, case.offset):
        event = case.event(at)
        if isinstance(event, on.Cleaned):
            text = f"{event.replica} gave the batch at {case.offset} the delete horizon {at_ms:,} "
            text += f"ms {case.when(at)}, {case.clock(event.replica, event.now_ms)} "
            facts.append(Fact("horizon", text + case.by_rules("horizon_stamp"), at))
    return facts


def _transaction(case: Case) -> Facts:
    """Explains why data of a transaction counts otherwise in a log than in committed history."""
    uid = case.uid_at(case.replica, case.offset) or case.committed_at(case.offset)
    return state.undecided(case, case.replica, uid)


# Keys.


def _kept_both(case: Case) -> Facts:
    """Explains why a clean section holds two records of a key: the pass that kept the loser."""
    replica, written = case.replica, case.written
    passes = case.all(on.Cleaned, replica=replica)
    last, protected = case.event(passes[-1]), {case.event(at).protected_offset for at in passes}
    held = case.holding(replica, case.uids_of(case.key))
    *losers, best = sorted(held, key=lambda uid: written[uid].version)
    kept = [written[uid].offset for uid in held]
    why = of.UNFINISHED if last.first_dirty_offset <= min(kept) else of.NOT_MAPPED
    if protected & {*kept}:
        why = of.KEPT_AS_END
    elif state.some_aborted(case, case.uids_of(case.key)):
        why = of.AS_ABORTED
    ends = [uid for uid in losers if written[uid].offset == last.protected_offset]
    return [state.kept_loser(case, passes[-1], (ends or losers)[0], best, why)]


def _ends_on(case: Case) -> Facts:
    """Explains why a key ends on a record that its producers did not mean to win."""
    uids = case.uids_of(case.key)
    kept = case.known(case.uid_of(case.key, case.violation.offset))
    late = kept is not None and any(
        known.offset < kept.offset and known.record.timestamp_ms > kept.record.timestamp_ms
        for known in map(case.written.__getitem__, uids)
    )
    how = of.ARRIVED_LAST if late else of.BY_LOWER
    records = Fact("version", f"its records: {case.names(uids) or 'nothing'}", None, (how,))
    return [*as_context(state.last_removal(case)), records]


def _snapshot_content(case: Case) -> Facts:
    """Explains why a snapshot has another value of a key than committed history."""
    at = case.last(on.SnapshotTaken, end_offset=case.violation.offset)
    if at is None:
        return []
    event, winner, taken = case.event(at), case.history.winners.get(case.key, 0), case.fact(at)
    held = [record.uid for record in event.records if record.key == case.key]
    text = f"{taken.text}; it has {case.names(held) or 'nothing'} for {case.key}"
    known, facts = case.known(winner), [taken._replace(text=text)]
    if known is None or known.offset >= event.end_offset or winner in held:
        return facts
    return [*fate.lacks(case, event.replica, known.offset, winner, at), *facts]


def _snapshot_fetch(case: Case) -> Facts:
    """Explains why a snapshot's download did not proceed: the replica that deleted it."""
    dropped = case.all(on.SnapshotFetchDropped, replica=case.replica)
    facts = []
    for at in (*dropped[-1:], *dropped[:-1]):
        event, fact = case.event(at), case.fact(at)
        which = {"end_offset": event.end_offset, "epoch": event.epoch}
        for gone in [*case.latest(on.SnapshotDeleted, before=at, **which)][:1]:
            text = f"{fact.text}; {case.event(gone).replica} had deleted it {case.when(gone)}"
            fact = fact._replace(text=text)
        facts.append(fact)
    fetched = case.latest(on.SnapshotChunkFetched, replica=case.replica)
    return facts or [case.fact(at) for at in [*fetched][:1]]


# Readers.


def _read(case: Case) -> Facts:
    """Explains why a consumer passed an offset, or two got different records there."""
    event, offset = case.shown_by, case.offset
    became, _, step = case.origin(event.replica, offset, None)
    if len(case.uids_at(offset)) > 1:
        facts = fate.two_records_at(case, offset)
    elif step is not None and became is Became.HELD:
        uid = case.uid_at(event.replica, offset)
        known, at = case.known(uid), case.slot(event.replica, offset)
        kind = "marker" if known and known.batch.transactional else "position"
        text = f"{event.replica} holds {case.name(uid)} and did not give it"
        facts = [Fact(kind, text, at, (of.KEPT_FROM_READER,))]
    elif step is not None and became is Became.CLEANED:
        facts = fate.cleaned(case, step, offset)
        reads = [case.event(at) for at in case.all(on.Consumed, consumer=event.consumer)]
        early = case.last(on.Consumed, consumer=event.consumer, before=step.position)
        others = [read for read in reads if read.replica != event.replica]
        had = any(record.key == case.key for read in others for record in read.records)
        if case.key and had and (early is None or case.event(early).replica != event.replica):
            facts = first_also(facts, of.OTHER_REPLICA)
    else:
        facts = fate.answer(case)
    return [*facts, *_reads(case, offset)]


def _reader_waits(case: Case) -> Facts:
    """Explains why a consumer waits: the log ends without records."""
    event = case.shown_by
    holes = [at for at in range(event.start, event.end) if not case.uid_at(event.replica, at)]
    facts = fate.lacks(case, event.replica, holes[-1]) if holes else []
    return first_is([*as_context(facts), *_reads(case, None)], of.NO_RECORD_LEFT)


def _reads(case: Case, offset: int | None) -> Facts:
    """The facts of the last reads or resets by which a consumer passed an offset."""
    kinds = (on.Consumed, on.ConsumerReset, on.ReadingEnded)
    passed = []
    for at in case.all(*kinds, consumer=getattr(case.shown_by, "consumer", "")):
        event = case.event(at)
        every = not isinstance(event, on.Consumed) or offset is None
        passed += [at] if every or event.start <= offset < event.end else []
    return [case.fact(at) for at in passed[-3:]]


def _reader_keeps(case: Case) -> Facts:
    """Explains why a consumer that keeps the last record ends on another than the winner."""
    by = case.order_kind()
    winner = case.history.winners.get(case.key, 0)
    kept = case.uid_of(case.key, case.violation.offset)
    last = case.last(on.Consumed)
    replica = "" if last is None else case.event(last).replica
    facts: Facts = []
    if winner and not case.holding(replica, [winner]):
        facts = state.undeleted(case, replica, kept, winner)
    mechanisms = () if mechanisms_of(facts) else (of.LAST_OFFSET_WINS,)
    text = f"the consumer was given {case.name(kept)} last and goes by offsets; "
    text += f"{case.name(winner)} wins by {by}"
    return [*facts, Fact(by, text, case.appended_at.get(kept), mechanisms)]


def _altered(case: Case) -> Facts:
    """Explains in what a copied or read record differs from the appended one."""
    event, wrote = case.shown_by, Facts()
    for at in case.all(on.Cleaned, on.Converted):
        by = case.event(at)
        if isinstance(by, on.Converted):
            wrote += [case.fact(at, kind="version")] * (case.offset in by.values_lost)
        elif any(base <= case.offset for base, _ in (*by.rewritten, *by.horizons)):
            stamps = ", ".join(f"{base}: {ms:,} ms" for base, ms in by.horizons) or "none"
            text = f"{by.replica} wrote batches anew {case.when(at)}, delete horizons "
            text += f"{stamps} " + case.by_rules("horizon_rebase", "tombstone_removal")
            wrote.append(Fact("horizon", text, at))
    facts = wrote[-1:]
    if isinstance(event, on.Understood):
        settings = case.all(on.ConfigChanged, replica=event.consumer)
        facts += [case.fact(at, kind="version") for at in settings]
        given = (*event.values, *event.deletes)
    elif isinstance(event, on.Copied):
        given = (*chain.from_iterable(batch.records for batch in event.batches),)
    else:
        given = event.records
    for record in given:
        known = case.known(record.uid)
        if record.offset == case.offset and known is not None:
            facts += _differing(case, record, known.record)
    return facts


def _differing(case: Case, record: Record, original: Record) -> Facts:
    """The facts of the fields in which a record differs from the appended one, or is misread."""
    event = case.shown_by
    if isinstance(event, on.Understood):
        what = "a delete" if record in event.deletes else "a value"
        given, was = (f"value {one.value!r}, flag {one.flagged}" for one in (record, original))
        text = f"{event.consumer} was given {given}, and took it for {what}; appended was {was} "
        return [Fact("version", text + case.by_rules("tombstone_mark"), case.judged)]
    facts = []
    for field in Record.__struct_fields__:
        now, before = getattr(record, field), getattr(original, field)
        if now != before:
            kind = "timestamp" if field == "timestamp_ms" else "version"
            text = f"{field} of {case.name(record.uid)} was {before!r} as appended and is {now!r}"
            facts.append(Fact(kind, text, case.judged, (f"{field} changed",)))
    return facts


QUESTIONS: Final[dict[str, Callable[[Case], Facts]]] = {
    "altered": _altered,
    "ends_on": _ends_on,
    "epoch_answers": _epoch_answers,
    "event": _event,
    "horizon_changed": _horizon_changed,
    "kept_both": _kept_both,
    "read": _read,
    "reader_keeps": _reader_keeps,
    "reader_waits": _reader_waits,
    "removed_delete": _removed_delete,
    "snapshot_content": _snapshot_content,
    "snapshot_fetch": _snapshot_fetch,
    "state": state.answer,
    "stays_behind": _stays_behind,
    "still_there": _still_there,
    "transaction": _transaction,
    "two_leaders": fate.led_twice,
}
"""Name that an invariant gives as `explained_by` -> the function that finds the deciding facts."""


# The signature.

FOUND_AT: Final = "found at"
"""Beginning of a mechanism that is only the class of an event, in words."""


class Signature(NamedTuple):
    """The cause of a violation, comparable between runs.

    Attributes:
        invariant: Name of the violated invariant.
        family: Family of the violation (`sim.check.violation`). A deleted key that returned counts
            as a late write if its value was written after the delete.
        mechanism: Names of mechanisms, the most important first; never empty.
        marker: Kind of the missing marker of a transaction, `COMMIT` or `ABORT`; empty if none is
            missing. It is part of no text.
    """

    invariant: str
    family: str
    mechanism: tuple[str, ...]
    marker: str = ""

    @property
    def cause(self) -> str:
        """Family and mechanisms: the part that violations of different invariants may share."""
        return f"{self.family}: {'; '.join(self.mechanism)}"

    def __str__(self) -> str:
        """The stable text, such as `no-offset-reuse: log end fell by cleaning`."""
        return f"{self.invariant}: {'; '.join(self.mechanism)}"


def signature_of(past: Past, violation: Violation) -> Signature:
    """The signature of a violation.

    Args:
        past: The run or story; events after the violation are ignored.
        violation: The violation.
    """
    case = Case(past, violation)
    mechanism = mechanisms_of(deciding(case))
    if not mechanism:
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", type(case.shown_by).__name__).lower()
        mechanism = (f"{FOUND_AT} {words}",)
    family = violation.family
    if family == DELETED_KEY_RETURNS and mechanism[0] in of.LATE:
        family = LATE_WRITE
    marker = case.marker if family == TRANSACTIONS else ""
    return Signature(violation.invariant, family, mechanism, marker)


def first_signatures(past: Past, violations: Sequence[Violation]) -> dict[int, Signature]:
    """Index of the first violation of each invariant and family -> its signature.

    Args:
        past: The run.
        violations: Violations in order of detection.
    """
    firsts: dict[tuple[str, str], int] = {}
    for place, found in enumerate(violations):
        firsts.setdefault((found.invariant, found.family), place)
    return {place: signature_of(past, violations[place]) for place in firsts.values()}
