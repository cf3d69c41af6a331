"""What a replica keeps beside its log agrees with the log."""

from sim.check.invariant import Invariant
from sim.trace import StateDiffers


class DerivedState(Invariant):
    """What is derived from a log is what the batches of the log say.

    For all replicas r that are up, with B the batches of r's log and K what r keeps beside them::

        newest batch of data in B of a producer      = the last one K has, or K has a later one,
                                                       of which nothing is left in B
        epoch of its last batch or marker in B       <= the epoch in K
        first batch in B after its last marker there = the open transaction in K
        marker in B, at or above hw(r)               is among the decided transactions in K
        ABORT marker in B with data below it         has its entry in an index in K
        newest epoch in K that starts at or below b  = the epoch of b, for all b in B
        base of the active segment <= recovery point in K <= end(r)
        base of the first segment  <= log start in K      <= end(r)
        cleaner's checkpoint in K  <= end(r); the base of the active segment where passes end there

    Judged: after cuts, restarts, cleaning passes, when a log begins anew or later, when producers
    are forgotten, and at rest, where the replica is: the event has what differs, by code of its own
    (`sim.replication.audit`, which says with its sources what the log does not show any more).
    Excused: producers forgotten since; markers that were cleaned away; what a cut leaves to a
    snapshot of producers; epochs that fall along the log; replicas that are down.
    """

    source = "ProducerStateManager, TransactionIndex, LeaderEpochFileCache, UnifiedLog.roll"
    explained_by = "kept_beside"
    in_stories = False
    says = "{replica} keeps {kept} for the {what} at {offset}, but its log says {by_log}."

    def on_state_differs(self, event: StateDiffers) -> None:
        """Report it, if it is a difference."""
        if event.kept != event.by_log:
            what = event.what if event.about is None else f"{event.what} of producer {event.about}"
            told = {"kept": event.kept, "by_log": event.by_log}
            self.violated(event.replica, event.offset, None, what=what, **told)
