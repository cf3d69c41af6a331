"""What producers meant: whether a key ends on a value that a newer one was written for.

KIP-280's motivation: with offsets for versions, a write that is late or sent again wins over a
newer one, and every invariant holds, since that is the order. This is what a strategy is for.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.check.folding import base_records, winners_of
from sim.check.history import ClusterHistory
from sim.check.promise import DEFAULT_HEADER, meant_version
from sim.check.queries import HistoryQueries


def unmeant_keys(queries: HistoryQueries) -> int:
    """Keys that end, in the leader's log, on what their producers did not mean; 0 for deltas.

    A record is *behind* another of its key if its producer gave it an older timestamp and, where
    both have one, a lower version. So it is for producers whose clocks agree, and two writes with
    one version are not told apart. A key is counted if the record it ends on is behind a committed
    one; a key that ends deleted, with its tombstone gone, if no committed tombstone is ahead of all
    values.
    """
    history = queries.history
    if history.leader is None or history.rules.snapshots.state_machine == "deltas":
        return 0
    view = history.replicas[history.leader]
    held = view.slots[view.log_start_offset : view.high_watermark]
    state = winners_of(history, held, base_records(view))
    header = history.rules.topic.strategy_header or DEFAULT_HEADER
    return sum(
        1
        for key in history.winners
        if _ends_behind(history, header, state.get(key), _committed(queries, key))
    )


def _committed(queries: HistoryQueries, key: str) -> list[int]:
    return [uid for uid in queries.history.uids_of_key[key] if queries.is_committed(uid)]


def _ends_behind(
    history: ClusterHistory, header: str, held: int | None, uids: Sequence[int]
) -> bool:
    if held is not None:
        return any(_is_behind(history, header, held, uid) for uid in uids)
    return not any(
        history.written[uid].tombstone
        and not any(_is_behind(history, header, uid, other) for other in uids)
        for uid in uids
    )


def _is_behind(history: ClusterHistory, header: str, uid: int, other: int) -> bool:
    """Whether `other` was meant to be newer than `uid`; the same value sent twice never is."""
    record, newer = history.written[uid].record, history.written[other].record
    if newer.timestamp_ms <= record.timestamp_ms:
        return False
    version, higher = meant_version(record, header), meant_version(newer, header)
    return version is None or higher is None or higher > version
