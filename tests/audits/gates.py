"""Judges deletions of prefixes and snapshots, and voters that leave, by the replicas of then.

* A log start moves only as `prefix_gate` says, with a snapshot that covers what goes, and the
  newest snapshot stays (KIP-630, KafkaMetadataLog.deleteBeforeSnapshot and .maybeClean).
* A voter leaves only while a majority of the others has what is committed (KIP-853).
"""

from __future__ import annotations

from sim.protocol.events import (
    Event,
    HighWatermarkMoved,
    PrefixDeleted,
    ReplicaRemoved,
    SnapshotDeleted,
)
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.quorum import QuorumMembership
from tests.audits.messages import Failed
from tests.audits.sending import Answers


class Gates(Answers):
    """Deleted prefixes and snapshots, and voters that leave."""

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts with nothing committed."""
        super().__init__(cluster, failed)
        self._committed = 0

    def after(self, event: Event) -> None:
        """Judges what is gone."""
        if isinstance(event, HighWatermarkMoved):
            if event.leading:
                self._committed = max(self._committed, event.high_watermark)
        elif isinstance(event, PrefixDeleted):
            self._prefix(event)
        elif isinstance(event, SnapshotDeleted):
            replica = self.nodes[event.replica].replica
            start, end = replica.log.log_start_offset, event.end_offset
            if end >= start or not replica.snapshots:
                self.wrong(event.replica, f"deletes the snapshot at {end}", f"from {start}", "kept")
        elif isinstance(event, ReplicaRemoved):
            self._voter(event.replica)

    def _prefix(self, event: PrefixDeleted) -> None:
        node, start, rule = self.nodes[event.replica], event.log_start_offset, self.rules.snapshots
        replica = node.replica
        covering = [
            one for id_, one in sorted(replica.snapshots.items()) if id_.end_offset >= start
        ]
        what = f"deletes its prefix below {start}"
        if not covering:
            self.wrong(event.replica, what, "no snapshot covers it", "one does")
            return
        behind = [
            one.name
            for one in self.nodes.values()
            if one.replica.up and one.replica.log.log_end_offset < start
        ]
        if not behind or rule.prefix_gate == "local":
            return
        age_ms = node.now_ms - covering[0].timestamp_ms
        if rule.prefix_gate == "all_live" or age_ms < rule.start_offset_lag_ms:
            self.wrong(event.replica, what, f"{behind} lack it, after {age_ms} ms", "it waits")

    def _voter(self, name: str) -> None:
        members = [node for node in self.nodes.values() if node.name != name]
        for node in members:
            member = node.membership
            if not isinstance(member, QuorumMembership) or name not in member.voters:
                continue
            left = [one for one in members if one.name in member.voters]
            have = [one.name for one in left if one.replica.log.log_end_offset >= self._committed]
            if len(have) <= len(left) // 2:
                what = f"{name} leaves with {self._committed} committed"
                self.wrong(name, what, f"only {have} have it", "a majority of the others")
            return
