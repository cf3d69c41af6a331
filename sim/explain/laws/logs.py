"""What decided where a log, or what is believed of it, is not what was committed."""

from __future__ import annotations

from collections.abc import Iterator

from sim.explain.case import Case, Fact, listed
from sim.explain.why import Facts, Why
from sim.log.record import Batch
from sim.trace import (
    Acknowledged,
    Appended,
    Cleaned,
    Copied,
    EpochCacheChanged,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    PositionRecorded,
    Pushed,
    ReplicaCrashed,
    ReplicaRestarted,
    Truncated,
)
from sim.trace.sentences import describe


def lost_record(case: Case, why: Why) -> Facts:
    """A replica lacks what was committed at an offset."""
    violation = case.violation
    replica = violation.replica or (case.leader_at(case.cone.judged + 1) or ("", 0))[0]
    if violation.offset is None:
        return []
    facts = why.lacks(replica, violation.offset, before=case.cone.judged)
    if len({uid for _, _, uid, _ in _given(case, violation.offset)}) > 1:
        facts += two_records(case, why)
    return facts


def misplaced(case: Case, why: Why) -> Facts:
    """A record stands at an offset of a log that is not its own."""
    violation = case.violation
    assert violation.replica is not None
    assert violation.offset is not None
    return why.lacks(violation.replica, violation.offset, before=case.cone.judged + 1)


def leader_lacks(case: Case, why: Why) -> Facts:
    """A leader was elected without what was committed."""
    violation, judged = case.violation, case.cone.judged
    assert violation.replica is not None
    assert violation.offset is not None
    return why.leader_lacks(violation.replica, violation.offset, judged, judged)


def two_records(case: Case, why: Why) -> Facts:
    """Two records were given the offset of a violation: why both are there."""
    offset = case.violation.offset
    return [] if offset is None else two_records_at(case, why, offset)


def two_records_at(case: Case, why: Why, offset: int) -> Facts:
    """Two records were given one offset: why the second was, and why both are there.

    That a new leader gives an offset again that is not committed is what epochs are there for; then
    what decided is who committed one of them, or did not cut its own.
    """
    given = _given(case, offset)
    if len({uid for _, _, uid, _ in given}) < 2:
        replica = case.violation.replica
        return [] if replica is None else why.lacks(replica, offset, before=case.cone.judged)
    committed, commit = case.committed_at(offset), case.known.first_commit(offset)
    again = next((one for one in reversed(given) if one[2] != committed), given[-1])
    if case.known.appended_at.get(committed, -1) > again[0]:
        again = next(one for one in given if one[2] == committed)
    others = [one for one in given if one[0] != again[0]]
    first = next((one for one in others if one[2] == committed), others[0])
    text = (
        f"{first[1]} had given offset {offset} to {case.name(first[2])} in epoch {first[3]} "
        f"{case.when(first[0])}"
    )
    if first[2] == committed and commit is not None:
        text += f", committed {case.when(commit)}"
    facts = [*why.reused(again[0], again[1], offset, again[3]), Fact("epoch", text, first[0])]
    uncut = _not_cut(case, offset)
    was_free = (commit is None or commit > again[0]) and again[3] != first[3]
    return [*uncut, *why.forked(offset), *facts] if was_free else [*facts, *uncut]


def _given(case: Case, offset: int) -> list[tuple[int, str, int, int]]:
    """Who gave an offset to what: position, leader, uid and epoch of each append."""
    found = []
    for position, (_, event) in enumerate(case.events[: case.cone.judged + 1]):
        if isinstance(event, Appended) and event.batch.base_offset <= offset:
            uid = next((r.uid for r in event.batch.records if r.offset == offset), 0)
            if uid:
                found.append((position, event.replica, uid, event.batch.epoch))
    return found


def _not_cut(case: Case, offset: int) -> Facts:
    """Who holds another record than the leader, and went on copying behind it."""
    end = case.cone.judged + 1
    leader, led = case.leader_at(end), case.known.last("leader", before=end)
    if leader is None or led is None:
        return []
    facts: Facts = []
    for replica in case.known.replicas:
        position = case.known.slot(replica, offset, before=end)
        held = case.uid_at(replica, offset, before=end)
        if replica == leader[0] or position is None or position > led or not held:
            continue
        if held == case.uid_at(leader[0], offset, before=end):
            continue
        for copied in case.known.all("end", replica, after=led, before=end):
            event = case.event(copied)
            if isinstance(event, Copied):
                text = (
                    f"{replica} (epochs {case.epochs_of(replica, before=copied)}) kept what it has "
                    f"at {offset} and copied from {event.fetch_offset} on from {event.leader} "
                    f"(epochs {case.epochs_of(event.leader, before=copied)}) {case.when(copied)} "
                    f"(truncation: {case.rules.replication.truncation})"
                )
                facts.append(Fact("epoch", text, copied))
                break
        else:
            facts += _counted_anyway(case, replica, leader[0], offset)
    return facts


