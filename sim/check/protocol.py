"""Raft's properties and the high watermark, adapted to logs with holes."""

from __future__ import annotations

from sim.check.ledger import Disk, Ledger
from sim.check.registry import Invariant, Kind, Reporter, invariant
from sim.log import Batch
from sim.trace import (
    Appended,
    Cleaned,
    Copied,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    PositionRecorded,
    Pushed,
    Quiesced,
    ReplicaCrashed,
    SnapshotInstalled,
    Truncated,
)


@invariant
class ElectionSafety(Invariant):
    """At most one replica ever leads an epoch."""

    name = "election-safety"
    source = "Raft 5.2; KIP-595"

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nobody has led yet."""
        super().__init__(ledger, report)
        self._leaders: dict[int, str] = {}

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Compare with who led the epoch before."""
        first = self._leaders.setdefault(event.epoch, event.replica)
        if first != event.replica:
            self.violated(
                event.replica,
                event.epoch_start_offset,
                None,
                f"{event.replica} was elected in epoch {event.epoch}, which {first} led already.",
            )


@invariant
class LeaderCompleteness(Invariant):
    """A new leader has every committed offset: the record, an empty slot or a justified hole."""

    name = "leader-completeness"
    source = "Raft 5.4; StrongIsr (Kip320.tla)"

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Compare the new leader's disk with the ledger."""
        ledger = self.ledger
        disk = ledger.disks[event.replica]
        committed = len(ledger.committed)
        missing = ledger.first_missing(disk, committed, twice_counts=True)
        if missing is not None:
            uid = ledger.committed[missing]
            self.violated(
                event.replica,
                missing,
                None,
                f"{event.replica} was elected in epoch {event.epoch} with log end offset "
                f"{disk.leo} but lacks committed offset {missing} ({ledger.describe(uid)}); "
                f"{committed} offsets are committed.",
            )


