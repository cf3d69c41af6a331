"""Families of invariants: what goes wrong for whoever uses the log, and so what a fix is about.

Most invariants belong to one family, by their law. Some laws say that a replica has the wrong value
for a key, which has several causes: there the facts of the history decide (`family_of`).

A deleted key that is back is one of two things, and offsets tell them apart, since they are the
order of arrival. Let T be the committed tombstone that wins its key, and V the value that survives:

* V lies below T: *a deleted key returns*. V was there when the delete came. Somebody kept it and
  never met T, or met it too late: a replica was away, or a pass took T and left V.
* V lies above T: *a late write outlives its delete*. V came after the delete, and only its version
  says that it loses, so there is no such thing under the offset strategy. A log that holds V has
  been past T: it had T and removed it when its retention was over, or copied a log that had. So no
  replica lagged, one replica alone does it, and no rule that waits for replicas helps; what would
  tell V that it lost is gone (KIP-280 with KIP-534).
"""

from __future__ import annotations

from typing import Final

from sim.check.folding import decided
from sim.check.queries import HistoryQueries
from sim.check.replica_view import HOLE, ReplicaView

LOG_DIVERGENCE: Final = "log divergence"
DELETED_KEY_RETURNS: Final = "a deleted key returns"
LATE_WRITE: Final = "a late write outlives its delete"
TRANSACTIONS: Final = "transactions"
READERS: Final = "readers"
NO_FAMILY: Final = "in no family"

FAMILIES: Final[dict[str, str]] = {
    LOG_DIVERGENCE: "a log, or what its leader believes of it, is not what was committed",
    DELETED_KEY_RETURNS: "a value outlives a later delete, or a delete goes that somebody needs",
    LATE_WRITE: "a value that loses to a delete by its version came after it, and stays",
    TRANSACTIONS: "a marker or its data is lost: a transaction ends otherwise, or never",
    READERS: "a consumer misses, or is given, what it should not",
    NO_FAMILY: "bounds of cleaning, snapshots, horizons, sequence numbers: laws by themselves",
}
"""Every family by name, with what its violations are, in the order of every table."""

_BY_LAW: Final[dict[str, tuple[str, ...]]] = {
    LOG_DIVERGENCE: (
        "acknowledged-committed",
        "acknowledged-kept",
        "committed-never-lost",
        "committed-replicated",
        "election-safety",
        "epoch-cache-consistency",
        "epoch-monotonic",
        "follower-position-sound",
        "hole-justified",
        "hw-monotonic",
        "hw-within-log",
        "leader-append-only",
        "leader-completeness",
        "leo-convergence",
        "leo-preservation",
        "log-matching",
        "materialized-state-equivalence",
        "no-offset-reuse",
        "no-truncation-below-hw",
        "offset-epoch-uniqueness",
        "record-offset-uniqueness",
        "replica-convergence",
        "slot-agreement",
        "state-machine-safety",
        "truncation-below-log-start",
        "winner-retained",
    ),
    DELETED_KEY_RETURNS: (
        "no-resurrection",
        "no-transient-resurrection",
        "tombstone-safety",
        "tombstone-until-log-end",
    ),
    TRANSACTIONS: (
        "consumer-reads-committed",
        "lso-progress",
        "txn-isolation",
        "txn-marker-safety",
    ),
    READERS: (
        "consistent-read",
        "consumer-continues",
        "consumer-ends-current",
        "consumer-no-skip",
        "consumer-takes-deletes",
        "consumer-tombstone-visibility",
        "coordinator-serves-loaded",
        "reader-reaches-end",
        "record-immutable",
    ),
    NO_FAMILY: (
        "clean-prefix",
        "compaction-bound",
        "compaction-lag-bound",
        "high-watermark-advances",
        "horizon-stability",
        "key-ends-as-meant",
        "lag-metric",
        "leader-never-loads-snapshot",
        "prefix-deletion-safety",
        "producer-sequences",
        "snapshot-at-log-start",
        "snapshot-bound",
        "snapshot-consistency",
        "snapshot-fetch-progress",
        "snapshot-install-atomic",
        "snapshot-never-regresses",
        "state-kept",
        "tombstone-eventually-removed",
        "traffic-accounting",
    ),
}
"""The family of each law; of those in `BY_CAUSE`, where nothing about the key says otherwise."""

BY_CAUSE: Final = (
    "materialized-state-equivalence",
    "no-resurrection",
    "no-transient-resurrection",
)
"""Laws whose violations belong to the family of their cause."""

FAMILY_OF_LAW: Final[dict[str, str]] = {
    name: family for family, names in _BY_LAW.items() for name in names
}
"""Name of an invariant -> its family."""


def family_of(
    queries: HistoryQueries,
    invariant: str,
    replica: str | None,
    offset: int | None,
    key: str | None,
) -> str:
    """The family of a violation, by the facts at the moment it is found.

    Args:
        queries: The facts.
        invariant: Which law is broken; one that is in no table is in no family.
        replica: Where, if at one replica.
        offset: The offset concerned, if one is; where it is about a key, that of the value.
        key: The key concerned, if one is.
    """
    family = FAMILY_OF_LAW.get(invariant, NO_FAMILY)
    view = queries.history.replicas.get(replica or "")
    if invariant not in BY_CAUSE or view is None or key is None:
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
    for uid in decided(history, view.slots[view.log_start_offset : view.high_watermark]):
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
