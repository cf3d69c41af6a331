"""What decided where a log, or what is believed of it, is not what was committed."""

from __future__ import annotations

from sim import trace
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, Facts, as_context, listed, mechanisms_of
from sim.explain.lost import Why
from sim.explain.told import given_before, led_twice
from sim.trace.sentences import describe


def lost_record(case: Case, why: Why) -> Facts:
    """A replica lacks what was committed at an offset."""
    offset, leader = case.violation.offset, case.past.leader_at()
    replica = case.violation.replica or (leader[0] if leader else None)
    if replica is None or offset is None:
        return []
    again = why.given_twice(offset)
    if again:
        return again
    uid = case.past.committed_at(offset)
    return why.without(replica, offset, uid, lag_is_news=True)


def misplaced(case: Case, why: Why) -> Facts:
    """A record stands at an offset of a log that is not its own."""
    violation = case.violation
    if violation.replica is None or violation.offset is None:
        return []
    for step in case.past.steps_before(violation.replica, case.past.end):
        if isinstance(step.event, trace.Pushed):
            text = (
                f"{step.event.replica} appended a copy of {step.event.leader}'s batch at an offset "
                f"of its own, {step.event.batch.base_offset}, {case.when(step.position)}"
            )
            return [Fact("position", text, step.position, (of.NUMBERED_ITSELF,))]
    return why.lacks(violation.replica, violation.offset)


def leader_lacks(case: Case, why: Why) -> Facts:
    """A leader was elected without what was committed."""
    replica, offset = case.violation.replica, case.violation.offset
    if replica is None or offset is None:
        return []
    facts = lost_record(case, why)
    told = any(fact.position == case.judged for fact in facts)
    return facts if told else [*facts, *why.elected(case.judged, offset)]


def two_records(case: Case, why: Why) -> Facts:
    """Two records were given the offset of a violation: why both are there."""
    offset = case.violation.offset
    return [] if offset is None else two_records_at(case, why, offset)


def two_records_at(case: Case, why: Why, offset: int) -> Facts:
    """Two records were given one offset: why the second was, and why both are there.

    That a new leader gives an offset again that is not committed is what epochs are there for; then
    what decided is who committed one of them, or did not cut its own.
    """
    replica, uids = case.violation.replica, case.past.uids_at.get(offset, [])
    if len(uids) < 2:
        return [] if replica is None else why.lacks(replica, offset)
    again = why.given_twice(offset)
    if again:
        return again
    given = [given_before(case, offset, uid) for uid in uids[-2:]]
    return why.tail_kept(offset, given)


def committed_without(case: Case, why: Why) -> Facts:
    """A high watermark counted somebody who lacks what is below it, or they were admitted so."""
    event, offset = case.shown_by, case.violation.offset
    found = lost_record(case, why)
    uids = case.past.uids_at.get(offset or 0, [])
    if len(uids) > 1 and of.TAIL_KEPT in mechanisms_of(found):
        found = two_records(case, why)
    if isinstance(event, trace.IsrChanged):
        return [*found, *why.joined(case.judged)]
    return (
        [*found, _watermark(case, event)] if isinstance(event, trace.HighWatermarkMoved) else found
    )


def _watermark(case: Case, event: trace.HighWatermarkMoved) -> Fact:
    """By which positions a leader moved its high watermark."""
    past, name, counted = case.past, event.replica, []
    for other in past.steps:
        found = past.last(trace.PositionRecorded, replica=name, follower=other)
        if found is not None:
            end = past.log_end(other, case.judged)
            counted.append(f"{other} at {past.event(found).position} (log end offset {end})")
    text = (
        f"{name}, log end offset {past.log_end(name, case.judged)}, moved its high watermark to "
        f"{event.high_watermark} {case.when(case.judged)}"
    )
    text += f", counting {listed(counted)}" if counted else ""
    return Fact("position", text, case.judged)


def believed_position(case: Case, why: Why) -> Facts:
    """A leader believes in a position that its follower has not."""
    return why.recorded(case.judged)


def truncated(case: Case, why: Why) -> Facts:
    """A log was cut where it should not: by whose word, and why that leader lacks it."""
    event = case.shown_by
    step = case.past.steps_before(event.replica, case.past.end)[0]
    uid = case.past.last_written(event.replica, event.target, case.judged)
    return why.cut(step, event.target, uid)


