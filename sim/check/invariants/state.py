"""Materialised state: what a log folds to, compared with the fold of the committed history."""

from __future__ import annotations

from sim.check.deltas import delta_state
from sim.check.ledger import Disk, Ledger
from sim.check.registry import Invariant, Kind, invariant
from sim.log import Control, Record
from sim.trace import Quiesced


def reference_state(ledger: Ledger) -> dict[str, int]:
    """Key -> uid of the committed winner; deleted keys are absent."""
    return {key: uid for key, uid in ledger.winners.items() if not ledger.written[uid].tombstone}


def base_records(disk: Disk) -> tuple[Record, ...]:
    """The records of the snapshot that a disk's log continues."""
    found = [records for (end, _), records in disk.snapshots.items() if end == disk.start]
    return found[-1] if found and disk.start > 0 else ()


def state_of(ledger: Ledger, disk: Disk) -> dict[str, int]:
    """Key -> uid after folding a disk below its own high watermark, by its own markers."""
    written = ledger.written
    winners: dict[str, int] = {
        record.key: record.uid for record in base_records(disk) if record.key is not None
    }
    pending: dict[int, list[int]] = {}

    def fold(uid: int) -> None:
        key = written[uid].record.key
        if key is not None:
            winner = winners.get(key)
            if winner is None or written[uid].version > written[winner].version:
                winners[key] = uid

    for uid in disk.slots[disk.start : disk.hw]:
        if uid <= 0:
            continue
        known = written[uid]
        if known.control is not None:
            data = pending.pop(known.producer_id, ())
            if known.control is Control.COMMIT:
                for committed in data:
                    fold(committed)
        elif known.transactional:
            pending.setdefault(known.producer_id, []).append(uid)
        else:
            fold(uid)
    return {key: uid for key, uid in winners.items() if not written[uid].tombstone}


@invariant
class MaterializedStateEquivalence(Invariant):
    """A live replica that has the full high watermark folds to the reference state.

    Not judged once an offset was committed twice: the reference is undefined then.
    """

    name = "materialized-state-equivalence"
    kind = Kind.AT_REST
    source = "KIP-280, KIP-630; ConsistentCommittedData (RaftEventSimulationTest)"

    def on_quiesced(self, event: Quiesced) -> None:
        """Fold every live disk."""
        ledger = self.ledger
        if ledger.committed_twice:
            return
        if ledger.rules.snapshots.state_machine == "deltas":
            self._compare_deltas()
            return
        expected = reference_state(ledger)
        for disk in ledger.disks.values():
            if disk.up and disk.hw >= len(ledger.committed):
                self._compare(disk, state_of(ledger, disk), expected)

    def _compare_deltas(self) -> None:
        ledger = self.ledger
        expected = delta_state(ledger, ledger.committed)
        for disk in ledger.disks.values():
            if not disk.up or disk.hw < len(ledger.committed):
                continue
            held = [uid for uid in disk.slots[disk.start : disk.hw] if uid > 0]
            state = delta_state(ledger, held, base_records(disk))
            if state != expected:
                key = next(k for k in sorted(state | expected) if state.get(k) != expected.get(k))
                self.violated(
                    disk.name,
                    None,
                    key,
                    f"{disk.name} has {key}={state.get(key)}, the committed history has "
                    f"{key}={expected.get(key)}.",
                )

    def _compare(self, disk: Disk, state: dict[str, int], expected: dict[str, int]) -> None:
        if state == expected:
            return
        ledger = self.ledger
        differing = [
            key
            for key in sorted(state | expected)
            if state.get(key) != expected.get(key) and not self._expired(key)
        ]
        if not differing:
            return
        key = differing[0]
        have, want = state.get(key), expected.get(key)
        held = "nothing" if have is None else ledger.describe(have)
        wanted = "nothing" if want is None else ledger.describe(want)
        more = f"; {len(differing) - 1} more keys differ" if len(differing) > 1 else ""
        self.violated(
            disk.name,
            None,
            key,
            f"{disk.name} folds to {held} for {key}, the committed history to {wanted}{more}.",
        )

    def _expired(self, key: str) -> bool:
        """The winner of a key was deleted by the topic's retention, which promises nothing."""
        ledger = self.ledger
        winner = ledger.winners.get(key)
        if winner is None or ledger.expired_below == 0:
            return False
        return ledger.written[winner].record.offset < ledger.expired_below
