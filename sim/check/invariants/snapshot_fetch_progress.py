"""Fetching a snapshot comes to an end."""

from typing import Any

from sim.check.invariant import Invariant, Kind
from sim.protocol.events import (
    Copied,
    FaultInjected,
    LeaderElected,
    Quiesced,
    ReplicaCrashed,
    ReplicaRemoved,
    SnapshotChunkFetched,
    SnapshotFetchDropped,
    SnapshotInstalled,
)

PATIENCE = 3
"""So many downloads in a row may not be lost to deletions at the leader."""

SNAPSHOT_NOT_FOUND = "SNAPSHOT_NOT_FOUND"
"""Why one is lost to them, by Kafka's name (Errors.SNAPSHOT_NOT_FOUND)."""

_LOST = (
    "{replica} lost {lost} snapshots in a row while it fetched them, the last one ({snapshot_end}, "
    "{epoch}): the leader deletes them faster than it reads."
)


class SnapshotFetchProgress(Invariant):
    """A follower that stays connected to one leader gets its snapshot some day.

    For all followers f: at rest f is fetching no snapshot; and before, f does not lose three
    downloads in a row because the leader deleted what it was reading.
    Judged: at rest after everybody synced; and whenever a download is lost. Excused: as soon as
    another leader is elected, a fault or a crash hits f, or a record reaches it, counting starts
    over.
    """

    kind = Kind.LIVENESS
    fairness = "one leader stays, and the follower and its link are left in peace"
    source = "KIP-630"
    explained_by = "fetching"
    in_stories = False
    says = (
        "{replica} has {received} {unit} of the snapshot that ends at {offset} and does not get on."
    )
    any_of = (SnapshotInstalled, ReplicaCrashed, ReplicaRemoved)

    def begin(self) -> None:
        """Nobody is fetching."""
        self._fetching: dict[str, tuple[int, int, str, int]] = {}
        self._lost: dict[str, int] = {}

    def on_snapshot_chunk_fetched(self, event: SnapshotChunkFetched) -> None:
        """A fetch is going on."""
        size, unit = (event.size_bytes, "bytes") if event.in_bytes else (event.entries, "entries")
        received = event.position + size
        self._fetching[event.replica] = (event.end_offset, received, unit, self.history.at)

    def on_snapshot_fetch_dropped(self, event: SnapshotFetchDropped) -> None:
        """It was given up; that it was deleted under the reader must not go on for ever."""
        replica = event.replica
        begun = self._fetching.pop(replica, None) is not None
        if event.reason != SNAPSHOT_NOT_FOUND:
            self._lost.pop(replica, None)
            return
        self._lost[replica] = lost = self._lost.get(replica, 0) + begun
        if begun and lost == PATIENCE:
            end, epoch = event.end_offset, event.epoch
            self.violated(replica, None, None, _LOST, lost=lost, snapshot_end=end, epoch=epoch)

    def on_leader_elected(self, _: LeaderElected) -> None:
        """Another leader: everybody starts over."""
        self._lost.clear()

    def on_copied(self, event: Copied) -> None:
        """It got on without a snapshot."""
        self._lost.pop(event.replica, None)

    def on_fault_injected(self, event: FaultInjected) -> None:
        """It was not left in peace."""
        self._lost.pop(event.replica, None)

    def on_any_of(self, event: Any) -> None:
        """It is finished, or need not finish, or a crash takes what it has."""
        self._lost.pop(event.replica, None)
        self._fetching.pop(event.replica, None)

    def on_quiesced(self, event: Quiesced) -> None:
        """Nobody may be left."""
        if event.synced:
            for replica, (end, received, unit, since) in self._fetching.items():
                self.violated(replica, end, None, "", since, received=received, unit=unit)
