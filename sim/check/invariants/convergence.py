"""Convergence: at rest the logs and states of all replicas are equal."""

from collections.abc import Mapping

from sim.check.folding import base_records, differing_keys, state_of
from sim.check.invariant import Kind, LogInvariant
from sim.protocol import events
from sim.protocol.log.record import Record


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

    def on_quiesced(self, event: events.Quiesced) -> None:
        """Compares log end offsets."""
        if event.replica is not None:
            end = self.replicas[event.replica].log_end_offset
            for view in self.replicas.values():
                own = view.log_end_offset
                if view.up and own != end:
                    self.broken(view.name, own, leader=event.replica, leader_end=end)


class ReplicaConvergence(LogInvariant):
    """At rest no live replica holds another record than the leader at the same offset.

    For the leader l, live replicas r, offsets o: if both hold a record at o it is the same.
    Judged: at rest. Excused: offsets at which one of them has no record, as each cleans on its own;
    replicas that are down.
    """

    kind = Kind.AT_REST
    source = "KIP-279"
    says = "offset {offset} is {record} on {replica} and {leader_record} on the leader {leader}."

    def on_quiesced(self, event: events.Quiesced) -> None:
        """Compares live replicas with the leader."""
        if event.replica is None:
            return
        leader = self.replicas[event.replica]
        for offset in dict.fromkeys(offset for offset, _, _ in self.history.disagreements):
            for view in self.replicas.values():
                mine, theirs = view.uid_at(offset), leader.uid_at(offset)
                if view.up and mine > 0 and theirs > 0 and mine != theirs:
                    self.broken(
                        view.name, offset, record=mine, leader_record=theirs, leader=leader.name
                    )


State = Mapping[str, int | str]
"""Key -> uid of its value, or the value where records are deltas."""


class MaterializedStateEquivalence(LogInvariant):
    """A live replica that has the full high watermark folds to what the committed history does.

    For all live replicas r with hw(r) >= N: fold(snapshot at start(r), log(r) in [start(r), N))
    = fold(committed), key by key; a winning tombstone means no key, aborted and undecided data
    counts nowhere.
    Judged: at rest. Excused: everything once an offset was committed twice, as the reference is
    undefined then; keys whose winner the topic's retention deleted, which promises nothing; what
    lies above N: a deposed leader's high watermark that its successor has taken over.
    """

    kind = Kind.AT_REST
    source = "KIP-280, KIP-630; ConsistentCommittedData (RaftEventSimulationTest)"
    family_by_cause = True
    explained_by = "state"
    says = "{replica} folds to {held} for {key}, the committed history to {winner}"

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Folds the log of every live replica."""
        history = self.history
        if history.committed_twice:
            return
        expected, known = state_of(history, self.committed), len(self.committed)
        equal: list[tuple[list[int], tuple[Record, ...]]] = []
        for view in self.replicas.values():
            log = (view.slots[view.log_start_offset : known], base_records(view))
            if view.up and view.high_watermark >= known and log not in equal:
                state = state_of(history, *log)
                if state == expected:
                    equal.append(log)  # most logs are the same at rest
                else:
                    self._compare(view.name, state, expected)

    def _compare(self, replica: str, state: State, expected: State) -> None:
        differing = [key for key in differing_keys(state, expected) if not self._expired(key)]
        for key in differing[:1]:
            held, winner = state.get(key), expected.get(key)
            if self.history.deltas:
                says = "{replica} has {key}={held}, the committed history has {key}={wanted}."
                self.broken(replica, None, key, says, held=held, wanted=winner)
                continue
            more = len(differing) - 1
            says = self.says + ("; {more_keys} more keys differ." if more else ".")
            values = {"held": held or 0, "winner": winner or 0, "more_keys": more}
            self.broken(replica, None, key, says, **values)

    def _expired(self, key: str) -> bool:
        """True if the topic's retention deleted the winner of a key; then nothing is promised."""
        history, winner = self.history, self.history.winners.get(key)
        expired = winner is not None and self.written[winner].offset < history.expired_below
        return expired and not history.deltas
