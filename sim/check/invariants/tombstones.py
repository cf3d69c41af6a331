"""Tombstone safety: no deleted key comes back, no reader misses a delete (KIP-534, KIP-630)."""

from __future__ import annotations

from sim.check.ledger import Disk, Ledger
from sim.check.registry import Invariant, Kind, Reporter, invariant
from sim.trace import Cleaned, Quiesced, RoundsEnded, TombstoneProbed


@invariant
class TombstoneSafety(Invariant):
    """A tombstone stays while another replica holds an older value and has not got the tombstone.

    KIP-630 writes `Y < LEO < X` with an inclusive log end; with an exclusive one it is
    `Y.offset < LEO <= X.offset`. Not judged with `lag_guard`, which repairs instead.
    """

    name = "tombstone-safety"
    source = "KIP-630, Tombstone and Delete Operations"

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at every other disk that ends at or below a removed winning tombstone."""
        if self.ledger.rules.replication.lag_guard != "none":
            return
        for removal in event.removals:
            if removal.reason == "tombstone" and removal.key is not None:
                for disk in self.ledger.disks.values():
                    if disk.name != event.replica and disk.leo <= removal.offset:
                        self._judge(event.replica, removal.uid, removal.offset, disk)

    def _judge(self, remover: str, tombstone: int, offset: int, disk: Disk) -> None:
        ledger = self.ledger
        key = ledger.written[tombstone].record.key or ""
        for uid in ledger.uids_of_key[key]:
            at = ledger.written[uid].record.offset
            if disk.at(at) == uid and ledger.is_value(uid) and ledger.beats(tombstone, uid):
                self.violated(
                    remover,
                    offset,
                    key,
                    f"{remover} removed the tombstone of {key} (offset {offset}) while "
                    f"{disk.name}, log end offset {disk.leo}, still held {ledger.describe(uid)}; "
                    f"KIP-630 keeps it until that log end offset is above {offset}.",
                )
                return


@invariant
class NoResurrection(Invariant):
    """A replica whose log is past a committed winning tombstone holds no value it beats alone."""

    name = "no-resurrection"
    kind = Kind.AT_REST
    source = "KIP-630"

    def on_quiesced(self, event: Quiesced) -> None:
        """Judge every winning tombstone on every disk."""
        ledger = self.ledger
        for key, winner in ledger.winners.items():
            if ledger.written[winner].tombstone:
                for disk in ledger.disks.values():
                    self._judge(key, winner, disk)

    def _judge(self, key: str, tombstone: int, disk: Disk) -> None:
        ledger = self.ledger
        offset = ledger.written[tombstone].record.offset
        if disk.leo <= offset or disk.at(offset) == tombstone:
            return
        held = [
            uid
            for uid in ledger.uids_of_key[key]
            if disk.at(ledger.written[uid].record.offset) == uid
        ]
        if any(ledger.beats(uid, tombstone) for uid in held):
            return
        for uid in held:
            if ledger.is_value(uid) and ledger.beats(tombstone, uid):
                self.violated(
                    disk.name,
                    ledger.written[uid].record.offset,
                    key,
                    f"{disk.name} holds {ledger.describe(uid)} although {key} was deleted at "
                    f"offset {offset}; its log end offset is {disk.leo} and the tombstone is gone.",
                )
                return


@invariant
class TombstoneEventuallyRemoved(Invariant):
    """No tombstone stays for ever: cleaned again and again, no log holds one in the end.

    A story names the key that should be gone. In simulated time every tombstone is judged that is
    below the last stable offset, after rounds of cleaning on all replicas with the retention in
    between; not with `tombstone_removal: never`, which promises nothing, nor with `coordinated`
    while a cleaner does not run, which is its price. A record that the fix keeps at the log end is
    left out: traffic would set it free.
    """

    name = "tombstone-eventually-removed"
    kind = Kind.LIVENESS
    source = "KIP-534; KAFKA-8522"
    fairness = "cleaners run in spite of the dirty ratio, segments are rolled, and time passes"

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """No pass was seen."""
        super().__init__(ledger, report)
        self._protected: dict[str, int | None] = {}

    def on_cleaned(self, event: Cleaned) -> None:
        """Note what the fix keeps."""
        self._protected[event.replica] = event.protected_offset

    def on_rounds_ended(self, event: RoundsEnded) -> None:
        """Look for a tombstone on every disk that was cleaned."""
        ledger = self.ledger
        removal = ledger.rules.cleaner.tombstone_removal
        everybody = all(disk.up and name in event.cleaners for name, disk in ledger.disks.items())
        if removal == "never" or (removal == "coordinated" and not everybody):
            return
        undecided = [uid for uids in ledger.undecided.values() for uid in uids]
        stable = min(
            [ledger.written[uid].record.offset for uid in undecided],
            default=len(ledger.committed),
        )
        for name in event.cleaners:
            disk = ledger.disks[name]
            for offset in range(disk.start, min(stable, disk.hw)):
                uid = disk.at(offset)
                known = ledger.written[uid] if uid > 0 else None
                if known is not None and known.tombstone and offset != self._protected.get(name):
                    self.violated(
                        name,
                        offset,
                        known.record.key,
                        f"{name} still holds the tombstone of {known.record.key} (offset {offset}) "
                        f"after {event.rounds} rounds of cleaning, {event.interval_ms} ms apart.",
                    )

    def on_tombstone_probed(self, event: TombstoneProbed) -> None:
        """Look for tombstones of the key on live disks."""
        ledger = self.ledger
        for disk in ledger.disks.values():
            for uid in ledger.uids_of_key.get(event.key, ()):
                known = ledger.written[uid]
                offset = known.record.offset
                if disk.up and known.tombstone and disk.at(offset) == uid:
                    self.violated(
                        disk.name,
                        offset,
                        event.key,
                        f"{disk.name} still holds the tombstone of {event.key} (offset {offset}).",
                    )
