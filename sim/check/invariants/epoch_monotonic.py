"""Epochs rise along a log, and in the life of a replica."""

from sim.check.invariant import LogInvariant, Writing, batches_of
from sim.protocol.events import ReplicaCrashed, ReplicaRestarted, ReplicaWiped


class EpochMonotonic(LogInvariant):
    """Along a log epochs never fall with the offset; a replica never goes back to an older one.

    For all replicas r, offsets o < p of its log: epoch(log(r)[o]) <= epoch(log(r)[p]), a snapshot
    at the log start counted as what is below it. And the epoch that r remembers after a restart is
    at least the one before.
    Judged: on what is appended, copied or pushed; at restarts. Excused: a new disk remembers
    nothing.
    No usual event breaks it: no log ever held a higher epoch than what it is given.
    """

    source = "MonotonicEpoch (RaftEventSimulationTest)"
    explained_by = "epochs_fell"
    in_stories = False
    unusual_only = True
    says = "{replica} holds epoch {epoch} at offset {offset} after epoch {before}."

    def begin(self) -> None:
        """Nobody has gone down yet."""
        self._epochs: dict[str, int] = {}

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """What it should remember."""
        self._epochs[event.replica] = event.epoch

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """A new disk remembers nothing."""
        self._epochs.pop(event.replica, None)

    def on_replica_restarted(self, event: ReplicaRestarted) -> None:
        """Compare with the epoch in which it went down."""
        before = self._epochs.get(event.replica, 0)
        if event.epoch < before:
            says = "{replica} came back in epoch {epoch}, having been in {before}."
            end, epoch = event.log_end_offset, event.epoch
            self.violated(event.replica, end, None, says, epoch=epoch, before=before)

    def on_written(self, event: Writing) -> None:
        """Compare each batch with the one before it, the first with what the log held."""
        batches = batches_of(event)
        before = self._epoch_below(event.replica, batches[0].base_offset)
        for batch in batches:
            if batch.epoch < before:
                self.violated(event.replica, batch.base_offset, epoch=batch.epoch, before=before)
            before = batch.epoch

    def _epoch_below(self, replica: str, base: int) -> int:
        """The epoch of what the log held last below `base`; -1 = it holds nothing there."""
        view = self.replicas[replica]
        start = view.log_start_offset
        for offset in range(base - 1, start - 1, -1):
            known = self.written.get(view.lineage[offset])
            if known is not None:
                return known.batch.epoch
        return max((epoch for end, epoch in view.snapshots if end == start), default=-1)
