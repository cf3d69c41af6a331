"""What brokers and the controller decide, judged by what is true at that moment.

Each of them decides by what it was told. Here the same is seen from above: votes on the disks of
all voters, states of the partition one after the other, when a fetch came, what is on a disk before
and after a restart. It shares no code with those who decide.

* An election by majority: more than half of the voters have that vote on disk, or may have had it
  before they moved on or lost the disk (Raft 5.2, KIP-595).
* A change of the partition: leader and new members are not fenced, the leader is in sync; it was
  in sync or eligible to lead before, or the election is unclean: then no other was who is not
  fenced, and where a last known leader is elected, nobody at all. Who came back from a crash, or
  was removed, is eligible no more; a last known leader is remembered while none leads (KIP-966,
  ReplicationControlManager, PartitionChangeBuilder).
* A leader without fetches from a majority for longer than two fetch timeouts has resigned: it looks
  every half of one, and waits for one and a half (KIP-595, LeaderState.checkQuorum).
* What is committed: with `min.insync.replicas` as the controller knows them, and by those who are
  about to join, too (KIP-497, Partition.isUnderMinIsr, .maybeIncrementLeaderHW).
* A replica joins the in-sync set in the life that the controller hears (KIP-903).
* An installed snapshot is all there is (KafkaMetadataLog.truncateToLatestSnapshot).
* Tombstones go below a bound only where each replica has compacted its disk, the one it has now, up
  to there (Redpanda's PR 28087).
* Markers go below a bound only where no log has data of transactions there (Redpanda's PR 29043).
* A look at a log finds it overdue by what is left of the time since the oldest of its closed and
  uncleaned segments began (KIP-354, LogCleanerManager.maxCompactionDelay).
* No pass comes after one that failed (LogCleanerManager.markPartitionUncleanable).
* A restart finds what is on disk as the crash left it, and nothing of what memory had
  (QuorumState.initialize, KafkaMetadataLog.recoverSnapshots, LogCleanerManager).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from sim.protocol import events as on
from sim.protocol.events.cluster import ANY_REPLICA, LAST_KNOWN_LEADER
from sim.protocol.log import Log
from sim.protocol.log.segment import OffsetIndex
from sim.protocol.replication.messages import PartitionState
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules
from sim.simulate.cluster.controller import IsrMembership
from sim.simulate.cluster.network import CONTROLLER
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from sim.simulate.scenario.model import Scenario
from tests.audits.caught_up import CaughtUp
from tests.audits.messages import Witness


class Decisions:
    """Looks at who has decided something, after the event that tells it.

    Attributes:
        handlers: Class of event -> what looks after one.
        caught_up: When followers had all that their leaders had.
    """

    def __init__(self, witness: Witness, scenario: Scenario, caught_up: CaughtUp) -> None:
        """Nothing is decided yet."""
        witness.told = self.told
        self._witness = witness
        self.caught_up = caught_up
        self._nodes = witness.nodes
        self._rules = scenario.rules
        timers = scenario.timers
        self._patience_ms = 2 * (timers.fetch_wait_ms + timers.election_timeout_ms[1])
        self._disks: dict[str, Mapping[str, object]] = {}
        self._led_ms: dict[str, int] = {}
        self._states: dict[int, PartitionState] = {}
        self._lives: dict[str, int] = {}
        self._unclean: dict[int, str] = {}
        self._failed_passes: set[str] = set()
        self._tombstones_below = 0
        self._compacted: dict[tuple[str, int], int] = {}
        self._markers_below = 0
        self.handlers: dict[type, Callable[[Any], None]] = {
            on.ReplicaCrashed: self._crashed,
            on.ReplicaRestarted: self._restarted,
            on.ReplicaWiped: self._wiped,
            on.ReplicaRemoved: self._removed,
            on.LogEmptied: self._wiped,
            on.LogStartedAfresh: self._begins_anew,
            on.LeaderElected: self._elected,
            on.LeaderResigned: self._resigned,
            on.FaultEnded: self._look_at_leaders,
            on.Quiesced: self._look_at_leaders,
            on.UncleanElection: self._elected_uncleanly,
            on.HighWatermarkMoved: self._committed,
            on.IsrChanged: self._joined,
            on.SnapshotInstalled: self._installed,
            on.SnapshotTaken: self._taken,
            on.RemovalBoundMoved: self._bound_moved,
            on.CleaningFailed: self._pass_failed,
            on.Cleaned: self._cleaned,
            on.CleanerLooked: self._looked,
        }

    def _failed(self, replica: str, what: str, found: object, expected: object) -> None:
        self._witness.failed(replica, "decision", what, found, expected)

    # What is on disk.

    def _crashed(self, event: on.ReplicaCrashed) -> None:
        name, node = event.replica, self._nodes[event.replica]
        seen = self._witness.seen[name]
        seen.last_number = node.fetcher.number
        seen.leads_in(-1)
        self._disks[name] = opened(node.replica, self._rules)
        self._failed_passes.discard(name)

    def _wiped(self, event: on.ReplicaWiped | on.LogEmptied) -> None:
        self._disks.pop(event.replica, None)
        self._failed_passes.discard(event.replica)

    def _restarted(self, event: on.ReplicaRestarted) -> None:
        name, node = event.replica, self._nodes[event.replica]
        replica = node.replica
        self._led_ms[name] = self._now_ms(name)
        before = self._disks.pop(name, None)
        if before is None and self._rules.replication.commit == "majority":
            self._look_for_lost_disk(name)
        # An install that the crash interrupted is finished by now: the log begins anew.
        if before is not None and replica.log.log_start_offset == before["log start"]:
            for what, found in on_disk(replica, self._rules).items():
                if found != before[what]:
                    self._witness.failed(name, "disk", what, found, before[what])
        newest = replica.latest_snapshot()
        if newest is not None and self._rules.snapshots.install_recovery == "finished":
            ends = replica.log.log_end_offset
            if newest.id.end_offset > ends and newest.id.epoch >= replica.log.epochs.latest:
                self._witness.failed(name, "disk", "log end", ends, f"{newest.id} installed")
        for what, kept in in_memory(node).items():
            if kept:
                self._witness.failed(name, "disk", what, kept, "forgotten")
        for base, index in rebuilt_indexes(replica.log).items():
            restarts = {*index.restarts} - {replica.log.log_end_offset}
            # Where the log end is that of the last record it is found after the log was opened.
            restarts = restarts if self._rules.storage.leo_source == "stored" else set()
            if index.calls or index.dangling or restarts:
                self._witness.failed(name, "disk", f"index of segment {base}", index, "a new one")

    def _look_for_lost_disk(self, name: str) -> None:
        """No leader counts on what was on it, nor on what was asked before (KIP-853)."""
        for node in self._nodes.values():
            leader, leadership = node.leader, node.replica.leadership
            if leader is not None and leadership is not None and node.replica.up:
                position, waits = leadership.positions.get(name), leader.fetches.waiting.get(name)
                if position is not None or waits is not None:
                    self._failed(node.name, f"counts on a lost disk of {name}", position, "nothing")

    def _installed(self, event: on.SnapshotInstalled) -> None:
        self._begins_anew(event)
        replica, end, epoch = self._nodes[event.replica].replica, event.end_offset, event.epoch
        log = replica.log
        found: dict[str, tuple[object, object]] = {
            "log start": (log.log_start_offset, end),
            "log end": (log.log_end_offset, end),
            "high watermark": (log.high_watermark, end),
            "recovery point": (log.flushed_end, end),
            "cleaner checkpoint": (replica.first_dirty_offset, end),
            "epoch": (log.epochs.latest, epoch),
            "snapshots": ([*replica.snapshots], [(end, epoch)]),
            "producers": ([*log.producers.producers], []),
        }
        for what, (known, expected) in found.items():
            if known != expected:
                self._failed(event.replica, f"{what} after an install", known, expected)

    def _taken(self, event: on.SnapshotTaken) -> None:
        """No transaction reaches across the end of a snapshot: its data would be missing."""
        if self._nodes[event.replica].loader.loading:
            what = f"takes a snapshot below {event.end_offset}"
            self._failed(event.replica, what, "its state is not loaded", "it waits")
        open_since: dict[int, int] = {}
        for batch in self._nodes[event.replica].replica.log.batches():
            if batch.last_offset >= event.end_offset:
                break
            if batch.control is not None:
                open_since.pop(batch.producer_id, None)
            elif batch.transactional and batch.records:
                open_since.setdefault(batch.producer_id, batch.base_offset)
        if open_since:
            what = f"takes a snapshot below {event.end_offset}"
            self._failed(event.replica, what, f"open transactions {open_since}", "none")

    # Who leads.

    def _now_ms(self, name: str) -> int:
        return self._nodes[name].context.now_ms

    def _elected_uncleanly(self, event: on.UncleanElection) -> None:
        self._unclean[event.epoch] = event.because

    def _elected(self, event: on.LeaderElected) -> None:
        name, epoch = event.replica, event.epoch
        self._led_ms[name] = self._now_ms(name)
        self._witness.seen[name].leads_in(epoch)
        self._look_at_leaders(event)
        election = self._rules.election
        if self._rules.replication.commit == "isr" or election.vote_storage != "disk":
            return
        voters = [self._nodes[voter].replica for voter in event.voters if voter in self._nodes]
        against = [voter.name for voter in voters if _has_not_voted_for(voter, name, epoch)]
        if len(event.voters) - len(against) <= len(event.voters) // 2:
            self._failed(name, f"elected in epoch {epoch}", f"not by {against}", "a majority")

    def _removed(self, _event: on.ReplicaRemoved) -> None:
        """Another majority is asked for from now on: leaders may wait for it as at the start."""
        for name, node in self._nodes.items():
            self._led_ms[name] = node.context.now_ms

    def _resigned(self, event: on.LeaderResigned) -> None:
        self._check_quorum(self._nodes[event.replica], event.epoch)

    def _look_at_leaders(self, _event: on.Event) -> None:
        for node in self._nodes.values():
            if node.leader is not None and node.replica.up:
                self._check_quorum(node, node.leader.epoch)

    def _check_quorum(self, node: Node, epoch: int) -> None:
        """Nobody leads on long after a majority has gone silent."""
        member, seen = node.membership, self._witness.seen[node.name]
        if not isinstance(member, QuorumMembership) or seen.leads != epoch:
            return
        if not self._rules.election.check_quorum or not node.replica.up:
            return
        since_ms = node.context.now_ms - self._patience_ms
        led_ms = self._led_ms[node.name]
        heard = [
            name
            for name in member.voters
            if name == node.name or max(led_ms, seen.heard_ms.get(name, 0)) >= since_ms
        ]
        if len(heard) <= len(member.voters) // 2:
            what = f"leads epoch {epoch} on"
            self._failed(node.name, what, f"it hears {heard}", "a majority, or it resigns")

    # What the controller decides.

    def told(self, state: PartitionState) -> None:
        """A broker was told a state of the partition."""
        number, states = state.partition_epoch, self._states
        if number in states:
            return
        states[number] = state
        for earlier in (number - 1, number):
            if earlier in states and earlier + 1 in states:
                self._judge_change(states[earlier], states[earlier + 1])
        for name, life in state.eligible.items():
            self._lives[name] = max(life, self._lives.get(name, 0))

    def _judge_change(self, before: PartitionState, after: PartitionState) -> None:
        leader, epoch, lives = after.leader, after.leader_epoch, after.eligible
        able = {*before.isr, *before.elr}
        because = self._unclean.get(epoch)
        unclean = because is not None
        returned = {name for name, life in lives.items() if life > self._lives.get(name, life)}
        left_out = [
            name
            for name in able & {*after.replicas} - {*after.isr, *after.elr}
            if self._had(name, lives.get(name), before.partition_epoch)
        ]
        wrong = {
            "fenced leader": leader is not None and leader not in lives,
            "leader out of sync": leader is not None and leader not in after.isr,
            "fenced replica joined": not {*after.isr} - {*before.isr} <= {*lives},
            "epoch": epoch - before.leader_epoch not in (0, 1),
            "two leaders of an epoch": leader != before.leader
            and leader is not None
            and epoch == before.leader_epoch,
            "elected from outside": epoch != before.leader_epoch
            and leader not in able
            and not unclean,
            "eligible and in sync": bool({*after.elr} & {*after.isr}),
            "eligible beside enough": bool(after.elr)
            and len(after.isr) >= self._rules.topic.min_isr,
            "eligible from outside": not {*after.elr} <= able
            or not {*after.elr, *lives} <= {*after.replicas},
            "eligible after an unclean election": unclean
            and epoch != before.leader_epoch
            and bool(after.elr),
            "eligible after a crash": bool(returned & {*after.elr}),
            "eligible no more": self._rules.election.eligible_leaders == "elr"
            and len(after.isr) < self._rules.topic.min_isr
            and not unclean
            and bool(left_out),
            "elected instead of a clean one": epoch != before.leader_epoch
            and (
                (because == LAST_KNOWN_LEADER and bool(left_out))
                or (because == ANY_REPLICA and not lives.keys().isdisjoint(left_out))
            ),
            "last known beside a leader": leader is not None
            and after.last_known_leader is not None,
            "nobody in sync": not (after.isr or self._rules.election.eligible_leaders == "elr"),
        }
        for what, is_wrong in wrong.items():
            if is_wrong:
                self._failed(CONTROLLER, what, after, f"after {before}")

    def _had(self, name: str, life: int | None, number: int) -> bool:
        """Decides whether a replica that lives in `life` has not restarted since state `number`."""
        known = [state for earlier, state in self._states.items() if earlier <= number]
        return life is None or any(each.eligible.get(name) == life for each in known)

    # What is committed, and by whom.

    def _joined(self, event: on.IsrChanged) -> None:
        node, name = self._nodes[event.replica], event.joined
        member, leader = node.membership, node.leader
        if name is None or not isinstance(member, IsrMembership) or leader is None:
            return
        state, life = member.state, leader.progress[name].replica_epoch
        if state.eligible.get(name) != life:
            self._failed(node.name, f"{name} joins", f"life {life}", "one that is not fenced")

    def _committed(self, event: on.HighWatermarkMoved) -> None:
        node = self._nodes[event.replica]
        log, mark = node.replica.log, event.high_watermark
        if not log.log_start_offset <= mark <= log.log_end_offset:
            log_is = f"from {log.log_start_offset} to {log.log_end_offset}"
            self._failed(node.name, "high watermark", mark, log_is)
        if not event.leading:
            return
        member, leadership, leader = node.membership, node.replica.leadership, node.leader
        state = member.state if isinstance(member, IsrMembership) else None
        if state is None or state.leader != node.name:
            return
        needed = node.rules.topic.min_isr
        if len(state.isr) < needed:
            self._failed(node.name, "commits", f"with {state.isr} in sync", f"{needed} of them")
        rule = node.rules.replication.high_watermark_waits_for
        if rule == "in_sync_set" or leadership is None or leader is None:
            return
        lives = state.eligible
        now_ms, heard_ms = node.context.now_ms, self._witness.seen[node.name].heard_ms
        since_ms = now_ms - node.context.scenario.timers.replica_lag_max_ms
        for name, progress in leader.progress.items():
            joins = rule == "caught_up" or lives.get(name) == progress.replica_epoch
            # By the fetch of this moment a follower may have caught up only after the commit.
            joins = joins and heard_ms.get(name, 0) < now_ms and name in state.replicas
            if joins and self.caught_up.since_ms(node.name, name) >= since_ms:
                position = leadership.positions.get(name, -1)
                if position < event.high_watermark:
                    found = f"below {event.high_watermark} without {name}, which is about to join"
                    self._failed(node.name, "commits", found, f"its position {position}")

    def _bound_moved(self, event: on.RemovalBoundMoved) -> None:
        self._judge_compacted(event)
        bound = event.marker_offset
        if self._rules.cleaner.marker_watermark != "own" or bound <= self._markers_below:
            return
        self._markers_below = bound
        for node in self._nodes.values():
            for batch in node.replica.log.batches():
                if batch.base_offset >= bound:
                    break
                if batch.transactional and batch.control is None:
                    found = f"data of a transaction at {batch.base_offset} at {node.name}"
                    self._failed(event.replica, f"markers go below {bound}", found, "nothing")
                    return

    def _judge_compacted(self, event: on.RemovalBoundMoved) -> None:
        """What was reported of a disk that is lost says nothing of the new one."""
        bound = event.offset
        self._note_compacted(event.replica)
        if bound <= self._tombstones_below or self._rules.cleaner.lost_disk_report != "dropped":
            return
        self._tombstones_below = bound
        for name, replica in self._nodes[event.replica].context.replicas.items():
            disk = replica.disk
            self._note_compacted(name)
            compacted = self._compacted[name, disk]
            if compacted < bound:
                found = f"{name} has compacted up to {compacted}"
                self._failed(event.replica, f"tombstones go below {bound}", found, "all have")

    def _note_compacted(self, name: str) -> None:
        """A crash may leave a checkpoint behind what was compacted on a disk."""
        replica = self._nodes[name].replica
        disk, compacted = (name, replica.disk), replica.cleanly_compacted_offset
        self._compacted[disk] = max(compacted, self._compacted.get(disk, 0))

    def _begins_anew(self, event: on.LogStartedAfresh | on.SnapshotInstalled) -> None:
        """What is not there is compacted, and may be reported so before the next crash."""
        self._note_compacted(event.replica)

    def _looked(self, event: on.CleanerLooked) -> None:
        if self._rules.cleaner.lag_estimate != "first_timestamp":
            return
        segments = self._nodes[event.replica].replica.log.segments
        begun = [
            one.first_timestamp_ms
            for one, following in pairwise(segments)
            if following.base_offset > event.first_dirty_offset and one.first_timestamp_ms > 0
        ]
        overdue = max(0, event.now_ms - event.max_lag_ms - min(begun)) if begun else 0
        if event.delay_ms != overdue:
            self._failed(event.replica, "is overdue", f"{event.delay_ms} ms", f"{overdue} ms")

    def _pass_failed(self, event: on.CleaningFailed) -> None:
        self._cleaned(event)
        self._failed_passes.add(event.replica)

    def _cleaned(self, event: on.Cleaned | on.CleaningFailed) -> None:
        self._note_compacted(event.replica)
        if event.replica in self._failed_passes:
            self._failed(event.replica, "cleans", "after a pass that failed", "a restart before")


def _has_not_voted_for(voter: Replica, candidate: str, epoch: int) -> bool:
    """Whether it is sure that it has not; one that lost its disk may have."""
    vote = voter.vote
    if vote is None or vote[0] < epoch:
        return voter.disk == 1
    return vote[0] == epoch and vote[1] != candidate


def on_disk(replica: Replica, rules: Rules) -> dict[str, object]:
    """What a crash leaves, and a restart has to find."""
    log = replica.log
    kept: dict[str, object] = {
        "log start": log.log_start_offset,
        "removed tombstones": replica.removed_tombstone_end,
        "version floor": replica.version_floor,
        "stubs": tuple(sorted(replica.stubs)),
        "removal bounds": (replica.removal_bound, replica.marker_removal_bound),
        "snapshots": tuple(sorted(replica.snapshots)),
        "batches": tuple([(batch.base_offset, batch.last_offset) for batch in log.batches()]),
        "disk": replica.disk,
    }
    if rules.election.vote_storage == "disk":
        kept["vote"] = replica.vote
    if rules.election.epoch_storage == "disk":
        kept["epoch"] = replica.epoch
    if rules.storage.leo_source == "stored":
        kept["log end"] = log.log_end_offset
        kept["high watermark"] = log.high_watermark
        kept["cleaner checkpoint"] = (replica.first_dirty_offset, replica.begun_offset)
    return kept


def opened(replica: Replica, rules: Rules) -> dict[str, object]:
    """What a restart has to find of what a crash left (LogLoader.recoverLog).

    A log ends with the last batch in the file of its active segment, else where that one begins; or
    where the last pass ended, if the fix writes that down. Below its start it begins anew there.
    """
    kept, log = on_disk(replica, rules), replica.log
    if rules.storage.leo_source != "stored":
        return kept
    active = log.segments[-1]
    in_file = [*[last for _, last, _ in active.index.below_start]]
    in_file += [batch.last_offset for batch in active.batches]
    end = in_file[-1] + 1 if in_file else active.base_offset
    if rules.cleaner.fix_applied.persists_log_end:
        cleaned = max(replica.first_dirty_offset, replica.begun_offset)
        end = max(end, min(cleaned, log.log_end_offset))
    high_watermark = min(log.high_watermark, end)
    if rules.replication.high_watermark_cut == "kept":
        high_watermark = log.high_watermark
    if end < log.log_start_offset:
        end = high_watermark = log.log_start_offset
        kept["batches"] = ()
    kept["log end"], kept["high watermark"] = end, high_watermark
    kept["cleaner checkpoint"] = (replica.first_dirty_offset, min(replica.begun_offset, end))
    return kept


def rebuilt_indexes(log: Log) -> dict[int, OffsetIndex]:
    """The offset indexes that a restart makes anew: from the recovery point on, by base offset."""
    ends = [segment.base_offset for segment in log.segments[1:]] + [log.log_end_offset + 1]
    return {
        segment.base_offset: segment.index
        for segment, end in zip(log.segments, ends, strict=True)
        if end > log.flushed_end
    }


def in_memory(node: Node) -> dict[str, object]:
    """What a crash takes, and nothing may be left of."""
    replica, leadership, member = node.replica, node.replica.leadership, node.membership
    return {
        "candidacy": isinstance(member, QuorumMembership) and member.candidacy,
        "answered fetch": node.fetcher.fetched,
        "fetches of consumers": tuple(node.consumers.waiting),
        "partly fetched snapshot": replica.download and replica.download.id,
        "failed pass": replica.uncleanable,
        "failed fetching": replica.fetching_failed,
        "positions of followers": leadership and leadership.positions,
    }
