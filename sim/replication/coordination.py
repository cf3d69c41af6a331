"""Coordinated removal: what goes must be settled on every replica, up or not.

Tombstones: each replica reports its maximum cleanly compacted offset (MCCO); the minimum over all
replicas is the maximum tombstone removal offset (MTRO). Markers go below the same offset, or below
one of their own (`marker_watermark: own`): each replica reports its maximum transaction-free
offset (MXFO), the minimum is the maximum transaction removal offset (MXRO). Bounds never fall, so a
late message that carries a lower one changes nothing. Source: Redpanda's compaction_coordinator,
PR 28087 and 29043.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.replication.replica import Replica
from sim.rules.rules import Rules
from sim.trace import Event, RemovalBoundMoved


class Report(NamedTuple):
    """What a replica says; offsets are exclusive.

    Attributes:
        disk: Which of its disks that was (see Replica).
        cleanly_compacted_offset: Below it each key is there at most once (MCCO).
        transaction_free_offset: Below it no data of a transaction is left (MXFO).
    """

    disk: int
    cleanly_compacted_offset: int
    transaction_free_offset: int


class Bounds(NamedTuple):
    """Below these offsets (exclusive) tombstones (MTRO) and markers (MXRO) may go."""

    tombstones: int = 0
    markers: int = 0


def report_of(replica: Replica) -> Report:
    """The report of a replica as it is now."""
    return Report(replica.disk, replica.cleanly_compacted_offset, transaction_free_offset(replica))


def transaction_free_offset(replica: Replica) -> int:
    """Up to where a log holds no data of a transaction, decided or not; at most its high watermark.

    A batch that was left without records still counts. What lies below a bound that was accepted
    is free on every replica. Redpanda's cleaner makes committed data plain; Kafka's record format
    keeps it transactional, so here the offset waits for live committed data, too.
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
    """What the replicas reported last, and the bounds that follow from it.

    Attributes:
        known: Replica name -> its last report; it stands in for one that does not answer.
        bounds: What may go; neither ever falls.
    """

    known: dict[str, Report] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)

    def report(self, replica: str, report: Report) -> None:
        """Note what a replica says."""
        self.known[replica] = report

    def advance(self, replicas: Iterable[Replica], *, rules: Rules) -> Bounds | None:
        """The bounds over `replicas`; None while one of them has never reported.

        With `lost_disk_report: dropped` a report counts for the disk it was made of alone.
        """
        reports = []
        for replica in replicas:
            report = self.known.get(replica.name)
            stale = rules.lost_disk_report == "dropped" and report and report.disk != replica.disk
            if report is None or stale:
                return None
            reports.append(report)
        tombstones = min(report.cleanly_compacted_offset for report in reports)
        markers = tombstones
        if rules.marker_watermark == "own":
            markers = min(report.transaction_free_offset for report in reports)
        old = self.bounds
        self.bounds = Bounds(max(old.tombstones, tombstones), max(old.markers, markers))
        return self.bounds


def accept_removal_bounds(replica: Replica, bounds: Bounds) -> list[Event]:
    """Take over bounds; what lies below is settled everywhere, so also here, copied yet or not."""
    tombstones, markers = bounds
    replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, tombstones)
    if tombstones <= replica.removal_bound and markers <= replica.marker_removal_bound:
        return []
    replica.removal_bound = max(replica.removal_bound, tombstones)
    replica.marker_removal_bound = max(replica.marker_removal_bound, markers)
    return [RemovalBoundMoved(replica.name, replica.removal_bound, replica.marker_removal_bound)]


def bounds_of(replica: Replica) -> Bounds:
    """The bounds a replica has been told."""
    return Bounds(replica.removal_bound, replica.marker_removal_bound)


def hold_round(
    coordinator: RemovalCoordinator,
    replicas: Iterable[Replica],
    reachable: Iterable[Replica],
    *,
    rules: Rules,
) -> list[Event]:
    """Collect the reports of who is reachable, and hand the bounds out to them, all at once."""
    present = list(reachable)
    for replica in present:
        coordinator.report(replica.name, report_of(replica))
    bounds = coordinator.advance(replicas, rules=rules)
    if bounds is None:
        return []
    return [event for replica in present for event in accept_removal_bounds(replica, bounds)]
