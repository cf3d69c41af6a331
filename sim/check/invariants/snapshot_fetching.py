"""Fetching snapshots: installed whole or not at all, some day finished, nothing sent in vain."""

from __future__ import annotations

from sim.check.ledger import Ledger
from sim.check.registry import Invariant, Kind, Reporter, invariant
from sim.log import Control
from sim.replication.messages import SnapshotError
from sim.trace import (
    Copied,
    FaultInjected,
    LeaderElected,
    LogEmptied,
    Quiesced,
    ReplicaCrashed,
    ReplicaRemoved,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotFetchDropped,
    SnapshotInstalled,
)

PATIENCE = 3
"""So many downloads in a row may not be lost to deletions at the leader."""


@invariant
class SnapshotInstallAtomic(Invariant):
    """At every instant a replica has either its old log, or the whole snapshot and nothing else."""

    name = "snapshot-install-atomic"
    source = "KIP-630; KafkaMetadataLog.truncateToLatestSnapshot, FileRawSnapshotWriter.freeze"
    in_stories = False

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nobody is fetching."""
        super().__init__(ledger, report)
        self._sources: dict[str, str] = {}

    def on_log_emptied(self, event: LogEmptied) -> None:
        """Nothing may go before what replaces it is there."""
        if event.log_end_offset > 0:
            self.violated(
                event.replica,
                event.log_end_offset,
                None,
                f"{event.replica} emptied its log, which ended at {event.log_end_offset} (high "
                f"watermark {event.high_watermark}), before snapshot ({event.end_offset}, "
                f"{event.epoch}) was there; a crash now leaves it with neither.",
            )

    def on_snapshot_chunk_fetched(self, event: SnapshotChunkFetched) -> None:
        """Remember whose snapshot it is."""
        self._sources[event.replica] = event.leader

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """What is installed has to be all of what the leader has under that id, if it still has."""
        source = self.ledger.disks.get(self._sources.pop(event.replica, ""))
        whole = None if source is None else source.snapshots.get((event.end_offset, event.epoch))
        if whole is not None and whole != event.records:
            self.violated(
                event.replica,
                event.end_offset,
                None,
                f"{event.replica} installed {len(event.records)} records as snapshot "
                f"({event.end_offset}, {event.epoch}), which has {len(whole)}.",
            )


@invariant
class SnapshotFetchProgress(Invariant):
    """A follower that stays connected to one leader gets its snapshot some day.

    Judged when the cluster is at rest: nobody is still fetching. And on the way: no follower loses
    three downloads in a row because the leader deleted what it was reading, while there is one
    leader, nothing happens to the follower and no record reaches it.
    """

    name = "snapshot-fetch-progress"
    kind = Kind.LIVENESS
    fairness = "one leader stays, and the follower and its link are left in peace"
    source = "KIP-630"
    in_stories = False

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nobody is fetching."""
        super().__init__(ledger, report)
        self._fetching: dict[str, tuple[int, str]] = {}
        self._lost: dict[str, int] = {}

    def on_snapshot_chunk_fetched(self, event: SnapshotChunkFetched) -> None:
        """A fetch is going on."""
        size, unit = (event.size_bytes, "bytes") if event.in_bytes else (event.entries, "entries")
        self._fetching[event.replica] = (event.end_offset, f"{event.position + size} {unit}")

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """It is finished."""
        self._fetching.pop(event.replica, None)
        self._lost.pop(event.replica, None)

    def on_snapshot_fetch_dropped(self, event: SnapshotFetchDropped) -> None:
        """It was given up; that it was deleted under the reader must not go on for ever."""
        replica = event.replica
        begun = self._fetching.pop(replica, None) is not None
        if event.reason != SnapshotError.SNAPSHOT_NOT_FOUND:
            self._lost.pop(replica, None)
            return
        self._lost[replica] = lost = self._lost.get(replica, 0) + begun
        if begun and lost == PATIENCE:
            self.violated(
                replica,
                None,
                None,
                f"{replica} lost {lost} snapshots in a row while it fetched them, the last one "
                f"({event.end_offset}, {event.epoch}): the leader deletes them faster than it "
                "reads.",
            )

    def on_copied(self, event: Copied) -> None:
        """It got on without a snapshot."""
        self._lost.pop(event.replica, None)

    def on_leader_elected(self, _: LeaderElected) -> None:
        """Another leader: everybody starts over."""
        self._lost.clear()

    def on_fault_injected(self, event: FaultInjected) -> None:
        """It was not left in peace."""
        self._lost.pop(event.replica, None)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """It was not left in peace; a part does not survive that."""
        self._lost.pop(event.replica, None)
        self._fetching.pop(event.replica, None)

    def on_replica_removed(self, event: ReplicaRemoved) -> None:
        """It need not finish any more."""
        self._lost.pop(event.replica, None)
        self._fetching.pop(event.replica, None)

    def on_quiesced(self, event: Quiesced) -> None:
        """Nobody may be left."""
        if event.synced:
            for replica, (end, received) in self._fetching.items():
                self.violated(
                    replica,
                    end,
                    None,
                    f"{replica} has {received} of the snapshot that ends at {end} and does not "
                    "get on.",
                )


@invariant
class TrafficAccounting(Invariant):
    """Replicas are sent what they lack: each byte of a snapshot once, and to who asked for it."""

    name = "traffic-accounting"
    source = "KIP-630, Amount of Data Replicated; Rejected Alternatives"
    in_stories = False

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nobody is fetching."""
        super().__init__(ledger, report)
        self._received: dict[str, int] = {}

    def on_copied(self, event: Copied) -> None:
        """A snapshot within the log goes to those who have all that it stands for."""
        for batch in event.batches:
            if batch.control is Control.SNAPSHOT:
                self.violated(
                    event.replica,
                    batch.base_offset,
                    None,
                    f"{event.replica} was sent a snapshot of {batch.size_bytes} bytes in the log "
                    f"at offset {batch.base_offset}; it has every record below.",
                )

    def on_snapshot_chunk_fetched(self, event: SnapshotChunkFetched) -> None:
        """The next chunk begins where the last one ended."""
        expected = self._received.get(event.replica, 0)
        if event.position != expected:
            self.violated(
                event.replica,
                event.end_offset,
                None,
                f"{event.replica} was sent snapshot ({event.end_offset}, {event.epoch}) from "
                f"{event.position} on, having it up to {expected}.",
            )
        size = event.size_bytes if event.in_bytes else event.entries
        self._received[event.replica] = event.position + size

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """The next one starts at 0."""
        self._received.pop(event.replica, None)

    def on_snapshot_fetch_dropped(self, event: SnapshotFetchDropped) -> None:
        """So does another attempt."""
        self._received.pop(event.replica, None)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """A part does not survive that."""
        self._received.pop(event.replica, None)

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """Nor a new disk."""
        self._received.pop(event.replica, None)

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Nor that its owner is elected."""
        self._received.pop(event.replica, None)
