"""Commits, and convergence at rest: replicas have what a high watermark covers, and are equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.check.facts import HOLE, ReplicaView
from sim.check.folding import base_records, differing_keys, state_of
from sim.check.invariant import Kind, LogInvariant
from sim.check.listening import CUT
from sim.protocol import events
from sim.protocol.log.record import Record


class CommittedReplicated(LogInvariant):
    """Every in-sync replica, or a majority of the voters, has all committed offsets.

    `commit: isr`: for all members r of the in-sync set, offsets start(r) <= o < N: r has o.
    `commit: majority`: for all offsets o < N: more than half of the voters have o, or start above
    it.
    Judged: when the newest leader's high watermark moves, and when it admits a replica by its
    position (not when a controller names the set). N counts all that was ever committed, even where
    the present leader does not know it. Excused: offsets that were committed twice (see
    `committed-never-lost`); a deposed leader, which commits nothing: until it hears of its
    successor it goes by its own set, and moves its high watermark by fetches in its own epoch
    (Partition.maybeIncrementLeaderHW). What the successor lacks, `leader-completeness` judges.

    Source: StrongIsr; MajorityReachedHighWatermark (RaftEventSimulationTest)
    Says: , log end offset {log_end}, lacks committed offset {offset} ({record}).
    """

    def on_high_watermark_moved(self, event: events.HighWatermarkMoved) -> None:
        """Judges the advance of the newest leader's high watermark, not that of a deposed one."""
        if event.leading and event.replica == self.history.leader:
            self._judge("{leader} moved its high watermark to", event.replica, None)

    def on_isr_changed(self, event: events.IsrChanged) -> None:
        """Judges an expansion of the in-sync set, not that of a deposed leader."""
        joined = event.joined
        if joined is not None and event.replica == self.history.leader:
            what = "{joined} joined the in-sync set at high watermark"
            self._judge(what, event.replica, joined)

    def _judge(self, what: str, leader: str, joined: str | None) -> None:
        history, below, by_isr = self.history, len(self.committed), self.history.by_isr
        members, needed = history.who_commits()
        in_doubt = [v for v in members if len(v.slots) < below or v.unexplained_offsets]
        if not in_doubt:
            return
        first_missing = [
            (view, history.first_missing(view, below, twice_counts=False)) for view in in_doubt
        ]
        missing = [(view, offset) for view, offset in first_missing if offset is not None]
        if not by_isr:
            too_few = len(missing) > len(members) - needed
            missing = self._lacked_by_too_many(members, needed) if too_few else []
        who = "in-sync replica" if by_isr else "one of {needed} needed voters"
        says = f"{what} {{high_watermark}}, but {{replica}}, {who}{self.says}"
        leading = {"leader": leader, "joined": joined}
        counts = {"needed": needed, "high_watermark": self.replicas[leader].high_watermark}
        for view, offset in missing:
            end, uid = view.log_end_offset, self.committed[offset]
            self.broken(view.name, offset, None, says, log_end=end, record=uid, **leading, **counts)

    def _lacked_by_too_many(
        self, voters: list[ReplicaView], needed: int
    ) -> list[tuple[ReplicaView, int]]:
        """The first offset that fewer than `needed` voters have, with the first that lacks it."""
        for offset in range(len(self.committed)):
            if offset not in self.history.committed_twice:
                lacking = [v for v in voters if not self.history.accounts_for(v, offset)]
                if len(voters) - len(lacking) < needed:
                    return [(lacking[0], offset)]
        return []


class CommittedNeverLost(LogInvariant):
    """Each committed record is on the leader, or its absence there is justified.

    For the leader l, offsets start(l) <= o < N: log(l)[o] = committed[o], or the absence of
    committed[o] is justified.
    Judged: at rest, without a live leader by the disk of the last one. Excused: offsets below the
    log start, which a snapshot or retention accounts for; offsets that were committed twice, which
    `state-machine-safety` reports and after which the reference is undefined.

    Source: KIP-101; CommittedIsDurable (etcd raft)
    Says: committed {record} is not on the leader {replica} and nothing committed supersedes it.
    """

    kind = Kind.AT_REST

    def on_quiesced(self, event: events.Quiesced) -> None:
        """Compares the leader's log with the committed history."""
        if event.replica is None:
            return
        history, view = self.history, self.replicas[event.replica]
        for offset in history.in_doubt(view, len(self.committed)):
            uid = self.committed[offset]
            lacks = offset not in history.committed_twice and view.uid_at(offset) != uid
            if lacks and not history.may_be_absent_now(uid):
                self.broken_by(event.replica, uid, offset)


