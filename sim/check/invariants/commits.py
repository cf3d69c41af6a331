"""What is committed stays: one record per offset, on everybody who has to have it."""

from __future__ import annotations

from sim.check.ledger import Ledger
from sim.check.registry import Invariant, Kind, Reporter, invariant
from sim.trace import (
    AcknowledgedEarly,
    HighWatermarkMoved,
    IsrChanged,
    Quiesced,
)


@invariant
class StateMachineSafety(Invariant):
    """No offset is ever committed with two different records."""

    name = "state-machine-safety"
    source = "Raft 5.4.3"

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Look at what this advance committed again."""
        if not event.leading:
            return
        ledger = self.ledger
        for offset, uid in ledger.recommitted:
            first = ledger.describe(ledger.committed[offset])
            self.violated(
                event.replica,
                offset,
                None,
                f"offset {offset} was committed as {first} and again as {ledger.describe(uid)} "
                f"when {event.replica} moved its high watermark to {event.high_watermark}.",
            )


@invariant
class CommittedReplicated(Invariant):
    """Who has to have committed offsets has them: every in-sync replica, or a majority.

    All that was ever committed counts, also what the present leader does not know to be.
    """

    name = "committed-replicated"
    source = "StrongIsr; MajorityReachedHighWatermark (RaftEventSimulationTest)"

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Judge the advance of a leader's high watermark."""
        if event.leading:
            self._judge(event.replica, f"{event.replica} moved its high watermark to")

    def on_isr_changed(self, event: IsrChanged) -> None:
        """Judge an expansion of the in-sync set, not that of a deposed leader."""
        if event.joined is not None and event.replica == self.ledger.leader:
            self._judge(event.replica, f"{event.joined} joined the in-sync set at high watermark")

    def _judge(self, leader: str, what: str) -> None:
        ledger = self.ledger
        what = f"{what} {ledger.disks[leader].hw}"
        below = len(ledger.committed)
        members = ledger.isr if ledger.rules.replication.commit == "isr" else ledger.voters
        missing: list[tuple[str, int]] = []
        for name in members:
            offset = ledger.first_missing(ledger.disks[name], below, twice_counts=False)
            if offset is not None:
                missing.append((name, offset))
        if ledger.rules.replication.commit == "isr":
            for name, offset in missing:
                self._report_missing(name, offset, what, "in-sync replica")
        elif len(missing) > len(members) - (len(members) // 2 + 1):
            self._judge_majority(members, what)

    def _judge_majority(self, voters: tuple[str, ...], what: str) -> None:
        """Some voters lack something; report the offsets that too few have."""
        ledger = self.ledger
        needed = len(voters) // 2 + 1
        disks = [ledger.disks[name] for name in voters]
        for offset in range(len(ledger.committed)):
            if offset in ledger.committed_twice:
                continue
            having = sum(1 for d in disks if offset < d.start or ledger.has_committed(d, offset))
            if having < needed:
                lacking = next(
                    d for d in disks if offset >= d.start and not ledger.has_committed(d, offset)
                )
                self._report_missing(lacking.name, offset, what, f"one of {needed} needed voters")
                return

    def _report_missing(self, name: str, offset: int, what: str, role: str) -> None:
        ledger = self.ledger
        self.violated(
            name,
            offset,
            None,
            f"{what}, but {name}, {role}, log end offset {ledger.disks[name].leo}, lacks "
            f"committed offset {offset} ({ledger.describe(ledger.committed[offset])}).",
        )


@invariant
class CommittedNeverLost(Invariant):
    """Each committed record is on the leader, or its absence there is justified."""

    name = "committed-never-lost"
    kind = Kind.AT_REST
    source = "KIP-101; CommittedIsDurable (etcd raft)"

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare the leader's disk with the ledger."""
        if event.replica is None:
            return
        ledger = self.ledger
        disk = ledger.disks[event.replica]
        candidates = [o for o in sorted(disk.suspects) if o < len(ledger.committed)]
        candidates += range(max(disk.leo, disk.start), len(ledger.committed))
        for offset in candidates:
            uid = ledger.committed[offset]
            if offset < disk.start or offset in ledger.committed_twice or disk.at(offset) == uid:
                continue
            if not ledger.excused(uid):
                self.violated(
                    event.replica,
                    offset,
                    ledger.written[uid].record.key,
                    f"committed {ledger.describe(uid)} is not on the leader {event.replica} and "
                    "nothing committed supersedes it.",
                )


@invariant
class AcknowledgedKept(Invariant):
    """What a producer was told to be written, before it was committed, is committed in the end.

    With `acks: 1` nobody promises that; with `acks: all` there is nothing to judge.
    """

    name = "acknowledged-kept"
    kind = Kind.FINDING
    source = "producer configuration acks; KIP-966, Motivation"
    in_stories = False

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nothing was acknowledged yet."""
        super().__init__(ledger, report)
        self._promised: dict[int, str] = {}

    def on_acknowledged_early(self, event: AcknowledgedEarly) -> None:
        """A promise."""
        for record in event.batch.records:
            self._promised[record.uid] = event.replica

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare with what was committed."""
        del event
        ledger = self.ledger
        for uid, leader in self._promised.items():
            record = ledger.written[uid].record
            committed = record.offset < len(ledger.committed)
            if not committed or ledger.committed[record.offset] != uid:
                self.violated(
                    leader,
                    record.offset,
                    record.key,
                    f"{leader} acknowledged {ledger.describe(uid)}, which was never committed.",
                )