@invariant
class StateMachineSafety(Invariant):
    """No offset is ever committed with two different records."""

    name = "state-machine-safety"
    source = "Raft 5.4.3"

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Look at what this advance committed again."""
        if not event.leading:
            return
        ledger = self.ledger
        for offset, uid in ledger.recommitted:
            first = ledger.describe(ledger.committed[offset])
            self.violated(
                event.replica,
                offset,
                None,
                f"offset {offset} was committed as {first} and again as {ledger.describe(uid)} "
                f"when {event.replica} moved its high watermark to {event.high_watermark}.",
            )


@invariant
class CommittedReplicated(Invariant):
    """Who has to have committed offsets has them: every in-sync replica, or a majority.

    All that was ever committed counts, also what the present leader does not know to be.
    """

    name = "committed-replicated"
    source = "StrongIsr; MajorityReachedHighWatermark (RaftEventSimulationTest)"

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Judge the advance of a leader's high watermark."""
        if event.leading:
            self._judge(event.replica, f"{event.replica} moved its high watermark to")

    def on_isr_changed(self, event: IsrChanged) -> None:
        """Judge an expansion of the in-sync set."""
        if event.joined is not None:
            self._judge(event.replica, f"{event.joined} joined the in-sync set at high watermark")

    def _judge(self, leader: str, what: str) -> None:
        ledger = self.ledger
        what = f"{what} {ledger.disks[leader].hw}"
        below = len(ledger.committed)
        members = ledger.isr if ledger.rules.commit == "isr" else ledger.voters
        missing: list[tuple[str, int]] = []
        for name in members:
            offset = ledger.first_missing(ledger.disks[name], below, twice_counts=False)
            if offset is not None:
                missing.append((name, offset))
        if ledger.rules.commit == "isr":
            for name, offset in missing:
                self._report_missing(name, offset, what, "in-sync replica")
        elif len(missing) > len(members) - (len(members) // 2 + 1):
            self._judge_majority(members, what)

    def _judge_majority(self, voters: tuple[str, ...], what: str) -> None:
        """Some voters lack something; report the offsets that too few have."""
        ledger = self.ledger
        needed = len(voters) // 2 + 1
        disks = [ledger.disks[name] for name in voters]
        for offset in range(len(ledger.committed)):
            if offset in ledger.committed_twice:
                continue
            having = sum(1 for d in disks if offset < d.start or ledger.has_committed(d, offset))
            if having < needed:
                lacking = next(
                    d for d in disks if offset >= d.start and not ledger.has_committed(d, offset)
                )
                self._report_missing(lacking.name, offset, what, f"one of {needed} needed voters")
                return

    def _report_missing(self, name: str, offset: int, what: str, role: str) -> None:
        ledger = self.ledger
        self.violated(
            name,
            offset,
            None,
            f"{what}, but {name}, {role}, log end offset {ledger.disks[name].leo}, lacks "
            f"committed offset {offset} ({ledger.describe(ledger.committed[offset])}).",
        )


@invariant
class CommittedNeverLost(Invariant):
    """Each committed record is on the leader, or its absence there is justified."""

    name = "committed-never-lost"
    kind = Kind.AT_REST
    source = "KIP-101; CommittedIsDurable (etcd raft)"

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare the leader's disk with the ledger."""
        if event.replica is None:
            return
        ledger = self.ledger
        disk = ledger.disks[event.replica]
        candidates = [o for o in sorted(disk.suspects) if o < len(ledger.committed)]
        candidates += range(max(disk.leo, disk.start), len(ledger.committed))
        for offset in candidates:
            uid = ledger.committed[offset]
            if offset < disk.start or offset in ledger.committed_twice or disk.at(offset) == uid:
                continue
            if not ledger.excused(uid):
                self.violated(
                    event.replica,
                    offset,
                    ledger.written[uid].record.key,
                    f"committed {ledger.describe(uid)} is not on the leader {event.replica} and "
                    "nothing committed supersedes it.",
                )


@invariant
class NoTruncationBelowHw(Invariant):
    """A replica never truncates below its own high watermark."""

    name = "no-truncation-below-hw"
    source = "KIP-595; KafkaMetadataLog.truncateTo"

    def on_truncated(self, event: Truncated) -> None:
        """Compare target and high watermark."""
        if event.target < event.high_watermark:
            self.violated(
                event.replica,
                event.target,
                None,
                f"{event.replica} truncated from {event.log_end_offset} to {event.target}, below "
                f"its high watermark {event.high_watermark}.",
            )


@invariant
class TruncationBelowLogStart(Invariant):
    """A replica never truncates below its log start offset."""

    name = "truncation-below-log-start"
    source = "KIP-595; UnifiedLog.truncateTo"

    def on_truncated(self, event: Truncated) -> None:
        """Compare target and log start."""
        if event.target < event.log_start_offset:
            self.violated(
                event.replica,
                event.target,
                None,
                f"{event.replica} truncated to {event.target}, below its log start offset "
                f"{event.log_start_offset}.",
            )


@invariant
class HwWithinLog(Invariant):
    """The high watermark never exceeds the log end offset."""

    name = "hw-within-log"
    source = "LogCabin, RaftConsensusInvariants"

    def _judge(self, replica: str) -> None:
        disk = self.ledger.disks[replica]
        if disk.hw > len(disk.slots):
            self.violated(
                replica,
                disk.hw,
                None,
                f"{replica} has high watermark {disk.hw} above its log end offset {disk.leo}.",
            )

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """After an advance."""
        self._judge(event.replica)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """After a lost tail."""
        self._judge(event.replica)

    def on_cleaned(self, event: Cleaned) -> None:
        """After a pass that may have moved the log end."""
        self._judge(event.replica)

    def on_truncated(self, event: Truncated) -> None:
        """After a truncation."""
        self._judge(event.replica)


@invariant
class FollowerPositionSound(Invariant):
    """The position a leader records for a follower is at most the follower's log end offset."""

    name = "follower-position-sound"
    source = "KIP-280; LocalLog.read with Partition.fetchRecords"

    def on_position_recorded(self, event: PositionRecorded) -> None:
        """Compare belief and disk."""
        leo = self.ledger.disks[event.follower].leo
        if event.position > leo:
            self.violated(
                event.follower,
                leo,
                None,
                f"{event.replica} believes that {event.follower} has everything below "
                f"{event.position}, but its log end offset is {leo}.",
            )


@invariant
class LogMatching(Invariant):
    """Logs that share a record agree below it; one (offset, epoch) names one record."""

    name = "log-matching"
    source = "Raft 5.3, adapted to holes"

    def on_appended(self, event: Appended) -> None:
        """A leader's append may clash with another record of the same offset and epoch."""
        if self.ledger.disagreeing:
            self._same_epoch()

    def on_copied(self, event: Copied) -> None:
        """A copied record is shared: everything below must agree."""
        if self.ledger.disagreeing:
            self._same_epoch()
            disk = self.ledger.disks[event.replica]
            self._below(disk, range(event.fetch_offset, disk.leo))

    def on_pushed(self, event: Pushed) -> None:
        """As with a copy."""
        if self.ledger.disagreeing:
            self._same_epoch()
            disk = self.ledger.disks[event.replica]
            self._below(disk, range(event.batch.base_offset, disk.leo))

    def _same_epoch(self) -> None:
        ledger = self.ledger
        for offset in ledger.disagreeing:
            for disk, other in ledger.pairs_differing(offset):
                mine, theirs = disk.slots[offset], other.slots[offset]
                if ledger.written[mine].epoch == ledger.written[theirs].epoch:
                    self.violated(
                        disk.name,
                        offset,
                        None,
                        f"{disk.name} holds {ledger.describe(mine)} and {other.name} holds "
                        f"{ledger.describe(theirs)} at offset {offset}, both of epoch "
                        f"{ledger.written[mine].epoch}.",
                    )

    def _below(self, disk: Disk, copied: range) -> None:
        ledger = self.ledger
        for offset in ledger.disagreeing:
            mine = disk.at(offset)
            for other in ledger.disks.values():
                theirs = other.at(offset)
                if other is disk or mine <= 0 or theirs <= 0 or mine == theirs:
                    continue
                for above in copied:
                    shared = disk.at(above)
                    if above > offset and shared > 0 and shared == other.at(above):
                        self.violated(
                            disk.name,
                            offset,
                            None,
                            f"{disk.name} and {other.name} share {ledger.describe(shared)} at "
                            f"{above} but differ at {offset}: {ledger.describe(mine)} and "
                            f"{ledger.describe(theirs)}.",
                        )
                        break


@invariant
class LeaderAppendOnly(Invariant):
    """A leader never truncates or replaces its log while it leads."""

    name = "leader-append-only"
    source = "Raft 5.3"
    in_stories = False

    def on_truncated(self, event: Truncated) -> None:
        """A leader that cuts its own log."""
        if event.leading:
            self.violated(
                event.replica,
                event.target,
                None,
                f"{event.replica} truncated from {event.log_end_offset} to {event.target} while "
                "it was leading.",
            )


@invariant
class LeaderNeverLoadsSnapshot(Invariant):
    """An active leader's state machine is never replaced by a snapshot."""

    name = "leader-never-loads-snapshot"
    source = "LeaderNeverLoadSnapshot (RaftEventSimulationTest)"
    in_stories = False

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """A leader that installs one."""
        if event.leading:
            self.violated(
                event.replica,
                event.end_offset,
                None,
                f"{event.replica} installed snapshot ({event.end_offset}, {event.epoch}) while it "
                "was leading.",
            )


@invariant
class EpochMonotonic(Invariant):
    """Along a log epochs never fall with the offset."""

    name = "epoch-monotonic"
    source = "MonotonicEpoch (RaftEventSimulationTest)"
    in_stories = False

    def on_appended(self, event: Appended) -> None:
        """After a leader's append."""
        self._judge(event.replica, (event.batch,))

    def on_copied(self, event: Copied) -> None:
        """After a follower's copy."""
        self._judge(event.replica, event.batches)

    def _judge(self, replica: str, batches: tuple[Batch, ...]) -> None:
        """Compare each batch with the one before it, the first with what the disk held."""
        ledger = self.ledger
        base = batches[0].base_offset
        held = ledger.disks[replica].lineage[base - 1] if base > 0 else 0
        known = ledger.written.get(held)
        epoch = -1 if known is None else known.epoch
        for batch in batches:
            if batch.epoch < epoch:
                self.violated(
                    replica,
                    batch.base_offset,
                    None,
                    f"{replica} holds epoch {batch.epoch} at offset {batch.base_offset} after "
                    f"epoch {epoch}.",
                )
            epoch = batch.epoch


@invariant
class HwMonotonic(Invariant):
    """A high watermark falls only with a lost tail, a truncation or a wipe."""

    name = "hw-monotonic"
    source = "MonotonicHighWatermark (RaftEventSimulationTest)"
    in_stories = False

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Compare with the one before; what may lower it has its own events."""
        before = self.ledger.previous_hw
        if event.high_watermark < before:
            self.violated(
                event.replica,
                event.high_watermark,
                None,
                f"{event.replica} moved its high watermark back from {before} to "
                f"{event.high_watermark}.",
            )
