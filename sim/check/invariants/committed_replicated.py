"""What committing means: enough replicas have the record."""

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.check.replica_view import ReplicaView
from sim.trace import HighWatermarkMoved, IsrChanged


class CommittedReplicated(Invariant):
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

    name = "committed-replicated"
    source = "StrongIsr; MajorityReachedHighWatermark (RaftEventSimulationTest)"
    family = LOG_DIVERGENCE
    explained_by = "committed_without"
    unusual_only = True
    says = (
        "{what} {high_watermark}, but {replica}, {role}, log end offset {log_end}, lacks "
        "committed offset {offset} ({record})."
    )

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Judge the advance of a leader's high watermark."""
        if event.leading:
            self._judge(event.replica, f"{event.replica} moved its high watermark to")

    def on_isr_changed(self, event: IsrChanged) -> None:
        """Judge an expansion of the in-sync set, not that of a deposed leader."""
        if event.joined is not None and event.replica == self.history.leader:
            self._judge(event.replica, f"{event.joined} joined the in-sync set at high watermark")

    def _judge(self, leader: str, what: str) -> None:
        history, below = self.history, len(self.committed)
        by_isr = history.rules.replication.commit == "isr"
        members = [self.replicas[name] for name in (history.isr if by_isr else history.voters)]
        missing: list[tuple[ReplicaView, int]] = []
        for view in members:
            offset = self.queries.first_missing(view, below, twice_counts=False)
            if offset is not None:
                missing.append((view, offset))
        if by_isr:
            for view, offset in missing:
                self._report_missing(leader, view, offset, what, "in-sync replica")
        elif len(missing) > len(members) - (len(members) // 2 + 1):
            self._judge_majority(leader, members, what)

    def _judge_majority(self, leader: str, voters: list[ReplicaView], what: str) -> None:
        """Some voters lack something; report the first offset that too few have."""
        has, needed = self.queries.has_committed, len(voters) // 2 + 1
        for offset in range(len(self.committed)):
            if offset in self.history.committed_twice:
                continue
            lacking = [v for v in voters if offset >= v.log_start_offset and not has(v, offset)]
            if len(voters) - len(lacking) < needed:
                role = f"one of {needed} needed voters"
                self._report_missing(leader, lacking[0], offset, what, role)
                return

    def _report_missing(
        self, leader: str, view: ReplicaView, offset: int, what: str, role: str
    ) -> None:
        self.violated(
            view.name,
            offset,
            what=what,
            high_watermark=self.replicas[leader].high_watermark,
            role=role,
            log_end=view.log_end_offset,
            record=self.describe(self.committed[offset]),
        )