def _counted_anyway(case: Case, replica: str, leader: str, offset: int) -> Facts:
    """That a leader counts a position above an offset at which the follower has another record."""
    end = case.cone.judged + 1
    position = case.known.last("position", leader, replica, before=end)
    event = None if position is None else case.event(position)
    if position is None or not isinstance(event, PositionRecorded) or event.position <= offset:
        return []
    text = (
        f"{leader} (epochs {case.epochs_of(leader, before=position)}) recorded position "
        f"{event.position} for {replica} (epochs {case.epochs_of(replica, before=position)}) "
        f"{case.when(position)}, which has {case.name(case.uid_at(replica, offset, before=end))} "
        f"(truncation: {case.rules.replication.truncation})"
    )
    return [Fact("epoch", text, position)]


def committed_without(case: Case, why: Why) -> Facts:
    """A high watermark counted somebody who lacks what is below it, or they were admitted so."""
    violation, judged = case.violation, case.cone.judged
    assert violation.replica is not None
    assert violation.offset is not None
    event = case.event(judged)
    if isinstance(event, IsrChanged):
        facts = why.joined(judged)
        if event.joined == violation.replica:
            others = two_records(case, why)
            return [*facts, *others] if len(facts) > 1 else [*others, *facts]
    found = two_records(case, why) or lost_record(case, why)
    if isinstance(event, HighWatermarkMoved):
        found = [*found, _watermark(case, event, judged)]
    return found


def _watermark(case: Case, event: HighWatermarkMoved, position: int) -> Fact:
    """By which positions a leader moved its high watermark."""
    name = event.replica
    counted = []
    for other in case.known.replicas:
        found = case.known.last("position", name, other, before=position)
        recorded = None if found is None else case.event(found)
        if isinstance(recorded, PositionRecorded):
            end = case.end_of(other, before=position)
            counted.append(f"{other} at {recorded.position} (log end offset {end})")
    own = case.end_of(name, before=position)
    text = (
        f"{name}, log end offset {own}, moved its high watermark to {event.high_watermark} "
        f"{case.when(position)}"
    )
    return Fact("position", f"{text}, counting {listed(counted)}" if counted else text, position)


def believed_position(case: Case, why: Why) -> Facts:
    """A leader believes in a position that its follower has not."""
    event = case.event(case.cone.judged)
    assert isinstance(event, PositionRecorded)
    end = case.end_of(event.follower, before=case.cone.judged)
    return why.recorded(case.cone.judged, event, end)


def truncated(case: Case, why: Why) -> Facts:
    """A log was cut where it should not: by whose word, and why that leader lacks it."""
    event = case.event(case.cone.judged)
    assert isinstance(event, Truncated)
    return why.lacks(event.replica, event.target, before=case.cone.judged + 1)


def high_watermark_fell(case: Case, why: Why) -> Facts:
    """A high watermark went back, or is above its log."""
    judged, event = case.cone.judged, case.event(case.cone.judged)
    name = event.replica or ""
    before = case.high_watermark_of(name, before=judged)
    end = case.end_of(name, before=judged + 1)
    facts: Facts = []
    if isinstance(event, HighWatermarkMoved):
        source = "" if event.leading else ", as its leader told it"
        text = (
            f"{name}, log end offset {end}, moved its high watermark from {before} to "
            f"{event.high_watermark} {case.when(judged)}{source}"
        )
        facts.append(Fact("position", text, judged))
        leader = case.leader_at(judged)
        if not event.leading and leader is not None and leader[0] != name:
            known = case.high_watermark_of(leader[0], before=judged)
            text = f"{leader[0]}, leader of epoch {leader[1]}, knew high watermark {known}"
            facts.insert(0, Fact("position", text, case.known.last("mark", leader[0])))
        return facts
    text = f"{name} kept high watermark {case.high_watermark_of(name)} with log end offset {end}"
    return [*why.lacks(name, end, before=judged + 1), Fact("position", text, judged)]


