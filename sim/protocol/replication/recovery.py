"""The state of a disk after a crash, and its recovery by a restart.

A process that is killed loses nothing that it wrote: the pages are the operating system's. A
machine that loses power keeps what was flushed. `Log.flushed_end` is moved by the log itself (a
roll, `flush.messages`) and by the rule `flush`. The values of the rule:

* `acknowledged`: what a follower fetched past counts as flushed, and what is committed; of the rest
  a fault takes some batches (`lose_batches`), or all with a loss of power.
* `on_append`: every append, by leader or follower (`flush.messages` = 1; the WAL of etcd).
* `before_fetch`: a leader after each append, a follower before the fetch that acknowledges it
  (KafkaRaftClient.flushLeaderLog, appendAsFollower). A leader counts itself for the high watermark
  before it flushes, but no other replica acts in between: it is one step here.
* `interval`: as `flush.messages` and `flush.ms` say. Kafka's default is neither: then the operating
  system decides, and what is sure to be on disk is what was closed by a roll (UnifiedLog.roll).

A restart looks at the log first, then at what lies beside it. Where logs have real segments
(`LogConfig.aligned`) it reads the log end from the active one, unless `leo_source: last_record`:
what was known of the end in memory alone is lost. A fetched snapshot is complete when
its file has its final name; only then is the log emptied. A crash in between leaves a snapshot
above the log end. `install_recovery: finished` does the rest when the log is opened
(KafkaMetadataLog.apply calls truncateToLatestSnapshot). `log_kept` goes on where the log ends, and
leaves it to the leader to offer the snapshot again.

Three files beside the log may be older than the log, each independently of the others:

* leader-epoch-checkpoint. `epoch_recovery: from_batches` adds the epochs of batches that are newer
  than those in the file (LogSegment.recover) and drops those that start at or above the log end
  (LogLoader.load); `as_stored` believes the file. Simplification: all segments are looked through,
  not only those above the recovery point.
* replication-offset-checkpoint, written every replica.high.watermark.checkpoint.interval.ms: the
  high watermark is what it says, but within the log (Partition.createLog).
* cleaner-offset-checkpoint: what is above the offset in it is dirty and is cleaned once more.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sim.protocol.events import EpochCacheChanged, Event
from sim.protocol.log import Log
from sim.protocol.replication.replica import Replica, crash, restart
from sim.protocol.replication.snapshots import install
from sim.protocol.rules import Rules
from sim.protocol.rules.storage import Flush

_FETCHING_FLUSHES: Final[tuple[Flush, ...]] = ("acknowledged", "before_fetch")
"""With these, what a follower acknowledges by a fetch is flushed by then."""


def durable_end(log: Log, *, rules: Rules) -> int:
    """Up to where a log survives a loss of power (exclusive)."""
    end = log.flushed_end
    if rules.storage.flush in _FETCHING_FLUSHES:
        end = max(end, log.acknowledged_end)
    if rules.storage.flush == "acknowledged":
        end = max(end, log.high_watermark)
    return min(end, log.log_end_offset)


class OldFiles(NamedTuple):
    """The values of the checkpoint files after a crash; None = as in memory before.

    A value that is newer than the one in memory changes nothing.

    Attributes:
        high_watermark: Offset in the replication-offset-checkpoint (exclusive).
        cleaned: Offset in the cleaner-offset-checkpoint (exclusive).
        epochs: The newest epoch in the leader-epoch-checkpoint (inclusive).
    """

    high_watermark: int | None = None
    cleaned: int | None = None
    epochs: int | None = None


NONE_OLD = OldFiles()


def crash_with_files(
    replica: Replica,
    *,
    rules: Rules,
    lost_batches: int = 0,
    power_loss: bool = False,
    old: OldFiles = NONE_OLD,
) -> list[Event]:
    """Goes down as `crash` does, and leaves `old` versions of the checkpoint files.

    The last `lost_batches` batches are lost; with `power_loss` all that were not flushed.
    """
    log = replica.log
    lost_from = durable_end(log, rules=rules) if power_loss else None
    if old.high_watermark is not None:
        log.high_watermark = min(log.high_watermark, max(old.high_watermark, log.log_start_offset))
    if old.cleaned is not None:
        replica.first_dirty_offset = min(replica.first_dirty_offset, old.cleaned)
    stored = list(log.epochs.entries) if replica.epoch_file is None else replica.epoch_file
    events = crash(replica, lost_batches=lost_batches, lost_from=lost_from)
    left = log.epochs.entries
    if rules.storage.epoch_recovery == "from_batches":
        stored = [entry for entry in stored if entry in left]
    if old.epochs is not None:
        stored = [entry for entry in stored if entry.epoch <= old.epochs]
    replica.epoch_file = None if stored == left else stored
    return events


def recover(replica: Replica, *, rules: Rules) -> list[Event]:
    """Restarts from the disk, and finishes what a crash interrupted, as far as the rules say so."""
    cache = replica.log.epochs
    before = list(cache.entries)
    if replica.epoch_file is not None:
        cache.entries, replica.epoch_file = replica.epoch_file, None
    _open_log(replica, rules=rules)
    if rules.storage.epoch_recovery == "from_batches":
        _recover_epochs(replica)
    events = restart(replica, rules=rules)
    known = replica.log.epochs.entries
    if known != before:
        events.append(EpochCacheChanged(replica.name, tuple(known)))
    return events + _finish_install(replica, rules=rules)


def _open_log(replica: Replica, *, rules: Rules) -> None:
    """Rebuilds the indexes, and reads the log end from the active segment (LogLoader.recoverLog).

    A fix that persists the log end keeps it from falling below what was cleaned.
    """
    log = replica.log
    log.reopen(recovered_from=log.flushed_end)
    if log.config.aligned and rules.storage.leo_source == "stored":
        persists = rules.cleaner.fix_applied.persists_log_end
        cleaned = max(replica.first_dirty_offset, replica.begun_offset) if persists else 0
        log.read_log_end(at_least=min(cleaned, log.log_end_offset))
        replica.begun_offset = min(replica.begun_offset, log.log_end_offset)


def _recover_epochs(replica: Replica) -> None:
    """Notes the epochs of batches that are newer than all in the cache; drops those without one.

    An epoch without a batch starts at the log end (LogLoader.load).
    """
    log = replica.log
    last = log.last_batch()
    if last is not None and last.epoch > log.epochs.latest:
        for batch in log.batches():
            if batch.epoch > log.epochs.latest:
                log.epochs.assign(batch.epoch, batch.base_offset)
    log.epochs.truncate_from(log.log_end_offset)


def _finish_install(replica: Replica, *, rules: Rules) -> list[Event]:
    """Installs the newest snapshot if its epoch is later, or the same and its end above the log's.

    Source: KafkaMetadataLog.truncateToLatestSnapshot.
    """
    newest = replica.latest_snapshot()
    if newest is None or rules.snapshots.install_recovery != "finished":
        return []
    end, epoch = replica.log.log_end_offset, replica.last_fetched_epoch
    if newest.id.epoch > epoch or (newest.id.epoch == epoch and newest.id.end_offset > end):
        return install(replica, newest, rules=rules)
    return []
