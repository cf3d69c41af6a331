"""The rules of snapshots: when they are taken over, sent, and replace the log."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sim.files.limits import SETTING
from sim.protocol.rules.spec import Open


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
    """Decides what a restart makes of a snapshot above the log end, which a crash kept from
    installing.

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
    """Decides which fetches are sent to a snapshot.

    below_start: those below the log start
        Source: KIP-630, Changes to leaders: a fetch offset below the log start
        Example: snapshots/snap_25_new_replica_begins_with_the_log.yaml
    by_epoch: also those at the log start in another epoch, and any at 0
        Source: ReplicatedLog.validateOffsetAndEpoch, KAFKA-15078
        Example: snapshots/snap_24_new_replica_begins_with_a_snapshot.yaml
    """
    bootstrap_snapshot: bool = False
    """by_epoch: whether the first disks are formatted with a snapshot that ends at 0.

    false: no: the voters are a setting, as they were before KIP-853
        Source: controller.quorum.voters; ReplicatedLog.earliestSnapshotId
        Example: snapshots/snap_40_sent_in_an_epoch_older_than_the_snapshot.yaml
    true: yes, 0-0 names the voters, and is older than any epoch: it is never sent, nor is another
        for the epoch of a fetch
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
    """Decides what a follower does that is offered a snapshot it has, above the end of its log.

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
    """all_live_or_timeout: ms from a snapshot's last record to the end of the wait for replicas.

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
