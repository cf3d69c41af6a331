"""Materialised state: what a log folds to, compared with the committed history."""

from collections.abc import Mapping

from sim.check.folding import base_records, differing_keys, state_of
from sim.check.invariant import Kind, LogInvariant
from sim.protocol.events import Quiesced
from sim.protocol.log.record import Record

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
    explained_by = "state_differs"
    says = "{replica} folds to {held} for {key}, the committed history to {winner}"

    def on_quiesced(self, _: Quiesced) -> None:
        """Fold the log of every live replica."""
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
                self.violated(replica, None, key, says, held=held, wanted=winner)
                continue
            more = len(differing) - 1
            says = self.says + ("; {more_keys} more keys differ." if more else ".")
            values = {"held": held or 0, "winner": winner or 0, "more_keys": more}
            self.violated(replica, None, key, says, **values)

    def _expired(self, key: str) -> bool:
        """The winner of a key was deleted by the topic's retention, which promises nothing."""
        history, winner = self.history, self.history.winners.get(key)
        expired = winner is not None and self.written[winner].offset < history.expired_below
        return expired and not history.deltas
