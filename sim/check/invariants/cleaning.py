"""What one cleaning pass may take, and what it has to leave."""

from __future__ import annotations

from sim.check.ledger import HOLE, Disk, Ledger
from sim.check.registry import Invariant, Kind, Reporter, invariant
from sim.compaction.tombstones import without_record_horizon
from sim.trace import (
    Cleaned,
    Consumed,
    Copied,
    PrefixDeleted,
    Quiesced,
    ReplicaCrashed,
    ReplicaWiped,
    SnapshotInstalled,
    Truncated,
)


@invariant
class CompactionBound(Invariant):
    """Neither the removed record nor the one that beat it is at or above the high watermark."""

    name = "compaction-bound"
    source = "KAFKA-13194; LogCleanerManager.cleanableOffsets"

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at each removal and its winner."""
        hw = event.high_watermark
        if event.upper_bound <= hw:
            return
        for removal in event.removals:
            cause = removal.winner_offset
            highest = removal.offset if cause is None else max(removal.offset, cause)
            if highest >= hw:
                because = "" if cause is None else f", beaten by the record at {cause}"
                self.violated(
                    event.replica,
                    removal.offset,
                    removal.key,
                    f"{event.replica} removed {self.ledger.describe(removal.uid)}{because}, with "
                    f"its high watermark at {hw}.",
                )


@invariant
class CleanPrefix(Invariant):
    """Below the clean point each key has at most one record, the protected last one excepted."""

    name = "clean-prefix"
    source = "KIP-280"

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """No clean section yet."""
        super().__init__(ledger, report)
        self._counts: dict[str, dict[str, int]] = {}
        self._clean: dict[str, int] = {}
        self._repeated: dict[str, dict[str, None]] = {}

    def on_cleaned(self, event: Cleaned) -> None:
        """Update how many records each key has in the clean section, and judge what changed."""
        written = self.ledger.written
        disk = self.ledger.disks[event.replica]
        counts = self._counts.setdefault(event.replica, {})
        clean = self._clean.get(event.replica, 0)
        repeated = self._repeated.setdefault(event.replica, {})
        for removal in event.removals:
            if removal.offset < clean and removal.key is not None:
                counts[removal.key] -= 1
        for offset in range(clean, min(disk.clean, disk.leo)):
            uid = disk.slots[offset]
            key = written[uid].record.key if uid > 0 else None
            if key is not None:
                counts[key] = counts.get(key, 0) + 1
                if counts[key] > 1:
                    repeated[key] = None
        self._clean[event.replica] = min(disk.clean, disk.leo)
        for key in list(repeated):
            if counts.get(key, 0) > 1:
                self._judge(disk, key, event.protected_offset)
            else:
                del repeated[key]

    def _judge(self, disk: Disk, key: str, protected: int | None) -> None:
        ledger = self.ledger
        held = sorted(
            offset
            for uid in ledger.uids_of_key[key]
            if (offset := ledger.written[uid].record.offset) < disk.clean
            and disk.at(offset) == uid
            and offset != protected
        )
        if len(held) > 1:
            self.violated(
                disk.name,
                held[-1],
                key,
                f"{disk.name} is clean below {disk.clean} but holds {len(held)} records of {key}, "
                f"at {', '.join(map(str, held))}.",
            )

    def on_truncated(self, event: Truncated) -> None:
        """The clean section may have been cut."""
        self._recount(event.replica)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """A lost tail may reach into it."""
        self._recount(event.replica)

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """Nothing is left."""
        self._recount(event.replica)

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """Nothing is left but the snapshot."""
        self._recount(event.replica)

    def on_prefix_deleted(self, event: PrefixDeleted) -> None:
        """A part of it is gone."""
        self._recount(event.replica)

    def _recount(self, replica: str) -> None:
        disk = self.ledger.disks[replica]
        if self._clean.get(replica, 0) == 0:
            return
        clean = min(self._clean[replica], disk.clean, disk.leo)
        counts: dict[str, int] = {}
        for uid in disk.slots[:clean]:
            key = self.ledger.written[uid].record.key if uid > 0 else None
            if key is not None:
                counts[key] = counts.get(key, 0) + 1
        self._counts[replica], self._clean[replica] = counts, clean


@invariant
class WinnerRetained(Invariant):
    """A committed winning value is on every replica whose log covers its offset."""

    name = "winner-retained"
    kind = Kind.AT_REST
    source = "KIP-280"
    in_stories = False

    def on_quiesced(self, event: Quiesced) -> None:
        """Look for each winner on each disk."""
        ledger = self.ledger
        if ledger.committed_twice:
            return
        for key, uid in ledger.winners.items():
            if ledger.written[uid].tombstone:
                continue
            offset = ledger.written[uid].record.offset
            for disk in ledger.disks.values():
                if disk.start <= offset < disk.leo and disk.slots[offset] != uid:
                    self.violated(
                        disk.name,
                        offset,
                        key,
                        f"{disk.name} lacks {ledger.describe(uid)}, the winner of its key.",
                    )


@invariant
class RecordImmutable(Invariant):
    """Whatever a follower copies and a consumer reads is, field by field, what was appended.

    The header that `record_horizon` adds is a matter of the replicas: no reader may be given it. A
    format without the flag may leave it out (KIP-87), as long as a delete stays one.
    """

    name = "record-immutable"
    source = (
        "KIP-534 (timestamps read back unchanged; Rejected Alternatives); KIP-87, Migration Plan"
    )
    in_stories = False

    def on_copied(self, event: Copied) -> None:
        """Compare each copied record with the append."""
        for record in self.ledger.altered:
            original = self.ledger.written[record.uid].record
            copy = without_record_horizon(record)
            if copy == original:
                continue
            deletes = self.ledger.takes_for_tombstone
            same = copy._replace(flagged=original.flagged) == original
            if not same or deletes(copy) != deletes(original):
                self.violated(
                    event.replica,
                    record.offset,
                    record.key,
                    f"{event.replica} copied {record} where {original} was appended.",
                )

    def on_consumed(self, event: Consumed) -> None:
        """Compare each record a consumer is given with the append.

        What it takes for a delete is left to `consumer-takes-deletes`.
        """
        written = self.ledger.written
        for record in event.records:
            original = written[record.uid].record
            if record is original or record == original:
                continue
            if record._replace(flagged=original.flagged) != original:
                self.violated(
                    event.replica,
                    record.offset,
                    record.key,
                    f"{event.consumer} read {record} where {original} was appended.",
                )


@invariant
class HorizonStability(Invariant):
    """A delete horizon, once set, does not change as long as the batch is on the disk."""

    name = "horizon-stability"
    source = "KIP-534"
    in_stories = False

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """No horizons yet."""
        super().__init__(ledger, report)
        self._horizons: dict[str, dict[int, int]] = {}

    def on_cleaned(self, event: Cleaned) -> None:
        """Compare with the horizon the same batch had."""
        if not event.horizons:
            return
        disk = self.ledger.disks[event.replica]
        known = self._horizons.setdefault(event.replica, {})
        for base, horizon in event.horizons:
            first = known.setdefault(base, horizon)
            if first != horizon and disk.at(base) != HOLE:
                self.violated(
                    event.replica,
                    base,
                    None,
                    f"{event.replica} moved the delete horizon of the batch at {base} from "
                    f"{first} ms to {horizon} ms.",
                )

    def on_truncated(self, event: Truncated) -> None:
        """What comes to the cut offsets is another batch, or another copy."""
        self._forget(event.replica, event.target)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """The same for a lost tail."""
        self._forget(event.replica, event.log_end_offset)

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """The same for a new disk."""
        self._forget(event.replica, 0)

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """The same for a log that was replaced."""
        self._forget(event.replica, 0)

    def _forget(self, replica: str, end: int) -> None:
        known = self._horizons.get(replica)
        if known:
            self._horizons[replica] = {base: at for base, at in known.items() if base < end}
