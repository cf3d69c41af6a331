"""Judges which kind of answer a follower gets, by its request and the leader's log of then.

* A snapshot is for a follower that lacks what the log begins with, or whose epochs the log does not
  know any more; such a one gets no records (KIP-630; ReplicatedLog.validateOffsetAndEpoch).
* A follower is told to rebuild below a removed tombstone alone, and its leader counts on nothing of
  it from then on; it may copy a log from its beginning on while that does not change.
* An offset is out of range above the log end, below a log start without snapshots, or in an epoch
  that the leader does not know.
* Records are for a follower whose last epoch is that of the leader's log there, or a later one of
  which nothing is left: no batch below its offset is of a newer epoch (KIP-595).
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sim.protocol.replication import messages as of
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from tests.audits.sending import Answers, Failed


class Deserved(Answers):
    """The answers of leaders to the fetches of followers."""

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts before anything is asked."""
        super().__init__(cluster, failed)
        self._asked: dict[tuple[str, str], of.FetchRequest] = {}
        self._begun: dict[tuple[str, int, str], int] = {}

    def receives(self, name: str, message: Any, *, overdue: bool) -> None:
        """Notes the newest fetch of a follower."""
        if isinstance(message, of.FetchRequest):
            self._asked[name, message.follower] = message

    def sent(self, source: str, target: str, message: Any) -> None:
        """Judges the answer to that fetch."""
        if not isinstance(message, of.FetchResponse):
            return
        node, asked = self.nodes[source], self._asked.get((source, target))
        leads = node.replica.leadership
        if leads is None or asked is None or asked.correlation_id != message.correlation_id:
            return
        if message.answer is of.RECORDS:
            self._records(node, asked)
            return
        reasons = {
            of.Answer.SNAPSHOT: self._lacks_the_beginning(node, asked),
            of.Answer.REBUILD: self._missed_a_removal(node, asked),
            of.Answer.OUT_OF_RANGE: self._is_out_of_range(node, asked),
            of.Answer.STALE_LEADER: asked.epoch > leads.epoch,
        }
        deserved = reasons.get(message.answer, True)
        self.wrong(source, f"answers {target} at {asked.offset}: {message.answer}", deserved, True)
        if message.answer is of.Answer.REBUILD:
            self.wrong(source, f"counts on {target}", leads.positions.get(target), None)

    def _records(self, node: Node, asked: of.FetchRequest) -> None:
        replica, name, rules = node.replica, node.name, self.rules.replication
        what = f"gives records to {asked.follower} at {asked.offset}"
        lacks = self.context.retention is None and self._lacks_the_beginning(node, asked)
        self.wrong(name, f"{what}, which needs a snapshot", lacks, False)
        self.wrong(name, f"{what}, which has missed a removal", self._missed(node, asked), False)
        if rules.truncation != "epoch_diverging" or self.old_epochs or asked.last_epoch < 0:
            return
        if asked.last_epoch < replica.log.epochs.latest:
            newer = [
                one.base_offset
                for one in replica.log.batches()
                if one.base_offset < asked.offset and one.epoch > asked.last_epoch
            ]
            self.wrong(name, f"{what} in epoch {asked.last_epoch} above newer ones", newer, [])
        if asked.offset > replica.log.log_end_offset:
            self.wrong(name, what, "above its log end", "nothing")

    def _lacks_the_beginning(self, node: Node, asked: of.FetchRequest) -> bool:
        replica, rules, offset = node.replica, self.rules.snapshots, asked.offset
        start = replica.log.log_start_offset
        if offset < start or rules.snapshot_offer == "below_start" or not replica.snapshots:
            return offset < start
        oldest = min(replica.snapshots).epoch
        if rules.bootstrap_snapshot and replica.disk == 1 and start == 0:
            oldest = 0
        at_start = offset == start > 0 and asked.last_epoch != oldest
        return offset == 0 or at_start or asked.last_epoch < oldest

    def _missed_a_removal(self, node: Node, asked: of.FetchRequest) -> bool:
        guarded = self.rules.replication.lag_guard != "none"
        return guarded and asked.offset < node.replica.removed_tombstone_end

    def _missed(self, node: Node, asked: of.FetchRequest) -> bool:
        """Decides whether a follower missed a removal that it does not copy the log without."""
        replica, leads = node.replica, node.replica.leadership
        assert leads is not None
        place, removed = (node.name, leads.epoch, asked.follower), replica.removed_tombstone_end
        beginning = replica.log.log_start_offset if self.context.retention is not None else 0
        if asked.offset <= beginning or (
            beginning == 0 and self._is_behind_a_snapshot(node, asked)
        ):
            self._begun[place] = removed
        return self._missed_a_removal(node, asked) and self._begun.get(place, 0) < removed

    def _is_behind_a_snapshot(self, node: Node, asked: of.FetchRequest) -> bool:
        """Decides whether a follower is where the snapshot ends that a new one is given."""
        newest = max(node.replica.snapshots, default=None)
        from_nothing = replace(asked, offset=0, last_epoch=-1)
        at_its_end = newest is not None and asked.offset == newest.end_offset
        return at_its_end and self._lacks_the_beginning(node, from_nothing)

    def _is_out_of_range(self, node: Node, asked: of.FetchRequest) -> bool:
        log = node.replica.log
        unknown = self.rules.replication.unknown_epoch == "undefined"
        below = self.context.retention is not None and asked.offset < log.log_start_offset
        above = asked.offset > log.log_end_offset
        return below or above or (unknown and asked.last_epoch > log.epochs.latest)
