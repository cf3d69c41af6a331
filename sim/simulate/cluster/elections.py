"""What a replica does in elections, whoever decides them."""

from __future__ import annotations


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
