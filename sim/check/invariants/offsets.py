"""Offset divergence: one offset, one record, on every replica and for ever (KIP-280)."""

from __future__ import annotations

from sim.check.ledger import HOLE, Disk
from sim.check.registry import Invariant, Kind, invariant
from sim.trace import (
    Appended,
    Cleaned,
    Copied,
    HighWatermarkMoved,
    Pushed,
    Quiesced,
    ReplicaRestarted,
)


@invariant
class SlotAgreement(Invariant):
    """No two replicas hold different records at an offset below both high watermarks."""

    name = "slot-agreement"
    source = "KIP-280"

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """An advance may bring a disagreement below both high watermarks."""
        if self.ledger.disagreeing:
            self._judge()

    def on_copied(self, event: Copied) -> None:
        """So may a copy."""
        if self.ledger.disagreeing:
            self._judge()

    def on_pushed(self, event: Pushed) -> None:
        """And a push."""
        if self.ledger.disagreeing:
            self._judge()

    def on_appended(self, event: Appended) -> None:
        """And an append."""
        if self.ledger.disagreeing:
            self._judge()

    def _judge(self) -> None:
        ledger = self.ledger
        for offset in ledger.disagreeing:
            for disk, other in ledger.pairs_differing(offset):
                if offset < disk.hw and offset < other.hw:
                    self.violated(
                        disk.name,
                        offset,
                        None,
                        f"offset {offset} is {ledger.describe(disk.slots[offset])} on {disk.name} "
                        f"and {ledger.describe(other.slots[offset])} on {other.name}, below both "
                        f"high watermarks ({disk.hw} and {other.hw}).",
                    )


@invariant
class RecordOffsetUniqueness(Invariant):
    """A record is found at one offset only, on all replicas."""

    name = "record-offset-uniqueness"
    source = "KIP-280"

    def on_copied(self, event: Copied) -> None:
        """Compare each copy's offset with that of the append."""
        for record in self.ledger.altered:
            if self.ledger.written[record.uid].record.offset != record.offset:
                self._report_moved(event.replica, record.uid, record.offset)

    def on_pushed(self, event: Pushed) -> None:
        """Compare the pushed copy's offset with that of the append."""
        for record in event.batch.records:
            if self.ledger.written[record.uid].record.offset != record.offset:
                self._report_moved(event.replica, record.uid, record.offset)

    def _report_moved(self, replica: str, uid: int, offset: int) -> None:
        self.violated(
            replica,
            offset,
            self.ledger.written[uid].record.key,
            f"{self.ledger.describe(uid)} stands at offset {offset} on {replica}.",
        )


@invariant
class OffsetEpochUniqueness(Invariant):
    """An (offset, epoch) is assigned once."""

    name = "offset-epoch-uniqueness"
    source = "KIP-595; QuorumState.initialize"

    def on_appended(self, event: Appended) -> None:
        """Compare with the first record that got the same offset in the same epoch."""
        ledger, epoch = self.ledger, event.batch.epoch
        for record, first in ledger.reassigned:
            self.violated(
                event.replica,
                record.offset,
                record.key,
                f"{event.replica} gave offset {record.offset} in epoch {epoch} to "
                f"{ledger.describe(record.uid)}; it was given to {ledger.describe(first)}.",
            )


@invariant
class NoOffsetReuse(Invariant):
    """An offset that was committed is never assigned again."""

    name = "no-offset-reuse"
    source = "KIP-280; KAFKA-17076"

    def on_appended(self, event: Appended) -> None:
        """Compare with the committed history."""
        ledger = self.ledger
        committed = ledger.committed
        if event.batch.base_offset >= len(committed):
            return
        if not ledger.zombies_count and event.batch.epoch < ledger.newest_epoch:
            return
        for record in event.batch.records:
            offset = record.offset
            if offset < len(committed) and committed[offset] != record.uid:
                self.violated(
                    event.replica,
                    offset,
                    record.key,
                    f"{event.replica} gave offset {offset} to {ledger.describe(record.uid)}, but "
                    f"it was committed as {ledger.describe(committed[offset])}.",
                )


