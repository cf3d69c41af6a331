"""The family of a violation, by its cause where its invariant has no fixed family."""

from __future__ import annotations

from typing import Any

from sim.check.facts import HOLE, ReplicaView
from sim.check.families import (
    DELETED_KEY_RETURNS,
    LATE_WRITE,
    LOG_DIVERGENCE,
    NO_FAMILY,
    TRANSACTIONS,
)
from sim.check.folding import highest_of
from sim.check.history import ClusterHistory


def family_of(
    history: ClusterHistory,
    invariant: Any,
    replica: str | None,
    offset: int | None,
    key: str | None,
) -> str:
    """The family of a violation, by the facts at the moment it is found.

    Args:
        history: The facts.
        invariant: The class of the invariant; one of a plugin is in no family.
        replica: The replica concerned, if there is one.
        offset: The offset concerned, if there is one; of a violation about a key that of the value.
        key: The key concerned, if there is one.
    """
    family: str = getattr(invariant, "family", NO_FAMILY)
    view = history.replicas.get(replica or "")
    if view is None or key is None or not getattr(invariant, "family_by_cause", False):
        return family
    if offset is None:
        held = highest_of(history, view.known_to_be_committed()).get(key, 0)
        return _family_of_key(history, view, held, history.winners.get(key)) or family
    for uid in history.uids_of_key.get(key, ()):
        if history.written[uid].offset == offset and view.uid_at(offset) in (uid, HOLE):
            return _family_of_key(history, view, uid, _tombstone_over(history, uid)) or family
    return family


def _tombstone_over(history: ClusterHistory, value: int) -> int | None:
    """The highest committed tombstone that beats a value."""
    written = history.written
    found = [
        uid
        for uid in history.beating(value)
        if written[uid].tombstone and history.is_committed(uid)
    ]
    return max(found, key=lambda uid: written[uid].version, default=None)


def _family_of_key(
    history: ClusterHistory, view: ReplicaView, held: int, winner: int | None
) -> str | None:
    """The family where a log ends with `held` (0: nothing) and not `winner`; None if unknown."""
    written = history.written
    if held and not history.in_committed_history(held):
        return LOG_DIVERGENCE
    if held and not history.is_committed(held):
        return TRANSACTIONS
    if winner is None:
        return None
    if written[winner].batch.transactional and history.holds(view, winner) and winner != held:
        return TRANSACTIONS
    if not held or not written[winner].tombstone or written[held].tombstone:
        return None
    late = written[held].offset > written[winner].offset
    return LATE_WRITE if late else DELETED_KEY_RETURNS
