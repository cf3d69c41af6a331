"""Snapshots are sent to those who need them, each byte once (KIP-630)."""

from typing import Any

from sim.check.invariant import Invariant
from sim.protocol.events import (
    Copied,
    LeaderElected,
    ReplicaCrashed,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotFetchDropped,
    SnapshotInstalled,
)
from sim.protocol.log.record import Control

_IN_LOG = (
    "{replica} was sent a snapshot of {size_bytes} bytes in the log at offset {offset}; it has "
    "every record below."
)


class TrafficAccounting(Invariant):
    """Replicas are sent what they lack: each byte of a snapshot once, and to who asked for it.

    For all chunks a follower receives of one download: position = sum of the sizes before, from 0.
    No follower copies a snapshot as a record of the log, as it has every record below.
    Judged: on each chunk and copy. Excused: after an install, a dropped download, a crash, a new
    disk or its own election a follower starts at 0 again.
    No usual event breaks it: no batch that is copied is a snapshot.
    """

    source = "KIP-630, Amount of Data Replicated; Rejected Alternatives"
    explained_by = "sent_twice"
    in_stories = False
    unusual_only = True
    says = (
        "{replica} was sent snapshot ({offset}, {epoch}) from {position} on, having it up to "
        "{received}."
    )
    any_of = (
        SnapshotInstalled,
        SnapshotFetchDropped,
        ReplicaCrashed,
        ReplicaWiped,
        LeaderElected,
    )

    def begin(self) -> None:
        """Nobody is fetching."""
        self._received: dict[str, int] = {}

    def on_copied(self, event: Copied) -> None:
        """A snapshot within the log goes to those who have all that it stands for."""
        for batch in event.batches:
            if batch.control is Control.SNAPSHOT:
                base, size = batch.base_offset, batch.size_bytes
                self.violated(event.replica, base, None, _IN_LOG, size_bytes=size)

    def on_snapshot_chunk_fetched(self, event: SnapshotChunkFetched) -> None:
        """The next chunk begins where the last one ended."""
        expected, position = self._received.get(event.replica, 0), event.position
        if position != expected:
            told = {"epoch": event.epoch, "position": position, "received": expected}
            self.violated(event.replica, event.end_offset, **told)
        size = event.size_bytes if event.in_bytes else event.entries
        self._received[event.replica] = position + size

    def on_any_of(self, event: Any) -> None:
        """The next one starts at 0, and so does another attempt."""
        self._received.pop(event.replica, None)
