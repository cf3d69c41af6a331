"""What decided where a log, or what is believed of it, is not what was committed."""

from __future__ import annotations

from sim import trace
from sim.explain import lost, told
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, Facts, as_context, mechanisms_of
from sim.explain.past import END
from sim.explain.sentences import listed


def lost_record(case: Case, offset: int) -> Facts:
    """A replica lacks what was committed at an offset."""
    leader = case.leader_at()
    replica = case.replica or (leader[0] if leader else "")
    if not replica:
        return []
    uid = case.committed_at(offset)
    again = lost.given_twice(case, offset)
    return again or lost.without(case, replica, offset, uid, lag_is_news=True)


def misplaced(case: Case, replica: str, offset: int) -> Facts:
    """A record stands at an offset of a log that is not its own."""
    for step in case.steps_before(replica, case.end):
        if isinstance(step.event, trace.Pushed):
            return [case.fact("Pushed", step.position, of.NUMBERED_ITSELF)]
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


def committed_without(case: Case) -> Facts:
    """A high watermark counted somebody who lacks what is below it, or they were admitted so."""
    offset = case.violation.offset
    found = [] if offset is None else lost_record(case, offset)
    if offset is not None and of.TAIL_KEPT in mechanisms_of(found):
        found = lost.two_records_at(case, offset) if len(case.uids_at[offset]) > 1 else found
    if isinstance(case.shown_by, trace.IsrChanged):
        return [*found, *lost.joined(case, case.judged)]
    if isinstance(case.shown_by, trace.HighWatermarkMoved):
        counted = _positions(case, case.shown_by.replica)
        return [*found, case.fact("mark counted", case.judged, counted=listed(counted))]
    return found


def _positions(case: Case, leader: str, unknown: str = "") -> list[str]:
    """What a leader believes of its followers, beside what they have; `unknown` = in words."""
    found = []
    for name in (each for each in case.steps if each != leader):
        at, end = told.position_of(case, leader, name), case.log_end(name, case.judged)
        if at is not None or unknown:
            found.append(f"{name} at {unknown if at is None else at} (log end offset {end})")
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
    if not isinstance(event, trace.HighWatermarkMoved):
        kept = case.fact("kept mark", judged, name=name, before=END)
        return [*as_context(lost.lacks(case, name, end)), kept]
    moved = case.fact("mark moved", judged, end=end, told=not event.leading)
    leader = case.leader_at(judged)
    if event.leading or leader is None or leader[0] == name:
        return [moved]
    at = case.last(trace.HighWatermarkMoved, replica=leader[0])
    values = {"leader": leader[0], "epoch": leader[1], "before": judged}
    return [case.fact("leader knew", at, **values), moved]


def epoch_led_twice(case: Case) -> Facts:
    """Two leaders of one epoch: what the second one's voters had forgotten."""
    return told.led_twice(case)


def epochs_fell(case: Case) -> Facts:
    """An older epoch came after a newer one, in a log or in what a replica remembers."""
    judged, event = case.judged, case.shown_by
    name, offset = event.replica, case.offset
    if isinstance(event, trace.ReplicaRestarted):
        down = case.last(trace.ReplicaCrashed, replica=name)
        had = None if down is None else case.event(down).epoch
        return [case.fact("restarted in", judged, had=had)]
    facts = [_record_before(case, name, offset)] if offset else []
    uid = case.uid_at(name, offset)
    known = case.written(uid)
    if known is not None:
        at = case.appended_at[uid]
        leader, newest = case.leader_at(at) or ("", 0)
        deposed = newest if newest > known.batch.epoch else None
        facts.append(case.fact("appended in", at, uid=uid, leader=leader, newest=deposed))
    return facts


def _record_before(case: Case, name: str, offset: int) -> Fact:
    """The record below an offset, with its epoch."""
    below = next((at for at in range(offset - 1, 0, -1) if case.uid_at(name, at)), 0)
    uid = case.uid_at(name, below)
    known = case.written(uid)
    epoch = "?" if known is None else known.batch.epoch
    return case.fact("held below", case.slot(name, below), name=name, uid=uid, epoch=epoch)


