"""The rules of snapshots: when they are taken over, sent, and replace the log."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sim.files.limits import SETTING
from sim.protocol.rules.spec import Open, Value


class SnapshotRules(Struct, frozen=True, gc=False):
    """Rules of snapshots: what they hold, when one is sent, and when it replaces a log."""

    snapshot_install: Annotated[
        Literal["atomic", "at_first_chunk", "whatever_arrives"],
        "when a follower gives up its log for a snapshot that it fetches",
        Value(
            "with the last chunk, and only for a snapshot that is ahead of the log",
            "KafkaMetadataLog.truncateToLatestSnapshot",
            "snapshots/snap_17_log_kept_until_the_last_chunk.yaml",
        ),
        Value(
            "with the first chunk",
            "KIP-630, dev list msg111793",
            "snapshots/snap_16_log_emptied_by_the_first_chunk.yaml",
        ),
        Value(
            "with the last chunk, also for a snapshot that is behind the log",
            "this project: what KafkaMetadataLog.truncateToLatestSnapshot refuses",
            "snapshots/snap_18_whatever_arrives_is_installed.yaml",
        ),
    ] = "atomic"
    install_recovery: Annotated[
        Literal["log_kept", "finished"],
        "what a restart makes of a snapshot above the log end, which a crash kept from installing",
        Value(
            "nothing: the log goes on where it ends",
            "camunda before PR 4451; this project: what the check on opening protects from",
            "snapshots/snap_31_crash_before_the_log_is_emptied.yaml",
        ),
        Value(
            "the log is emptied, and begins where the snapshot ends",
            "KafkaMetadataLog.apply, .recoverSnapshots, .truncateToLatestSnapshot",
            "snapshots/snap_32_restart_finishes_the_install.yaml",
        ),
    ] = "log_kept"
    download_when_elected: Annotated[
        Literal["dropped", "kept"],
        "what becomes of a partly fetched snapshot when the follower is elected",
        Value(
            "it is forgotten, and a later chunk of it is dropped",
            "FollowerState.close, EpochElection; KIP-630, Fetching Snapshots",
            "snapshots/snap_35_elected_without_its_download.yaml",
        ),
        Value(
            "it stays: the last chunk replaces the log of a leader",
            "this project: what FollowerState.close protects from",
            "snapshots/snap_34_elected_with_its_download.yaml",
        ),
    ] = "dropped"
    snapshot_offer: Annotated[
        Literal["below_start", "by_epoch"],
        "which fetches are sent to a snapshot",
        Value(
            "those below the log start",
            "KIP-630, Changes to leaders: a fetch offset below the log start",
            "snapshots/snap_25_new_replica_begins_with_the_log.yaml",
        ),
        Value(
            "also those at the log start in another epoch, and any at 0",
            "ReplicatedLog.validateOffsetAndEpoch, KAFKA-15078",
            "snapshots/snap_24_new_replica_begins_with_a_snapshot.yaml",
        ),
    ] = "below_start"
    bootstrap_snapshot: Annotated[
        bool,
        "by_epoch: whether the first disks are formatted with a snapshot that ends at 0",
        Value(
            "no: the voters are a setting, as they were before KIP-853",
            "controller.quorum.voters; ReplicatedLog.earliestSnapshotId",
            "snapshots/snap_40_sent_in_an_epoch_older_than_the_snapshot.yaml",
        ),
        Value(
            "yes, 0-0 names the voters, and is older than any epoch: it is never sent, nor is"
            " another for the epoch of a fetch",
            "KIP-853; Snapshots.BOOTSTRAP_SNAPSHOT_ID, KafkaRaftClient.tryCompleteFetchRequest",
            "snapshots/snap_39_bootstrap_snapshot_is_older_than_any_epoch.yaml",
        ),
    ] = False
    snapshot_placement: Annotated[
        Literal["beside", "in_log"],
        "where snapshots are",
        Value(
            "in files of their own",
            "KIP-630, Proposed Changes",
            "snapshots/snap_23_snapshot_beside_the_log.yaml",
        ),
        Value(
            "in the log: a leader appends its own for everybody",
            "KIP-630, Rejected Alternatives: append the snapshot to the log",
            "snapshots/snap_22_snapshot_in_the_log.yaml",
        ),
    ] = "beside"
    held_snapshot: Annotated[
        Literal["fetched", "ignored"],
        "what a follower does that is offered a snapshot it has, above the end of its log",
        Value(
            "it fetches and installs it",
            "camunda PR 4451",
            "bootstrap/boot_04_held_snapshot_replaces_the_log.yaml",
        ),
        Value(
            "it goes on asking for records",
            "camunda before PR 4451; KafkaMetadataLog.createNewSnapshotUnchecked",
            "bootstrap/boot_03_held_snapshot_is_ignored.yaml",
        ),
    ] = "fetched"
    prefix_gate: Annotated[
        Literal["local", "all_live", "all_live_or_timeout"],
        "when a replica may delete what a snapshot covers",
        Value(
            "at its own time, without regard to the others",
            "KafkaMetadataLog.maybeClean",
            "snapshots/snap_28_prefix_goes_at_once.yaml",
        ),
        Value(
            "once the logs of all live replicas reach the end of the snapshot",
            "KIP-630, draft: all live replicas have the offset",
            "snapshots/snap_30_prefix_waits_for_ever.yaml",
        ),
        Value(
            "the same, but it waits no longer than start_offset_lag_ms",
            "KIP-630, drafts: a bound on the wait, start_offset_lag_ms",
            "snapshots/snap_29_prefix_waits_no_longer_than_agreed.yaml",
        ),
    ] = "local"
    start_offset_lag_ms: Annotated[
        int,
        "all_live_or_timeout: ms from a snapshot's last record to the end of the wait for replicas",
        Open(
            "KIP-630, drafts: a bound on how long deletion waits for replicas", SETTING, minimum=0
        ),
    ] = 604_800_000
    state_machine: Annotated[
        Literal["keyed", "deltas"],
        "what a record does to the state that replicas build",
        Value(
            "it is the whole state of its key, so the last one per key is enough",
            "KIP-630, Proposed Changes; KIP-280",
            "snapshots/delta_03_records_by_key.yaml",
        ),
        Value(
            "+n and -n change a number; a delete of `prefix*` removes many keys",
            "KIP-630, Amount of Data Replicated: with deltas",
            "snapshots/delta_01_increments_cleaned_by_key.yaml",
        ),
    ] = "keyed"
    log_holds: Annotated[
        Literal["events", "state"],
        "what the log is for, which says whether its old records may go by age or size",
        Value(
            "what happened: old events are meant to go (cleanup.policy: delete)",
            "cleanup.policy, retention.ms",
            "kip630/timed_delete_policy_of_events.yaml",
        ),
        Value(
            "the state of each key, however old: `state-kept` says when retention takes it",
            "KIP-630, Motivation: a log of metadata cannot be trimmed by age or size",
            "kip630/timed_delete_policy_loses_state.yaml",
        ),
    ] = "events"
