"""Why a replica lacks a record, has another one, or leads: the facts that decided, the first first.

Every function walks back over events until something decided: a cleaner compared versions or a
clock with a horizon, a leader believed a position, a crash took what was not flushed, an election
or an epoch made a log cut. What comes of that follows, so that a list of facts reads as a story.
"""

from __future__ import annotations

from sim.explain.case import Case, Fact, FactKind, listed
from sim.explain.removed import removed
from sim.trace import (
    Appended,
    Cleaned,
    Copied,
    Event,
    GapLearned,
    IsrChanged,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PositionRecorded,
    PrefixDeleted,
    Pushed,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
    UncleanElection,
)

Facts = list[Fact]


class Why:
    """Answers about one case; what was told once is not told again."""

    def __init__(self, case: Case) -> None:
        """Nothing was asked yet."""
        self._case = case
        self._asked: set[tuple[object, ...]] = set()

    def lacks(self, replica: str, offset: int, *, before: int) -> Facts:
        """Why a replica does not hold at an offset what was committed, or once stood, there."""
        case = self._case
        position = case.known.slot(replica, offset, before=before)
        if position is None:
            return self._never_came(replica, offset, before)
        if ("lacks", position, replica, offset) in self._asked:
            return []
        self._asked.add(("lacks", position, replica, offset))
        event = case.event(position)
        match event:
            case Cleaned():
                return self._cleaned_away(position, event, offset)
            case Copied(_, leader) | GapLearned(_, leader):
                return self._copied_without(position, replica, leader, offset)
            case Appended(_, batch):
                return self.reused(position, replica, offset, batch.epoch)
            case Truncated():
                return self._cut(position, event, offset)
            case _:
                return self._lost(position, replica, offset)

    # What a cleaner took.

    def _cleaned_away(self, position: int, event: Cleaned, offset: int) -> Facts:
        case, name = self._case, event.replica
        for removal in event.removals:
            if removal.offset == offset:
                return removed(case, position, event, removal)
        if offset in event.dropped:
            facts = self.lacks(name, offset, before=position)
            text = (
                f"{name} dropped the empty batch that ended at {offset} {case.when(position)}; "
                f"its log end offset is {event.log_end_offset}"
            )
            return [*facts, Fact("position", text, position)]
        if offset in event.emptied:
            return self.lacks(name, offset, before=position)
        facts = self.lacks(name, offset, before=position)
        text = (
            f"{name} took its log end offset from the records it kept: a pass "
            f"{case.when(position)} moved it down to {event.log_end_offset}"
        )
        return [*facts, Fact("position", text, position)]

    # What did not come, or not as it was.

    def _never_came(self, replica: str, offset: int, before: int) -> Facts:
        case = self._case
        end = case.end_of(replica, before=before)
        facts = self.believed(replica, offset, before=before)
        if facts:
            return facts
        text = f"{replica} never had offset {offset}: its log end offset was {end}"
        committed = case.known.first_commit(offset)
        if committed is not None and committed < before:
            text += f", while {self._counted(committed, offset)}"
        text += self._case.fault_of(replica, before)
        return [Fact("position", text, case.known.last("end", replica, before=before))]

    def _counted(self, committed: int, offset: int) -> str:
        """By which positions a leader committed an offset."""
        case = self._case
        leader = case.event(committed).replica or ""
        whose = {leader: case.end_of(leader, before=committed)}
        for other in case.known.replicas:
            found = case.known.last("position", leader, other, before=committed)
            event = None if found is None else case.event(found)
            if isinstance(event, PositionRecorded):
                whose[other] = event.position
        counted = [f"{name} at {at}" for name, at in whose.items() if at > offset]
        return f"{leader} committed it {case.when(committed)}, counting {listed(counted)}"

    def _copied_without(self, position: int, replica: str, leader: str, offset: int) -> Facts:
        """A copy came without the record, or with another one."""
        case = self._case
        if not case.uid_at(leader, offset, before=position):
            facts = self.lacks(leader, offset, before=position)
            if facts and case.known.slot(replica, offset, before=position) is None:
                return facts
            return [*facts, *self.lacks(replica, offset, before=position)]
        if case.known.slot(replica, offset, before=position) is not None:
            facts = self.lacks(replica, offset, before=position)
            if facts:
                return facts
        return self.appended_at(leader, offset, before=position)

    def appended_at(self, leader: str, offset: int, *, before: int) -> Facts:
        """Why a log has the record that it has at an offset: who gave the offset to it."""
        case = self._case
        uid = case.uid_at(leader, offset, before=before)
        written = case.known.appended_at.get(uid)
        event = None if written is None else case.event(written)
        if written is None or not isinstance(event, Appended):
            return self.lacks(leader, offset, before=before)
        return self.reused(written, event.replica, offset, event.batch.epoch)

    def reused(self, position: int, replica: str, offset: int, epoch: int) -> Facts:
        """Why a leader gave an offset again that was given before."""
        case = self._case
        facts: Facts = []
        before = case.known.slot(replica, offset, before=position)
        had = before is not None and case.uid_at(replica, offset, before=position) == 0
        led = case.known.last("lead", replica, before=position)
        leads = led is not None and isinstance(case.event(led), LeaderElected)
        if had:
            facts += self.lacks(replica, offset, before=position)
        if leads and led is not None:
            if before is not None and before > led:
                facts += self._leads_on(led, replica, position)
            else:
                lacked = [] if had else self.believed(replica, offset, before=led)
                facts += lacked + self.elected(led, offset)
        given = case.uid_at(replica, offset, before=position + 1)
        text = (
            f"{replica}, log end offset {case.end_of(replica, before=position)}, gave offset "
            f"{offset} to {case.name(given)} in epoch {epoch} {case.when(position)}"
        )
        return [*facts, Fact("position", text, position)]

    def _leads_on(self, led: int, replica: str, position: int) -> Facts:
        """A leader came back and went on in the epoch it had led."""
        case = self._case
        back = case.known.last("restart", replica, before=position)
        event = case.event(led)
        if back is None or back < led or not isinstance(event, LeaderElected):
            return []
        text = (
            f"{replica} came back {case.when(back)} and went on leading epoch {event.epoch} "
            f"(leader_restart: {case.rules.election.leader_restart})"
        )
        return [Fact("epoch", text, back)]

    def forked(self, offset: int) -> Facts:
        """That a record of an older epoch was committed by counting, beside one of a newer one."""
        case, uid = self._case, self._case.committed_at(offset)
        commit, batch = case.known.first_commit(offset), case.known.batches.get(uid)
        if commit is None or batch is None or ("forked", offset) in self._asked:
            return []
        self._asked.add(("forked", offset))
        leader = case.leader_at(commit)
        if leader is None or leader[1] == batch.epoch:
            return []
        whose = self._counted(commit, offset)
        text = (
            f"{case.name(uid)} of epoch {batch.epoch} was committed in epoch {leader[1]}: {whose}"
        )
        return [Fact("epoch", text, commit)]

    # Who leads, and what leaders believe.

    def elected(self, position: int, offset: int | None = None) -> Facts:
        """Why a replica leads: its log end against what was committed, and how it was chosen."""
        case, event = self._case, self._case.event(position)
        if ("elected", position) in self._asked or not isinstance(event, LeaderElected):
            return []
        self._asked.add(("elected", position))
        name, facts = event.replica, []
        previous = case.known.last("leader", before=position)
        for one in case.known.all("joined", name, after=previous or -1, before=position):
            facts += self.joined(one)
        unclean = case.known.last("unclean", name, before=position)
        because = ""
        if unclean is not None and (previous is None or unclean > previous):
            chosen = case.event(unclean)
            assert isinstance(chosen, UncleanElection)
            because = f", whatever it has: {chosen.because}"
        committed = self._committed_before(position)
        text = (
            f"{name} became leader of epoch {event.epoch} {case.when(position)} with log end "
            f"offset {event.epoch_start_offset}{because}"
        )
        if offset is not None and committed > event.epoch_start_offset:
            text += f", while all below {committed} was committed"
        return [*facts, Fact("election", text, position)]

    def _committed_before(self, position: int) -> int:
        case, highest = self._case, 0
        for one in case.known.all("commit", before=position):
            highest = max(highest, case.event(one).high_watermark)  # type: ignore[union-attr]
        return highest

    def joined(self, position: int) -> Facts:
        """Why a replica was admitted to the in-sync set."""
        case, event = self._case, self._case.event(position)
        if ("joined", position) in self._asked or not isinstance(event, IsrChanged):
            return []
        self._asked.add(("joined", position))
        name = event.joined or ""
        found = case.known.last("position", event.replica, name, before=position)
        recorded = None if found is None else case.event(found)
        at = recorded.position if isinstance(recorded, PositionRecorded) else 0
        end = case.end_of(name, before=position)
        facts = self.believed(name, end, before=position) if at > end else []
        text = (
            f"{name} joined the in-sync set {case.when(position)} by its position {at}, high "
            f"watermark {case.high_watermark_of(event.replica, before=position)}, log end offset "
            f"{end}"
        )
        return [*facts, Fact("position", text, position)]

    def believed(self, follower: str, offset: int, *, before: int) -> Facts:
        """Why a leader believes that a follower has an offset that it has not; [] = nobody does."""
        case = self._case
        for position in reversed(case.known.all("position", follower, before=before)):
            event = case.event(position)
            assert isinstance(event, PositionRecorded)
            end = case.end_of(follower, before=position)
            if event.position > offset >= end:
                return self.recorded(position, event, end)
        return []

    def recorded(self, position: int, event: PositionRecorded, end: int) -> Facts:
        """Why a leader recorded a position above the follower's log end."""
        case = self._case
        if ("recorded", position) in self._asked:
            return []
        self._asked.add(("recorded", position))
        facts: Facts = []
        for offset in range(end, min(event.position, end + 1)):
            if not case.uid_at(event.replica, offset, before=position):
                facts += self.lacks(event.replica, offset, before=position)
        rule = case.rules.replication.follower_position
        how = {"read_end": "a fetch that reads to the end counts as having all"}.get(rule, "")
        text = (
            f"{event.replica} recorded position {event.position} for {event.follower} "
            f"{case.when(position)}, whose log end offset was {end}"
        )
        return [*facts, Fact("position", f"{text}: {how}" if how else text, position)]

    # What was cut and lost.

    def _cut(self, position: int, event: Truncated, offset: int) -> Facts:
        """A truncation: why the leader lacks what was cut, or what else the target came from."""
        case, name = self._case, event.replica
        facts: Facts = []
        leader, led = case.leader_at(position), case.known.last("leader", before=position)
        by = ""
        if leader is not None and led is not None and leader[0] != name:
            uid = case.committed_at(offset) or case.uid_at(name, offset, before=position)
            by = f" following {leader[0]}, leader of epoch {leader[1]}"
            if case.uid_at(leader[0], offset, before=position) != uid:
                facts += self.leader_lacks(leader[0], offset, led, position)
            known = case.epochs_of(leader[0], before=position)
            by += f" (which knew the epochs {known})"
        back = case.known.last("restart", name, before=position)
        if not facts and back is not None:
            event_back = case.event(back)
            assert isinstance(event_back, ReplicaRestarted)
            text = (
                f"{name} came back {case.when(back)} with high watermark "
                f"{event_back.high_watermark} and log end offset {event_back.log_end_offset}"
            )
            facts.append(Fact("position", text, back))
        text = (
            f"{name} (epochs {case.epochs_of(name, before=position)}) truncated from "
            f"{event.log_end_offset} to {event.target}{by} {case.when(position)}, high watermark "
            f"{event.high_watermark} (truncation: {case.rules.replication.truncation})"
        )
        if event.lowest is not None and event.lowest < event.target:
            text += f"; the batch across the target went from {event.lowest} on"
        if event.leading:
            text += ", while it was leading itself"
        kind: FactKind = "position" if event.target == event.high_watermark else "epoch"
        return [*facts, Fact(kind, text, position)]

    def leader_lacks(self, leader: str, offset: int, led: int, before: int) -> Facts:
        """Why a leader does not have a committed offset, and why it leads all the same."""
        case = self._case
        uid = case.committed_at(offset)
        held = case.uid_at(leader, offset, before=before)
        if not uid or held == uid:
            return self.elected(led)
        if held and case.known.slot(leader, offset, before=led) is not None:
            return [
                *self.forked(offset),
                *self.appended_at(leader, offset, before=before),
                *self.elected(led, offset),
            ]
        had = case.known.slot(leader, offset, before=led)
        facts = self.lacks(leader, offset, before=led) if had is not None else []
        facts = facts or self.believed(leader, offset, before=led)
        facts = facts or (self.lacks(leader, offset, before=led) if had is None else [])
        return [*facts, *self.elected(led, offset)]

    def _lost(self, position: int, replica: str, offset: int) -> Facts:
        """What a crash, a file, a new disk, a snapshot or a deleted prefix took."""
        case, event = self._case, self._case.event(position)
        when = case.when(position)
        if not case.uid_at(replica, offset, before=position):
            earlier = case.known.slot(replica, offset, before=position)
            if earlier is not None and isinstance(event, ReplicaCrashed | ReplicaRestarted):
                facts = self.lacks(replica, offset, before=position)
                text = f"the log of {replica} ended at {event.log_end_offset} {when}"
                return [*facts, Fact("loss", text, position)]
        return [*self._followed(position, event), *self._taken(position, event, when)]

    def _followed(self, position: int, event: Event) -> Facts:
        """Why the leader's log start had moved, where a follower took it over."""
        case = self._case
        leader = case.leader_at(position)
        if not isinstance(event, LogStartMoved) or not event.cause.startswith("the leader"):
            return []
        if leader is None or leader[0] == event.replica:
            return []
        moved = case.known.last("start", leader[0], before=position)
        if moved is None:
            return []
        return self._taken(moved, case.event(moved), case.when(moved))

    def _taken(self, position: int, event: Event, when: str) -> Facts:
        """One event by which a log lost records otherwise than by cleaning or a truncation."""
        replica = event.replica or ""
        newest = self._case.newest_snapshot(replica, before=position) or "none"
        kind: FactKind = "loss"
        match event:
            case ReplicaCrashed(_, end, mark, _):
                text = (
                    f"{replica} crashed {when} and kept what is below {end}, high watermark {mark}"
                )
            case ReplicaRestarted(_, end, mark, _):
                text = f"{replica} came back {when} with its log up to {end}, high watermark {mark}"
            case SegmentsLost(_, offsets):
                text = f"{replica} found offsets {offsets[0]} to {offsets[-1]} in no segment {when}"
            case ReplicaWiped(_, reason):
                text = f"{replica} lost its whole log {when}: {reason}"
            case PrefixDeleted(_, start, mark) | LogStartMoved(_, start, mark, _):
                kind = "position"
                cause = ""
                if isinstance(event, LogStartMoved):
                    cause = f" ({event.cause}{self._case.by_clock(position)})"
                text = f"{replica} deleted below {start}{cause} {when}, high watermark {mark}"
                text += f", newest snapshot {newest}"
            case SnapshotInstalled(_, end, epoch, _, before, mark, _):
                kind = "snapshot"
                text = (
                    f"{replica} replaced its log, which ended at {before} (high watermark {mark}), "
                    f"by snapshot ({end}, {epoch}) {when}"
                )
            case LogEmptied(_, end, epoch, before, mark):
                kind = "snapshot"
                text = (
                    f"{replica} emptied its log, which ended at {before} (high watermark {mark}), "
                    f"for snapshot ({end}, {epoch}) {when}"
                )
            case LogStartedAfresh(_, start, end, mark):
                kind = "position"
                text = (
                    f"{replica}, log end offset {end} (high watermark {mark}), below the leader's "
                    f"log start, began anew at {start} {when}"
                )
            case Pushed(_, leader, batch):
                kind = "position"
                text = (
                    f"{replica} appended a copy of {leader}'s batch at an offset of its own, "
                    f"{batch.base_offset}, {when}"
                )
            case _:
                return []
        if kind == "loss":
            text += self._case.fault_of(replica, position)
        return [Fact(kind, text, position)]