class LeaderCompleteness(LogInvariant):
    """A new leader has every committed offset: the record, an empty batch or a justified hole.

    For r elected, offsets start(r) <= o < N: r has o.
    Judged: at each election, by what was committed first at offsets that were committed twice.
    Excused: offsets below the log start, for which a snapshot stands (`prefix-deletion-safety`).

    Source: Raft 5.4; StrongIsr (Kip320.tla)
    Says: {replica} was elected in epoch {epoch} with log end offset {log_end} but lacks committed
        offset {offset} ({record}); {committed_below} offsets are committed.
    """

    def on_leader_elected(self, event: events.LeaderElected) -> None:
        """Compares the new leader's log with the committed history."""
        view, committed = self.replicas[event.replica], len(self.committed)
        missing = self.history.first_missing(view, committed, twice_counts=True)
        if missing is not None:
            end, lacked = view.log_end_offset, self.committed[missing]
            evidence = {"epoch": event.epoch, "log_end": end, "committed_below": committed}
            self.broken(event.replica, missing, record=lacked, **evidence)


class HoleJustified(LogInvariant):
    """Every hole in a log is justified: its record may be absent, or was never committed.

    For all replicas r, offsets start(r) <= o < end(r) without record or batch: the absence of
    committed[o] is justified if o < N, and that of log(l)[o] if the leader l holds a record there.
    Judged: at rest, down replicas as well. Excused: an offset at which no log holds a record and
    that was never committed; tombstones and markers, which their own invariants judge.

    Source: KIP-280, KIP-630
    Says: {replica} has a hole at offset {offset}, but {record} is neither superseded nor aborted.
    """

    kind = Kind.AT_REST

    def on_quiesced(self, event: events.Quiesced) -> None:
        """Judges the committed record at each hole, and another one that the leader holds there."""
        leader = self.replicas.get(event.replica or "")
        for view in self.replicas.values():
            for offset in sorted(view.unexplained_offsets | self.history.contested_offsets):
                if view.covers(offset) and view.slots[offset] == HOLE:
                    self._judge(view, offset, leader)

    def _judge(self, view: ReplicaView, offset: int, leader: ReplicaView | None) -> None:
        held = [] if leader is None else [leader.uid_at(offset)]
        for uid in self.committed[offset : offset + 1] + held:
            if uid in self.written and not self.history.may_be_absent_now(uid):
                self.broken_by(view.name, uid, offset)


