"""The state of delta state machines as the ledger knows it; see `sim.compaction.deltas`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sim.check.ledger import Ledger
from sim.compaction.deltas import apply_delta
from sim.log import Control, Record


def delta_state(ledger: Ledger, uids: Iterable[int], base: Iterable[Record] = ()) -> dict[str, str]:
    """Key -> value after the records with these uids, in order, on top of `base`."""
    state = {record.key: record for record in base if record.key is not None}
    for uid in sorted(_decided(ledger, uids), key=lambda uid: ledger.written[uid].record.offset):
        known = ledger.written[uid]
        if known.record.key is not None:
            apply_delta(state, known.record, deleted=known.tombstone)
    return {key: record.value or "" for key, record in state.items()}


def _decided(ledger: Ledger, uids: Iterable[int]) -> Iterator[int]:
    """The data among `uids` that is no part of an aborted or open transaction."""
    pending: dict[int, list[int]] = {}
    for uid in uids:
        known = ledger.written.get(uid)
        if known is None:
            continue
        if known.control is not None:
            data = pending.pop(known.producer_id, [])
            yield from data if known.control is Control.COMMIT else []
        elif known.transactional:
            pending.setdefault(known.producer_id, []).append(uid)
        else:
            yield uid
