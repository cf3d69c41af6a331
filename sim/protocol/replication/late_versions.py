"""Late versions: what protects a deleted key once its tombstone is gone (rule `late_versions`).

KIP-280 with KIP-534 forgets the version of a removed tombstone, and a delayed lower one wins. A
`floor` is one number for the whole log: leaders refuse what is below it, of any key, and tell it to
followers. A `stub` stays with the cleaner for each deleted key and beats what comes late; readers
see the late record until a pass has met it, and stubs are lost with the disk.

What a cleaner cannot read stops its pass (`header_form: unchecked_varint`). A leader with a floor
refuses it: whether it comes too late, nobody can say.
"""

from __future__ import annotations

from sim.protocol.compaction import Cleaning, Strategy, UnreadableVersion
from sim.protocol.compaction.strategies import Version
from sim.protocol.events import AppendRefused
from sim.protocol.log import Batch, Record
from sim.protocol.replication.replica import Replica
from sim.protocol.rules.cleaner import LateVersions
from sim.protocol.rules.policy import cleaner_strategy
from sim.protocol.rules.rules import Rules


def order_of(record: Record, strategy: Strategy) -> Version:
    """The version of a record without its offset: equal ones are not below one another."""
    return strategy.version(record)[:-1]


def why_refused(leader: Replica, batch: Batch, *, rules: Rules) -> AppendRefused | None:
    """What becomes of a batch for the leader's floor, if it is refused whole; None = it is not.

    It is for the first keyed data record that is below the floor, or has no version to compare.
    """
    floor = leader.version_floor
    if floor is None or rules.cleaner.late_versions != "floor" or batch.control is not None:
        return None
    strategy = cleaner_strategy(rules)
    for record in batch.records:
        if record.key is None:
            continue
        try:
            late = order_of(record, strategy) < floor
        except UnreadableVersion:
            return AppendRefused(leader.name, record.key, "unreadable_version")
        if late:
            return AppendRefused(leader.name, record.key)
    return None


def remember_removed(
    replica: Replica, result: Cleaning, *, late_versions: LateVersions, strategy: Strategy
) -> None:
    """Raise the floor over, or keep stubs of, the tombstones that a pass took away.

    A stub that was beaten in the pass has done its work and goes.
    """
    removed = result.removed["tombstone"]
    if late_versions == "floor":
        for record in removed:
            raise_floor(replica, order_of(record, strategy))
    elif late_versions == "stub":
        winners, stubs = result.winners, replica.stubs
        kept = {key: stub for key, stub in stubs.items() if winners.get(key, stub) is stub}
        replica.stubs = kept | {record.key: record for record in removed if record.key is not None}


def raise_floor(replica: Replica, floor: Version | None) -> None:
    """Take over a higher floor: of a removed tombstone, or the leader's."""
    if floor is not None and (replica.version_floor is None or floor > replica.version_floor):
        replica.version_floor = floor
