"""Why a replica lacks a record, has another one, or leads: the facts that decided, the first first.

Every question walks back over events until something decided: a cleaner compared versions or a
clock with a horizon, a leader believed a position, a crash took what was not flushed, an election
or an epoch made a log cut. What comes of that follows, so that a list of facts reads as a story.
"""

from __future__ import annotations

from typing import Final

from sim import trace
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, Facts, as_context, mechanisms_of, with_first
from sim.explain.past import END, Became, Fate, Step
from sim.explain.removed import removal_at, removed
from sim.explain.told import (
    by_counting,
    came_back,
    chosen_uncleanly,
    counted_by,
    forked,
    gave,
    given_before,
    led_on,
    led_twice,
    never_had,
    not_copied,
    not_cut,
    stands_in_snapshot,
    told_cut,
    told_loss,
    why_mistaken,
)

DEPTH_MAX: Final = 8
"""So many replicas are asked in turn, each why the one before was told so."""

_LOST_BY: Final[dict[Became, str]] = {
    Became.CRASHED: of.TAIL_LOST,
    Became.END_LOWERED: of.END_FROM_LAST,
    Became.SEGMENTS_LOST: of.SWAP_LOST,
    Became.WIPED: of.DISK_LOST,
    Became.REPLACED: of.REPLACED,
    Became.EXPIRED: of.EXPIRED,
}
_DEEPER: Final = {of.TAIL_LOST, of.OLD_EPOCH_COMMITTED}
"""What decides more than that a replica lagged."""
_HOLES: Final = (Became.CLEANED, Became.NOT_AT_SOURCE, Became.SEGMENTS_LOST)


