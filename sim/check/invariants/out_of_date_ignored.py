"""What is out of date for its receiver changes nothing there."""

from sim.check.invariant import Invariant
from sim.protocol.events import AuditFailed


class OutOfDateIgnored(Invariant):
    """A message that is out of date leaves what it speaks of as it was.

    For all messages m that come to a replica or the controller x, with s(x) the part of the state
    of x that m speaks of::

        m answers a request of an earlier life of x, or not its last one, or is of an epoch
        below that of x, or for another place than x asks for          => s(x) after = s(x) before
        m was sent in an earlier life of its sender than x has heard of, or, where fetches have
        sessions, before another one that x has had                     => s(x) after = s(x) before
        m grants a vote for another candidacy than the present one      => s(x) after = s(x) before
        m is a state of the partition that is older than one x was told => s(x) after = s(x) before
        m asks for an in-sync set from another state, or by somebody who does not lead
                                                                        => s(x) after = s(x) before
        m asks for a vote that x may not grant, or wants acks=all of x with too few in sync
                                                                        => s(x) after = s(x) before

    Judged: as each message comes (`sim.simulate.cluster.witness`, which says what each kind speaks
    of); an event tells what changed.
    Excused: what `fencing`, `response_fencing` or `vote_storage` allow; a fetch of an earlier epoch
    that comes in time, and one without a session, which are believed
    (LeaderState.updateReplicaState); a download that is dropped for such a message.
    """

    source = "KIP-101, KIP-320, KIP-497, KIP-903, KIP-966; Raft 5.1"
    in_stories = False
    says = "{what} had an effect: {found}, {expected} before."

    def on_audit_failed(self, event: AuditFailed) -> None:
        """Report it, if something has changed by a message."""
        if event.audit == "message" and event.found != event.expected:
            told = {"found": event.found, "expected": event.expected}
            self.violated(event.replica, what=event.what, **told)
