"""Faults: what the environment does to replicas and links, a class for each kind.

A class has the fields with their bounds and meaning, what the fault is in a real cluster, how often
random scenarios have it, and what happens when it begins and when it ends. File format, JSON
schema, random scenarios, `replog list faults` and the reference of the guide follow from it.

A crash loses batches that were not flushed. A replica has flushed the batches that it acknowledged
by fetching past them (KafkaRaftClient.appendAsFollower), and those that any leader committed. So
`lose_batches` only takes the newest batches of a leader, or those that a follower has just
received; more would break the contract of the protocol. A loss of power takes all batches that the
rule `flush` leaves unflushed, committed or not; a run that leaves the durability contract by that
is marked (`sim.check.checker`).

A disk is replaced (`wipe`) only when no replica depends on it any more, so after its replica left
the in-sync set; otherwise the replica comes back with its old disk. A roll closes the active
segment, so that the tail of the log can be cleaned. The name of a removed replica is not used
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from annotated_types import Ge

from sim.files.bounds import Count, Name, Offset, Within
from sim.files.limits import LEADER_EPOCH, REPLICAS
from sim.protocol.replication.interrupting import MOMENTS
from sim.protocol.replication.recovery import OldFiles
from sim.simulate.faults.fault import ROLES, Fault, Life

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.node import Node

_WHEN: dict[str | int, str] = {
    **{moment: f" during a pass ({moment})" for moment in MOMENTS},
    "install": " before a snapshot is installed",
}
"""Words in the event of a crash that waited, by the value of `during`."""

_WHEN_OF_NUMBER = " during a pass (between two operations on files)"

_FILES = {
    "high_watermark": "high watermark checkpoint at",
    "cleaned": "cleaner checkpoint at",
    "epochs": "file of epochs up to",
}
"""Words in the event of a crash for files that are older than the log afterwards."""


@dataclass(frozen=True, slots=True)
class Crash(Fault):
    """Down for `for_ms`; `lose_batches` unflushed batches are lost."""

    lose_batches: Count = 0
    """Most unflushed batches that a crash loses."""
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
    take the place of the old, or before the checkpoint is saved; a number: after that operation on
    files of the pass, from 0, modulo their count. Or before its next snapshot is installed."""

    source = "LogLoader after an unclean shutdown; KIP-101"
    weight = 2.5
    outage = True

    def happen(self, faults: Faults, node: Node) -> Life | None:
        """Crashes now, or at a moment of the next cleaning pass, or of the next snapshot."""
        if self.during is None:
            return self._go_down(faults, node)
        faults.plan(self, node, self.during, self._go_down(faults, node))
        return None

    def _go_down(self, faults: Faults, node: Node) -> Life:
        lost = self._unflushed(faults, node)
        what = "what was not flushed is lost" if self.power_loss else f"{lost} batches lost"
        when = "" if self.during is None else _WHEN.get(self.during, _WHEN_OF_NUMBER)
        old = OldFiles(self.high_watermark, self.cleaned, self.epochs)
        says = "".join(
            f", {_FILES[name]} {value}"
            for name, value in old._asdict().items()
            if value is not None
        )
        faults.inject(self, node.name, f"down for {self.duration_ms} ms{when}, {what}{says}")
        node.crash(lost_batches=lost, power_loss=self.power_loss, old=old)
        faults.cluster.elections.silenced(node)
        yield
        node.restart()

    def _unflushed(self, faults: Faults, node: Node) -> int:
        """Number of the last `lose_batches` that are neither committed nor acknowledged."""
        if self.lose_batches <= 0 or node.rules.storage.flush == "on_append":
            return 0
        log = node.replica.log
        flushed = max(faults.context.committed, log.high_watermark, log.acknowledged_end)
        newest = list(log.batches())[-self.lose_batches :]
        return sum(batch.base_offset >= flushed for batch in newest)

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Reports a loss of power that also gives a number of lost batches."""
        if self.power_loss and self.lose_batches:
            yield "lose_batches", "with power_loss the rule `flush` says what is lost"


@dataclass(frozen=True, slots=True)
class Wipe(Fault):
    """Down for `for_ms`, back with an empty log."""

    source = "KIP-858; KIP-966"
    weight = 1.0
    outage = True
    draws_role = False

    def happen(self, faults: Faults, node: Node) -> Life:
        """Takes the replica down, and brings it back with an empty disk if the old one may go."""
        elections = faults.cluster.elections
        faults.inject(self, node.name, f"down for {self.duration_ms} ms, to get an empty disk")
        node.crash(lost_batches=0)
        elections.silenced(node)
        yield
        if elections.may_wipe(node):
            node.wipe()
            elections.wiped(node)
            node.replica.up = False
        node.restart()


@dataclass(frozen=True, slots=True)
class Partition(Fault):
    """Cut off from all others for `for_ms`."""

    peers: Annotated[tuple[Name, ...], Within(REPLICAS)] = ()
    """A partition is between the target and these replicas only; default: all others."""

    source = "Jepsen: Kafka; KIP-595"
    weight = 2.0
    outage = True
    which = "from and to it"
    """The messages that are lost."""
    incoming = True
    """True when messages to it are lost, too."""

    def happen(self, faults: Faults, node: Node) -> Life:
        """Cuts the links, and mends them at the end."""
        others = f", {' and '.join(self.peers)} being the other end" if self.peers else ""
        detail = f"messages {self.which} are lost for {self.duration_ms} ms{others}"
        faults.inject(self, node.name, detail)
        network = faults.context.network
        links = network.links_of(node.name, self.peers, incoming=self.incoming)
        network.cut(links)
        faults.cluster.elections.silenced(node)
        yield
        network.mend(links)
        node.membership.reconnected()


@dataclass(frozen=True, slots=True)
class OneWayPartition(Partition):
    """Messages from it are lost for `for_ms`; those to it arrive."""

    source = "KIP-595, KIP-996"
    weight = 1.5
    which = "from it"
    incoming = False


@dataclass(frozen=True, slots=True)
class SlowFetcher(Fault):
    """Fetches far more slowly for `for_ms`."""

    source = "replica.lag.time.max.ms"
    weight = 2.0
    outage = True

    def happen(self, faults: Faults, node: Node) -> Life:
        """Lets the replica fetch one batch at a time, with pauses longer than a replica may lag."""
        slow_ms = max(1, faults.context.scenario.timers.replica_lag_max_ms * 3 // 2)
        faults.inject(self, node.name, f"one batch every {slow_ms} ms for {self.duration_ms} ms")
        node.fetcher.slow_ms = slow_ms
        yield
        if not faults.goes_on(self, node):  # another one: then it stays slow
            node.fetcher.slow_ms = 0


@dataclass(frozen=True, slots=True)
class SlowCleaner(Fault):
    """Cleans far more slowly for `for_ms`."""

    source = "log.cleaner.io.max.bytes.per.second; KIP-354"
    weight = 1.0
    keeps_position = True

    def happen(self, faults: Faults, node: Node) -> Life:
        """Pauses the cleaner; several such faults may overlap."""
        faults.inject(self, node.name, f"its cleaner rests for {self.duration_ms} ms")
        node.background.paused += 1
        yield
        node.background.paused -= 1


@dataclass(frozen=True, slots=True)
class Migrate(Fault):
    """The target becomes leader, if it may; with target `leader` another replica does."""

    source = "KIP-460, preferred leader election"
    weight = 2.5
    instant = True
    keeps_position = True
    unclean = False
    """True when a replica out of sync may lead, too."""
    detail = "is asked to lead"
    """Words in the event of the replica that is asked."""

    def happen(self, faults: Faults, node: Node) -> None:
        """Makes the target lead if it can; where that is the leader, the first other that can.

        With majorities the leader itself is asked; the rule `successors` says which ones it names.
        """
        heirs = [node]
        if self.target == "leader" and faults.context.rules.replication.commit == "isr":
            others = [one for _, one in sorted(faults.cluster.nodes.items()) if one is not node]
            first = self.pick % len(others) if others else 0
            heirs = others[first:] + others[:first]
        for heir in heirs:
            if faults.cluster.elections.migrate(heir, unclean=self.unclean):
                faults.inject(self, heir.name, self.detail)
                return


@dataclass(frozen=True, slots=True)
class UncleanMigrate(Migrate):
    """The target becomes leader, in sync or not: committed records may be lost."""

    source = "unclean.leader.election.enable"
    weight = 0.0
    """0 unless a mix asks for it, since it loses committed records by design."""
    unclean = True
    detail = "is made leader whatever it has"


@dataclass(frozen=True, slots=True)
class AddReplica(Fault):
    """A new replica of that name joins with an empty log."""

    source = "KIP-455; KIP-853"
    weight = 1.0
    instant = True
    needs_target_up = False
    joins = True
    roles = ()

    def happen(self, faults: Faults, node: Node | None) -> None:
        """Adds the replica, unless one has or had its name."""
        if node is None and self.target not in faults.gone:
            faults.cluster.add(self.target)
            faults.inject(self, self.target, "joins with an empty log")


@dataclass(frozen=True, slots=True)
class Roll(Fault):
    """Starts a new, empty active segment."""

    source = "segment.ms; UnifiedLog.roll"
    weight = 2.5
    instant = True
    keeps_position = True

    def happen(self, faults: Faults, node: Node) -> None:
        """Starts a segment, unless the active one is empty already."""
        log = node.replica.log
        if log.active.batches:
            faults.inject(self, node.name, f"a new segment starts at {log.log_end_offset}")
            log.roll(now_ms=node.now_ms)


@dataclass(frozen=True, slots=True)
class RemoveReplica(Fault):
    """Leaves for good, up or down, if it does not lead and the others can do without it."""

    source = "KIP-455; KIP-853"
    instant = True
    needs_target_up = False
    roles = ("follower",)

    def happen(self, faults: Faults, node: Node | None) -> None:
        """Removes the replica, unless it led last, or the others need it."""
        leader = faults.context.leader
        if node is None or leader is None or leader[1] == node.name:
            return
        if faults.cluster.elections.may_remove(node):
            faults.inject(self, node.name, "leaves for good")
            faults.gone.add(node.name)
            faults.cluster.remove(node)


FAULTS: Final[dict[str, type[Fault]]] = {
    kind.kind: kind
    for kind in (
        Crash,
        Wipe,
        Partition,
        OneWayPartition,
        SlowFetcher,
        SlowCleaner,
        Migrate,
        UncleanMigrate,
        AddReplica,
        Roll,
        RemoveReplica,
    )
}
"""Every kind of fault by its name, in the order in which random ones of the same moment happen.

A new kind is added at the end, so that the order of the others stays.
"""

INSTANT_FAULTS: Final = frozenset(name for name, kind in FAULTS.items() if kind.instant)
"""Kinds of faults that are over as soon as they happen: no `FaultEnded` follows."""

FaultKind: Any = StrEnum("FaultKind", {name.upper(): name for name in FAULTS})  # type: ignore[misc]
"""The names of all kinds, for those who write a scenario in Python."""
