"""The durability contract: the losses of unflushed records for which a protocol is not to blame.

Replication promises that a committed record is never lost as long as enough of the replicas that
had to have it keep it. Enough is:

* commit `isr`: one. At every moment some member of the in-sync set is up and has the record: that
  is the condition under which Kafka's documentation gives its guarantee (Design, Replication: one
  in-sync replica alive at all times), and a replica that comes back without its tail did not stay
  alive in that sense. So a loss is outside when it hits the last such member: the whole set loses
  power at once, or one loses its tail while the others are down (KIP-101, scenario 2) or have left
  the set (the last replica standing of KIP-966).
* commit `majority`: a majority of the voters, up or down, has the record on disk. Raft assumes
  stable storage (Raft, figure 2: persistent state). Replicas without the record are not elected
  because some majority has it, so a lost tail matters as soon as fewer have it, and not before.

Only tails that a crash takes count: a new disk is what `wipe` is about, and a record that a
follower never had, a cleaner removed or a truncation cut is the protocol's own doing, hence a
violation. From the loss on nothing is promised, so a run is not judged by what comes after.

An unclean election is no loss by itself. A record that the new leader never had is a violation, as
`unclean.leader.election.enable` warns; one that the last known leader lacks was lost in a crash,
and either the run has left the contract or an in-sync replica has it. `UncleanElection` in the
trace tells such violations apart.
"""

from __future__ import annotations

from sim.check.facts import ReplicaView
from sim.check.history import ClusterHistory
from sim.protocol.events import ReplicaCrashed

OUTSIDE = "outside-durability"
"""Name of the situation; the reason why such a run has no verdict begins with it."""


class DurabilityContract:
    """Notes how a run leaves the contract, if it does.

    Attributes:
        outside: Sentence about how the run left the contract; None if it did not.
    """

    def __init__(self, history: ClusterHistory) -> None:
        """Starts with a run within the contract."""
        self._history = history
        self.outside: str | None = None

    def on_crash(self, event: ReplicaCrashed) -> None:
        """Judges a crash before the history has taken it in."""
        if self.outside is None:
            crashed = self._history.replicas[event.replica]
            if event.log_end_offset < crashed.log_end_offset:
                self.outside = self._broken_by(crashed, event.log_end_offset)

    def _broken_by(self, crashed: ReplicaView, log_end_offset: int) -> str | None:
        """A sentence about the committed record that a crash takes for good; None without one.

        `crashed` is as before the crash; its log ends at `log_end_offset` (exclusive) after it.
        """
        history, isr = self._history, self._history.by_isr
        members, most = history.who_commits()
        others = [view for view in members if view is not crashed and (view.up or not isr)]
        needed = 1 if isr else most
        for offset in range(log_end_offset, min(crashed.log_end_offset, len(history.committed))):
            if offset < crashed.log_start_offset or not history.has_committed(crashed, offset):
                continue
            keepers = sum([history.accounts_for(view, offset) for view in others])
            if keepers < needed:
                record = history.describe(history.committed[offset])
                who = "in-sync replicas that are up" if isr else "voters"
                return (
                    f"{crashed.name} lost committed offset {offset} ({record}) with its unflushed "
                    f"tail; {keepers} {who} still have it, the contract needs {needed}."
                )
        return None
