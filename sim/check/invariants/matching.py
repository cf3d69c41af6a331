"""Log matching: logs that share a record agree below it, and epochs never fall."""

from __future__ import annotations

from sim.check.ledger import Disk, Ledger
from sim.check.registry import Invariant, Reporter, invariant
from sim.log import Batch
from sim.trace import (
    Appended,
    Copied,
    Pushed,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
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
class EpochMonotonic(Invariant):
    """Along a log epochs never fall with the offset; a replica never goes back to an older one."""

    name = "epoch-monotonic"
    source = "MonotonicEpoch (RaftEventSimulationTest)"
    in_stories = False

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nobody has gone down yet."""
        super().__init__(ledger, report)
        self._epochs: dict[str, int] = {}

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """What it should remember."""
        self._epochs[event.replica] = event.epoch

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """A new disk remembers nothing."""
        self._epochs.pop(event.replica, None)

    def on_replica_restarted(self, event: ReplicaRestarted) -> None:
        """Compare with the epoch in which it went down."""
        before = self._epochs.get(event.replica, 0)
        if event.epoch < before:
            self.violated(
                event.replica,
                event.log_end_offset,
                None,
                f"{event.replica} came back in epoch {event.epoch}, having been in {before}.",
            )

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
