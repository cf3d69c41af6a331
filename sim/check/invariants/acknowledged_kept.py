"""What `acks: 1` risks: a batch that was acknowledged and then lost with its leader."""

from sim.check.invariant import Kind, LogInvariant
from sim.protocol.events import Acknowledged, Quiesced


class AcknowledgedKept(LogInvariant):
    """What a producer was told to be written, before it was committed, is committed in the end.

    For all records x that a leader acknowledged with acks=1: x.offset < N and
    committed[x.offset] = x.
    Judged: at rest. With `acks: 1` nobody promises that: it is a finding. Excused: acks=all, which
    audits judge (`tests.audits`).
    """

    kind = Kind.FINDING
    source = "producer configuration acks; KIP-966, Motivation"
    explained_by = "acknowledged"
    in_stories = False
    says = "{replica} acknowledged {record}, which was never committed."

    def begin(self) -> None:
        """Nothing was acknowledged yet."""
        self._promised: dict[int, str] = {}

    def on_acknowledged(self, event: Acknowledged) -> None:
        """A promise that waits for nobody else."""
        if event.acks == "1":
            held = self.replicas[event.replica].lineage
            for uid in held[event.first_offset : event.last_offset + 1]:
                if uid in self.written:
                    self._promised[uid] = event.replica

    def on_quiesced(self, _: Quiesced) -> None:
        """Compare with what was committed."""
        for uid, leader in self._promised.items():
            if not self.history.in_committed_history(uid):
                self.violated_by(leader, uid)
