"""Majorities: what older leaders wrote is committed by what the present one writes."""

from sim.protocol.events import HighWatermarkMoved
from tests.audits.law import Law


class CommitsOwnEpoch(Law):
    """A leader that counts majorities commits a record of its own epoch, and so what is below it.

    With `commit: majority`, for the leader L of the newest epoch, whose high watermark moves to N:
    start(L) < N, where L's epoch begins at start(L). Else what a majority has of older epochs may
    be overwritten by a leader that has not got it (Raft, figure 8).
    Judged: as it moves. Excused: nothing.
    """

    name = "commits-own-epoch"
    source = "Raft, 5.4.2; LeaderState.maybeUpdateHighWatermark; KAFKA-12619"
    says = (
        "{replica} moved its high watermark to {offset}, where it has written nothing yet: its "
        "epoch begins at {epoch_start}."
    )

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Compare."""
        replica, mark, history = event.replica, event.high_watermark, self.history
        newest = event.leading and replica == history.leader
        if newest and mark <= history.epoch_start and not history.by_isr:
            self.broken(replica, mark, epoch_start=history.epoch_start)