def epoch_led_twice(case: Case, _: Why) -> Facts:
    """Two leaders of one epoch: what the second one's voters had forgotten."""
    judged, event = case.cone.judged, case.event(case.cone.judged)
    assert isinstance(event, LeaderElected)
    facts: Facts = []
    for position, (_at, earlier) in enumerate(case.events[:judged]):
        if isinstance(earlier, LeaderElected) and earlier.epoch == event.epoch:
            text = f"{earlier.replica} was elected in epoch {event.epoch} {case.when(position)}"
            facts.append(Fact("epoch", text, position))
            for name in event.voters:
                back = case.known.last("restart", name, before=judged)
                if back is not None and back > position:
                    restarted = case.event(back)
                    assert isinstance(restarted, ReplicaRestarted)
                    text = (
                        f"{name} came back {case.when(back)} in epoch {restarted.epoch} "
                        f"(vote_storage: {case.rules.election.vote_storage})"
                    )
                    facts.append(Fact("epoch", text, back))
            break
    text = (
        f"{event.replica} was elected in epoch {event.epoch}, too, {case.when(judged)}, by voters "
        f"among {listed(list(event.voters))}"
    )
    return [*facts, Fact("epoch", text, judged)]


def epochs_fell(case: Case, why: Why) -> Facts:
    """An older epoch came after a newer one, in a log or in what a replica remembers."""
    judged, event = case.cone.judged, case.event(case.cone.judged)
    name = event.replica or ""
    if isinstance(event, ReplicaRestarted):
        down = case.known.last("down", name, before=judged)
        was = None if down is None else case.event(down)
        had = f" where it had been in {was.epoch}" if isinstance(was, ReplicaCrashed) else ""
        text = (
            f"{name} came back {case.when(judged)} in epoch {event.epoch}{had} (epoch_storage: "
            f"{case.rules.election.epoch_storage})"
        )
        return [Fact("epoch", text, judged)]
    offset = case.violation.offset or 0
    uid = case.uid_at(name, offset, before=judged + 1)
    batch = case.known.batches.get(uid)
    epoch = "?" if batch is None else batch.epoch
    facts = [_batch_before(case, name, offset)] if offset else []
    if batch is not None:
        written = case.known.appended_at[uid]
        leader = case.event(written).replica
        text = f"{leader} appended {case.name(uid)} in epoch {epoch} {case.when(written)}"
        newest = case.leader_at(written)
        if newest is not None and newest[1] > batch.epoch:
            text += f", when {newest[0]} led epoch {newest[1]} already"
        facts.append(Fact("epoch", text, written))
    source = f" from {event.leader}" if isinstance(event, Copied | Pushed) else ""
    text = f"{name} took it{source} behind that {case.when(judged)}"
    return [*facts, Fact("epoch", text, judged)]


def _batch_before(case: Case, name: str, offset: int) -> Fact:
    """The record below an offset, with its epoch."""
    below = offset - 1
    while below > 0 and not case.uid_at(name, below):
        below -= 1
    uid = case.uid_at(name, below)
    batch = case.known.batches.get(uid)
    epoch = "?" if batch is None else batch.epoch
    position = case.known.slot(name, below)
    return Fact("epoch", f"{name} held {case.name(uid)} of epoch {epoch}", position)


def epoch_answers(case: Case, why: Why) -> Facts:
    """Two replicas answer differently about an epoch: how each came to know what it knows."""
    facts: Facts = []
    for name in case.known.replicas:
        position = case.known.last("epochs", name, before=case.cone.judged + 1)
        event = None if position is None else case.event(position)
        if isinstance(event, EpochCacheChanged) and position is not None:
            starts = [f"{epoch} from {start}" for epoch, start in event.epochs]
            text = f"{name} knew the epochs {listed(starts) or 'none'} since {case.when(position)}"
            facts.append(Fact("epoch", text.replace("since at", "since"), position))
    starts = [
        f"{batch.epoch} from {batch.base_offset}"
        for position, batch in _epoch_starts(case)
        if position <= case.cone.judged
    ]
    text = f"the epochs began, as appended, {listed(starts)}"
    offset = case.violation.offset
    gone: Facts = []
    if offset is not None:
        for name in case.known.replicas:
            for below in range(max(0, offset - 1), offset + 1):
                if not case.uid_at(name, below) and case.known.slot(name, below) is not None:
                    gone += why.lacks(name, below, before=case.cone.judged + 1)
    return [*gone, *facts, Fact("epoch", text, None)]


