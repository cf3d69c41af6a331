"""What committing means: enough replicas have the record."""

from sim.check.invariant import LogInvariant
from sim.check.replica_view import ReplicaView
from sim.protocol.events import HighWatermarkMoved, IsrChanged


class CommittedReplicated(LogInvariant):
    """Who has to have committed offsets has them: every in-sync replica, or a majority.

    `commit: isr`: for all members r of the in-sync set, offsets start(r) <= o < N: r has o.
    `commit: majority`: for all offsets o < N: more than half of the voters have o, or start above
    it.
    Judged: when a leader's high watermark moves, and when a replica is admitted by its position
    (not when a controller names the set, nor for the set of a deposed leader). N is all that was
    ever committed, also what the present leader does not know to be. Excused: offsets that were
    committed twice (see `committed-never-lost`).
    No usual event breaks it: those who have to have what is committed lack no offset, and have
    none unexplained.
    """

    source = "StrongIsr; MajorityReachedHighWatermark (RaftEventSimulationTest)"
    explained_by = "committed_without"
    unusual_only = True
    says = ", log end offset {log_end}, lacks committed offset {offset} ({record})."

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Judge the advance of a leader's high watermark."""
        if event.leading:
            self._judge("{leader} moved its high watermark to", event.replica, None)

    def on_isr_changed(self, event: IsrChanged) -> None:
        """Judge an expansion of the in-sync set, not that of a deposed leader."""
        joined = event.joined
        if joined is not None and event.replica == self.history.leader:
            what = "{joined} joined the in-sync set at high watermark"
            self._judge(what, event.replica, joined)

    def _judge(self, what: str, leader: str, joined: str | None) -> None:
        history, below, by_isr = self.history, len(self.committed), self.history.by_isr
        members, needed = history.who_commits()
        first_missing = [
            (view, history.first_missing(view, below, twice_counts=False)) for view in members
        ]
        missing = [(view, offset) for view, offset in first_missing if offset is not None]
        if not by_isr:
            too_few = len(missing) > len(members) - needed
            missing = self._lacked_by_too_many(members, needed) if too_few else []
        who = "in-sync replica" if by_isr else "one of {needed} needed voters"
        says = f"{what} {{high_watermark}}, but {{replica}}, {who}{self.says}"
        leading = {"leader": leader, "joined": joined}
        counts = {"needed": needed, "high_watermark": self.replicas[leader].high_watermark}
        for view, offset in missing:
            end, uid = view.log_end_offset, self.committed[offset]
            self.violated(
                view.name, offset, None, says, log_end=end, record=uid, **leading, **counts
            )

    def _lacked_by_too_many(
        self, voters: list[ReplicaView], needed: int
    ) -> list[tuple[ReplicaView, int]]:
        """The first offset that too few voters have, with the first of those that lack it."""
        for offset in range(len(self.committed)):
            if offset not in self.history.committed_twice:
                lacking = [v for v in voters if not self.history.accounts_for(v, offset)]
                if len(voters) - len(lacking) < needed:
                    return [(lacking[0], offset)]
        return []
