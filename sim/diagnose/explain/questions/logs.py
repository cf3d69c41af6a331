"""What decided where a log, or what is believed of it, is not what was committed."""

from __future__ import annotations

from sim.diagnose.explain import lost, told
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import Case, Fact, Facts, as_context, listed, mechanisms_of
from sim.protocol.events import (
    Acknowledged,
    Appended,
    Cleaned,
    EpochCacheChanged,
    FetchingFailed,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    Pushed,
    ReplicaCrashed,
    ReplicaRestarted,
    SnapshotOffered,
)


def lost_record(case: Case, offset: int) -> Facts:
    """A replica lacks what was committed at an offset."""
    uid, again = case.committed_at(offset), lost.given_twice(case, offset)
    return again or lost.without(case, case.replica, offset, uid, lag_is_news=True)


def misplaced(case: Case, replica: str, offset: int) -> Facts:
    """A record stands at an offset of a log that is not its own."""
    for step in case.steps_before(replica, case.end):
        if isinstance(step.event, Pushed):
            return [told.lost_at(case, step.position, of.NUMBERED_ITSELF)]
    return lost.lacks(case, replica, offset)


def leader_lacks(case: Case, replica: str, offset: int) -> Facts:
    """A leader was elected without what was committed."""
    assert replica == case.replica
    facts = lost_record(case, offset)
    known = any(fact.position == case.judged for fact in facts)
    return facts if known else [*facts, *lost.elected(case, case.judged, offset)]


def two_records(case: Case, offset: int) -> Facts:
    """Two records were given the offset of a violation: why both are there."""
    return lost.two_records_at(case, offset)


def committed_without(case: Case, offset: int) -> Facts:
    """A high watermark counted somebody who lacks what is below it, or they were admitted so."""
    found = lost_record(case, offset)
    if of.TAIL_KEPT in mechanisms_of(found) and len(case.uids_at[offset]) > 1:
        found = lost.two_records_at(case, offset)
    if isinstance(case.shown_by, IsrChanged):
        return [*found, *lost.joined(case, case.judged)]
    (leader, mark, _), at = case.shown_by, case.judged
    counted = listed(_positions(case, leader))
    text = f"{leader}, log end offset {case.log_end(leader, at)}, moved its high watermark to "
    text += f"{mark} {case.when(at)}" + (f", counting {counted}" if counted else "")
    return [*found, Fact("position", text, at)]


def _positions(case: Case, leader: str) -> list[str]:
    """The positions of followers that a leader knows, beside their log end offsets."""
    found = []
    for name in (each for each in case.steps if each != leader):
        at, end = told.position_of(case, leader, name), case.log_end(name, case.judged)
        if at is not None:
            found.append(f"{name} at {at} (log end offset {end})")
    return found


def believed_position(case: Case) -> Facts:
    """A leader believes in a position that its follower has not."""
    return lost.recorded(case, case.judged)


def truncated(case: Case) -> Facts:
    """A log was cut where it should not: by whose word, and why that leader lacks it."""
    event = case.shown_by
    step = case.steps_before(event.replica, case.end)[0]
    uid = case.last_written(event.replica, event.target, case.judged)
    return lost.cut(case, step, event.target, uid)


def high_watermark_fell(case: Case) -> Facts:
    """A high watermark went back, or is above its log."""
    event, judged = case.shown_by, case.judged
    name, end = event.replica, case.log_end(event.replica)
    if not isinstance(event, HighWatermarkMoved):
        text = f"{name} kept high watermark {case.high_watermark(name)} with log end offset {end}"
        return [*as_context(lost.lacks(case, name, end)), Fact("position", text, judged)]
    text = f"{name}, log end offset {end}, moved its high watermark from "
    text += f"{case.high_watermark(name, judged)} to {event.high_watermark} {case.when(judged)}"
    moved = Fact("position", text + (", as its leader told it" * (not event.leading)), judged)
    leader = case.leader_at(judged)
    if event.leading or leader is None or leader[0] == name:
        return [moved]
    at = case.last(HighWatermarkMoved, replica=leader[0])
    mark = case.high_watermark(leader[0], judged)
    text = f"{leader[0]}, leader of epoch {leader[1]}, knew high watermark {mark}"
    return [Fact("position", text, at), moved]


def epoch_led_twice(case: Case) -> Facts:
    """Two leaders of one epoch: what the second one's voters had forgotten."""
    return told.led_twice(case)


def epochs_fell(case: Case) -> Facts:
    """An older epoch came after a newer one, in a log or in what a replica remembers."""
    judged, event = case.judged, case.shown_by
    name, offset = event.replica, case.offset
    if isinstance(event, ReplicaRestarted):
        down = case.last(ReplicaCrashed, replica=name)
        text = f"{name} came back {case.when(judged)} in epoch {event.epoch}"
        text += "" if down is None else f" where it had been in {case.event(down).epoch}"
        return [Fact("epoch", f"{text} {case.by_rules('epoch_storage')}", judged)]
    facts = [_record_before(case, name, offset)] if offset else []
    uid = case.uid_at(name, offset)
    known = case.written(uid)
    if known is not None:
        at = case.appended_at[uid]
        leader, newest = case.leader_at(at) or ("", 0)
        text = f"{case.event(at).replica} appended {case.name(uid)} in epoch {known.batch.epoch} "
        text += case.when(at)
        deposed = newest > known.batch.epoch
        text += f", when {leader} led epoch {newest} already" if deposed else ""
        facts.append(Fact("epoch", text, at))
    return facts