def _epoch_starts(case: Case) -> Iterator[tuple[int, Batch]]:
    """The first batch of each epoch, as appended, with the position of its append."""
    seen = set()
    for position, (_at, event) in enumerate(case.events[: case.cone.judged + 1]):
        if isinstance(event, Appended) and event.batch.epoch not in seen:
            seen.add(event.batch.epoch)
            yield position, event.batch


def log_end_moved(case: Case, why: Why) -> Facts:
    """A pass or a restart moved a log end: what was at the end, and why it went."""
    judged, event = case.cone.judged, case.event(case.cone.judged)
    assert isinstance(event, Cleaned | ReplicaRestarted)
    name, end = event.replica, event.log_end_offset
    before = case.end_of(name, before=judged)
    at = judged + 1 if isinstance(event, Cleaned) else judged
    facts = why.lacks(name, max(before - 1, 0), before=at)
    text = f"the log end offset of {name} went from {before} to {end} {case.when(judged)}"
    return [*facts, Fact("position", text, judged)]


def stays_behind(case: Case, why: Why) -> Facts:
    """A follower's log end does not reach the leader's: what is left to fetch there."""
    replica, judged = case.violation.replica or "", case.cone.judged
    end = case.end_of(replica)
    leader = case.leader_at(judged)
    if leader is None:
        return []
    name, high = leader[0], case.end_of(leader[0])
    text = f"{replica} stays at log end offset {end}, the leader {name} is at {high}"
    if end > high:
        led = case.known.last("leader", before=judged)
        lacks = why.leader_lacks(name, high, led, judged) if led is not None else []
        return [*lacks, Fact("position", text, None)]
    holes = [offset for offset in range(end, high) if not case.uid_at(name, offset)]
    if len(holes) == high - end:
        facts = why.lacks(name, end, before=judged)
        text += f", and nothing is left to copy from {end} to {high - 1}"
        return [*facts, Fact("position", text, None)]
    facts = why.lacks(name, end, before=judged) if end in holes else []
    tried = case.known.last("offered", replica, before=judged)
    if tried is not None:
        facts.append(Fact("snapshot", f"{describe(case.event(tried))} {case.when(tried)}", tried))
    text += (
        f": it fetched no more; {replica} knows the epochs {case.epochs_of(replica)}, {name} "
        f"{case.epochs_of(name)}"
    )
    return [*facts, Fact("position", text, None)]


def watermark_stays(case: Case, _: Why) -> Facts:
    """A high watermark stands still: whose position holds it back."""
    replica, judged = case.violation.replica or "", case.cone.judged
    waiting = []
    for other in case.known.replicas:
        if other == replica:
            continue
        found = case.known.last("position", replica, other, before=judged)
        event = None if found is None else case.event(found)
        at = event.position if isinstance(event, PositionRecorded) else "no position"
        waiting.append(f"{other} at {at} (log end offset {case.end_of(other)})")
    isr = case.known.last("isr", before=judged + 1)
    known = None if isr is None else case.event(isr)
    names = known.isr if isinstance(known, IsrChanged | LeaderElected) else ()
    members = f", in sync: {', '.join(names)}" if names else ""
    text = (
        f"{replica}, log end offset {case.end_of(replica)}, has high watermark "
        f"{case.high_watermark_of(replica)} and believes {listed(waiting)}{members}"
    )
    return [Fact("position", text, case.known.last("mark", replica))]


def acknowledged(case: Case, why: Why) -> Facts:
    """A producer was told what is not, or did not stay, committed."""
    violation = case.violation
    offset = violation.offset
    told: Facts = []
    for position, (_at, event) in enumerate(case.events[: case.cone.judged + 1]):
        if (
            isinstance(event, Acknowledged)
            and offset is not None
            and event.replica == violation.replica
            and event.first_offset <= offset <= event.last_offset
        ):
            name = event.replica
            text = (
                f"{name} told its producer {case.when(position)} that {event.first_offset} to "
                f"{event.last_offset} are "
                f"{'committed' if event.acks == 'all' else 'written (acks=1)'}, with high "
                f"watermark {case.high_watermark_of(name, before=position)} and log end offset "
                f"{case.end_of(name, before=position)} in epoch {event.epoch}"
            )
            told.append(Fact("position", text, position))
    lost: Facts = []
    if offset is not None:
        leader = case.leader_at(case.cone.judged + 1)
        if leader is not None:
            lost = why.lacks(leader[0], offset, before=case.cone.judged)
    return [*lost, *told[-1:]]
