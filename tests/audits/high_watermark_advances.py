"""What is everywhere it has to be is committed, and soon."""

from collections import Counter
from typing import Final

from sim.check.listening import REPLACED
from sim.protocol import events as on
from sim.simulate.faults import INSTANT_FAULTS
from tests.audits.law import Law

BOUND_MS: Final = 10_000
"""How long a high watermark may stand below what the in-sync set has: some ten rounds of fetching
over the slowest link of a random scenario, each with an answer that is lost and waited for."""


class HighWatermarkAdvances(Law):
    """A high watermark does not stand still below what those who commit have.

    With L the leader of the newest epoch, M the members that commit, end(m, t) where m's log ends
    and HW(L, t) its high watermark::

        E(t) = min of end(m, t) over M = the in-sync set            (commit: isr)
        E(t) = the end that a majority of M = the voters reaches    (commit: majority)

        e <= E(u) for all u in [t, t + B], in peace   =>   e <= HW(L, t + B)

    Where the high watermark waits for who is about to join (`high_watermark_waits_for`), M has the
    other replicas that are up, too: who of them had caught up is the leader's to know.

    B is `BOUND_MS`; at rest it is 0, since everybody's last fetch has arrived. In peace: all of it
    in one epoch of one leader with one in-sync set, no log is cut or begun anew, and no fault that
    lasts (an outage, a partition, a slow fetcher) is going on. A leader that announces the set that
    it had before, in whatever order, has changed nothing.

    With a bound it is judged like safety, so in sweeps, too. Left out, since nothing commits there:
    fewer than min.insync.replicas in sync, and with `commit: majority` what ends at or below the
    start of the leader's epoch (Raft, 5.4.2), or where a majority is not up. Looked at when
    something is appended, and at rest: what is due later than the last append is judged at rest.
    """

    name = "high-watermark-advances"
    source = "Partition.maybeIncrementLeaderHW; KIP-392; KIP-595, Quorum State; Raft, 5.3"
    fairness = "for 10 s one leader and in-sync set, all of them up, and no fault going on"
    says = "{replica} has its high watermark at {offset} "
    any_of = (on.LeaderResigned, on.Truncated, *REPLACED)

    def begin(self) -> None:
        """Nothing is due."""
        rules = self.history.rules.replication
        self._by_isr = self.history.by_isr
        self._at_least = max(self.history.rules.topic.min_isr, 1) if self._by_isr else 1
        self._joining = rules.high_watermark_waits_for != "in_sync_set"
        self._going_on: Counter[tuple[str, str]] = Counter()
        self._due = 0
        self._since_ms: int | None = None
        self._in_sync: set[str] = set()

    def on_appended(self, event: on.Appended) -> None:
        """Look what is due, and whether what was due has come."""
        replica, batch, history = event.replica, event.batch, self.history
        if replica != history.leader:
            return
        mark, now_ms = self.replicas[replica].high_watermark, history.at
        if batch.base_offset <= mark:  # all that anybody else may have is committed
            self._since_ms = None
            return
        if self._since_ms is not None:
            if mark >= self._due:
                self._since_ms = None
            elif now_ms - self._since_ms > BOUND_MS:
                self._report_stuck(replica, mark, "for {waited_ms} ms", self._since_ms)
                self._since_ms = None
        if self._since_ms is None and not self._going_on:
            reached = self._reached()
            if reached > mark:
                self._due, self._since_ms = reached, now_ms

    def on_quiesced(self, event: on.Quiesced) -> None:
        """Nothing is on its way any more."""
        leader = self.history.leader
        if event.synced and leader is not None and leader == event.replica:
            mark = self.replicas[leader].high_watermark
            self._due = self._reached()
            if mark < self._due:
                self._report_stuck(leader, mark, "at rest", None)

    def _reached(self) -> int:
        """Up to where those who commit have the leader's log (exclusive); 0 = nobody commits."""
        history, views = self.history, self.replicas
        leader = history.leader
        if leader is None or not views[leader].up:
            return 0
        members, needed = history.who_commits()
        ends = sorted([len(view.slots) for view in members if view.up])
        if len(ends) < max(needed, self._at_least):
            return 0
        reached = min(ends[-needed], len(views[leader].slots))
        if self._by_isr and self._joining:
            reached = min([reached, *[len(view.slots) for view in views.values() if view.up]])
        return reached if self._by_isr or reached > history.epoch_start else 0

    def _report_stuck(self, leader: str, mark: int, when: str, began: int | None) -> None:
        who = "every in-sync replica" if self._by_isr else "a majority of the voters"
        says = f"{self.says}{when}; {who} has its log up to {{reached}}."
        waited = None if began is None else self.history.at - began
        self.broken(leader, mark, None, says, waited_ms=waited, reached=self._due)

    # What disturbs the peace.

    def on_fault_injected(self, event: on.FaultInjected) -> None:
        """Nothing is due as long as it lasts."""
        self._since_ms = None
        if event.fault not in INSTANT_FAULTS:
            self._going_on[event.replica, event.fault] += 1

    def on_fault_ended(self, event: on.FaultEnded) -> None:
        """It is over."""
        fault = (event.replica, event.fault)
        self._going_on[fault] -= 1
        if self._going_on[fault] <= 0:
            del self._going_on[fault]

    def on_leader_elected(self, _: on.LeaderElected) -> None:
        """Another leader begins to learn who has what."""
        self._in_sync = {*self.history.isr}
        self._since_ms = None

    def on_isr_changed(self, _: on.IsrChanged) -> None:
        """Others commit, if the set of the newest leader is another one than it was."""
        in_sync = {*self.history.isr}
        if in_sync != self._in_sync:
            self._in_sync = in_sync
            self._since_ms = None

    def on_any_of(self, event: on.Event) -> None:
        """Nobody leads, or a log is shorter or gone."""
        self._since_ms = None
