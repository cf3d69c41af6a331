"""Materialised state: what a log folds to, compared with the committed history."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.folding import base_records, delta_state, winners_of
from sim.check.registry import Invariant, Kind
from sim.check.replica_view import ReplicaView
from sim.log.record import Record
from sim.trace import Quiesced


class MaterializedStateEquivalence(Invariant):
    """A live replica that has the full high watermark folds to what the committed history does.

    For all live replicas r with hw(r) >= N: fold(snapshot at start(r), log(r) in [start(r), hw(r)))
    = fold(committed), key by key; a winning tombstone means no key, aborted and undecided data
    counts nowhere.
    Judged: at rest. Excused: everything once an offset was committed twice, as the reference is
    undefined then; keys whose winner the topic's retention deleted, which promises nothing.
    """

    name = "materialized-state-equivalence"
    kind = Kind.AT_REST
    source = "KIP-280, KIP-630; ConsistentCommittedData (RaftEventSimulationTest)"
    family = LOG_DIVERGENCE
    family_by_cause = True
    explained_by = "state_differs"

    def on_quiesced(self, event: Quiesced) -> None:
        """Fold the log of every live replica."""
        history = self.history
        if history.committed_twice:
            return
        if history.rules.snapshots.state_machine == "deltas":
            self._compare_deltas()
            return
        written = history.written
        expected = {key: uid for key, uid in history.winners.items() if not written[uid].tombstone}
        equal: list[tuple[list[int], tuple[Record, ...]]] = []
        for view in history.replicas.values():
            if view.up and view.high_watermark >= len(history.committed):
                log = (view.slots[view.log_start_offset : view.high_watermark], base_records(view))
                if log not in equal:  # most logs are the same at rest
                    state = winners_of(history, *log)
                    if state == expected:
                        equal.append(log)
                    else:
                        self._compare(view, state, expected)

    def _compare_deltas(self) -> None:
        history = self.history
        expected = delta_state(history, history.committed)
        for view in history.replicas.values():
            if not view.up or view.high_watermark < len(history.committed):
                continue
            held = view.slots[view.log_start_offset : view.high_watermark]
            state = delta_state(history, held, base_records(view))
            if state != expected:
                key = next(k for k in sorted(state | expected) if state.get(k) != expected.get(k))
                self.violated(
                    view.name,
                    None,
                    key,
                    f"{view.name} has {key}={state.get(key)}, the committed history has "
                    f"{key}={expected.get(key)}.",
                )

    def _compare(self, view: ReplicaView, state: dict[str, int], expected: dict[str, int]) -> None:
        differing = [
            key
            for key in sorted(state | expected)
            if state.get(key) != expected.get(key) and not self._expired(key)
        ]
        if not differing:
            return
        key = differing[0]
        have, want = state.get(key), expected.get(key)
        held = "nothing" if have is None else self.describe(have)
        wanted = "nothing" if want is None else self.describe(want)
        more = f"; {len(differing) - 1} more keys differ" if len(differing) > 1 else ""
        self.violated(
            view.name,
            None,
            key,
            f"{view.name} folds to {held} for {key}, the committed history to {wanted}{more}.",
        )

    def _expired(self, key: str) -> bool:
        """The winner of a key was deleted by the topic's retention, which promises nothing."""
        history = self.history
        winner = history.winners.get(key)
        if winner is None or history.expired_below == 0:
            return False
        return history.written[winner].offset < history.expired_below
