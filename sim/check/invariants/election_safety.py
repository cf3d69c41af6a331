"""One leader per epoch."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import LeaderElected


class ElectionSafety(LogInvariant):
    """At most one replica ever leads an epoch.

    For all elections of r in epoch e and of s in epoch e: r = s.
    Judged: at each election. Excused: one replica may be elected again in its own epoch; what that
    breaks is `offset-epoch-uniqueness`.
    """

    source = "Raft 5.2; KIP-595"
    explained_by = "epoch_led_twice"
    says = "{replica} was elected in epoch {epoch}, which {leader} led already."

    def begin(self) -> None:
        """Nobody has led yet."""
        self._leaders: dict[int, str] = {}

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Compare with who led the epoch before."""
        first = self._leaders.setdefault(event.epoch, event.replica)
        if first != event.replica:
            self.violated(event.replica, event.epoch_start_offset, epoch=event.epoch, leader=first)
