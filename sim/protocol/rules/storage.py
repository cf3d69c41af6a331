"""The rules of storage, and the settings of the topic."""

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
    """Decides where a replica knows its log end offset from after cleaning and after a restart.

    stored: it is stored by itself, not derived from the records
        Source: LocalLog.nextOffsetMetadata
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

    swap_files: by a file that a restart finishes with: all of a group or nothing
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
    """Decides when it is written down up to where a log is cleaned, if a crash comes in between.

    after_work: after the pass
        Source: Cleaner.doClean; LogCleanerManager.doneCleaning
        Example: durability/checkpoint_01_saved_after_the_work.yaml
    before_work: before the pass: what was not cleaned counts as clean
        Source: etcd, v3.5 data inconsistency postmortem
        Example: durability/checkpoint_02_saved_before_the_work.yaml
    both: before it what is begun, after it what is done; the log end is above the first
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
