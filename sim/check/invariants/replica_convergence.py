"""At rest the logs of followers agree with the leader's."""

from sim.check.invariant import Kind, LogInvariant
from sim.protocol.events import Quiesced


class ReplicaConvergence(LogInvariant):
    """At rest no live replica holds another record than the leader at the same offset.

    For the leader l, live replicas r, offsets o: if both hold a record at o it is the same.
    Judged: at rest. Excused: offsets at which one of them has no record, as each cleans on its own;
    replicas that are down.
    """

    kind = Kind.AT_REST
    source = "KIP-279"
    explained_by = "two_records"
    says = "offset {offset} is {record} on {replica} and {leader_record} on the leader {leader}."

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare live replicas with the leader."""
        if event.replica is None:
            return
        leader = self.replicas[event.replica]
        for offset in dict.fromkeys(offset for offset, _, _ in self.history.disagreements):
            for view in self.replicas.values():
                mine, theirs = view.uid_at(offset), leader.uid_at(offset)
                if view.up and mine > 0 and theirs > 0 and mine != theirs:
                    self.violated(
                        view.name, offset, record=mine, leader_record=theirs, leader=leader.name
                    )
