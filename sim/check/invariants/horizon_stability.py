"""Delete horizons are set once (KIP-534)."""

from sim.check.invariant import Invariant
from sim.protocol.events import Cleaned


class HorizonStability(Invariant):
    """A delete horizon, once set, does not change as long as the log has the batch.

    For all passes of r that give the batch at base offset b a horizon h: no earlier pass gave it
    another, nor was it copied with another.
    Judged: after each pass. Excused: what was cut or lost and copied again is another batch.
    Not judged: that a horizon is at least one retention after the pass that took the last older
    value on this replica. Kafka promises less: a follower inherits horizons with the batches that
    it copies, and a round whose map was full may stamp a tombstone before it takes the value.
    No usual event breaks it: a usual pass sets no delete horizon.
    """

    source = "KIP-534"
    explained_by = "horizon_changed"
    in_stories = False
    unusual_only = True
    says = (
        "{replica} moved the delete horizon of the batch at {offset} from {before_ms} ms to "
        "{horizon_ms} ms."
    )

    def on_cleaned(self, event: Cleaned) -> None:
        """Compare with the horizon the same batch had, set by a pass or copied with it."""
        for base, before, horizon in self.history.moved_horizons:
            self.violated(event.replica, base, before_ms=before, horizon_ms=horizon)
