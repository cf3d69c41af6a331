"""The state that a replica's log stands for, by the state machine of the rules."""

from __future__ import annotations

from sim.compaction import TOMBSTONE_MARKS, fold
from sim.compaction.fold import fold_deltas
from sim.log import Record
from sim.replication.replica import Replica
from sim.rules.policy import judging_strategy
from sim.rules.rules import Rules


def state_below(replica: Replica, below: int, *, rules: Rules) -> dict[str, Record]:
    """Key -> the record that holds its state, from the snapshot at the log start up to `below`."""
    base = replica.base_snapshot()
    records = () if base is None else base.records
    is_tombstone, batches = TOMBSTONE_MARKS[rules.cleaner.tombstone_mark], replica.log.batches()
    if rules.snapshots.state_machine == "deltas":
        return fold_deltas(batches, below=below, is_tombstone=is_tombstone, base=records)
    strategy = judging_strategy(rules)
    return fold(batches, below=below, strategy=strategy, is_tombstone=is_tombstone, base=records)
