"""Leaders, the controller and voters decide what they may, and in time."""

from sim.check.invariant import Invariant
from sim.protocol.events import AuditFailed


class DecisionJustified(Invariant):
    """Who leads, who is in sync and what is committed follows from what is true at that moment.

    With e the epoch of a leader l, V its voters, P and P' two states of the partition of which the
    controller made the second from the first, S the newest state that l was told::

        l is elected by majority          => more than |V| / 2 of V have (e, l) on disk, or had it
        l leads                           => l has seen no epoch above e, and does nothing else
        l leads by majority               => it heard more than |V| / 2 of V in two fetch timeouts
        leader(P')                        in isr(P'), not fenced, in isr(P) + elr(P)
        isr(P') - isr(P)                  not fenced
        elr(P')                           in isr(P) + elr(P), without those back from a crash
        l commits below h                 => |isr(S)| >= min.insync.replicas, and h <= the position
                                             of each replica that is about to join
        a replica joins the set of l      => it is not fenced in S, in the life l hears of
        a snapshot is taken below b       => no transaction reaches across b
        a disk of r is lost               => l counts on no position of r, and lets no fetch wait
        a pass failed                     => no other one before a restart
        a snapshot is installed           => log start = log end = high watermark = its end
        markers may go below b            => no log has data of a transaction below b

    Judged: at these events, by what is on the disks and in the messages of everybody
    (`sim.simulate.cluster.decisions`); an event tells what is wrong.
    Excused: unclean elections; voters that lost their disk or have moved on to a later epoch;
    without `fencing`, `check_quorum`, votes on disk, or waiting for those who join, what these say.
    """

    source = "KIP-497, KIP-595, KIP-903, KIP-966; Raft 5.2"
    in_stories = False
    says = "{replica}: {what}: {found}; it should be {expected}."

    def on_audit_failed(self, event: AuditFailed) -> None:
        """Report it, if something else was found than should be."""
        if event.audit == "decision" and event.found != event.expected:
            told = {"found": event.found, "expected": event.expected}
            self.violated(event.replica, what=event.what, **told)