class WinnerRetained(LogInvariant):
    """A committed winning value is on every replica whose log covers its offset.

    For all keys k with x = winner(k) a value, replicas r with start(r) <= x.offset < end(r):
    log(r)[x.offset] = x.
    Judged: at rest, down replicas as well. Excused: everything once an offset was committed twice.

    Source: KIP-280
    Says: {replica} lacks {record}, the winner of its key.
    """

    kind = Kind.AT_REST
    in_stories = False

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Looks for each winner in each log."""
        if self.history.committed_twice:
            return
        for uid in self.history.winners.values():
            known = self.written[uid]
            if not known.tombstone:
                for view in self.replicas.values():
                    if view.covers(known.offset) and view.slots[known.offset] != uid:
                        self.broken_by(view.name, uid)


class HwMonotonic(LogInvariant):
    """A high watermark falls only with a lost tail, a truncation or a wipe.

    For all moves of the high watermark of r from h to h': h' >= h.
    Judged: on each move. Excused: what a crash, a restart from an older checkpoint, a cut or a new
    disk leaves, which those events report; and with `commit: isr` and
    `high_watermark_update: assign` the moves of followers. A broker takes the mark of its leader,
    and only logs that it is lower (UnifiedLog.updateHighWatermarkMetadata): a leader that was just
    elected may have a lower mark than its followers, has all that is committed, and learns of it
    with their next fetches. In a quorum a leader sends no mark before it has caught up (KIP-595).

    Source: MonotonicHighWatermark (RaftEventSimulationTest); UnifiedLog.maybeUpdateHighWatermark
    Says: {replica} moved its high watermark back from {before} to {offset}.
    """

    explained_by = "event"
    in_stories = False

    def begin(self) -> None:
        """Notes whether the rules let followers take a lower mark."""
        update = self.history.rules.replication.high_watermark_update
        self._assigned = self.history.by_isr and update == "assign"

    def on_high_watermark_moved(self, event: events.HighWatermarkMoved) -> None:
        """Compares with the high watermark before the move."""
        before = self.history.previous_high_watermark
        if event.high_watermark < before and (event.leading or not self._assigned):
            self.broken(event.replica, event.high_watermark, before=before)


class HwWithinLog(LogInvariant):
    """The high watermark never exceeds the log end offset.

    For all replicas r: hw(r) <= end(r).
    Judged: when either may have changed: on moves of the high watermark, passes, cuts, crashes and
    restarts. Excused: nothing.

    Source: LogCabin, RaftConsensusInvariants
    Says: {replica} has high watermark {offset} above its log end offset {log_end}.
    """

    explained_by = "event"
    any_of = (events.HighWatermarkMoved, events.Cleaned, *CUT)

    def on_any_of(self, event: Any) -> None:
        """Compares the high watermark with the log end."""
        view = self.replicas[event.replica]
        end = len(view.slots)
        if view.high_watermark > end:
            self.broken(event.replica, view.high_watermark, log_end=end)


class FollowerPositionSound(LogInvariant):
    """A leader records no position of a follower above the follower's log end offset.

    For all positions p that a leader records for f: p <= end(f).
    Judged: as it is recorded. Excused: with `commit: isr`, what f had on a disk that it lost since,
    until a leader hears of the new one: a fetch from before was on its way. Such a position admits
    no replica to the in-sync set (KIP-903, Partition.isReplicaIsrEligible).

    Source: KIP-280; LocalLog.read with Partition.fetchRecords
    Says: {leader} believes that {replica} has everything below {position}, but its log end offset
        is {offset}.
    """

    def on_position_recorded(self, event: events.PositionRecorded) -> None:
        """Compares the belief with the follower's log."""
        end, position = len(self.replicas[event.follower].slots), event.position
        if position > end:
            overtaken = self.history.lost_disks.get(event.follower, 0) if self.history.by_isr else 0
            if position > overtaken:
                self.broken(event.follower, end, leader=event.replica, position=position)