def high_watermark_fell(case: Case, why: Why) -> Facts:
    """A high watermark went back, or is above its log."""
    past, event, judged = case.past, case.shown_by, case.judged
    name = event.replica
    mark, end = past.high_watermark(name, judged), past.log_end(name)
    if not isinstance(event, trace.HighWatermarkMoved):
        mark = past.high_watermark(name)
        text = f"{name} kept high watermark {mark} with log end offset {end}"
        lost = as_context(why.lacks(name, end))
        return [*lost, Fact("position", text, judged)]
    source = "" if event.leading else ", as its leader told it"
    text = (
        f"{name}, log end offset {end}, moved its high watermark from {mark} to "
        f"{event.high_watermark} {case.when(judged)}{source}"
    )
    facts = [Fact("position", text, judged)]
    leader = past.leader_at(judged)
    if not event.leading and leader is not None and leader[0] != name:
        known = past.high_watermark(leader[0], judged)
        text = f"{leader[0]}, leader of epoch {leader[1]}, knew high watermark {known}"
        moved = past.last(trace.HighWatermarkMoved, replica=leader[0])
        facts.insert(0, Fact("position", text, moved))
    return facts


def epoch_led_twice(case: Case, _: Why) -> Facts:
    """Two leaders of one epoch: what the second one's voters had forgotten."""
    return led_twice(case)


def epochs_fell(case: Case, _: Why) -> Facts:
    """An older epoch came after a newer one, in a log or in what a replica remembers."""
    past, judged, event = case.past, case.judged, case.shown_by
    name, offset = event.replica, case.violation.offset or 0
    if isinstance(event, trace.ReplicaRestarted):
        down = past.last(trace.ReplicaCrashed, replica=name)
        had = "" if down is None else f" where it had been in {past.event(down).epoch}"
        text = (
            f"{name} came back {case.when(judged)} in epoch {event.epoch}{had} (epoch_storage: "
            f"{case.rules.election.epoch_storage})"
        )
        return [Fact("epoch", text, judged)]
    facts = [_batch_before(case, name, offset)] if offset else []
    uid = past.uid_at(name, offset)
    known = case.written(uid)
    if known is not None:
        written = past.appended_at[uid]
        epoch, newest = known.batch.epoch, past.leader_at(written)
        text = f"{past.event(written).replica} appended {case.name(uid)} in epoch {epoch} "
        text += case.when(written)
        if newest is not None and newest[1] > epoch:
            text += f", when {newest[0]} led epoch {newest[1]} already"
        facts.append(Fact("epoch", text, written))
    source = f" from {event.leader}" if isinstance(event, trace.Copied | trace.Pushed) else ""
    text = f"{name} took it{source} behind that {case.when(judged)}"
    return [*facts, Fact("epoch", text, judged)]


def _batch_before(case: Case, name: str, offset: int) -> Fact:
    """The record below an offset, with its epoch."""
    past = case.past
    below = next((at for at in range(offset - 1, 0, -1) if past.uid_at(name, at)), 0)
    known = case.written(past.uid_at(name, below))
    epoch = "?" if known is None else known.batch.epoch
    text = f"{name} held {case.name(past.uid_at(name, below))} of epoch {epoch}"
    return Fact("epoch", text, past.slot(name, below))


def epoch_answers(case: Case, why: Why) -> Facts:
    """Two replicas answer differently about an epoch: how each came to know what it knows."""
    past, offset, starts = case.past, case.violation.offset, dict[int, int]()
    facts: Facts = []
    for name in past.steps:
        position = past.last(trace.EpochCacheChanged, replica=name)
        if position is not None:
            known = [f"{epoch} from {start}" for epoch, start in past.event(position).epochs]
            text = f"{name} knew the epochs {listed(known) or 'none'} since {case.when(position)}"
            facts.append(Fact("epoch", text.replace("since at", "since"), position))
    for position in past.all(trace.Appended):
        batch = past.event(position).batch
        starts.setdefault(batch.epoch, batch.base_offset)
    began = listed([f"{epoch} from {start}" for epoch, start in starts.items()])
    last = past.steps_before(case.shown_by.replica or "", past.end)[:1]
    back = any(isinstance(step.event, trace.ReplicaRestarted) for step in last)
    mechanism = of.EPOCHS_ON_FILE if back else of.EPOCHS_CLEANED
    own = Fact("epoch", f"the epochs began, as appended, {began}", None, (mechanism,))
    gone: Facts = []
    for below in () if offset is None else range(max(0, offset - 1), offset + 1):
        for name in past.steps:
            if past.slot(name, below) is not None and not past.uid_at(name, below):
                gone += why.lacks(name, below)
    return [*as_context(gone), *facts, own]


