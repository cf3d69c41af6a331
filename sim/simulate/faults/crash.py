"""A replica goes down, and comes back with what it had flushed.

A crash loses the batches that were not flushed. Flushed is what a replica acknowledged by fetching
past it (KafkaRaftClient.appendAsFollower) and what any leader committed; so `lose_batches` only
ever takes the youngest batches of a leader, or what a follower has just received. Anything beyond
that breaks the contract of the protocol, not the protocol. A loss of power takes what the rule
`flush` leaves unflushed, be it committed or not; a run that leaves the contract by that is tagged
(`sim.check.durability`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge

from sim.files.bounds import Count, Offset, Within
from sim.files.limits import LEADER_EPOCH
from sim.protocol.replication.interrupting import MOMENTS
from sim.protocol.replication.recovery import OldFiles
from sim.simulate.faults.fault import Fault, Life

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.node import Node
    from sim.simulate.scenario.generate.streams import Draws

_WHEN: dict[str | int, str] = {
    **{moment: f" during a pass ({moment})" for moment in MOMENTS},
    "install": " before a snapshot is installed",
}
"""What is told of a crash that waited, by its `during`."""

_WHEN_OF_NUMBER = " during a pass (between two operations on files)"

_FILES = {
    "high_watermark": "high watermark checkpoint at",
    "cleaned": "cleaner checkpoint at",
    "epochs": "file of epochs up to",
}
"""What is told of files that a crash left older than the log."""


@dataclass(frozen=True, slots=True)
class Crash(Fault):
    """Down for `for_ms`; `lose_batches` unflushed batches are lost."""

    lose_batches: Count = 0
    """A crash loses so many unflushed batches."""
    power_loss: bool = False
    """A crash of the machine: what was not flushed is lost, as the rule `flush` says."""
    high_watermark: Offset | None = None
    """After a crash the checkpoint of the high watermark says this, if it said more."""
    cleaned: Offset | None = None
    """After a crash the cleaner's checkpoint says this, if it said more."""
    epochs: Annotated[int, Ge(0), Within(LEADER_EPOCH)] | None = None
    """After a crash the file of leader epochs knows none above this one."""
    during: Literal["cleaning", "swap", "checkpoint", "install"] | Count | None = None
    """A crash in the target's next cleaning pass: while a file is written, while the first ones
    take the place of the old, or before the checkpoint is saved; a number: after that one of all
    its operations on files, from 0, counted round. Or before its next snapshot is installed."""

    place = 1
    source = "LogLoader after an unclean shutdown; KIP-101"
    weight = 2.5
    outage = True

    @property
    def files(self) -> OldFiles:
        """The files beside the log that are older than it after the crash."""
        return OldFiles(self.high_watermark, self.cleaned, self.epochs)

    def happen(self, faults: Faults, node: Node) -> Life | None:
        """Now, or at a moment of the next cleaning pass, or of the next snapshot."""
        if self.during is None:
            return self._go_down(faults, node)
        if self.during == "install":
            node.crash_at_install = True
        else:
            node.crash_in_pass = self.during
        faults.wait(node, self.during, self, self._go_down(faults, node))
        return None

    def _go_down(self, faults: Faults, node: Node) -> Life:
        lost = self._unflushed(faults, node)
        what = "what was not flushed is lost" if self.power_loss else f"{lost} batches lost"
        when = "" if self.during is None else _WHEN.get(self.during, _WHEN_OF_NUMBER)
        old = self.files
        says = "".join(
            f", {_FILES[name]} {value}"
            for name, value in old._asdict().items()
            if value is not None
        )
        faults.tell(self, node.name, f"down for {self.duration_ms} ms{when}, {what}{says}")
        node.crash(lost_batches=lost, power_loss=self.power_loss, old=old)
        faults.cluster.elections.crashed(node)
        yield
        faults.bring_back(node)

    def _unflushed(self, faults: Faults, node: Node) -> int:
        """How many of the last `lose_batches` are neither committed nor acknowledged."""
        if self.lose_batches <= 0 or node.rules.storage.flush == "on_append":
            return 0
        flushed = max(faults.context.committed, node.replica.log.high_watermark)
        if node.leader is None:
            flushed = max(flushed, node.fetcher.acknowledged)
        lost = 0
        for segment in reversed(node.replica.log.segments):
            for batch in reversed(segment.batches):
                if lost >= self.lose_batches or batch.base_offset < flushed:
                    return lost
                lost += 1
        return lost

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """A loss of power says by itself what is lost."""
        if self.power_loss and self.lose_batches:
            yield "lose_batches", "with power_loss the rule `flush` says what is lost"

    @classmethod
    def drawn(cls, draws: Draws) -> dict[str, Any]:
        """Half of them lose one to six batches."""
        return {"lose_batches": 1 + draws.below(6)} if draws.happens(0.5) else {}