@invariant
class ReplicaConvergence(Invariant):
    """At rest no live replica holds another record than the leader at the same offset."""

    name = "replica-convergence"
    kind = Kind.AT_REST
    source = "KIP-279"

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare live replicas with the leader."""
        if event.replica is None:
            return
        ledger = self.ledger
        leader = ledger.disks[event.replica]
        for offset in ledger.disagreeing:
            for disk in ledger.disks.values():
                mine, theirs = disk.at(offset), leader.at(offset)
                if disk.up and mine > 0 and theirs > 0 and mine != theirs:
                    self.violated(
                        disk.name,
                        offset,
                        None,
                        f"offset {offset} is {ledger.describe(mine)} on {disk.name} and "
                        f"{ledger.describe(theirs)} on the leader {leader.name}.",
                    )


@invariant
class LeoConvergence(Invariant):
    """At rest every live replica's log ends where the leader's does.

    Fair: a live core has a leader, links are whole, and followers fetch until nothing changes.
    """

    name = "leo-convergence"
    kind = Kind.LIVENESS
    source = "KIP-280"
    fairness = "faults are over, there is a leader, and followers fetch until nothing changes"

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare log end offsets."""
        if event.replica is None:
            return
        leader = self.ledger.disks[event.replica]
        for disk in self.ledger.disks.values():
            if disk.up and disk.leo != leader.leo:
                self.violated(
                    disk.name,
                    disk.leo,
                    None,
                    f"{disk.name} stays at log end offset {disk.leo} while the leader "
                    f"{leader.name} is at {leader.leo}.",
                )


@invariant
class HoleJustified(Invariant):
    """Every missing offset is missing for a reason."""

    name = "hole-justified"
    kind = Kind.AT_REST
    source = "KIP-280, KIP-630"

    def on_quiesced(self, event: Quiesced) -> None:
        """Judge the committed record and, where the leader holds another, that one too."""
        leader = None if event.replica is None else self.ledger.disks[event.replica]
        for disk in self.ledger.disks.values():
            for offset in sorted(disk.suspects | self.ledger.contested):
                if disk.start <= offset < disk.leo and disk.slots[offset] == HOLE:
                    self._judge(disk, offset, leader)

    def _judge(self, disk: Disk, offset: int, leader: Disk | None) -> None:
        ledger = self.ledger
        belonging = []
        if offset < len(ledger.committed):
            belonging.append(ledger.committed[offset])
        if leader is not None and leader.at(offset) > 0:
            belonging.append(leader.at(offset))
        for uid in belonging:
            if uid in ledger.written and not ledger.excused(uid):
                self.violated(
                    disk.name,
                    offset,
                    ledger.written[uid].record.key,
                    f"{disk.name} has a hole at offset {offset}, but {ledger.describe(uid)} is "
                    "neither superseded nor aborted.",
                )


@invariant
class LeoPreservation(Invariant):
    """Cleaning and a restart leave the log end offset where it was."""

    name = "leo-preservation"
    source = "KIP-280; etcd #17780"
    in_stories = False

    def on_cleaned(self, event: Cleaned) -> None:
        """Compare with the log end before the pass."""
        self._judge(event.replica, event.log_end_offset, "a cleaning pass")

    def on_replica_restarted(self, event: ReplicaRestarted) -> None:
        """Compare with the log end that the crash left."""
        self._judge(event.replica, event.log_end_offset, "a restart")

    def _judge(self, replica: str, leo: int, what: str) -> None:
        before = self.ledger.disks[replica].leo_before
        if leo != before:
            self.violated(
                replica,
                leo,
                None,
                f"{what} moved the log end offset of {replica} from {before} to {leo}.",
            )
