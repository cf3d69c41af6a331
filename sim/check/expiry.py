"""State that goes with the beginning of a log: what no snapshot and no newer record holds."""

from __future__ import annotations

from sim.check.history import ClusterHistory
from sim.check.replica_view import ReplicaView


def lost_keys(history: ClusterHistory, view: ReplicaView, since: int) -> list[str]:
    """Keys whose committed state went with [since, log start) of a log, in order.

    `since` is its log start before. The newest snapshot of the replica makes up for what is below
    its end. Where records are deltas each of them counts, else the one that wins its key: a value
    that no snapshot has, or a delete of a value that a snapshot has.
    """
    newest = max(view.snapshots, default=(0, 0))
    gone = range(max(since, newest[0]), min(view.log_start_offset, len(history.committed)))
    if not gone:
        return []
    if history.deltas:
        return sorted({key for offset in gone if (key := _changed_at(history, offset))})
    kept = {record.key for record in view.snapshots.get(newest, ())}
    written = history.written
    return sorted(
        key
        for key, uid in history.winners.items()
        if written[uid].offset in gone and (not written[uid].tombstone or key in kept)
    )


def _changed_at(history: ClusterHistory, offset: int) -> str | None:
    """The key that what is committed at an offset changes, unless it was aborted."""
    uid = history.committed[offset]
    known = history.written.get(uid)
    if known is None or uid in history.aborted or known.batch.control is not None:
        return None
    return known.key
