"""Followers get to the leader's log end."""

from sim.check.invariant import Kind, LogInvariant
from sim.protocol.events import Quiesced


class LeoConvergence(LogInvariant):
    """At rest every live replica's log ends where the leader's does.

    For the leader l, live replicas r: end(r) = end(l).
    Judged: at rest. Excused: replicas that are down. Fair: a live core has a leader, links are
    whole, and followers fetch until nothing changes.
    """

    kind = Kind.LIVENESS
    source = "KIP-280"
    explained_by = "stays_behind"
    fairness = "faults are over, there is a leader, and followers fetch until nothing changes"
    says = (
        "{replica} stays at log end offset {offset} while the leader {leader} is at {leader_end}."
    )

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare log end offsets."""
        if event.replica is not None:
            end = self.replicas[event.replica].log_end_offset
            for view in self.replicas.values():
                own = view.log_end_offset
                if view.up and own != end:
                    self.violated(view.name, own, leader=event.replica, leader_end=end)
