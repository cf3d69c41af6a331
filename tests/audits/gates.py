"""Judges what goes for good, and who leaves or joins, by the replicas of then.

* A log start moves only as `prefix_gate` says, with a snapshot that covers what goes, and the
  newest snapshot stays (KIP-630, KafkaMetadataLog.deleteBeforeSnapshot and .maybeClean). Where
  retention deletes, log and snapshots were larger before than `metadata.max.retention.bytes`, or
  the oldest snapshot was older than `metadata.max.retention.ms`.
* A voter leaves only while a majority of the others has what is committed (KIP-853).
* A disk goes only of a replica that may not lead cleanly, and the new one has another number.
* A replica joins with the settings that the first one has by then.
"""

from __future__ import annotations

from itertools import chain

from sim.protocol import events as on
from sim.protocol.events.cluster import REBUILT
from sim.protocol.log import Batch
from sim.protocol.replication.replica import Replica
from sim.protocol.replication.snapshots import file_bytes
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.controller import Controller
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from tests.audits.sending import Answers, Failed


class Gates(Answers):
    """Deleted prefixes and snapshots, and voters that leave."""

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts with nothing committed."""
        super().__init__(cluster, failed)
        self._cluster = cluster
        self._disks: dict[str, int] = {}
        self._settings: dict[str, dict[str, str]] = {}
        self._kept = cluster.context.scenario.snapshots
        self._sizes: dict[str, tuple[list[tuple[Batch, ...]], list[tuple[int, int, int]]]] = {}

    def after(self, event: on.Event) -> None:
        """Judges what is gone."""
        super().after(event)
        if isinstance(event, on.PrefixDeleted):
            self._prefix(event)
            self._retained(event)
        elif isinstance(event, on.SnapshotDeleted):
            replica = self.nodes[event.replica].replica
            start, end = replica.log.log_start_offset, event.end_offset
            was_cut = end > replica.log.log_end_offset
            if not was_cut and (end >= start or not replica.snapshots):
                self.wrong(event.replica, f"deletes the snapshot at {end}", f"from {start}", "kept")
        elif isinstance(event, on.ReplicaRemoved):
            self._voter(event.replica)
        elif isinstance(event, on.ReplicaWiped):
            self._disk(event)
        elif isinstance(event, on.ConfigChanged) and not event.initial:
            self._settings.setdefault(event.replica, {}).update(event.settings)
        elif isinstance(event, on.ReplicaAdded):
            self._joins(self.nodes[event.replica])
        node = None if self._kept.retention_bytes is None else self.nodes.get(event.replica or "")
        if node is not None and not isinstance(event, on.PrefixDeleted | on.SnapshotDeleted):
            self._measure(node.replica)

    def _measure(self, replica: Replica) -> None:
        """Notes the batches of each segment, and (end, bytes, time) of snapshots."""
        batches = [tuple(one.batches) for one in replica.log.segments]
        snapshots = [
            (id_.end_offset, file_bytes(one.records), one.timestamp_ms)
            for id_, one in sorted(replica.snapshots.items())
        ]
        self._sizes[replica.name] = batches, snapshots

    def _retained(self, event: on.PrefixDeleted) -> None:
        """Judges a deletion by the sizes before it; several come at once, the oldest first."""
        limit, limit_ms = self._kept.retention_bytes, self._kept.retention_ms
        to = event.log_start_offset
        batches, snapshots = self._sizes.get(event.replica, ([], []))
        older = [one for one in snapshots if one[0] < to]
        if limit is None or not older:
            return
        below = older[-1][0] if len(older) > 1 else 0  # where the log began by then
        there = chain.from_iterable(batches)
        left = sum(one.size_bytes for one in there if one.last_offset >= below)
        left += sum(size for end, size, _ in snapshots if end >= below)
        age_ms = self.nodes[event.replica].now_ms - older[-1][2]
        if left <= limit and (limit_ms is None or age_ms <= limit_ms):
            what = f"deletes its prefix below {to}"
            self.wrong(event.replica, what, f"{left} of {limit} bytes", "it stays")

    def _disk(self, event: on.ReplicaWiped) -> None:
        name, disk = event.replica, self.nodes[event.replica].replica.disk
        if disk <= self._disks.get(name, 1):
            self.wrong(name, "number of a new disk", disk, "a higher one than before")
        self._disks[name] = disk
        elections = self._cluster.elections
        if isinstance(elections, Controller) and event.reason != REBUILT:
            state = elections.state
            if name in {*state.isr, *state.elr}:
                self.wrong(name, "loses its disk", f"{state} lets it lead", "it keeps it")

    def _joins(self, node: Node) -> None:
        first = next(iter(self.nodes))
        expected = self._settings.get(first, {})
        found = {
            name: str(node.rules.as_dict().get(name, value)) for name, value in expected.items()
        }
        self.wrong(node.name, f"joins with other settings than {first}", found, expected)
        self._settings[node.name] = found

    def _prefix(self, event: on.PrefixDeleted) -> None:
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
            have = [one.name for one in left if one.replica.log.log_end_offset >= self.committed]
            if len(have) <= len(left) // 2:
                what = f"{name} leaves with {self.committed} committed"
                self.wrong(name, what, f"only {have} have it", "a majority of the others")
            return
