"""What a replica keeps beside its log agrees with the log."""

from sim.check.invariant import Invariant
from sim.protocol.events import HighWatermarkMoved, ReplicaCrashed, StateDiffers, Truncated


class DerivedState(Invariant):
    """What is derived from a log is what the batches of the log say.

    For all replicas r that are up, with B the batches of r's log and K what r keeps beside them::

        newest batch of data in B of a producer      = the last one K has, or K has a later one,
                                                       of which nothing is left in B
        the last batch of a producer in K            is not what a cleaning pass has just taken
        epoch of its last batch or marker in B       <= the epoch in K
        first batch in B after its last marker there = the open transaction in K
        marker in B, at or above hw(r)               is among the decided transactions in K
        ABORT marker in B with data below it         has its entry in an index in K
        newest epoch in K that starts at or below b  = the epoch of b, for all b in B
        base of the active segment <= recovery point in K <= end(r)
        base of the first segment  <= log start in K      <= end(r)
        acknowledged end, mark of a begun pass in K           <= end(r)
        compacted offset in K      <= end(r), or <= the removal bound in K
        size of a segment in K     = the sum of its batches, which lie in order within it
        cleaner's checkpoint in K  <= end(r); the base of the active segment where passes end there

    Judged: after cuts, restarts, cleaning passes, when a log begins anew or later, when producers
    are forgotten, and at rest, where the replica is: the event has what differs, by code of its own
    (`sim.protocol.replication.audit`, which says with its sources what the log does not show any
    more).
    Excused: producers forgotten since; markers that were cleaned away; what a cut leaves to a
    snapshot of producers; epochs that fall along the log; replicas that are down; decisions that
    were below a high watermark that a new leader has set back since: they are dropped for good
    (ProducerStateManager.onHighWatermarkUpdated).
    """

    source = "ProducerStateManager, TransactionIndex, LeaderEpochFileCache, UnifiedLog.roll"
    explained_by = "kept_beside"
    in_stories = False
    says = "{replica} keeps {kept} for the {what} at {offset}, but its log says {by_log}."

    def begin(self) -> None:
        """No high watermark was set back yet."""
        self._set_back_from: dict[str, int] = {}

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Remember how far one had been that is lower now."""
        before = self.history.previous_high_watermark
        if event.high_watermark < before:
            highest = max(before, self._set_back_from.get(event.replica, 0))
            self._set_back_from[event.replica] = highest

    def on_truncated(self, event: Truncated) -> None:
        """What comes behind the cut is decided anew."""
        highest = self._set_back_from.get(event.replica, 0)
        self._set_back_from[event.replica] = min(highest, event.target)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """It reads its log again."""
        self._set_back_from.pop(event.replica, None)

    def on_state_differs(self, event: StateDiffers) -> None:
        """Report it, if it is a difference."""
        was_below = event.offset < self._set_back_from.get(event.replica, 0)
        if was_below and event.what.startswith("unreplicated") and event.kept == "nothing":
            return
        if event.kept != event.by_log:
            what = event.what if event.about is None else f"{event.what} of producer {event.about}"
            told = {"kept": event.kept, "by_log": event.by_log}
            self.violated(event.replica, event.offset, None, what=what, **told)
