"""What committing means: enough replicas have the record."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
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
    """

    name = "committed-replicated"
    source = "StrongIsr; MajorityReachedHighWatermark (RaftEventSimulationTest)"
    family = LOG_DIVERGENCE
    explained_by = "committed_without"
    unusual_only = True

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Judge the advance of a leader's high watermark."""
        if event.leading:
            self._judge(event.replica, f"{event.replica} moved its high watermark to")

    def on_isr_changed(self, event: IsrChanged) -> None:
        """Judge an expansion of the in-sync set, not that of a deposed leader."""
        if event.joined is not None and event.replica == self.history.leader:
            self._judge(event.replica, f"{event.joined} joined the in-sync set at high watermark")

    def _judge(self, leader: str, what: str) -> None:
        history = self.history
        what = f"{what} {history.replicas[leader].high_watermark}"
        below = len(history.committed)
        members = history.isr if history.rules.replication.commit == "isr" else history.voters
        missing: list[tuple[str, int]] = []
        for name in members:
            offset = self.queries.first_missing(history.replicas[name], below, twice_counts=False)
            if offset is not None:
                missing.append((name, offset))
        if history.rules.replication.commit == "isr":
            for name, offset in missing:
                self._report_missing(name, offset, what, "in-sync replica")
        elif len(missing) > len(members) - (len(members) // 2 + 1):
            self._judge_majority(members, what)

    def _judge_majority(self, voters: tuple[str, ...], what: str) -> None:
        """Some voters lack something; report the offsets that too few have."""
        history, has = self.history, self.queries.has_committed
        needed = len(voters) // 2 + 1
        views = [history.replicas[name] for name in voters]
        for offset in range(len(history.committed)):
            if offset in history.committed_twice:
                continue
            having = sum(1 for view in views if offset < view.log_start_offset or has(view, offset))
            if having < needed:
                lacking = next(
                    view
                    for view in views
                    if offset >= view.log_start_offset and not has(view, offset)
                )
                self._report_missing(lacking.name, offset, what, f"one of {needed} needed voters")
                return

    def _report_missing(self, name: str, offset: int, what: str, role: str) -> None:
        history = self.history
        end = history.replicas[name].log_end_offset
        self.violated(
            name,
            offset,
            None,
            f"{what}, but {name}, {role}, log end offset {end}, lacks "
            f"committed offset {offset} ({self.describe(history.committed[offset])}).",
        )
