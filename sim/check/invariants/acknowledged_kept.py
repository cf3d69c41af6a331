"""What `acks: 1` risks: a batch that was acknowledged and then lost with its leader."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Kind, Report
from sim.trace import Acknowledged, Quiesced


class AcknowledgedKept(Invariant):
    """What a producer was told to be written, before it was committed, is committed in the end.

    For all records x that a leader acknowledged with acks=1: x.offset < N and
    committed[x.offset] = x.
    Judged: at rest. With `acks: 1` nobody promises that: it is a finding. Excused: acks=all, which
    `acknowledged-committed` judges.
    """

    name = "acknowledged-kept"
    kind = Kind.FINDING
    source = "producer configuration acks; KIP-966, Motivation"
    family = LOG_DIVERGENCE
    explained_by = "acknowledged"
    in_stories = False

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """Nothing was acknowledged yet."""
        super().__init__(queries, report)
        self._promised: dict[int, str] = {}

    def on_acknowledged(self, event: Acknowledged) -> None:
        """A promise that waits for nobody else."""
        if event.acks == "1":
            held = self.history.replicas[event.replica].lineage
            for uid in held[event.first_offset : event.last_offset + 1]:
                if uid in self.history.written:
                    self._promised[uid] = event.replica

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare with what was committed."""
        del event
        history = self.history
        for uid, leader in self._promised.items():
            record = history.written[uid].record
            committed = record.offset < len(history.committed)
            if not committed or history.committed[record.offset] != uid:
                self.violated(
                    leader,
                    record.offset,
                    record.key,
                    f"{leader} acknowledged {self.describe(uid)}, which was never committed.",
                )
