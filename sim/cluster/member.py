"""A voter's part in elections by majority: its timer, its candidacy, and whether it may vote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.replication.elections import grants_vote

if TYPE_CHECKING:
    from sim.cluster.node import Node

Entry = tuple[int, int]
"""(epoch, log end offset) of the last entry of a log."""


class Member:
    """A voter's part in elections.

    Attributes:
        node: The replica.
        timeout_ms: No word from a leader for so long makes it a candidate.
        candidacy: The epoch it campaigns in; None while it is no candidate.
        prospect: The epoch in which it asks whether it could win (`pre_vote`); None = it does not.
        canvassed_ms: When it began to ask.
        granted: Who voted for it, or would, itself included.
        barred_below: After the loss of its disk: it neither votes nor campaigns before its log has
            reached this offset again, since it forgot what it promised.
    """

    __slots__ = (
        "barred_below",
        "candidacy",
        "canvassed_ms",
        "granted",
        "node",
        "prospect",
        "ticking",
        "timeout_ms",
    )

    def __init__(self, node: Node, timeout_ms: int) -> None:
        """A voter that has not voted yet."""
        self.node = node
        self.timeout_ms = timeout_ms
        self.candidacy: int | None = None
        self.prospect: int | None = None
        self.canvassed_ms = 0
        self.granted: list[str] = []
        self.barred_below = 0
        self.ticking = False

    @property
    def barred(self) -> bool:
        """Whether it still has to catch up after the loss of its disk."""
        if self.barred_below and self.node.replica.log.log_end_offset >= self.barred_below:
            self.barred_below = 0
        return self.barred_below > 0

    @property
    def due_ms(self) -> int:
        """When it stands for election, if it hears of no leader before."""
        return max(self.node.heard_ms, self.canvassed_ms) + self.timeout_ms

    def has_won(self, voters: tuple[str, ...]) -> bool:
        """Whether a majority of `voters` votes for it, or would."""
        return sum(name in voters for name in self.granted) > len(voters) // 2

    def may_grant(self, epoch: int, entry: Entry) -> bool:
        """Whether a candidate of `epoch` with that last (epoch, log end) may lead, for all it is.

        Not for one that lacks something, nor by a leader, nor while it may not vote at all.
        """
        replica = self.node.replica
        able = epoch == replica.epoch and self.node.desk is None and not self.barred
        return able and grants_vote(replica, entry)
