"""The rules of storage, and the settings of the topic."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sim.files.limits import INT_SETTING, NAME, SETTING
from sim.protocol.log.segment import INDEX_INTERVAL_BYTES
from sim.protocol.rules.spec import Open, Value

Flush = Literal["acknowledged", "on_append", "before_fetch", "interval"]
"""The part of a log that is on disk."""

SegmentSwap = Literal["swap_files", "new_first", "old_first"]
"""How cleaned segments take the place of the old ones."""


class StorageRules(Struct, frozen=True, gc=False):
    """Rules of storage: what is on disk at which time, and how a restart reads it."""

    leo_source: Annotated[
        Literal["stored", "last_record"],
        "where a replica knows its log end offset from after cleaning and after a restart",
        Value(
            "it is stored by itself, not derived from the records",
            "LocalLog.nextOffsetMetadata",
            "kip280/kip280_50_cleaning_leaves_the_log_end.yaml",
        ),
        Value(
            "it is the offset after the last record that is left",
            "etcd issue 17780",
            "kip280/kip280_49_cleaning_moves_the_log_end.yaml",
        ),
    ] = "stored"
    flush: Annotated[
        Flush,
        "what of a log is on disk, so survives a loss of power",
        Value(
            "what a follower fetched past, and what is committed",
            "KafkaRaftClient.appendAsFollower",
            "durability/durability_04_acknowledged_records_survive.yaml",
        ),
        Value(
            "everything",
            "log.flush.interval.messages = 1; etcd, server/storage/wal",
            "durability/durability_02_power_failure_every_append_flushed.yaml",
        ),
        Value(
            "what a leader appended, and what a follower fetched past",
            "KafkaRaftClient.flushLeaderLog, .appendAsFollower",
            "durability/durability_03_flushed_before_acknowledged.yaml",
        ),
        Value(
            "what flush.messages and flush.ms say, and closed segments",
            "log.flush.interval.messages, log.flush.interval.ms; UnifiedLog.roll",
            "durability/durability_01_power_failure_nothing_flushed.yaml",
        ),
    ] = "acknowledged"
    segment_swap: Annotated[
        SegmentSwap,
        "how cleaned segments take the place of the old ones, if a crash comes in between",
        Value(
            "by a file that a restart finishes with: all of a group or nothing",
            "LocalLog.replaceSegments; LogLoader.load",
            "durability/swap_03_swap_file_is_finished.yaml",
        ),
        Value(
            "the cleaned one first: what was merged may be there twice",
            "Redpanda before PR 26755",
            "durability/swap_04_cleaned_segment_first.yaml",
        ),
        Value(
            "the old ones go first: both may be missing",
            "BookKeeper issue 1534",
            "durability/swap_02_old_segments_deleted_first.yaml",
        ),
    ] = "swap_files"
    cleaner_checkpoint: Annotated[
        Literal["after_work", "before_work", "both"],
        "when it is written down up to where a log is cleaned, if a crash comes in between",
        Value(
            "after the pass",
            "Cleaner.doClean; LogCleanerManager.doneCleaning",
            "durability/checkpoint_01_saved_after_the_work.yaml",
        ),
        Value(
            "before the pass: what was not cleaned counts as clean",
            "etcd, v3.5 data inconsistency postmortem",
            "durability/checkpoint_02_saved_before_the_work.yaml",
        ),
        Value(
            "before it what is begun, after it what is done; the log end is above the first",
            "etcd PR 17815: scheduled and finished compact revision",
            "durability/checkpoint_04_begun_and_done.yaml",
        ),
    ] = "after_work"
    epoch_recovery: Annotated[
        Literal["from_batches", "as_stored"],
        "what a restart makes of a file of leader epochs that is behind or ahead of the log",
        Value(
            "newer epochs come from the batches; those at or above the log end go",
            "LogSegment.recover; LogLoader.load",
            "durability/files_02_epochs_come_from_the_batches.yaml",
        ),
        Value(
            "nothing: the file is believed",
            "this project: what LogLoader.load protects from; KAFKA-16541",
            "durability/files_01_file_of_epochs_is_behind.yaml",
        ),
    ] = "from_batches"


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

    strategy_header: Annotated[
        str,
        "name of the header that the header strategy reads",
        Open("KIP-280, compaction.strategy.header", NAME),
    ] = "version"
    delete_retention_ms: Annotated[
        int,
        "ms from the first pass that keeps a tombstone to the first that may remove it",
        Open("delete.retention.ms, KIP-534", SETTING, minimum=0),
    ] = 86_400_000
    index_interval_bytes: Annotated[
        int,
        "bytes of a segment after which its offset index gets an entry before the next batch",
        Open("index.interval.bytes; LogSegment.append", INT_SETTING, minimum=0),
    ] = INDEX_INTERVAL_BYTES
    min_isr: Annotated[
        int,
        "isr: smallest in-sync set with which the high watermark moves",
        Open("min.insync.replicas, KIP-966", INT_SETTING, minimum=1),
    ] = 1
