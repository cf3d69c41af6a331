"""Materialised state: what records, decided by the markers among them, fold to."""

from __future__ import annotations

from collections.abc import Iterable

from sim.check.history import ClusterHistory
from sim.compaction.fold import apply_delta
from sim.log import Control, Record


def decided(history: ClusterHistory, uids: Iterable[int]) -> list[int]:
    """The data among `uids`, in log order, that is no part of an aborted or open transaction.

    Data of a transaction counts where its marker stands. What is no uid is passed over.
    """
    written = history.written
    pending: dict[int, list[int]] = {}
    found: list[int] = []
    for uid in uids:
        known = written.get(uid)
        if known is None:
            continue
        if known.batch.control is not None:
            data = pending.pop(known.batch.producer_id, None)
            if data is not None and known.batch.control is Control.COMMIT:
                found += data
        elif known.batch.transactional:
            pending.setdefault(known.batch.producer_id, []).append(uid)
        else:
            found.append(uid)
    return found


def winners_of(
    history: ClusterHistory, uids: Iterable[int], base: Iterable[Record] = ()
) -> dict[str, int]:
    """Key -> uid of the winner among `uids` and the records of `base`; deleted keys are absent."""
    written = history.written
    winners = {record.key: record.uid for record in base if record.key is not None}
    for uid in decided(history, uids):
        known = written[uid]
        key = known.record.key
        if key is not None:
            winner = winners.get(key)
            if winner is None or known.version > written[winner].version:
                winners[key] = uid
    return {key: uid for key, uid in winners.items() if not written[uid].tombstone}


def delta_state(
    history: ClusterHistory, uids: Iterable[int], base: Iterable[Record] = ()
) -> dict[str, str]:
    """Key -> value where records are deltas, on top of `base`; see `sim.compaction.fold`."""
    state = {record.key: record for record in base if record.key is not None}
    for uid in sorted(decided(history, uids), key=lambda uid: history.written[uid].record.offset):
        known = history.written[uid]
        if known.record.key is not None:
            apply_delta(state, known.record, deleted=known.tombstone)
    return {key: record.value or "" for key, record in state.items()}