class Why:
    """Answers about one case; what was told once is not told again."""

    def __init__(self, case: Case) -> None:
        """Nothing was asked yet."""
        self.case = case
        self.past = case.past
        self._told: dict[tuple[object, ...], Facts] = {}

    # A log lacks a record.

    def lacks(
        self,
        replica: str,
        offset: int,
        uid: int | None = None,
        *,
        before: int = END,
        depth: int = 0,
    ) -> Facts:
        """Why a log lacked, before a position, what belongs at an offset; [] = it had it.

        `uid` is the record that belongs there; None = what was committed there, else any.
        """
        uid = uid or self.past.committed_at(offset) or None
        fate = self.past.fate(replica, offset, uid, before)
        step, became = fate.step, fate.became
        if became is Became.HELD or depth > DEPTH_MAX:
            return []
        if became is Became.NEVER or step is None:
            return self._never_came(replica, offset, before)
        asked = (replica, offset, step.position)
        if asked not in self._told:
            self._told[asked] = []
            self._told[asked] = self._taken(fate, step, offset, uid, depth)
        return self._told[asked]

    def _taken(self, fate: Fate, step: Step, offset: int, uid: int | None, depth: int) -> Facts:
        """What an event did to an offset of a log that reached it."""
        if fate.became is Became.NOT_AT_SOURCE:
            leader = step.event.leader
            found = self.lacks(leader, offset, uid, before=step.position, depth=depth + 1)
            return found or [not_copied(self.case, step, leader, offset)]
        if fate.became is Became.OTHER:
            return self._other(fate, step, offset, uid, depth)
        if fate.became is Became.CUT:
            return self.cut(step, offset, uid, depth)
        if fate.became is Became.CLEANED:
            return self.cleaned(step, offset, depth)
        if fate.became is Became.END_LOWERED:
            return [
                *self._before_the_end_fell(fate, step, offset, uid),
                *self._gone(step, of.END_FROM_LAST),
            ]
        if fate.became is Became.EXPIRED and stands_in_snapshot(
            self.case, fate.replica, offset, step.position
        ):
            return self._gone(step, of.SNAPSHOT_LACKS)
        return self._gone(step, _LOST_BY[fate.became])

    def _before_the_end_fell(self, fate: Fate, step: Step, offset: int, uid: int | None) -> Facts:
        """Why the last records were gone, where the log end came from those that were left."""
        removal = removal_at(step.event, offset) if isinstance(step.event, trace.Cleaned) else None
        if removal is not None:
            return as_context(removed(self.case, step.position, removal))
        return as_context(self.lacks(fate.replica, offset, uid, before=step.position))

    def cleaned(self, step: Step, offset: int, depth: int = 0) -> Facts:
        """A pass took a record: why, and where what evicted it went, if that is gone as well."""
        removal = removal_at(step.event, offset)
        assert removal is not None
        facts = removed(self.case, step.position, removal)
        if facts[0].mechanisms != (of.SUPERSEDED,) or removal.winner_offset is None:
            return facts
        replica, at = step.event.replica, removal.winner_offset
        winner = self.past.last_written(replica, at, step.position)
        lost = self.lacks(replica, at, winner, depth=depth + 1) if winner else []
        if lost:
            facts = [facts[0]._replace(mechanisms=(of.BEATEN_LOST,)), *lost]
        return facts

    def _never_came(self, replica: str, offset: int, before: int) -> Facts:
        """Its log ends at or below the offset: did it lag, or was there nothing to copy?"""
        past, end = self.past, self.past.log_end(replica, before)
        if any(isinstance(step.event, trace.Pushed) for step in past.steps_before(replica, before)):
            return [never_had(self.case, replica, offset, before, of.NUMBERED_ITSELF)]
        belief = past.believed(replica, offset, before)
        if belief is not None:
            return self.recorded(belief)
        leaders = [past.event(one).replica for one in past.all(trace.LeaderElected, before=before)]
        source = next((name for name in reversed(leaders) if name != replica), replica)
        never = never_had(self.case, replica, offset, before, of.NEVER_COPIED)
        if source != replica and self.ends_in_a_hole(source, end, before):
            fell = self.end_fell(source, end, before)
            return [*fell, never._replace(mechanisms=())]
        return [never]

    def ends_in_a_hole(self, source: str, start: int, before: int) -> bool:
        """Whether a log goes on beyond `start`, and holds nothing from there to its end."""
        end = self.past.log_end(source, before)
        return start < end and all(
            self.past.fate(source, offset, None, before).became in _HOLES
            for offset in range(end - 1, start - 1, -1)
        )

    def end_fell(self, source: str, start: int, before: int) -> Facts:
        """What took the first of the offsets from `start` on, none of which a log holds any more.

        What took the last thing at its end says how it fell. Never empty.
        """
        past, last = self.past, self.past.log_end(source, before) - 1
        fate = past.origin(source, last, None, before)
        mechanism = of.END_FELL
        if fate.became is Became.CLEANED and fate.step is not None:
            for step in past.steps_before(fate.replica, before):
                if step.position <= fate.step.position:
                    break
                if step.after < step.before:
                    crashed = isinstance(step.event, trace.ReplicaCrashed)
                    mechanism = of.END_FELL_CRASH if crashed else of.END_FELL_CUT
                    break
            first = past.origin(source, start, None, before)
            facts = self.cleaned(fate.step, last)
            if first.became is Became.CLEANED and first.step is not None:
                facts = self.cleaned(first.step, start)
            return [facts[0]._replace(mechanisms=(mechanism,)), *facts[1:]]
        text = f"the log of {source} ends at {last + 1}, and holds nothing at {last}"
        position = None if fate.step is None else fate.step.position
        return [Fact("position", text, position, (mechanism,))]

    # Another record is there.

    def _other(self, fate: Fate, step: Step, offset: int, uid: int | None, depth: int) -> Facts:
        """Why did whoever wrote it not have the one that belongs there?"""
        other = self.past.uid_at(fate.replica, offset, step.position + 1)
        if uid is None or uid not in self.past.appended_at or isinstance(step.event, trace.Pushed):
            return self._gone(step, of.NUMBERED_ITSELF)
        one, another = self.case.history.written[uid], self.case.history.written[other]
        first, second = sorted((uid, other), key=self.past.appended_at.__getitem__)
        if one.batch.epoch == another.batch.epoch:
            return self.given_again(offset, first, second, depth + 1)
        commit = self.past.first_commit(offset)
        if commit is None or commit > self.past.appended_at[other]:
            since = self.case.when(step.position).removeprefix("at ")
            text = (
                f"{fate.replica} has {self.case.name(other)} since {since}, where "
                f"{self.case.name(uid)} was given the offset later"
            )
            kept = Fact("epoch", text, step.position)
            return self.tail_kept(offset, [kept], fate.replica)
        return self.given_again(offset, uid, other, depth + 1)

    def given_again(self, offset: int, first: int, second: int, depth: int = 0) -> Facts:
        """Why a leader gave an offset to `second` that `first` has."""
        one, other = self.case.written(first), self.case.written(second)
        assert one is not None
        assert other is not None
        position = self.past.appended_at[second]
        leader = self.past.event(position).replica
        same_epoch = one.batch.epoch == other.batch.epoch
        if same_epoch and self.past.event(self.past.appended_at[first]).replica != leader:
            led = led_twice(self.case)
            return [*led, gave(self.case, position, leader, offset, second, unexplained=not led)]
        facts = self.without(leader, offset, first, position, depth=depth)
        went_on = led_on(self.case, leader, position) if same_epoch else []
        if of.TAIL_LOST not in mechanisms_of(facts):
            went_on = as_context(went_on)
        return [*facts, *went_on, gave(self.case, position, leader, offset, second)]

    def without(
        self,
        replica: str,
        offset: int,
        uid: int | None,
        before: int = END,
        *,
        depth: int = 0,
        lag_is_news: bool = False,
    ) -> Facts:
        """Why a replica lacked a record, and why it led, or counted, all the same; [] = it had it.

        That it lagged is no news where the question is why it gave the offset again.
        """
        facts = self.lacks(replica, offset, uid, before=before, depth=depth)
        names = mechanisms_of(facts)
        counted = self.counted(replica, offset, before, names) if facts else []
        lagged = len(facts) == 1 and names == (of.NEVER_COPIED,) and mechanisms_of(counted)
        if lagged and not (lag_is_news and _DEEPER.isdisjoint(mechanisms_of(counted))):
            return [with_first(counted, names), *counted[1:]]
        return [*facts, *counted]

    def given_twice(self, offset: int) -> Facts:
        """Why an offset was given again once committed, or twice in one epoch; [] = neither."""
        past, written = self.past, self.case.history.written
        uids = past.uids_at.get(offset, [])
        if len(uids) < 2:
            return []
        committed = past.committed_at(offset)
        first = committed if committed in uids else uids[0]
        later = uids[uids.index(first) + 1 :]
        commit = past.first_commit(offset)
        if later and commit is not None and commit < past.appended_at[later[0]]:
            return [
                *self.given_again(offset, first, later[0]),
                given_before(self.case, offset, first),
            ]
        if written[uids[0]].batch.epoch == written[uids[1]].batch.epoch:
            again = self.given_again(offset, uids[0], uids[1])
            return [*again, given_before(self.case, offset, uids[0])]
        return []

    def tail_kept(self, offset: int, otherwise: Facts, whose: str | None = None) -> Facts:
        """Why two records stay at an offset that was free when each was given it.

        `whose` names a log that has, or had, the one that does not belong there.
        """
        uncut, old = not_cut(self.case, offset, whose), forked(self.case, offset)
        if old and by_counting(self.case, offset):
            return [with_first(old, (of.OLD_EPOCH_COMMITTED,)), *old[1:], *uncut]
        mechanism = of.TAIL_UNKNOWN if self._leader_cannot_tell(offset, uncut) else of.TAIL_KEPT
        facts = [*uncut, *old] or otherwise
        return [with_first(facts, (mechanism,)), *facts[1:]]

    def _leader_cannot_tell(self, offset: int, uncut: Facts) -> bool:
        """Whether what belongs at an offset went from the leader's log, and its epoch with it."""
        past, uid = self.past, self.past.committed_at(offset)
        leader, before = past.leader_at(), past.end
        if uncut and uncut[0].position is not None:
            before = uncut[0].position
            copied = past.event(before)
            leader = (copied.leader, 0) if isinstance(copied, trace.Copied) else leader
        if leader is None or not uid:
            return False
        became = past.origin(leader[0], offset, uid, before).became
        return became in (Became.CLEANED, Became.REPLACED, Became.EXPIRED)

    # Who leads, and what leaders believe.

    def counted(self, replica: str, offset: int, before: int, names: tuple[str, ...]) -> Facts:
        """Why a replica that lacks a committed offset could lead, or count, all the same."""
        past, since = self.past, self.past.first_commit(offset)
        if since is None:
            return []
        led = past.last(trace.LeaderElected, replica=replica, before=before)
        elected = led is not None and led > since
        if led is not None and elected and chosen_uncleanly(self.case, led):
            return self.elected(led, offset, of.UNCLEAN)
        facts = self.elected(led, offset) if led is not None and elected else []
        if of.NEVER_COPIED not in names or of.BELIEVED in names:
            return facts
        for position in past.all(trace.IsrChanged, after=since, before=before, joined=replica):
            if past.log_end(replica, position) <= offset:
                return [*self.joined(position, of.LET_IN), *facts]
        return [*(self._too_few(offset, since) if elected else []), *facts]

    def _too_few(self, offset: int, committed: int) -> Facts:
        """Why a majority did not stand in the way of a leader that lacks what is committed."""
        past = self.past
        if self.case.rules.replication.commit == "isr":
            return []
        for steps in past.steps.values():
            for step in steps:
                if (
                    isinstance(step.event, trace.ReplicaCrashed)
                    and step.after <= offset < step.before
                ):
                    return self._gone(step, of.TAIL_LOST)
        if by_counting(self.case, offset):
            old = forked(self.case, offset) or [
                Fact("epoch", counted_by(self.case, committed, offset), committed)
            ]
            return [old[0]._replace(mechanisms=(of.OLD_EPOCH_COMMITTED,))]
        return []

    def elected(self, position: int, offset: int | None = None, *mechanisms: str) -> Facts:
        """Why a replica leads: its log end against what was committed, and how it was chosen."""
        case, past, event = self.case, self.past, self.past.event(position)
        name, facts = event.replica, []
        previous = past.last(trace.LeaderElected, before=position)
        for one in past.all(trace.IsrChanged, joined=name, after=previous or -1, before=position):
            facts += as_context(self.joined(one))
        unclean = past.last(trace.UncleanElection, replica=name, before=position)
        because = ""
        if unclean is not None and (previous is None or unclean > previous):
            because = f", whatever it has: {past.event(unclean).because}"
        marks = past.all(trace.HighWatermarkMoved, leading=True, before=position)
        committed = max((past.event(one).high_watermark for one in marks), default=0)
        text = (
            f"{name} became leader of epoch {event.epoch} {case.when(position)} with log end "
            f"offset {event.epoch_start_offset}{because}"
        )
        if offset is not None and committed > event.epoch_start_offset:
            text += f", while all below {committed} was committed"
        return [*facts, Fact("election", text, position, mechanisms)]

    def joined(self, position: int, *mechanisms: str) -> Facts:
        """Why a replica was admitted to the in-sync set."""
        past, event = self.past, self.past.event(position)
        name = event.joined
        found = past.last(
            trace.PositionRecorded, replica=event.replica, follower=name, before=position
        )
        at, end = 0 if found is None else past.event(found).position, past.log_end(name, position)
        belief = past.believed(name, end, position) if at > end else None
        facts = [] if belief is None else as_context(self.recorded(belief))
        text = (
            f"{name} joined the in-sync set {self.case.when(position)} by its position {at}, high "
            f"watermark {past.high_watermark(event.replica, position)}, log end offset {end}"
        )
        return [*facts, Fact("position", text, position, mechanisms)]

    def recorded(self, position: int) -> Facts:
        """Why a leader recorded a position above the follower's log end."""
        past, event = self.past, self.past.event(position)
        end = past.log_end(event.follower, position)
        lacks = self.ends_in_a_hole(event.replica, end, position)
        facts = self.end_fell(event.replica, end, position) if lacks else []
        rule = self.case.rules.replication.follower_position
        how = {"read_end": ": a fetch that reads to the end counts as having all"}.get(rule, "")
        text = (
            f"{event.replica} recorded position {event.position} for {event.follower} "
            f"{self.case.when(position)}, whose log end offset was {end}{how}"
        )
        mechanisms = () if facts else (of.NEVER_COPIED, of.BELIEVED)
        return [*facts, Fact("position", text, position, mechanisms)]

    # What was cut and lost.

    def cut(self, step: Step, offset: int, uid: int | None, depth: int = 0) -> Facts:
        """A truncation: did its leader lack what was cut, or was it mistaken?"""
        event, leader = step.event, self.past.leader_at(step.position)
        facts: Facts = []
        mechanism: tuple[str, ...] = () if event.leading else (why_mistaken(self.case, step),)
        if leader is not None and leader[0] != event.replica:
            origin = self.past.origin(leader[0], offset, uid, step.position)
            facts = self.without(leader[0], offset, uid, step.position, depth=depth + 1)
            if origin.became is Became.CLEANED:
                facts, mechanism = as_context(facts), (of.CUT_BY_CLEANED_EPOCH,)
            elif mechanisms_of(facts) and self._was_committed(offset, uid):
                mechanism = ()
        if mechanism:
            facts = as_context(facts)
        facts = facts or came_back(self.case, event.replica, step.position)
        return [*facts, told_cut(self.case, step, leader, mechanism)]

    def _was_committed(self, offset: int, uid: int | None) -> bool:
        return uid is None or self.past.committed_at(offset) == uid

    def _gone(self, step: Step, mechanism: str) -> Facts:
        """One event by which a log lost records otherwise than by cleaning or a truncation."""
        moved = self._followed(step)
        told = told_loss(self.case, step.position)
        kind, text = told
        if kind == "loss":
            text += self.case.fault(step.event.replica, step.position)
        return [*moved, Fact(kind, text, step.position, (mechanism,))]

    def _followed(self, step: Step) -> Facts:
        """Why the leader's log start had moved, where a follower took it over."""
        event, leader = step.event, self.past.leader_at(step.position)
        if not isinstance(event, trace.LogStartMoved) or not event.cause.startswith("the leader"):
            return []
        if leader is None or leader[0] == event.replica:
            return []
        kinds = (trace.PrefixDeleted, trace.LogStartMoved, trace.LogStartedAfresh)
        moved = self.past.last(*kinds, replica=leader[0], before=step.position)
        return [] if moved is None else [Fact(*told_loss(self.case, moved), moved)]