class AcknowledgedKept(LogInvariant):
    """Every record that a leader acknowledged before it was committed is committed in the end.

    For all records x that a leader acknowledged with acks=1: x.offset < N and
    committed[x.offset] = x.
    Judged: at rest. `acks: 1` does not promise that: it is a finding. Excused: acks=all, which
    audits judge (`tests.audits`).

    Source: producer configuration acks; KIP-966, Motivation
    Says: {replica} acknowledged {record}, which was never committed.
    """

    kind = Kind.FINDING
    in_stories = False

    def begin(self) -> None:
        """Starts with no acknowledged records."""
        self._promised: dict[int, str] = {}

    def on_acknowledged(self, event: events.Acknowledged) -> None:
        """Notes records that a leader acknowledged without waiting for followers."""
        if event.acks == "1":
            held = self.replicas[event.replica].lineage
            for uid in held[event.first_offset : event.last_offset + 1]:
                if uid in self.written:
                    self._promised[uid] = event.replica

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Compares with what was committed."""
        for uid, leader in self._promised.items():
            if not self.history.in_committed_history(uid):
                self.broken_by(leader, uid)


class LeoConvergence(LogInvariant):
    """At rest every live replica's log ends where the leader's does.

    For the leader l, live replicas r: end(r) = end(l).
    Judged: at rest. Excused: replicas that are down. Fair: a live core has a leader, links are
    whole, and followers fetch until nothing changes.

    Source: KIP-280
    Says: {replica} stays at log end offset {offset} while the leader {leader} is at {leader_end}.
    """

    kind = Kind.LIVENESS
    explained_by = "stays_behind"
    fairness = "faults are over, there is a leader, and followers fetch until nothing changes"

    def on_quiesced(self, event: events.Quiesced) -> None:
        """Compares log end offsets."""
        if event.replica is not None:
            end = self.replicas[event.replica].log_end_offset
            for view in self.replicas.values():
                own = view.log_end_offset
                if view.up and own != end:
                    self.broken(view.name, own, leader=event.replica, leader_end=end)


class ReplicaConvergence(LogInvariant):
    """At rest no live replica holds another record than the leader at the same offset.

    For the leader l, live replicas r, offsets o: if both hold a record at o it is the same.
    Judged: at rest. Excused: offsets at which one of them has no record, as each cleans on its own;
    replicas that are down.

    Source: KIP-279
    Says: offset {offset} is {record} on {replica} and {leader_record} on the leader {leader}.
    """

    kind = Kind.AT_REST

    def on_quiesced(self, event: events.Quiesced) -> None:
        """Compares live replicas with the leader."""
        if event.replica is None:
            return
        leader = self.replicas[event.replica]
        for offset in dict.fromkeys(offset for offset, _, _ in self.history.disagreements):
            for view in self.replicas.values():
                mine, theirs = view.uid_at(offset), leader.uid_at(offset)
                if view.up and mine > 0 and theirs > 0 and mine != theirs:
                    self.broken(
                        view.name, offset, record=mine, leader_record=theirs, leader=leader.name
                    )


State = Mapping[str, int | str]
"""Key -> uid of its value, or the value where records are deltas."""


class MaterializedStateEquivalence(LogInvariant):
    """A live replica that knows all commits has the state of the committed history.

    For all live replicas r with hw(r) >= N: fold(snapshot at start(r), log(r) in [start(r), N))
    = fold(committed), key by key; a winning tombstone means no key, aborted and undecided data
    counts nowhere.
    Judged: at rest. Excused: everything once an offset was committed twice, as the reference is
    undefined then; keys whose winner the topic's retention deleted, which promises nothing; what
    lies above N: a deposed leader's high watermark that its successor has taken over.

    Source: KIP-280, KIP-630; ConsistentCommittedData (RaftEventSimulationTest)
    Says: {replica} folds to {held} for {key}, the committed history to {winner}
    """

    kind = Kind.AT_REST
    family_by_cause = True
    explained_by = "state"

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Folds the log of every live replica."""
        history = self.history
        if history.committed_twice:
            return
        expected, known = state_of(history, self.committed), len(self.committed)
        equal: list[tuple[list[int], tuple[Record, ...]]] = []
        for view in self.replicas.values():
            log = (view.slots[view.log_start_offset : known], base_records(view))
            if view.up and view.high_watermark >= known and log not in equal:
                state = state_of(history, *log)
                if state == expected:
                    equal.append(log)  # most logs are the same at rest
                else:
                    self._compare(view.name, state, expected)

    def _compare(self, replica: str, state: State, expected: State) -> None:
        differing = [key for key in differing_keys(state, expected) if not self._expired(key)]
        for key in differing[:1]:
            held, winner = state.get(key), expected.get(key)
            if self.history.deltas:
                says = "{replica} has {key}={held}, the committed history has {key}={wanted}."
                self.broken(replica, None, key, says, held=held, wanted=winner)
                continue
            more = len(differing) - 1
            says = self.says + ("; {more_keys} more keys differ." if more else ".")
            values = {"held": held or 0, "winner": winner or 0, "more_keys": more}
            self.broken(replica, None, key, says, **values)

    def _expired(self, key: str) -> bool:
        """True if the topic's retention deleted the winner of a key; then nothing is promised."""
        history, winner = self.history, self.history.winners.get(key)
        expired = winner is not None and self.written[winner].offset < history.expired_below
        return expired and not history.deltas
