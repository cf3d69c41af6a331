"""The rules of deletes: tombstones and transaction markers, when they go, what comes after."""

from __future__ import annotations

from sim.compaction import TOMBSTONE_REMOVALS
from sim.rules.spec import RuleSpec, Value

DELETE_RULES = (
    RuleSpec(
        "tombstone_removal",
        "when a winning tombstone may go",
        TOMBSTONE_REMOVALS,
        examples={
            "horizon": "kip534/kip534_01_horizon_of_the_batch.yaml",
            "immediate": "kip534/kip534_02_removed_at_once.yaml",
            "last_modified": "kip534/kip534_03_merged_segment_looks_old.yaml",
            "cleaning_checkpoint": "kip534/kip534_15_cleaning_checkpoint_waits_again.yaml",
            "record_horizon": "kip534/kip534_17_horizon_in_the_record.yaml",
            "leo_gated": "kip630/kip630_02_gated_by_every_log_end.yaml",
            "coordinated": "kip630/kip630_04_coordinated.yaml",
            "never": "kip534/kip534_13_never_removed.yaml",
        },
    ),
    RuleSpec(
        "horizon_stamp",
        "which of the tombstones that a pass keeps get their delete horizon",
        (
            Value(
                "on_sight",
                "all, also those that the map has not reached",
                "MemoryRecords.filterTo",
                "kip534/log_partial_round_stamp.json",
            ),
            Value(
                "mapped",
                "those that the map has reached, so that older values are gone by then",
                "apache/kafka PR 10914, review",
                "kip534/log_partial_round_mapped.json",
            ),
            Value(
                "each_pass",
                "all, and those that have one get another: the tombstone outlives frequent passes",
                "this project: what a horizon that is set once protects from; KIP-534",
                "kip534/kip534_19_horizon_of_each_pass.yaml",
            ),
        ),
    ),
    RuleSpec(
        "horizon_rebase",
        "what becomes of the records' time deltas when a horizon becomes the base of their batch",
        (
            Value(
                "deltas_rewritten",
                "they count from the horizon, so that timestamps read back as they were",
                "MemoryRecords.buildRetainedRecordsInto; KIP-534, Proposed Changes",
                "kip534/kip534_23_timestamps_read_back.yaml",
            ),
            Value(
                "deltas_kept",
                "they stay as they are: every timestamp of the batch moves with the base",
                "this project: why KIP-534 rewrites them; Redpanda before PR 30998 kept them when"
                " another base was set",
                "kip534/kip534_22_horizon_moves_the_timestamps.yaml",
            ),
        ),
    ),
    RuleSpec(
        "horizon_header",
        "with record_horizon: whether consumers are given the header that holds the horizon",
        (
            Value(
                "hidden",
                "it is taken off",
                "KIP-534, Rejected Alternatives: a header that consumers should not see",
                "kip534/kip534_17_horizon_in_the_record.yaml",
            ),
            Value(
                "visible",
                "it is a header like any other",
                "KIP-534, Rejected Alternatives: what a header does if nobody takes it off",
                "kip534/kip534_18_readers_see_the_header.yaml",
            ),
        ),
    ),
    RuleSpec(
        "marker_removal",
        "with last_modified: when a transaction marker may go",
        (
            Value(
                "as_tombstones",
                "by the modification time of its segment",
                "Cleaner.shouldDiscardBatch in 2.8",
                "transactions/txn_08_marker_goes_by_its_segment.yaml",
            ),
            Value(
                "horizon",
                "by a delete horizon of its own",
                "KIP-534, Proposed Changes",
                "transactions/txn_09_marker_waits_beside_old_tombstones.yaml",
            ),
        ),
    ),
    RuleSpec(
        "marker_lookup",
        "whether a transaction marker is looked up in the map by the bytes of its key",
        (
            Value(
                "never",
                "a marker has no key",
                "KAFKA-14055; Cleaner.cleanInto",
                "transactions/txn_11_markers_are_not_looked_up.yaml",
            ),
            Value(
                "by_key",
                "a record whose key has these bytes evicts it",
                "Cleaner.cleanInto before KAFKA-14055",
                "transactions/txn_10_user_key_evicts_a_marker.yaml",
            ),
            Value(
                "last_abort",
                "all ABORT markers are of one key, and the last one stays",
                "Redpanda before PR 16295; crabka before PR 528",
                "bootstrap/boot_01_abort_markers_as_one_key.yaml",
            ),
        ),
    ),
    RuleSpec(
        "marker_watermark",
        "with coordinated: below which offset transaction markers may go",
        (
            Value(
                "shared",
                "the tombstones' one: every replica has compacted past it",
                "Redpanda PR 28087",
                "transactions/txn_12_marker_below_the_tombstones_watermark.yaml",
            ),
            Value(
                "own",
                "one of their own: below it no replica holds data of a transaction",
                "Redpanda PR 29043: maximum transaction-free and transaction removal offsets",
                "transactions/txn_13_marker_below_its_own_watermark.yaml",
            ),
        ),
    ),
    RuleSpec(
        "lost_disk_report",
        "with coordinated: whether what a replica reported last outlives its disk",
        (
            Value(
                "kept",
                "it counts for the new disk, until that has something to report itself",
                "this project: what a coordinator does that knows replicas by their names",
                "kip630/kip630_14_report_of_a_lost_disk.yaml",
            ),
            Value(
                "dropped",
                "a new disk is a new replica, which has reported nothing",
                "Redpanda PR 28087: a replica is known by its number and its revision",
                "kip630/kip630_15_report_goes_with_the_disk.yaml",
            ),
        ),
    ),
    RuleSpec(
        "tombstone_mark",
        "what marks a tombstone",
        (
            Value(
                "null_value",
                "it has no value",
                "Record.hasValue; KIP-87, Motivation",
                "kip87/kip87_02_null_value.yaml",
            ),
            Value(
                "flag",
                "its tombstone attribute is set, whatever its value",
                "KIP-87, Proposed Changes",
                "kip87/kip87_01_flag.yaml",
            ),
            Value(
                "magic",
                "the record's own format says: no value before magic 2, the attribute from then on",
                "KIP-87, Migration Plan",
                "kip87/kip87_04_magic.yaml",
            ),
            Value(
                "explicit",
                "the step of a story says tombstone=true, which sets the flag",
                "the story format of this project",
                "kip87/kip87_03_explicit.yaml",
            ),
        ),
    ),
    RuleSpec(
        "late_versions",
        "what becomes of a version below that of a tombstone which is gone already",
        (
            Value(
                "accepted",
                "it wins, as nothing remembers the tombstone",
                "KIP-280 with KIP-534, left open",
                "kip280/kip280_65_late_write_accepted_for_good.yaml",
            ),
            Value(
                "floor",
                "leaders refuse what is below the highest version removed, whatever its key",
                "this project; the hazard is that of Scylla #23712 and #24415",
                "kip280/kip280_63_late_write_refused_by_a_floor.yaml",
            ),
            Value(
                "stub",
                "the next pass removes it: cleaners keep the version of each deleted key",
                "this project; the hazard is that of Scylla #23712 and #24415",
                "kip280/kip280_64_late_write_beaten_by_a_stub.yaml",
            ),
        ),
    ),
    RuleSpec(
        "delete_retention_ms",
        "ms from the first pass that keeps a tombstone to the first that may remove it",
        source="delete.retention.ms, KIP-534",
        minimum=0,
    ),
    RuleSpec(
        "lag_guard",
        "whether a follower that is below a removed tombstone is rebuilt",
        (
            Value(
                "none",
                "it goes on from where it is",
                "Kafka: no part of the cleaner looks at followers; KIP-630, Motivation",
                "kip630/kip630_01_tombstone_removed_too_early.yaml",
            ),
            Value(
                "reset_local",
                "by a leader that has removed the tombstone itself",
                "Redpanda PR 26562; Copycat #127",
                "kip630/kip630_06_rebuilt_when_below_a_removed_tombstone.yaml",
            ),
            Value(
                "reset_propagated",
                "by any leader: the end of what was removed is told to followers",
                "Redpanda PR 26790; KIP-630, Rejected Alternatives",
                "kip630/kip630_08_rebuild_handed_on.yaml",
            ),
        ),
    ),
)
"""In no particular order: `Rules` has the order."""
