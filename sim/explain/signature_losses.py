"""Why a replica lacks a record that was committed, or holds another one in its place."""

from __future__ import annotations

from typing import Final

from sim.check.promise import DEFAULT_HEADER, promised_mark, promised_order
from sim.explain import mechanisms as of
from sim.explain.signature_past import Became, Fate, Past, Written
from sim.explain.signature_removals import why_removed
from sim.log.record import Control
from sim.rules import Rules
from sim.trace import (
    Cleaned,
    HighWatermarkMoved,
    LeaderElected,
    Pushed,
    Removal,
    ReplicaCrashed,
    ReplicaRestarted,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
    Truncated,
)

Facts = tuple[str, ...]

DEPTH_MAX: Final = 8
"""So many replicas are asked in turn, each why the one before was told so."""

_BY_FATE: Final[dict[Became, str]] = {
    Became.END_LOWERED: of.END_FROM_LAST,
    Became.SEGMENTS_LOST: of.SWAP_LOST,
    Became.WIPED: of.DISK_LOST,
    Became.REPLACED: of.REPLACED,
    Became.EXPIRED: of.EXPIRED,
}


class Losses:
    """Asks why records are missing, of the events up to a violation and the rules of the run."""

    def __init__(self, past: Past, rules: Rules) -> None:
        """Rules say what was promised: what beats what, and what is a tombstone."""
        self.past = past
        self.rules = rules
        self.version = promised_order(rules)
        self.is_tombstone = promised_mark(rules)

    def why_lacking(
        self, replica: str, offset: int, uid: int | None, before: int, depth: int = 0
    ) -> Facts:
        """Why the log of a replica lacked, before a position, the record `uid` at `offset`."""
        fate = self.past.fate(replica, offset, uid, before)
        step, became = fate.step, fate.became
        if became is Became.HELD or depth > DEPTH_MAX:
            return ()
        if became is Became.NEVER or step is None:
            return self._never(replica, offset, uid, before, depth)
        if became is Became.NOT_AT_SOURCE:
            found = self.why_lacking(step.event.leader, offset, uid, step.position, depth + 1)
            return found or (of.NEVER_COPIED,)
        if became is Became.OTHER:
            return self._other(fate, replica, offset, uid, depth)
        if became is Became.CUT:
            return self._cut(fate, replica, offset, uid, depth)
        if became is Became.CLEANED:
            return self._cleaned(fate, replica, offset, uid, depth)
        if became is Became.EXPIRED and self._in_snapshot(replica, offset, before):
            return (of.SNAPSHOT_LACKS,)
        if became is Became.CRASHED:
            return (of.TAIL_LOST,)
        return (_BY_FATE[became],)

    def _never(self, replica: str, offset: int, uid: int | None, before: int, depth: int) -> Facts:
        """Its log ends at or below the offset: did it lag, or was there nothing to copy?"""
        past = self.past
        if any(isinstance(step.event, Pushed) for step in past.steps_before(replica, before)):
            return (of.NUMBERED_ITSELF,)
        end = past.log_end(replica, before)
        belief = past.believed_in(replica, offset, before)
        if belief is not None:
            source, moment = belief[1], belief[0]
        else:
            leaders = [event.replica for at, event in past.elections if at < before]
            others = [name for name in reversed(leaders) if name != replica]
            source, moment = (others[0] if others else replica), before
        if source != replica and self._ends_in_a_hole(source, end, moment):
            return (self._how_the_end_fell(source, moment),)
        if belief is not None and depth <= DEPTH_MAX:
            return (of.NEVER_COPIED, of.BELIEVED)
        return (of.NEVER_COPIED,)

    def _in_snapshot(self, replica: str, offset: int, before: int) -> bool:
        """Whether a snapshot of a replica stands for an offset."""
        return any(
            isinstance(event, SnapshotTaken | SnapshotInstalled)
            and event.replica == replica
            and event.end_offset > offset
            for _, event in self.past.events[:before]
        )

    def why_stuck(self, replica: str, end: int) -> Facts:
        """Why a follower does not get beyond its log end while faults are over."""
        past = self.past
        leader = past.leader_at(past.end)
        if leader is None:
            return ()
        if past.log_end(leader, past.end) > end and self._ends_in_a_hole(leader, end, past.end):
            return (self._how_the_end_fell(leader, past.end),)
        elected = past.elections[-1][0]
        if any(
            isinstance(event, SnapshotOffered) and event.follower == replica
            for _, event in past.events[elected:]
        ):
            return (of.OFFERED_AGAIN,)
        return (of.NEVER_COPIED,)

    def why_epochs_differ(self) -> Facts:
        """Why two replicas say otherwise where an epoch ends."""
        last = self.past.events[-1][1]
        restarted = any(
            isinstance(step.event, ReplicaRestarted)
            for step in self.past.steps_before(last.replica or "", self.past.end)[:1]
        )
        return (of.EPOCHS_ON_FILE,) if restarted else (of.EPOCHS_CLEANED,)

    def _ends_in_a_hole(self, source: str, start: int, before: int) -> bool:
        """Whether a log goes on beyond `start`, and holds nothing from there to its end."""
        end = self.past.log_end(source, before)
        return start < end and all(
            self.past.fate(source, offset, None, before).became in _HOLES
            for offset in range(end - 1, start - 1, -1)
        )

    def _how_the_end_fell(self, source: str, before: int) -> str:
        """What took the last thing that a log held at its end."""
        end = self.past.log_end(source, before)
        fate = self.past.fate(source, end - 1, None, before)
        while fate.became is Became.NOT_AT_SOURCE and fate.step is not None:
            fate = self.past.fate(fate.step.event.leader, end - 1, None, fate.step.position)
        if fate.became is Became.CLEANED and fate.step is not None:
            for step in self.past.steps_before(fate.replica, before):
                if step.position <= fate.step.position:
                    break
                if step.after < step.before:
                    crashed = isinstance(step.event, ReplicaCrashed)
                    return of.END_FELL_CRASH if crashed else of.END_FELL_CUT
        return of.END_FELL

    def _other(self, fate: Fate, replica: str, offset: int, uid: int | None, depth: int) -> Facts:
        """Another record is there: why did whoever wrote it not have the one that belongs there?"""
        past, step = self.past, fate.step
        assert step is not None
        other = past.last_written(replica, offset, step.position + 1)
        written, first = past.written.get(other or 0), past.written.get(uid or 0)
        if written is None or first is None:
            return (of.NUMBERED_ITSELF,) if isinstance(step.event, Pushed) else ()
        if first.position > written.position:
            return (of.TAIL_KEPT,)
        return self.why_given_again(offset, uid or 0, other or 0, depth + 1)

    def why_given_again(self, offset: int, first: int, second: int, depth: int = 0) -> Facts:
        """Why an offset that `first` has was given to `second`, too."""
        past = self.past
        one, other = past.written[first], past.written[second]
        if one.batch.epoch == other.batch.epoch and one.replica != other.replica:
            return self.why_two_leaders() or (of.TWO_LEADERS,)
        facts = self.why_lacking(other.replica, offset, first, other.position, depth)
        same = one.batch.epoch == other.batch.epoch and of.TAIL_LOST in facts
        facts = (*facts, of.SAME_EPOCH) if same else facts
        return (*facts, *self.why_counted(other.replica, offset, other.position, facts))

    def why_two_leaders(self) -> Facts:
        """Why an epoch has two leaders; empty = none has."""
        first: dict[int, tuple[int, str]] = {}
        for position, event in self.past.elections:
            at, leader = first.setdefault(event.epoch, (position, event.replica))
            if leader != event.replica:
                restarted = any(
                    at < step.position < position and isinstance(step.event, ReplicaRestarted)
                    for steps in self.past.steps.values()
                    for step in steps
                )
                return (of.TWO_LEADERS, of.VOTE_FORGOTTEN) if restarted else (of.TWO_LEADERS,)
        return ()

    def why_counted(self, replica: str, offset: int, before: int, facts: Facts) -> Facts:
        """Why a replica that lacks a committed offset could lead, or count, all the same."""
        past = self.past
        committed = past.committed_from(offset)
        if committed is None:
            return ()
        since = committed[0]
        elected = [
            (at, event)
            for at, event in past.elections
            if since < at < before and event.replica == replica
        ]
        if elected and self._uncleanly(*elected[-1]):
            return (of.UNCLEAN,)
        if of.NEVER_COPIED not in facts or of.BELIEVED in facts:
            return ()
        joined = any(
            joined == replica and since < at < before and past.log_end(replica, at) <= offset
            for at, _, joined in past.memberships
        )
        if joined:
            return (of.LET_IN,)
        return self._why_too_few(offset) if elected else ()

    def _uncleanly(self, position: int, election: LeaderElected) -> bool:
        """Whether a leader was not in the in-sync set, where that decides who may lead."""
        if (election.replica, election.epoch) in self.past.unclean:
            return True
        members = [isr for at, isr, _ in self.past.memberships if at < position]
        by_isr = self.rules.replication.commit == "isr"
        return by_isr and bool(members) and election.replica not in members[-1]

    def _why_too_few(self, offset: int) -> Facts:
        """Why a majority did not stand in the way of a leader that lacks what is committed."""
        past = self.past
        if self.rules.replication.commit == "isr":
            return ()
        if any(
            isinstance(step.event, ReplicaCrashed) and step.after <= offset < step.before
            for steps in past.steps.values()
            for step in steps
        ):
            return (of.TAIL_LOST,)
        found = past.committed_from(offset)
        if found is None:
            return ()
        event = past.events[found[0]][1]
        starts = [each.epoch_start_offset for at, each in past.elections if at < found[0]]
        by_counting = (
            isinstance(event, HighWatermarkMoved)
            and bool(starts)
            and event.high_watermark <= starts[-1]
        )
        return (of.OLD_EPOCH_COMMITTED,) if by_counting else ()

    def _cut(self, fate: Fate, replica: str, offset: int, uid: int | None, depth: int) -> Facts:
        """A truncation took it: did its leader lack it, or was it mistaken?"""
        past, step = self.past, fate.step
        assert step is not None
        leader = past.leader_at(step.position)
        if leader is not None and leader != replica:
            at_leader = past.fate(leader, offset, uid, step.position)
            if at_leader.became not in (Became.HELD, Became.CLEANED, Became.NOT_AT_SOURCE):
                found = self.why_lacking(leader, offset, uid, step.position, depth + 1)
                counted = self.why_counted(leader, offset, step.position, found)
                if found and self._was_committed(offset, uid):
                    return (*found, *(fact for fact in counted if fact not in found))
        if step.event.target == step.event.high_watermark:
            return (of.CUT_TO_HW,)
        return (of.CUT_BY_EPOCH,)

    def _was_committed(self, offset: int, uid: int | None) -> bool:
        return uid is None or self.past.committed_uid(offset) == uid

    def why_contested(self, offset: int) -> Facts:
        """Why an offset has two records."""
        if len(self.past.uids_at.get(offset, ())) < 2:
            return ()
        return self.why_given_twice(offset) or (of.TAIL_KEPT,)

    def why_given_twice(self, offset: int) -> Facts:
        """Why an offset was given again once committed, or twice in one epoch; empty = neither."""
        uids = self.past.uids_at.get(offset, ())
        if len(uids) < 2:
            return ()
        committed = self.past.committed_uid(offset)
        first = committed if committed in uids else uids[0]
        index = uids.index(first)
        if index + 1 < len(uids) and self._committed_before(offset, uids[index + 1]):
            return self.why_given_again(offset, first, uids[index + 1])
        one, other = self.past.written[uids[0]], self.past.written[uids[1]]
        if one.batch.epoch == other.batch.epoch:
            return self.why_given_again(offset, uids[0], uids[1])
        return ()

    def _committed_before(self, offset: int, uid: int) -> bool:
        """Whether an offset was committed before it was given to `uid`."""
        found = self.past.committed_from(offset)
        return found is not None and found[0] < self.past.written[uid].position

    def why_other_state(self, replica: str, key: str) -> Facts:
        """Why a replica ends with another value for a key than the committed history."""
        past = self.past
        if self.rules.snapshots.state_machine == "deltas":
            return (of.INCREMENTS,)
        written = [
            each
            for each in past.written.values()
            if each.record.key == key and each.batch.control is None
        ]
        committed = [
            each
            for each in written
            if past.committed_uid(each.record.offset) == each.record.uid and not self.aborted(each)
        ]
        winner = max(committed, key=lambda each: self.version(each.record), default=None)
        if winner is not None:
            record = winner.record
            facts = self.why_lacking(replica, record.offset, record.uid, past.end)
            if facts:
                return facts
        for each in written:
            if each not in committed:
                fate = past.fate(replica, each.record.offset, each.record.uid, past.end)
                if fate.became is Became.HELD:
                    return (of.TAIL_KEPT,)
        return ()

    def why_cut(self, replica: str, target: int, before: int) -> Facts:
        """Why a replica cut what is committed, at a truncation just before a position."""
        past = self.past
        step = next(
            (
                each
                for each in past.steps_before(replica, before)
                if isinstance(each.event, Truncated) and each.event.target == target
            ),
            None,
        )
        if step is None:
            return ()
        uid = past.last_written(replica, target, step.position)
        return self._cut(Fate(Became.CUT, replica, step), replica, target, uid, 0)

    def _cleaned(self, fate: Fate, replica: str, offset: int, uid: int | None, depth: int) -> Facts:
        """A pass took it, though it was needed."""
        step = fate.step
        assert step is not None
        removal = next(r for r in step.event.removals if r.offset == offset)
        return self.why_cleaned(replica, removal, step.event, step.position, depth)

    def why_cleaned(
        self, replica: str, removal: Removal, event: Cleaned, position: int, depth: int = 0
    ) -> Facts:
        """Why a pass took a record, where no promise says that it may."""
        written = self.past.written.get(removal.uid)
        if written is None:
            return ()
        if written.batch.control is not None:
            return why_removed(self.past, self.rules, replica, removal, event, position)
        if removal.reason == "tombstone":
            if self.is_tombstone(written.record):
                return why_removed(self.past, self.rules, replica, removal, event, position)
            return (of.BY_OTHER_SETTINGS,) if self._settings_differ() else (of.AS_TOMBSTONE,)
        if removal.reason == "aborted":
            return (of.AS_ABORTED,)
        if removal.reason != "superseded" or removal.winner_offset is None:
            return (of.UNMAPPED,)
        return self._superseded(replica, written, removal.winner_offset, event, position, depth)

    def _superseded(
        self,
        replica: str,
        written: Written,
        winner_offset: int,
        event: Cleaned,
        position: int,
        depth: int,
    ) -> Facts:
        """Why the record that a pass held for the winner is not one, or is gone, too."""
        winner = self.past.last_written(replica, winner_offset, position)
        by = self.past.written.get(winner or 0)
        if by is None:
            return (of.SUPERSEDED,)
        if self.version(by.record) < self.version(written.record):
            return self._how_lower(written, by)
        if winner_offset >= event.high_watermark:
            return (of.BY_UNCOMMITTED,)
        if self.aborted(by):
            return (of.AS_ABORTED,)
        lost = self.why_lacking(replica, winner_offset, winner, self.past.end, depth + 1)
        return (of.BEATEN_LOST, *lost) if lost else (of.SUPERSEDED,)

    def _settings_differ(self) -> bool:
        """Whether settings of some broker were, or became, others than it started with."""
        return any(event.replica in self.past.steps for _, event in self.past.settings)

    def _how_lower(self, evicted: Written, by: Written) -> Facts:
        """In what the version that evicted a higher one could be mistaken."""
        if self._settings_differ():
            return (of.BY_OTHER_SETTINGS,)
        high, low = self.version(evicted.record), self.version(by.record)
        if self.rules.cleaner.strategy == "timestamp":
            moved = self.rules.cleaner.horizon_rebase == "deltas_kept"
            return (of.BY_MOVED_TIME,) if moved else (of.BY_LOWER,)
        if high[:-1] == low[:-1]:
            return (of.BY_TIE,)
        if self.rules.cleaner.strategy != "header":
            return (of.BY_LOWER,)
        name = self.rules.topic.strategy_header or DEFAULT_HEADER
        forms = [
            [raw for header, raw in each.record.headers if header == name] for each in (evicted, by)
        ]
        if not forms[0] or not forms[1]:
            return (of.BY_NO_VERSION,)
        if len(forms[0]) > 1 or len(forms[1]) > 1:
            return (of.BY_OTHER_HEADER,)
        if len(forms[0][0]) != len(forms[1][0]):
            return (of.BY_OTHER_LENGTH,)
        return (of.BY_NEGATIVE,) if low[1] < 0 else (of.BY_LOWER,)

    def aborted(self, written: Written) -> bool:
        """Whether the transaction of a record was aborted, by the next marker of its producer."""
        if not written.batch.transactional:
            return False
        markers = [
            (each.record.offset, each.batch.control)
            for each in self.past.written.values()
            if each.batch.control is not None
            and each.batch.producer_id == written.batch.producer_id
            and each.record.offset > written.record.offset
        ]
        return bool(markers) and min(markers)[1] is Control.ABORT


_HOLES: Final = (Became.CLEANED, Became.NOT_AT_SOURCE, Became.SEGMENTS_LOST)