def log_end_moved(case: Case, why: Why) -> Facts:
    """A pass or a restart moved a log end: what was at the end, and why it went."""
    past, judged, event = case.past, case.judged, case.shown_by
    name, before = event.replica, past.log_end(event.replica, judged)
    at = judged + 1 if isinstance(event, trace.Cleaned) else judged
    facts = why.lacks(name, max(before - 1, 0), before=at)
    text = (
        f"the log end offset of {name} went from {before} to {event.log_end_offset} "
        f"{case.when(judged)}"
    )
    own = Fact("position", text, judged, (of.END_FROM_LAST,))
    return [*as_context(facts), own]


def stays_behind(case: Case, why: Why) -> Facts:
    """A follower's log end does not reach the leader's: what is left to fetch there."""
    past, replica, leader = case.past, case.violation.replica or "", case.past.leader_at()
    if leader is None:
        return []
    name, end = leader[0], past.log_end(replica)
    high = past.log_end(name)
    text = f"{replica} stays at log end offset {end}, the leader {name} is at {high}"
    if end > high:
        led = past.last(trace.LeaderElected) or 0
        lacks = [*why.lacks(name, high, before=led), *why.elected(led, high)]
        mechanisms = () if mechanisms_of(lacks) else (of.NEVER_COPIED,)
        return [*lacks, Fact("position", text, None, mechanisms)]
    if why.ends_in_a_hole(name, end, past.end):
        text += f", and nothing is left to copy from {end} to {high - 1}"
        return [*why.end_fell(name, end, past.end), Fact("position", text, None)]
    elected = past.last(trace.LeaderElected) or 0
    tried = past.last(trace.SnapshotOffered, follower=replica)
    offered = tried is not None and tried >= elected
    facts = [] if past.uid_at(name, end) else as_context(why.lacks(name, end))
    if tried is not None:
        told = f"{describe(past.event(tried))} {case.when(tried)}"
        facts.append(Fact("snapshot", told, tried, (of.OFFERED_AGAIN,) if offered else ()))
    text += (
        f": it fetched no more; {replica} knows the epochs {case.epochs_of(replica)}, {name} "
        f"{case.epochs_of(name)}"
    )
    return [*facts, Fact("position", text, None, () if offered else (of.NEVER_COPIED,))]


def watermark_stays(case: Case, _: Why) -> Facts:
    """A high watermark stands still: whose position holds it back."""
    past, replica = case.past, case.violation.replica or ""
    waiting = []
    for other in past.steps:
        found = past.last(trace.PositionRecorded, replica=replica, follower=other)
        at = "no position" if found is None else past.event(found).position
        if other != replica:
            waiting.append(f"{other} at {at} (log end offset {past.log_end(other)})")
    isr = past.last(trace.IsrChanged, trace.LeaderElected)
    members = "" if isr is None else f", in sync: {', '.join(past.event(isr).isr)}"
    text = (
        f"{replica}, log end offset {past.log_end(replica)}, has high watermark "
        f"{past.high_watermark(replica)} and believes {listed(waiting)}{members}"
    )
    return [Fact("position", text, past.last(trace.HighWatermarkMoved, replica=replica))]


def acknowledged(case: Case, why: Why) -> Facts:
    """A producer was told what is not, or did not stay, committed."""
    violation, past, offset = case.violation, case.past, case.violation.offset
    if offset is None:
        return []
    leader = past.leader_at()
    lost = [] if leader is None else why.lacks(leader[0], offset)
    for position in reversed(past.all(trace.Acknowledged, replica=violation.replica)):
        event = past.event(position)
        if event.first_offset <= offset <= event.last_offset:
            said = "committed" if event.acks == "all" else "written (acks=1)"
            text = (
                f"{event.replica} told its producer {case.when(position)} that "
                f"{event.first_offset} to {event.last_offset} are {said}, with high watermark "
                f"{past.high_watermark(event.replica, position)} and log end offset "
                f"{past.log_end(event.replica, position)} in epoch {event.epoch}"
            )
            return [*lost, Fact("position", text, position)]
    return lost
