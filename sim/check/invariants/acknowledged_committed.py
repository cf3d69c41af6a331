"""What `acks: all` promises: whoever is told that a batch is written is told of a committed one."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.check.replica_view import ReplicaView
from sim.trace import Acknowledged, Copied, HighWatermarkMoved, Quiesced


class AcknowledgedCommitted(Invariant):
    """Nothing is acknowledged with acks=all before it is committed by the run's rule.

    When leader L acknowledges [first, last] with acks=all at time t::

        for all o in [first, last]: o < HW(L, t)  and  C[o] = uid(L, o)  and  n(o) >= N

    HW(L, t) is L's high watermark; C[o] is the record that was committed at o first; n(o) is how
    many logs, of whoever, had offset o when it was committed or before (a crash may have taken it),
    and N what the rule asks for at least: min.insync.replicas with `commit: isr`, else one. That
    every member of the in-sync set, or a majority of the voters, has it is what a high watermark
    says; `committed-replicated` judges that. A leader that has not heard of its successor commits
    nothing by itself: what it acknowledges has to be C[o] at rest.

    Not judged: acks=1, which promises nothing here (`acknowledged-kept`), and an offset that was
    committed twice, of which `state-machine-safety` tells.
    """

    name = "acknowledged-committed"
    source = "producer configuration acks, topic configuration min.insync.replicas; DelayedProduce"
    family = LOG_DIVERGENCE
    explained_by = "acknowledged"
    in_stories = False

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """Nothing is committed yet."""
        super().__init__(queries, report)
        rules = self.history.rules
        self._needed = rules.topic.min_isr if rules.replication.commit == "isr" else 1
        self._seen = 0
        self._too_few: dict[int, int] = {}
        self._had_below: dict[str, int] = {}
        self._owed: list[tuple[str, int, int]] = []

    def needs(self, event: type) -> bool:
        """Who else has what a leader commits matters only where more than one log is asked for."""
        return self._needed > 1 or event in (Acknowledged, Quiesced)

    def on_copied(self, event: Copied) -> None:
        """Once it was there: a leader may have counted it before a crash took it."""
        if event.log_end_offset > self._had_below.get(event.replica, 0):
            self._had_below[event.replica] = event.log_end_offset

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Count who has what is committed just now."""
        if not event.leading:
            return
        committed = len(self.history.committed)
        for offset in range(self._seen, committed):
            found = sum([self._has(v, offset) for v in self.history.replicas.values()])
            if found < self._needed:
                self._too_few[offset] = found
        self._seen = committed

    def _has(self, view: ReplicaView, offset: int) -> bool:
        below = max(view.log_start_offset, self._had_below.get(view.name, 0))
        return offset < below or self.queries.has_committed(view, offset)

    def on_acknowledged(self, event: Acknowledged) -> None:
        """Compare what the producer is told with what is committed."""
        replica, _, _, first, last, _, acks = event
        if acks != "all":
            return
        end, history = last + 1, self.history
        view, committed = history.replicas[replica], history.committed
        if (
            end <= view.high_watermark
            and not self._too_few
            and committed[first:end] == view.lineage[first:end]
        ):
            return
        for offset in range(first, end):
            uid = view.lineage[offset] if offset < len(view.lineage) else 0
            if offset >= view.high_watermark:
                self._broken(replica, uid, offset, f"its high watermark is {view.high_watermark}")
            elif replica != history.leader:
                self._owed.append((replica, uid, offset))
            else:
                self._judge(replica, uid, offset)

    def on_quiesced(self, event: Quiesced) -> None:
        """Judge what leaders acknowledged that had not heard of their successors."""
        for replica, uid, offset in self._owed:
            self._judge(replica, uid, offset)

    def _judge(self, replica: str, uid: int, offset: int) -> None:
        committed = self.history.committed
        if offset >= len(committed):
            why = f"nothing is committed from {len(committed)} on"
        elif committed[offset] != uid:
            why = f"{self.describe(committed[offset])} is committed there"
        elif offset in self._too_few:
            why = f"{self._too_few[offset]} logs had it then, {self._needed} are needed"
        else:
            return
        self._broken(replica, uid, offset, why)

    def _broken(self, replica: str, uid: int, offset: int, why: str) -> None:
        if offset in self.history.committed_twice:
            return
        known = self.history.written.get(uid)
        key = None if known is None else known.key
        told = f"{replica} told a producer that {self.describe(uid)} at {offset} is committed"
        self.violated(replica, offset, key, f"{told}, but {why}.")
