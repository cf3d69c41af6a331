"""The rules of storage and of snapshots, and the settings of the topic."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sim.files.limits import INT_SETTING, NAME, SETTING
from sim.protocol.log.segment import INDEX_INTERVAL_BYTES
from sim.protocol.rules.spec import Open

Flush = Literal["acknowledged", "on_append", "before_fetch", "interval"]
"""The part of a log that is on disk."""

SegmentSwap = Literal["swap_files", "new_first", "old_first"]
"""How cleaned segments take the place of the old ones."""


class StorageRules(Struct, frozen=True, gc=False):
    """Rules of storage: what is on disk at which time, and how a restart reads it."""

    leo_source: Literal["stored", "last_record"] = "stored"
    """Decides from what a replica takes its log end offset after cleaning and after a restart.

    stored: it is a number in memory that cleaning does not move; a restart of a log with segments,
        so not in stories, reads it from the active one: a hole at its end is lost
        Source: LocalLog.nextOffsetMetadata, .truncateTo; LogLoader.recoverLog
        Example: kip280/kip280_50_cleaning_leaves_the_log_end.yaml
    last_record: it is the offset after the last record that is left
        Source: etcd issue 17780
        Example: kip280/kip280_49_cleaning_moves_the_log_end.yaml
    """
    flush: Flush = "acknowledged"
    """Decides what of a log is on disk, so survives a loss of power.

    acknowledged: what a follower fetched past, and what is committed
        Source: KafkaRaftClient.appendAsFollower
        Example: durability/durability_04_acknowledged_records_survive.yaml
    on_append: everything
        Source: log.flush.interval.messages = 1; etcd, server/storage/wal
        Example: durability/durability_02_power_failure_every_append_flushed.yaml
    before_fetch: what a leader appended, and what a follower fetched past
        Source: KafkaRaftClient.flushLeaderLog, .appendAsFollower
        Example: durability/durability_03_flushed_before_acknowledged.yaml
    interval: what flush.messages and flush.ms say, and closed segments
        Source: log.flush.interval.messages, log.flush.interval.ms; UnifiedLog.roll
        Example: durability/durability_01_power_failure_nothing_flushed.yaml
    """
    segment_swap: SegmentSwap = "swap_files"
    """Decides how cleaned segments take the place of the old ones, if a crash comes in between.

    swap_files: by a .swap file, with which a restart finishes: all of a group or nothing
        Source: LocalLog.replaceSegments; LogLoader.load
        Example: durability/swap_03_swap_file_is_finished.yaml
    new_first: the cleaned one first: what was merged may be there twice
        Source: Redpanda before PR 26755
        Example: durability/swap_04_cleaned_segment_first.yaml
    old_first: the old ones go first: both may be missing
        Source: BookKeeper issue 1534
        Example: durability/swap_02_old_segments_deleted_first.yaml
    """
    cleaner_checkpoint: Literal["after_work", "before_work", "both"] = "after_work"
    """Decides when the cleaner's checkpoint is saved, if a crash comes in between.

    after_work: after the pass
        Source: Cleaner.doClean; LogCleanerManager.doneCleaning
        Example: durability/checkpoint_01_saved_after_the_work.yaml
    before_work: before the pass: what was not cleaned counts as clean
        Source: etcd, v3.5 data inconsistency postmortem
        Example: durability/checkpoint_02_saved_before_the_work.yaml
    both: before the pass where it will end, which bounds a persisted log end; after it where it did
        Source: etcd PR 17815: scheduled and finished compact revision
        Example: durability/checkpoint_04_begun_and_done.yaml
    """
    epoch_recovery: Literal["from_batches", "as_stored"] = "from_batches"
    """Decides what a restart makes of a file of leader epochs that is behind or ahead of the log.

    from_batches: newer epochs come from the batches; those at or above the log end go
        Source: LogSegment.recover; LogLoader.load
        Example: durability/files_02_epochs_come_from_the_batches.yaml
    as_stored: nothing: the file is believed
        Source: this project: what LogLoader.load protects from; KAFKA-16541
        Example: durability/files_01_file_of_epochs_is_behind.yaml
    """


class TopicRules(Struct, frozen=True, gc=False):
    """The settings of the topic that replicas, clients and checks use.

    Under Kafka's names they stand in a file's `topic`: `compaction.strategy.header`,
    `delete.retention.ms`, `index.interval.bytes` and `min.insync.replicas`.

    Attributes:
        strategy_header: Name of the header that the header strategy reads.
        delete_retention_ms: How long a tombstone stays at least, in ms.
        index_interval_bytes: Bytes of a segment between two entries of its offset index.
        min_isr: Smallest in-sync set that commits, the leader included.
    """

    strategy_header: Annotated[str, Open(NAME)] = "version"
    """Name of the header that the header strategy reads.

    Source: KIP-280, compaction.strategy.header
    """
    delete_retention_ms: Annotated[int, Open(SETTING, minimum=0)] = 86_400_000
    """ms from the first pass that keeps a tombstone to the first that may remove it.

    Source: delete.retention.ms, KIP-534
    """
    index_interval_bytes: Annotated[int, Open(INT_SETTING, minimum=0)] = INDEX_INTERVAL_BYTES
    """Bytes of a segment after which its offset index gets an entry before the next batch.

    Source: index.interval.bytes; LogSegment.append
    """
    min_isr: Annotated[int, Open(INT_SETTING, minimum=1)] = 1
    """isr: smallest in-sync set with which the high watermark moves.

    Source: min.insync.replicas, KIP-966
    """


class SnapshotRules(Struct, frozen=True, gc=False):
    """Rules of snapshots: what they hold, when one is sent, and when it replaces a log."""

    snapshot_install: Literal["atomic", "at_first_chunk", "whatever_arrives"] = "atomic"
    """Decides when a follower gives up its log for a snapshot that it fetches.

    atomic: with the last chunk, and only for a snapshot that is ahead of the log
        Source: KafkaMetadataLog.truncateToLatestSnapshot
        Example: snapshots/snap_17_log_kept_until_the_last_chunk.yaml
    at_first_chunk: with the first chunk
        Source: KIP-630, dev list msg111793
        Example: snapshots/snap_16_log_emptied_by_the_first_chunk.yaml
    whatever_arrives: with the last chunk, also for a snapshot that is behind the log
        Source: this project: what KafkaMetadataLog.truncateToLatestSnapshot refuses
        Example: snapshots/snap_18_whatever_arrives_is_installed.yaml
    """
    install_recovery: Literal["log_kept", "finished"] = "log_kept"
    """Decides what a restart makes of a snapshot above the log end that a crash kept from being
    installed.

    log_kept: nothing: the log goes on where it ends
        Source: camunda before PR 4451; this project: what the check on opening protects from
        Example: snapshots/snap_31_crash_before_the_log_is_emptied.yaml
    finished: the log is emptied, and begins where the snapshot ends
        Source: KafkaMetadataLog.apply, .recoverSnapshots, .truncateToLatestSnapshot
        Example: snapshots/snap_32_restart_finishes_the_install.yaml
    """
    download_when_elected: Literal["dropped", "kept"] = "dropped"
    """Decides what becomes of a partly fetched snapshot when the follower is elected.

    dropped: it is forgotten, and a later chunk of it is dropped
        Source: FollowerState.close, EpochElection; KIP-630, Fetching Snapshots
        Example: snapshots/snap_35_elected_without_its_download.yaml
    kept: it stays: the last chunk replaces the log of a leader
        Source: this project: what FollowerState.close protects from
        Example: snapshots/snap_34_elected_with_its_download.yaml
    """
    snapshot_offer: Literal["below_start", "by_epoch"] = "below_start"
    """Decides which fetches are answered with a snapshot to fetch.

    below_start: those below the log start
        Source: KIP-630, Changes to leaders: a fetch offset below the log start
        Example: snapshots/snap_25_new_replica_begins_with_the_log.yaml
    by_epoch: also those at 0, of another epoch at the log start, or of one older than any snapshot
        Source: ReplicatedLog.validateOffsetAndEpoch, KAFKA-15078
        Example: snapshots/snap_24_new_replica_begins_with_a_snapshot.yaml
    """
    bootstrap_snapshot: bool = False
    """by_epoch: whether the first disks are formatted with a snapshot that ends at 0.

    false: no: the voters are a setting, as they were before KIP-853
        Source: controller.quorum.voters; ReplicatedLog.earliestSnapshotId
        Example: snapshots/snap_40_sent_in_an_epoch_older_than_the_snapshot.yaml
    true: yes, 0-0, which names the voters; it is never sent, and beside it no epoch of a fetch
        is older than all snapshots
        Source: KIP-853; Snapshots.BOOTSTRAP_SNAPSHOT_ID, KafkaRaftClient.tryCompleteFetchRequest
        Example: snapshots/snap_39_bootstrap_snapshot_is_older_than_any_epoch.yaml
    """
    snapshot_placement: Literal["beside", "in_log"] = "beside"
    """Decides where snapshots are.

    beside: in files of their own
        Source: KIP-630, Proposed Changes
        Example: snapshots/snap_23_snapshot_beside_the_log.yaml
    in_log: in the log: a leader appends its own for everybody
        Source: KIP-630, Rejected Alternatives: append the snapshot to the log
        Example: snapshots/snap_22_snapshot_in_the_log.yaml
    """
    held_snapshot: Literal["fetched", "ignored"] = "fetched"
    """Decides what a follower does if it is offered a snapshot that it has, above its log end.

    fetched: it fetches and installs it
        Source: camunda PR 4451
        Example: bootstrap/boot_04_held_snapshot_replaces_the_log.yaml
    ignored: it goes on asking for records
        Source: camunda before PR 4451; KafkaMetadataLog.createNewSnapshotUnchecked
        Example: bootstrap/boot_03_held_snapshot_is_ignored.yaml
    """
    prefix_gate: Literal["local", "all_live", "all_live_or_timeout"] = "local"
    """Decides when a replica may delete what a snapshot covers.

    local: at its own time, without regard to the others
        Source: KafkaMetadataLog.maybeClean
        Example: snapshots/snap_28_prefix_goes_at_once.yaml
    all_live: once the logs of all live replicas reach the end of the snapshot
        Source: KIP-630, draft: all live replicas have the offset
        Example: snapshots/snap_30_prefix_waits_for_ever.yaml
    all_live_or_timeout: the same, but it waits no longer than start_offset_lag_ms
        Source: KIP-630, drafts: a bound on the wait, start_offset_lag_ms
        Example: snapshots/snap_29_prefix_waits_no_longer_than_agreed.yaml
    """
    start_offset_lag_ms: Annotated[int, Open(SETTING, minimum=0)] = 604_800_000
    """all_live_or_timeout: ms after a snapshot's last record until it waits for replicas no more.

    Source: KIP-630, drafts: a bound on how long deletion waits for replicas
    """
    state_machine: Literal["keyed", "deltas"] = "keyed"
    """Decides what a record does to the state that replicas build.

    keyed: it is the whole state of its key, so the last one per key is enough
        Source: KIP-630, Proposed Changes; KIP-280
        Example: snapshots/delta_03_records_by_key.yaml
    deltas: +n and -n change a number; a delete of `prefix*` removes many keys
        Source: KIP-630, Amount of Data Replicated: with deltas
        Example: snapshots/delta_01_increments_cleaned_by_key.yaml
    """
    log_holds: Literal["events", "state"] = "events"
    """Decides what the log is for, which says whether its old records may go by age or size.

    events: what happened: old events are meant to go (cleanup.policy: delete)
        Source: cleanup.policy, retention.ms
        Example: kip630/timed_delete_policy_of_events.yaml
    state: the state of each key, however old: `state-kept` says when retention takes it
        Source: KIP-630, Motivation: a log of metadata cannot be trimmed by age or size
        Example: kip630/timed_delete_policy_loses_state.yaml
    """
