"""Families of invariants: what goes wrong for the users of a log.

Each invariant names its family. Some say that a replica has the wrong value for a key, which has
several causes: there the facts of the history decide (`sim.check.checker`).

A deleted key that is back is one of two things, and offsets tell them apart, since they are the
order of arrival. Let T be the committed tombstone that wins its key, and V the value that survives:

* V is below T: *a deleted key returns*. V was there when the delete came. A log kept it and never
  had T, or had it too late: a replica was away, or a pass took T and left V.
* V is above T: *a late write outlives its delete*. V came after the delete, and loses only by its
  version, so this does not occur under the offset strategy. A log that holds V had T and removed it
  when its retention was over, or copied a log that had. So no replica lagged, one replica alone
  does it, and no rule that waits for replicas helps: the record that beats V is gone (KIP-280 with
  KIP-534).
"""

from __future__ import annotations

from typing import Final

LOG_DIVERGENCE: Final = "log divergence"
DELETED_KEY_RETURNS: Final = "a deleted key returns"
LATE_WRITE: Final = "a late write outlives its delete"
TRANSACTIONS: Final = "transactions"
READERS: Final = "readers"
NO_FAMILY: Final = "in no family"

FAMILIES: Final[dict[str, str]] = {
    LOG_DIVERGENCE: "a log, or what its leader believes of it, is not what was committed",
    DELETED_KEY_RETURNS: "a value outlives a later delete, or a delete goes that another log needs",
    LATE_WRITE: "a value that loses to a delete by its version came after it, and stays",
    TRANSACTIONS: "a marker or its data is lost: a transaction ends otherwise, or never",
    READERS: "a consumer misses, or is given, what it should not",
    NO_FAMILY: "bounds of cleaning, snapshots, horizons, sequence numbers: each by itself",
}
"""Every family by name, with its violations, in the order of every table."""
