"""Followers get to the leader's log end."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant, Kind
from sim.trace import Quiesced


class LeoConvergence(Invariant):
    """At rest every live replica's log ends where the leader's does.

    For the leader l, live replicas r: end(r) = end(l).
    Judged: at rest. Excused: replicas that are down. Fair: a live core has a leader, links are
    whole, and followers fetch until nothing changes.
    """

    name = "leo-convergence"
    kind = Kind.LIVENESS
    source = "KIP-280"
    family = LOG_DIVERGENCE
    explained_by = "stays_behind"
    fairness = "faults are over, there is a leader, and followers fetch until nothing changes"

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare log end offsets."""
        if event.replica is None:
            return
        leader = self.history.replicas[event.replica]
        for view in self.history.replicas.values():
            if view.up and view.log_end_offset != leader.log_end_offset:
                self.violated(
                    view.name,
                    view.log_end_offset,
                    None,
                    f"{view.name} stays at log end offset {view.log_end_offset} while the leader "
                    f"{leader.name} is at {leader.log_end_offset}.",
                )
