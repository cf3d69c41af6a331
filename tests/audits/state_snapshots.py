"""Snapshots of state, their epochs and times, followed from event to event.

* A replica has the snapshots that it has taken, fetched or installed, and not deleted; an installed
  one is the only one, and a lost disk or an emptied log has none (KafkaMetadataLog).
* The epoch of a snapshot that is taken is that of the offset before its end, and its time that of
  the last batch that begins below its end; where the log has none, that of the snapshot that the
  log begins with (KafkaMetadataLog.createNewSnapshot, Snapshots.lastContainedLogTimestamp).
* One that is fetched has the time that some replica had with a snapshot of that name.
* Where records change what was there before, a snapshot has of each key the last record that was
  not aborted (KIP-630, Amount of Data Replicated).
"""

from __future__ import annotations

from collections.abc import Iterable

from sim.plugins import Report
from sim.protocol import events as on
from sim.protocol.replication.messages import SnapshotId
from sim.protocol.replication.replica import Replica
from sim.simulate.cluster.cluster import Cluster
from tests.audits.following import Following


class SnapshotsFollowed(Following):
    """Follows the snapshots of all replicas of a run."""

    name = "snapshots-followed"

    def __init__(self, cluster: Cluster, report: Report) -> None:
        """Starts before the replicas connect."""
        super().__init__(cluster, report)
        self._times: dict[str, dict[SnapshotId, int]] = {}
        self._ever: dict[SnapshotId, set[int]] = {}

    def after(self, _at_ms: int, events: Iterable[on.Event]) -> None:
        """Takes some events, and compares the replicas whose snapshots they change."""
        changed = [event for event in events if self._take(event)]
        for name in dict.fromkeys(event.replica for event in changed):
            if name in self._nodes and name is not None:
                kept = self._nodes[name].replica.snapshots
                found = {id_: snapshot.timestamp_ms for id_, snapshot in kept.items()}
                self.differs(name, "snapshots", found, self._times[name])
                self._times[name] = found

    def _take(self, event: on.Event) -> bool:
        """Takes an event; returns whether it changes snapshots."""
        if event.replica not in self._nodes or event.replica is None:
            return False
        replica = self._nodes[event.replica].replica
        own = self._times.setdefault(event.replica, {})
        match event:
            case on.SnapshotTaken():
                id_ = SnapshotId(event.end_offset, event.epoch)
                self._look_at_epoch(replica, id_)
                if self._nodes[event.replica].rules.snapshots.state_machine == "deltas":
                    self._look_at_records(replica, event)
                own[id_] = self._time_below(replica, id_.end_offset, own)
                self._ever.setdefault(id_, set()).add(own[id_])
            case on.SnapshotInstalled() | on.SnapshotFetched():
                id_ = SnapshotId(event.end_offset, event.epoch)
                if isinstance(event, on.SnapshotInstalled):
                    own.clear()
                found = replica.snapshots.get(id_)
                own[id_] = -1 if found is None else found.timestamp_ms
                times = self._ever.get(id_, set())
                if own[id_] not in times:
                    self.differs(event.replica, f"time of {id_}", own[id_], sorted(times))
            case on.SnapshotDeleted():
                own.pop(SnapshotId(event.end_offset, event.epoch), None)
            case on.ReplicaWiped() | on.LogEmptied():
                own.clear()
            case _:
                return False
        return True

    def _look_at_epoch(self, replica: Replica, id_: SnapshotId) -> None:
        """Compares the epoch of a new snapshot with that of the offset before its end."""
        last = id_.end_offset - 1
        begun = [one.epoch for one in replica.log.epochs.entries if one.start_offset <= last]
        self.differs(replica.name, f"epoch of {id_}", id_.epoch, max(begun, default=-1))

    def _look_at_records(self, replica: Replica, event: on.SnapshotTaken) -> None:
        log, newest = replica.log, dict[str | None, int]()
        for batch in log.batches():
            at, producer = batch.base_offset, batch.producer_id
            aborted = batch.transactional and any(
                one.producer_id == producer and one.first_offset <= at < one.last_offset
                for one in log.aborted_ever
            )
            if batch.control is None and not aborted:
                below = [one for one in batch.records if one.offset < event.end_offset]
                newest |= {one.key: one.offset for one in below}
        older = [one.key for one in event.records if one.offset < newest.get(one.key, 0)]
        self.differs(replica.name, f"older records in {event.end_offset}", older, [])

    def _time_below(self, replica: Replica, end: int, own: dict[SnapshotId, int]) -> int:
        """The time of the last batch that begins below `end`, or of the snapshot before it."""
        start = replica.log.log_start_offset
        times = [b.timestamp_ms for b in replica.log.batches() if b.base_offset < end]
        base = [time for id_, time in own.items() if id_.end_offset == start > 0]
        return [*base[-1:], *times][-1] if base or times else -1
