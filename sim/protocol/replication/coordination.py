"""Coordinated removal: every replica, up or not, has compacted what goes.

Tombstones: each replica reports its maximum cleanly compacted offset (MCCO); the minimum over all
replicas is the maximum tombstone removal offset (MTRO). Markers go below the same offset, or below
one of their own (`marker_watermark: own`): each replica reports its maximum transaction-free
offset (MXFO), the minimum is the maximum transaction removal offset (MXRO). Bounds never fall, so a
late message that carries a lower one changes nothing. Source: Redpanda's compaction_coordinator,
PR 28087 and 29043.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sim.protocol.events import Event, RemovalBoundMoved
from sim.protocol.replication.messages import RemovalBounds, RemovalReport
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules


def report_of(replica: Replica) -> RemovalReport:
    """The report of a replica as it is now."""
    return RemovalReport(
        replica.disk, replica.cleanly_compacted_offset, transaction_free_offset(replica)
    )


def transaction_free_offset(replica: Replica) -> int:
    """Up to where a log holds no data of a transaction, decided or not (exclusive).

    It is at most the high watermark, but at least the bound that was accepted: what lies below that
    is free on every replica. A batch that was left without records still counts. Redpanda's cleaner
    makes committed data plain; Kafka's record format keeps it transactional, so here the offset
    waits for live committed data, too.
    """
    log = replica.log
    free = log.high_watermark
    for batch in log.batches():
        if batch.base_offset >= free:
            break
        if batch.transactional and batch.control is None:
            free = batch.base_offset
    return max(free, replica.marker_removal_bound)


@dataclass(slots=True)
class RemovalCoordinator:
    """The coordinator of removals: the last reports of all replicas, and the bounds from them.

    Attributes:
        known: Replica name -> its last report, which counts while it does not answer.
        bounds: Bounds below which removal is allowed; neither ever falls.
    """

    known: dict[str, RemovalReport] = field(default_factory=dict)
    bounds: RemovalBounds = field(default_factory=RemovalBounds)

    def report(self, replica: str, report: RemovalReport) -> None:
        """Notes the report of a replica."""
        self.known[replica] = report

    def advance(self, disks: Mapping[str, int], *, rules: Rules) -> RemovalBounds | None:
        """Raises and returns the bounds over all replicas; None while one has never reported.

        With `lost_disk_report: dropped` the report of an earlier disk counts as none.

        Args:
            disks: Name of each replica, up or not -> which disk it has now.
            rules: Rules, which say which reports count, and if markers have a bound of their own.
        """
        reports = []
        for name, disk in disks.items():
            report = self.known.get(name)
            if report is None or (
                rules.cleaner.lost_disk_report == "dropped" and report.disk != disk
            ):
                return None
            reports.append(report)
        tombstones = min(report.cleanly_compacted_offset for report in reports)
        markers = tombstones
        if rules.cleaner.marker_watermark == "own":
            markers = min(report.transaction_free_offset for report in reports)
        old = self.bounds
        self.bounds = RemovalBounds(max(old.tombstones, tombstones), max(old.markers, markers))
        return self.bounds


def accept_removal_bounds(replica: Replica, bounds: RemovalBounds) -> list[Event]:
    """Takes over bounds; what lies below is compacted on every replica, so also on this one."""
    tombstones, markers = bounds.tombstones, bounds.markers
    replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, tombstones)
    if tombstones <= replica.removal_bound and markers <= replica.marker_removal_bound:
        return []
    replica.removal_bound = max(replica.removal_bound, tombstones)
    replica.marker_removal_bound = max(replica.marker_removal_bound, markers)
    return [RemovalBoundMoved(replica.name, replica.removal_bound, replica.marker_removal_bound)]


def hold_round(
    coordinator: RemovalCoordinator,
    replicas: Iterable[Replica],
    reachable: Iterable[Replica],
    *,
    rules: Rules,
) -> list[Event]:
    """Collects the reports of the reachable replicas and hands the bounds out, in one step."""
    present = list(reachable)
    for replica in present:
        coordinator.report(replica.name, report_of(replica))
    bounds = coordinator.advance({r.name: r.disk for r in replicas}, rules=rules)
    if bounds is None:
        return []
    return [event for replica in present for event in accept_removal_bounds(replica, bounds)]