def _record_before(case: Case, name: str, offset: int) -> Fact:
    """The record below an offset, with its epoch."""
    below = next((at for at in range(offset - 1, 0, -1) if case.uid_at(name, at)), 0)
    uid = case.uid_at(name, below)
    known = case.written(uid)
    epoch = "?" if known is None else known.batch.epoch
    text = f"{name} held {case.name(uid)} of epoch {epoch}"
    return Fact("epoch", text, case.slot(name, below))


def epoch_answers(case: Case) -> Facts:
    """Two replicas answer differently about an epoch: how each came to know what it knows."""
    offset, starts = case.violation.offset, dict[int, int]()
    facts: Facts = []
    for name in case.steps:
        at = case.last(EpochCacheChanged, replica=name)
        if at is not None:
            text = f"{name} knew the epochs {case.epochs_of(name, at + 1)} since {case.time(at)}"
            facts.append(Fact("epoch", text, at))
    for position in case.all(Appended):
        batch = case.event(position).batch
        starts.setdefault(batch.epoch, batch.base_offset)
    last = case.steps_before(case.shown_by.replica or "", case.end)[:1]
    back = any(isinstance(step.event, ReplicaRestarted) for step in last)
    mechanism = of.EPOCHS_ON_FILE if back else of.EPOCHS_CLEANED
    gone: Facts = []
    for below in () if offset is None else range(max(0, offset - 1), offset + 1):
        for name in case.steps:
            if case.slot(name, below) is not None and not case.uid_at(name, below):
                gone += lost.lacks(case, name, below)
    began = listed([f"{epoch} from {start}" for epoch, start in starts.items()]) or "none"
    text = f"the epochs began, as appended, {began}"
    return [*as_context(gone), *facts, Fact("epoch", text, None, (mechanism,))]


def log_end_moved(case: Case) -> Facts:
    """A pass or a restart moved a log end: what was at the end, and why it went."""
    judged, event = case.judged, case.shown_by
    name, end = event.replica, case.log_end(event.replica, judged)
    at = judged + 1 if isinstance(event, Cleaned) else judged
    gone = as_context(lost.lacks(case, name, max(end - 1, 0), before=at))
    text = f"the log end offset of {name} went from {end} to {event.log_end_offset} "
    return [*gone, Fact("position", text + case.when(judged), judged, (of.END_FROM_LAST,))]


def stays_behind(case: Case) -> Facts:
    """A follower's log end does not reach the leader's: what is left to fetch there."""
    leader = case.leader_at()
    if leader is None:
        return []
    led = case.last(LeaderElected) or 0
    name, end, high = leader[0], case.log_end(case.replica), case.log_end(leader[0])
    hole = end <= high and lost.ends_in_a_hole(case, name, end, case.end)
    if hole:
        facts = lost.end_fell(case, name, end, case.end)
    elif end > high:
        facts = [*lost.lacks(case, name, high, before=led), *lost.elected(case, led, high)]
    else:
        facts = [] if case.uid_at(name, end) else as_context(lost.lacks(case, name, end))
        tried = case.last(SnapshotOffered, follower=case.replica)
        if tried is not None:
            again = (of.OFFERED_AGAIN,) if tried >= led else ()
            facts.append(told.happened(case, tried, *again, kind="snapshot"))
    failed = case.last(FetchingFailed, replica=case.replica)
    if failed is not None and failed > led:
        follower, source, begins, log_end = case.event(failed)
        text = f"{follower} fetched no more from {source} {case.when(failed)}: a batch begins "
        text += f"at {begins}, its log ends at {log_end}"
        facts.append(Fact("version", text, failed, (of.FETCHING_FAILED,)))
    known = hole or mechanisms_of(facts)
    mechanisms = () if known else (of.NEVER_COPIED,)
    text = f"{case.replica} stays at log end offset {end}, the leader {name} is at {high}"
    if hole:
        text += f", and nothing is left to copy from {end} to {high - 1}"
    elif end <= high:
        knows = f"{case.replica} knows the epochs {case.epochs_of(case.replica)}"
        text += f": it fetched no more; {knows}, {name} {case.epochs_of(name)}"
    return [*facts, Fact("position", text, None, mechanisms)]


def acknowledged(case: Case, offset: int) -> Facts:
    """A producer was told what is not, or did not stay, committed."""
    leader = case.leader_at()
    gone = [] if leader is None else lost.lacks(case, leader[0], offset)
    for position in reversed(case.all(Acknowledged, replica=case.violation.replica)):
        event = case.event(position)
        if event.first_offset <= offset <= event.last_offset:
            said = "committed" if event.acks == "all" else "written (acks=1)"
            name, first, last = event.replica, event.first_offset, event.last_offset
            mark, end = case.high_watermark(name, position), case.log_end(name, position)
            text = f"{name} told its producer {case.when(position)} that {first} to {last} are "
            text += f"{said}, with high watermark {mark} and log end offset {end} in "
            text += f"epoch {event.epoch}"
            return [*gone, Fact("position", text, position)]
    return gone
