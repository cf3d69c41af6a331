"""Majorities: what older leaders wrote is committed by what the present one writes."""

from sim.check.invariant import LogInvariant
from sim.trace import HighWatermarkMoved, LeaderElected


class CommitsOwnEpoch(LogInvariant):
    """A leader that counts majorities commits a record of its own epoch, and so what is below it.

    With `commit: majority`, for all leaders L whose high watermark moves to N: start(L) < N, where
    L's epoch begins at start(L). Else what a majority has of older epochs may be overwritten by a
    leader that has not got it (Raft, figure 8).
    Judged: as it moves. Excused: nothing.
    """

    source = "Raft, 5.4.2; LeaderState.maybeUpdateHighWatermark; KAFKA-12619"
    explained_by = "committed_without"
    in_stories = False
    says = (
        "{replica} moved its high watermark to {offset}, where it has written nothing yet: its "
        "epoch begins at {epoch_start}."
    )

    def begin(self) -> None:
        """Nobody leads."""
        self._starts: dict[str, int] = {}

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Remember where its epoch begins."""
        self._starts[event.replica] = event.epoch_start_offset

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Compare."""
        replica, mark, leading = event
        if leading and not self.history.by_isr and mark <= self._starts.get(replica, -1):
            self.violated(replica, mark, epoch_start=self._starts[replica])
