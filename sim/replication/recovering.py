"""What a restart makes of the files it finds: the log first, then what lies beside it.

A snapshot is complete when its file has its name; the log is emptied after. A crash in between
leaves a snapshot above the log end. `install_recovery: finished` does the rest when the log is
opened (KafkaMetadataLog.apply calls truncateToLatestSnapshot), `log_kept` goes on where the log
ends, and leaves it to the leader to offer the snapshot again.
"""

from __future__ import annotations

from sim.replication.replica import Replica, come_back
from sim.replication.rules import Rules
from sim.replication.snapshot_fetch import install
from sim.trace import Event


def recover(replica: Replica, *, rules: Rules) -> list[Event]:
    """Restart with what is on disk, and finish what a crash interrupted, as far as rules say so."""
    return come_back(replica, rules=rules) + _finish_install(replica, rules=rules)


def _finish_install(replica: Replica, *, rules: Rules) -> list[Event]:
    """Empty the log for the newest snapshot if that is in a later epoch, or above the log end."""
    newest = replica.latest_snapshot()
    if newest is None or rules.install_recovery != "finished":
        return []
    end, epoch = replica.log.log_end_offset, replica.log.epochs.latest
    if newest.id.epoch > epoch or (newest.id.epoch == epoch and newest.id.end_offset > end):
        return install(replica, newest, rules=rules)
    return []
