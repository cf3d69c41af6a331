"""The rules of snapshots: when they are taken over, sent, and replace the log."""

from __future__ import annotations

from typing import Literal, NamedTuple

from sim.limits import SETTING
from sim.rules.spec import RuleSpec, Value


class SnapshotRules(NamedTuple):
    """What snapshots hold, who is sent one, and when it replaces a log."""

    snapshot_install: Literal["atomic", "at_first_chunk", "whatever_arrives"] = "atomic"
    install_recovery: Literal["log_kept", "finished"] = "log_kept"
    download_when_elected: Literal["dropped", "kept"] = "dropped"
    snapshot_offer: Literal["below_start", "by_epoch"] = "below_start"
    bootstrap_snapshot: bool = False
    snapshot_placement: Literal["beside", "in_log"] = "beside"
    held_snapshot: Literal["fetched", "ignored"] = "fetched"
    prefix_gate: Literal["local", "all_live", "all_live_or_timeout"] = "local"
    start_offset_lag_ms: int = 604_800_000
    state_machine: Literal["keyed", "deltas"] = "keyed"
    log_holds: Literal["events", "state"] = "events"


SNAPSHOTS_TABLE: tuple[RuleSpec, ...] = (
    RuleSpec(
        "snapshot_install",
        "when a follower gives up its log for a snapshot that it fetches",
        (
            Value(
                "atomic",
                "with the last chunk, and only for a snapshot that is ahead of the log",
                "KafkaMetadataLog.truncateToLatestSnapshot",
                "snapshots/snap_17_log_kept_until_the_last_chunk.yaml",
            ),
            Value(
                "at_first_chunk",
                "with the first chunk",
                "KIP-630, dev list msg111793",
                "snapshots/snap_16_log_emptied_by_the_first_chunk.yaml",
            ),
            Value(
                "whatever_arrives",
                "with the last chunk, also for a snapshot that is behind the log",
                "this project: what KafkaMetadataLog.truncateToLatestSnapshot refuses",
                "snapshots/snap_18_whatever_arrives_is_installed.yaml",
            ),
        ),
    ),
    RuleSpec(
        "install_recovery",
        "what a restart makes of a snapshot above the log end, which a crash kept from installing",
        (
            Value(
                "log_kept",
                "nothing: the log goes on where it ends",
                "camunda before PR 4451; this project: what the check on opening protects from",
                "snapshots/snap_31_crash_before_the_log_is_emptied.yaml",
            ),
            Value(
                "finished",
                "the log is emptied, and begins where the snapshot ends",
                "KafkaMetadataLog.apply, .recoverSnapshots, .truncateToLatestSnapshot",
                "snapshots/snap_32_restart_finishes_the_install.yaml",
            ),
        ),
    ),
    RuleSpec(
        "download_when_elected",
        "what becomes of a partly fetched snapshot when the follower is elected",
        (
            Value(
                "dropped",
                "it is forgotten, and a chunk that comes later is nobody's",
                "FollowerState.close, EpochElection; KIP-630, Fetching Snapshots",
                "snapshots/snap_35_elected_without_its_download.yaml",
            ),
            Value(
                "kept",
                "it stays: the last chunk replaces the log of a leader",
                "this project: what FollowerState.close protects from",
                "snapshots/snap_34_elected_with_its_download.yaml",
            ),
        ),
    ),
    RuleSpec(
        "snapshot_offer",
        "which fetches are sent to a snapshot",
        (
            Value(
                "below_start",
                "those below the log start",
                "KIP-630, Changes to leaders: a fetch offset below the log start",
                "snapshots/snap_25_new_replica_begins_with_the_log.yaml",
            ),
            Value(
                "by_epoch",
                "also those at the log start in another epoch, and any at 0",
                "ReplicatedLog.validateOffsetAndEpoch, KAFKA-15078",
                "snapshots/snap_24_new_replica_begins_with_a_snapshot.yaml",
            ),
        ),
    ),
    RuleSpec(
        "bootstrap_snapshot",
        "by_epoch: whether the first disks are formatted with a snapshot that ends at 0",
        (
            Value(
                name=False,
                means="no: the voters are a setting, as they were before KIP-853",
                source="controller.quorum.voters; ReplicatedLog.earliestSnapshotId",
                example="snapshots/snap_40_sent_in_an_epoch_older_than_the_snapshot.yaml",
            ),
            Value(
                name=True,
                means="yes, 0-0 names the voters, and is older than any epoch: it is never sent,"
                " nor is another for the epoch of a fetch",
                source="KIP-853; Snapshots.BOOTSTRAP_SNAPSHOT_ID,"
                " KafkaRaftClient.tryCompleteFetchRequest",
                example="snapshots/snap_39_bootstrap_snapshot_is_older_than_any_epoch.yaml",
            ),
        ),
    ),
    RuleSpec(
        "snapshot_placement",
        "where snapshots are",
        (
            Value(
                "beside",
                "in files beside the log",
                "KIP-630, Proposed Changes",
                "snapshots/snap_23_snapshot_beside_the_log.yaml",
            ),
            Value(
                "in_log",
                "in the log: a leader appends its own for everybody",
                "KIP-630, Rejected Alternatives: append the snapshot to the log",
                "snapshots/snap_22_snapshot_in_the_log.yaml",
            ),
        ),
    ),
    RuleSpec(
        "held_snapshot",
        "what a follower does that is offered a snapshot it has, above the end of its log",
        (
            Value(
                "fetched",
                "it fetches and installs it",
                "camunda PR 4451",
                "bootstrap/boot_04_held_snapshot_replaces_the_log.yaml",
            ),
            Value(
                "ignored",
                "it goes on asking for records",
                "camunda before PR 4451; KafkaMetadataLog.createNewSnapshotUnchecked",
                "bootstrap/boot_03_held_snapshot_is_ignored.yaml",
            ),
        ),
    ),
    RuleSpec(
        "prefix_gate",
        "when a replica may delete what a snapshot covers",
        (
            Value(
                "local",
                "when it likes, whatever the others have",
                "KafkaMetadataLog.maybeClean",
                "snapshots/snap_28_prefix_goes_at_once.yaml",
            ),
            Value(
                "all_live",
                "once the logs of all live replicas reach the end of the snapshot",
                "KIP-630, draft: all live replicas have the offset",
                "snapshots/snap_30_prefix_waits_for_ever.yaml",
            ),
            Value(
                "all_live_or_timeout",
                "the same, but it waits no longer than start_offset_lag_ms",
                "KIP-630, drafts: a bound on the wait, start_offset_lag_ms",
                "snapshots/snap_29_prefix_waits_no_longer_than_agreed.yaml",
            ),
        ),
    ),
    RuleSpec(
        "start_offset_lag_ms",
        "all_live_or_timeout: ms from a snapshot's last record to the end of the wait for replicas",
        source="KIP-630, drafts: a bound on how long deletion waits for replicas",
        minimum=0,
        limit=SETTING,
    ),
    RuleSpec(
        "state_machine",
        "what a record does to the state that replicas build",
        (
            Value(
                "keyed",
                "it is the whole state of its key, so the last one per key is enough",
                "KIP-630, Proposed Changes; KIP-280",
                "snapshots/delta_03_records_by_key.yaml",
            ),
            Value(
                "deltas",
                "+n and -n change a number; a delete of `prefix*` removes many keys",
                "KIP-630, Amount of Data Replicated: with deltas",
                "snapshots/delta_01_increments_cleaned_by_key.yaml",
            ),
        ),
    ),
    RuleSpec(
        "log_holds",
        "what the log is for, which says whether its old records may go by age or size",
        (
            Value(
                "events",
                "what happened: old events are meant to go (cleanup.policy: delete)",
                "cleanup.policy, retention.ms",
                "kip630/timed_delete_policy_of_events.yaml",
            ),
            Value(
                "state",
                "the state of each key, however old: `state-kept` says when retention takes it",
                "KIP-630, Motivation: a log of metadata cannot be trimmed by age or size",
                "kip630/timed_delete_policy_loses_state.yaml",
            ),
        ),
    ),
)
"""What each of them decides, in their order; each value with its source and an example."""
