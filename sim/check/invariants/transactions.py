"""Transactions: every replica gives the same verdict on every record (KIP-98, KIP-534 case 2)."""

from __future__ import annotations

from sim.check.ledger import Disk
from sim.check.registry import Invariant, Kind, invariant
from sim.log import Control
from sim.trace import Cleaned, Quiesced

_WORDS = {True: "committed", False: "aborted", None: "open"}


@invariant
class TxnMarkerSafety(Invariant):
    """A marker stays while another replica holds data of its transaction and lacks the marker."""

    name = "txn-marker-safety"
    source = "KIP-534, case 2; Redpanda PR 29043"

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at every other disk that ends at or below a removed marker."""
        for removal in event.removals:
            if removal.reason == "marker":
                data = self._data_of(self.ledger.disks[event.replica], removal.offset, removal.uid)
                for disk in self.ledger.disks.values():
                    if disk.name != event.replica and disk.leo <= removal.offset:
                        self._judge(event.replica, removal.uid, removal.offset, disk, data)

    def _data_of(self, disk: Disk, marker_offset: int, marker: int) -> list[int]:
        """Uids that the marker decides: its producer's data since that producer's last marker."""
        written = self.ledger.written
        producer = written[marker].producer_id
        data = []
        for offset in range(marker_offset - 1, -1, -1):
            known = written.get(disk.lineage[offset])
            if known is not None and known.transactional and known.producer_id == producer:
                if known.control is not None:
                    break
                data.append(disk.lineage[offset])
        return data

    def _judge(self, remover: str, marker: int, offset: int, disk: Disk, data: list[int]) -> None:
        ledger = self.ledger
        for uid in data:
            at = ledger.written[uid].record.offset
            if disk.at(at) == uid:
                self.violated(
                    remover,
                    offset,
                    None,
                    f"{remover} removed the {ledger.describe(marker)} while {disk.name}, log end "
                    f"offset {disk.leo}, still held {ledger.describe(uid)} of its transaction.",
                )
                return


def own_verdicts(disk: Disk, invariant_: Invariant, *, with_empty: bool) -> dict[int, bool | None]:
    """Transactional data on a disk -> verdict of that disk's own markers; None = open.

    `with_empty` also counts batches that are left without records: they keep a transaction open.
    """
    written = invariant_.ledger.written
    verdicts: dict[int, bool | None] = {}
    pending: dict[int, list[int]] = {}
    for offset in range(disk.start, disk.leo):
        slot = disk.slots[offset]
        uid = slot if slot > 0 else (disk.lineage[offset] if slot < 0 and with_empty else 0)
        known = written.get(uid)
        if known is None or not known.transactional:
            continue
        if known.control is None:
            verdicts[uid] = None
            pending.setdefault(known.producer_id, []).append(uid)
        elif slot > 0:
            for data in pending.pop(known.producer_id, ()):
                verdicts[data] = known.control is Control.COMMIT
    return verdicts


@invariant
class TxnIsolation(Invariant):
    """Each transactional record has, by its replica's own log, the verdict of the reference."""

    name = "txn-isolation"
    kind = Kind.AT_REST
    source = "KIP-98; Redpanda blog 2026-06-25"

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare each disk's verdicts with the ledger's."""
        ledger = self.ledger
        if not ledger.status and not ledger.undecided:
            return
        for disk in ledger.disks.values():
            for uid, verdict in own_verdicts(disk, self, with_empty=False).items():
                offset = ledger.written[uid].record.offset
                if offset >= len(ledger.committed) or ledger.committed[offset] != uid:
                    continue
                reference = ledger.status.get(uid)
                if verdict is not reference:
                    self.violated(
                        disk.name,
                        offset,
                        ledger.written[uid].record.key,
                        f"{ledger.describe(uid)} is {_WORDS[verdict]} on {disk.name} but "
                        f"{_WORDS[reference]} in the committed history.",
                    )


@invariant
class LsoProgress(Invariant):
    """No replica has an open transaction that is decided in the reference.

    Where it has, its last stable offset stays for ever: nothing above is cleaned, or read with
    read_committed. Fair: faults are over and followers have fetched to the end. A transaction that
    nobody ended is no violation.
    """

    name = "lso-progress"
    kind = Kind.AT_REST
    fairness = "faults are over and followers have fetched to the end"
    source = "Redpanda blog 2026-06-25, variant 4"

    def on_quiesced(self, event: Quiesced) -> None:
        """Look for open transactions whose marker was committed."""
        ledger = self.ledger
        if not ledger.status:
            return
        for disk in ledger.disks.values():
            for uid, verdict in own_verdicts(disk, self, with_empty=True).items():
                if verdict is None and ledger.status.get(uid) is not None:
                    offset = ledger.written[uid].record.offset
                    self.violated(
                        disk.name,
                        offset,
                        None,
                        f"{disk.name} holds the transaction of {ledger.describe(uid)} open, which "
                        f"the committed history has {_WORDS[ledger.status[uid]]}; its last stable "
                        f"offset stays at {offset} or below.",
                    )
                    break
