"""Coordinated removal: the coordinator hands out bounds, and replicas report (Redpanda).

Source: Redpanda's compaction_coordinator, PR 28087 and 29043.
"""

from __future__ import annotations

from typing import NamedTuple


class RemovalBounds(NamedTuple):
    """Below these offsets (exclusive) tombstones (MTRO) and markers (MXRO) may go."""

    tombstones: int = 0
    markers: int = 0


class RemovalReport(NamedTuple):
    """What a replica reports; offsets are exclusive.

    Attributes:
        disk: Which of its disks that was (see Replica).
        cleanly_compacted_offset: Below it each key is there at most once (MCCO).
        transaction_free_offset: Below it no data of a transaction is left (MXFO).
    """

    disk: int
    cleanly_compacted_offset: int
    transaction_free_offset: int


class RemovalBoundsRequest(NamedTuple):
    """The coordinator hands out the bounds and asks for a report.

    Attributes:
        leader: Who coordinates.
        epoch: The epoch it leads.
        bounds: What may go.
    """

    leader: str
    epoch: int
    bounds: RemovalBounds


class RemovalBoundsResponse(NamedTuple):
    """A replica has taken over the bounds, and reports.

    Attributes:
        replica: Who answers.
        epoch: That of the request.
        report: Its report.
    """

    replica: str
    epoch: int
    report: RemovalReport
