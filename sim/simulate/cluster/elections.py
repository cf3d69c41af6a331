"""What both kinds of elections share: as the cluster sees them, and as a replica does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sim.simulate.cluster.context import Context

if TYPE_CHECKING:
    from sim.simulate.cluster.node import Node


class Elections:
    """Elections by a controller (commit: isr) or by the voters themselves (majority)."""

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts before the first election; `nodes` are those of the cluster, by name."""
        self._context = context
        self._nodes = nodes

    def leading(self) -> Node | None:
        """The newest leader if it is up and still leads."""
        newest = self._context.leader
        node = None if newest is None else self._nodes[newest[1]]
        return node if node is not None and node.leader is not None else None

    def silenced(self, node: Node) -> None:
        """Notes that a replica went down, or that some of its messages do not arrive any more."""

    def wiped(self, node: Node) -> None:
        """Notes that a replica lost its disk."""


class Membership:
    """A replica's part in elections: with a controller (commit: isr), or among voters.

    Each kind of elections overrides what it needs.
    """

    def crashed(self) -> None:
        """Forgets what only its memory held."""

    def restarted(self) -> None:
        """Goes on after a crash."""

    def reconnected(self) -> None:
        """Notes that messages of the replica arrive again."""

    def rebuilt(self, log_end_offset: int) -> None:
        """Notes that the log starts again empty.

        The replica may have acknowledged everything below `log_end_offset` (exclusive) before.
        """

    def disk_lost(self, epoch: int) -> None:
        """Notes that the disk, which knew `epoch`, is about to be lost."""

    def fetched(self, follower: str) -> None:
        """Acts on a follower's position, which the replica has recorded as the leader."""

    def before_commit(self) -> None:
        """Prepares the replica, as the leader, for working out how far its log is committed."""

    def heard_epoch(self, epoch: int) -> None:
        """Acts on the higher epoch of a follower that has fetched from the replica, the leader."""