def epoch_answers(case: Case) -> Facts:
    """Two replicas answer differently about an epoch: how each came to know what it knows."""
    offset, starts = case.violation.offset, dict[int, int]()
    facts: Facts = []
    for name in case.steps:
        at = case.last(trace.EpochCacheChanged, replica=name)
        if at is not None:
            facts.append(case.fact("answered by", at, name=name, at=at, before=at + 1))
    for position in case.all(trace.Appended):
        batch = case.event(position).batch
        starts.setdefault(batch.epoch, batch.base_offset)
    last = case.steps_before(case.shown_by.replica or "", case.end)[:1]
    back = any(isinstance(step.event, trace.ReplicaRestarted) for step in last)
    mechanism = of.EPOCHS_ON_FILE if back else of.EPOCHS_CLEANED
    gone: Facts = []
    for below in () if offset is None else range(max(0, offset - 1), offset + 1):
        for name in case.steps:
            if case.slot(name, below) is not None and not case.uid_at(name, below):
                gone += lost.lacks(case, name, below)
    began = [f"{epoch} from {start}" for epoch, start in starts.items()]
    return [*as_context(gone), *facts, case.fact("began", None, mechanism, began=began)]


def log_end_moved(case: Case) -> Facts:
    """A pass or a restart moved a log end: what was at the end, and why it went."""
    judged, event = case.judged, case.shown_by
    last = max(case.log_end(event.replica, judged) - 1, 0)
    at = judged + 1 if isinstance(event, trace.Cleaned) else judged
    gone = as_context(lost.lacks(case, event.replica, last, before=at))
    return [*gone, case.fact("end moved", judged, of.END_FROM_LAST)]


def stays_behind(case: Case) -> Facts:
    """A follower's log end does not reach the leader's: what is left to fetch there."""
    leader = case.leader_at()
    if leader is None:
        return []
    led = case.last(trace.LeaderElected) or 0
    name, end, high = leader[0], case.log_end(case.replica), case.log_end(leader[0])
    values = {"name": case.replica, "leader": name, "end": end, "high": high, "last": high - 1}
    hole = end <= high and lost.ends_in_a_hole(case, name, end, case.end)
    if hole:
        facts = lost.end_fell(case, name, end, case.end)
    elif end > high:
        facts = [*lost.lacks(case, name, high, before=led), *lost.elected(case, led, high)]
    else:
        facts = [] if case.uid_at(name, end) else as_context(lost.lacks(case, name, end))
        tried = case.last(trace.SnapshotOffered, follower=case.replica)
        if tried is not None:
            again = (of.OFFERED_AGAIN,) if tried >= led else ()
            facts.append(case.fact("event then", tried, *again, kind="snapshot"))
    failed = case.last(trace.FetchingFailed, replica=case.replica)
    if failed is not None and failed > led:
        facts.append(case.fact("fetching failed", failed, of.FETCHING_FAILED))
    known = hole or mechanisms_of(facts)
    mechanisms = () if known else (of.NEVER_COPIED,)
    idle = not hole and end <= high
    return [
        *facts,
        case.fact("stays behind", None, *mechanisms, hole=hole, idle=idle, **values),
    ]


def watermark_stays(case: Case) -> Facts:
    """A high watermark stands still: whose position holds it back."""
    name = case.replica
    isr = case.last(trace.IsrChanged, trace.LeaderElected)
    members = None if isr is None else ", ".join(case.event(isr).isr)
    at = case.last(trace.HighWatermarkMoved, replica=name)
    waiting = _positions(case, name, "no position")
    values = {"name": name, "members": members, "before": END}
    return [case.fact("mark stays", at, waiting=waiting, **values)]


def acknowledged(case: Case, offset: int) -> Facts:
    """A producer was told what is not, or did not stay, committed."""
    leader = case.leader_at()
    gone = [] if leader is None else lost.lacks(case, leader[0], offset)
    for position in reversed(case.all(trace.Acknowledged, replica=case.violation.replica)):
        event = case.event(position)
        if event.first_offset <= offset <= event.last_offset:
            said = "committed" if event.acks == "all" else "written (acks=1)"
            return [*gone, case.fact("acknowledged", position, said=said)]
    return gone
