"""The family of a violation, told by its cause where its invariant leaves that open."""

from __future__ import annotations

from typing import Any

from sim.check.families import (
    DELETED_KEY_RETURNS,
    LATE_WRITE,
    LOG_DIVERGENCE,
    NO_FAMILY,
    TRANSACTIONS,
)
from sim.check.folding import decided
from sim.check.queries import HistoryQueries
from sim.check.replica_view import HOLE, ReplicaView


def family_of(
    queries: HistoryQueries,
    invariant: Any,
    replica: str | None,
    offset: int | None,
    key: str | None,
) -> str:
    """The family of a violation, by the facts at the moment it is found.

    Args:
        queries: The facts.
        invariant: The class that is broken; one of a plugin is in no family.
        replica: Where, if at one replica.
        offset: The offset concerned, if one is; where it is about a key, that of the value.
        key: The key concerned, if one is.
    """
    family: str = getattr(invariant, "family", NO_FAMILY)
    view = queries.history.replicas.get(replica or "")
    if view is None or key is None or not getattr(invariant, "family_by_cause", False):
        return family
    if offset is None:
        held = _state_of(queries, view, key)
        return _family_of_key(queries, view, held, queries.history.winners.get(key)) or family
    written = queries.history.written
    for uid in queries.history.uids_of_key.get(key, ()):
        if written[uid].offset == offset and view.uid_at(offset) in (uid, HOLE):
            return _family_of_key(queries, view, uid, _tombstone_over(queries, key, uid)) or family
    return family


def _state_of(queries: HistoryQueries, view: ReplicaView, key: str) -> int:
    """The uid that wins a key in a log, by the markers of that log; 0 = none."""
    history = queries.history
    written, best = history.written, 0
    for uid in decided(history, view.known_to_be_committed()):
        if written[uid].key == key and (not best or queries.beats(uid, best)):
            best = uid
    return best


def _tombstone_over(queries: HistoryQueries, key: str, value: int) -> int | None:
    """The highest committed tombstone of a key that beats a value of it."""
    written, best = queries.history.written, None
    for uid in queries.history.uids_of_key[key]:
        if written[uid].tombstone and queries.is_committed(uid) and queries.beats(uid, value):
            best = uid if best is None or queries.beats(uid, best) else best
    return best


def _family_of_key(
    queries: HistoryQueries, view: ReplicaView, held: int, winner: int | None
) -> str | None:
    """Why a log ends with `held` (0 = nothing) for a key and not with `winner`; None = unknown."""
    history, written = queries.history, queries.history.written
    if held:
        record = written[held].record
        below = record.offset < len(history.committed)
        if not below or history.committed[record.offset] != held:
            return LOG_DIVERGENCE
        if not queries.is_committed(held):
            return TRANSACTIONS
    if winner is None:
        return None
    if written[winner].batch.transactional and queries.holds(view, winner) and winner != held:
        return TRANSACTIONS
    if not held or not written[winner].tombstone or written[held].tombstone:
        return None
    late = written[held].offset > written[winner].offset
    return LATE_WRITE if late else DELETED_KEY_RETURNS
