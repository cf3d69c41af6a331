"""Materialised state: what a log folds to, compared with the committed history."""

from sim.check.folding import base_records, delta_state, differing_keys, winners_of
from sim.check.invariant import Kind, LogInvariant
from sim.check.replica_view import ReplicaView
from sim.log.record import Record
from sim.trace import Quiesced


class MaterializedStateEquivalence(LogInvariant):
    """A live replica that has the full high watermark folds to what the committed history does.

    For all live replicas r with hw(r) >= N: fold(snapshot at start(r), log(r) in [start(r), hw(r)))
    = fold(committed), key by key; a winning tombstone means no key, aborted and undecided data
    counts nowhere.
    Judged: at rest. Excused: everything once an offset was committed twice, as the reference is
    undefined then; keys whose winner the topic's retention deleted, which promises nothing.
    """

    kind = Kind.AT_REST
    source = "KIP-280, KIP-630; ConsistentCommittedData (RaftEventSimulationTest)"
    family_by_cause = True
    explained_by = "state_differs"

    def on_quiesced(self, _: Quiesced) -> None:
        """Fold the log of every live replica."""
        history, written = self.history, self.written
        if history.committed_twice:
            return
        caught_up = [
            view
            for view in self.replicas.values()
            if view.up and view.high_watermark >= len(self.committed)
        ]
        if history.rules.snapshots.state_machine == "deltas":
            values = delta_state(history, self.committed)
            for view in caught_up:
                self._compare_deltas(view, values)
            return
        expected = {key: uid for key, uid in history.winners.items() if not written[uid].tombstone}
        equal: list[tuple[list[int], tuple[Record, ...]]] = []
        for view in caught_up:
            log = (view.known_to_be_committed(), base_records(view))
            if log not in equal:  # most logs are the same at rest
                state = winners_of(history, *log)
                if state == expected:
                    equal.append(log)
                else:
                    self._compare(view, state, expected)

    def _compare_deltas(self, view: ReplicaView, expected: dict[str, str]) -> None:
        state = delta_state(self.history, view.known_to_be_committed(), base_records(view))
        for key in differing_keys(state, expected)[:1]:
            says = "{replica} has {key}={held}, the committed history has {key}={wanted}."
            held, wanted = state.get(key), expected.get(key)
            self.violated(view.name, None, key, says, held=held, wanted=wanted)

    def _compare(self, view: ReplicaView, state: dict[str, int], expected: dict[str, int]) -> None:
        differing = [key for key in differing_keys(state, expected) if not self._expired(key)]
        if differing:
            key = differing[0]
            self.violated(
                view.name,
                None,
                key,
                "{replica} folds to {held} for {key}, the committed history to {winner}"
                + ("; {more_keys} more keys differ." if len(differing) > 1 else "."),
                held=state.get(key, 0),
                winner=expected.get(key, 0),
                more_keys=len(differing) - 1,
            )

    def _expired(self, key: str) -> bool:
        """The winner of a key was deleted by the topic's retention, which promises nothing."""
        winner = self.history.winners.get(key)
        return winner is not None and self.written[winner].offset < self.history.expired_below
