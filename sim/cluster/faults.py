"""Faults: what the environment does to replicas and links, when the scenario says so.

Faults stand above the cluster: they see replicas as they are, and need no message.

A crash loses the batches that were not flushed. Flushed is what a replica acknowledged by fetching
past it (KafkaRaftClient.appendAsFollower) and what any leader committed; so `lose_batches` only
ever takes the youngest batches of a leader, or what a follower has just received. Anything beyond
that breaks the contract of the protocol, not the protocol. A loss of power takes what the rule
`flush` leaves unflushed, be it committed or not; a run that leaves the contract by that is tagged
(`sim.check.durability`). A disk is replaced only when nobody counts on what is on it, so after the
replica left the in-sync set. A replica is removed, up or down, when the others can do without it,
and its name does not come back. A fault whose target does not exist, is down, or may not do it now,
is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simpy.events import ProcessGenerator

from sim.cluster.cluster import Cluster
from sim.cluster.network import Link, Network
from sim.cluster.node import Node
from sim.cluster.waiting import Lives
from sim.replication.interrupting import MOMENTS
from sim.replication.recovery import NONE_OLD
from sim.scenario.model import CrashWithOldFiles, Fault, FaultKind
from sim.trace import FaultEnded, FaultInjected

_WHEN = {
    **{moment: f" during a pass ({moment})" for moment in MOMENTS},
    "install": " before a snapshot is installed",
}
"""What is told of a crash that waited, by its `during`."""

_FILES = {
    "high_watermark": "high watermark checkpoint at",
    "cleaned": "cleaner checkpoint at",
    "epochs": "file of epochs up to",
}
"""What is told of files that a crash left older than the log."""


Undo = Callable[[], None]
"""What is done when a fault is over."""


class Faults:
    """The faults of a scenario, each a process; the end of the run interrupts them."""

    def __init__(self, cluster: Cluster) -> None:
        """They start with `start`."""
        self._cluster = cluster
        self._context = cluster.context
        self._context.crash = self._crash_at_last
        self._waiting: dict[tuple[str, str], Fault] = {}
        self._lives = Lives(cluster.context.env)
        self._going_on: list[FaultEnded] = []
        self._gone: set[str] = set()
        self._actions: dict[FaultKind, Callable[[Fault, Node], Undo | None]] = {
            FaultKind.CRASH: self._crash,
            FaultKind.WIPE: self._wipe,
            FaultKind.PARTITION: self._partition,
            FaultKind.ONE_WAY_PARTITION: self._one_way_partition,
            FaultKind.SLOW_FETCHER: self._slow_fetcher,
            FaultKind.SLOW_CLEANER: self._slow_cleaner,
            FaultKind.MIGRATE: self._migrate,
            FaultKind.UNCLEAN_MIGRATE: self._unclean_migrate,
            FaultKind.ROLL: self._roll,
            FaultKind.REMOVE_REPLICA: self._remove_replica,
        }

    def start(self) -> None:
        """Begin to wait for the times of the faults."""
        for fault in sorted(self._context.scenario.faults, key=lambda fault: fault.at_ms):
            self._lives.start(self._happen(fault))

    def _happen(self, fault: Fault) -> ProcessGenerator:
        """One fault: it begins at its time, and is over after its duration."""
        yield self._context.env.timeout(max(0, fault.at_ms))
        if fault.kind is FaultKind.ADD_REPLICA:
            self._add_replica(fault)
            return
        node = self._target(fault)
        if node is None or not (node.replica.up or fault.kind is FaultKind.REMOVE_REPLICA):
            return
        undo = self._actions[fault.kind](fault, node)
        if undo is not None:
            yield from self._last(fault, node, undo)

    def _last(self, fault: Fault, node: Node, undo: Undo) -> ProcessGenerator:
        """A fault goes on, and is undone when it is over, unless its replica has left for good."""
        ended = FaultEnded(node.name, fault.kind.value)
        self._going_on.append(ended)
        yield self._context.env.timeout(max(1, fault.duration_ms))
        if node.name not in self._gone:
            undo()
        self._going_on.remove(ended)
        self._context.emit(ended)

    def end(self) -> None:
        """Nothing happens any more; what is going on ends now."""
        self._lives.interrupt()
        cluster = self._cluster
        self._context.network.heal()
        for node in list(cluster.nodes.values()):
            node.fetcher.slow_ms = 0
            node.background.paused = 0
            node.crash_in_pass, node.crash_at_install = None, False
            if node.replica.up:
                cluster.elections.reconnected(node)
            else:
                self._bring_back(node)
        self._context.emit_all(self._going_on)

    def _add_replica(self, fault: Fault) -> None:
        if fault.target not in self._cluster.nodes and fault.target not in self._gone:
            self._cluster.add(fault.target)
            self._emit(fault.target, fault, "joins with an empty log")

    def _target(self, fault: Fault) -> Node | None:
        cluster = self._cluster
        if fault.target == "leader":
            return cluster.leading()
        if fault.target != "follower":
            return cluster.nodes.get(fault.target)
        leader = cluster.leading()
        followers = [
            node
            for name, node in sorted(cluster.nodes.items())
            if node is not leader and node.replica.up
        ]
        return followers[fault.pick % len(followers)] if followers else None

    def _emit(self, replica: str, fault: Fault, detail: str) -> None:
        self._context.counts.faults += 1
        self._context.emit(FaultInjected(replica, fault.kind.value, detail))

    def _crash(self, fault: Fault, node: Node) -> Undo | None:
        """Now, or at a moment of the next cleaning pass, or of the next snapshot."""
        if fault.during is None:
            return self._crash_now(fault, node)
        if fault.during == "install":
            node.crash_at_install = True
        else:
            node.crash_in_pass = fault.during
        self._waiting[node.name, fault.during] = fault
        return None

    def _crash_at_last(self, name: str, moment: str) -> None:
        """The moment has come that a fault waited for at a replica."""
        fault, node = self._waiting[name, moment], self._cluster.nodes[name]
        self._lives.start(self._last(fault, node, self._crash_now(fault, node)))

    def _crash_now(self, fault: Fault, node: Node) -> Undo:
        lost = self._unflushed(node, fault.lose_batches)
        what = "what was not flushed is lost" if fault.power_loss else f"{lost} batches lost"
        when = _WHEN.get(fault.during or "", "")
        old = fault.files if isinstance(fault, CrashWithOldFiles) else NONE_OLD
        says = "".join(
            f", {_FILES[name]} {value}"
            for name, value in old._asdict().items()
            if value is not None
        )
        self._emit(node.name, fault, f"down for {fault.duration_ms} ms{when}, {what}{says}")
        node.crash(lost_batches=lost, power_loss=fault.power_loss, old=old)
        self._cluster.elections.crashed(node)
        return partial(self._bring_back, node)

    def _unflushed(self, node: Node, wanted: int) -> int:
        """How many of the last `wanted` batches are neither committed nor acknowledged."""
        if wanted <= 0:
            return 0
        flushed = max(self._context.committed, node.replica.log.high_watermark)
        if node.leader is None:
            flushed = max(flushed, node.fetcher.acknowledged)
        lost = 0
        for segment in reversed(node.replica.log.segments):
            for batch in reversed(segment.batches):
                if lost >= wanted or batch.base_offset < flushed:
                    return lost
                lost += 1
        return lost

    def _bring_back(self, node: Node) -> None:
        if not node.replica.up:
            node.restart()

    def _wipe(self, fault: Fault, node: Node) -> Undo:
        self._emit(node.name, fault, f"down for {fault.duration_ms} ms, to get an empty disk")
        node.crash(lost_batches=0)
        self._cluster.elections.crashed(node)
        return partial(self._replace_disk, node)

    def _replace_disk(self, node: Node) -> None:
        """The old disk is thrown away if the others do not count on it, else it comes back."""
        if self._cluster.elections.may_wipe(node):
            node.wipe()
            self._cluster.elections.wiped(node)
            node.replica.up = False
        self._bring_back(node)

    def _partition(self, fault: Fault, node: Node) -> Undo:
        links = self._context.network.outgoing(node.name, fault.peers)
        links += self._context.network.incoming(node.name, fault.peers)
        return self._cut(fault, node, links, "from and to it")

    def _one_way_partition(self, fault: Fault, node: Node) -> Undo:
        links = self._context.network.outgoing(node.name, fault.peers)
        return self._cut(fault, node, links, "from it")

    def _cut(self, fault: Fault, node: Node, links: list[Link], which: str) -> Undo:
        others = f", {' and '.join(fault.peers)} being the other end" if fault.peers else ""
        detail = f"messages {which} are lost for {fault.duration_ms} ms{others}"
        self._emit(node.name, fault, detail)
        Network.cut(links)
        self._cluster.elections.cut_off(node)
        return partial(self._mend, node, links)

    def _mend(self, node: Node, links: list[Link]) -> None:
        Network.mend(links)
        self._cluster.elections.reconnected(node)

    def _slow_fetcher(self, fault: Fault, node: Node) -> Undo:
        slow_ms = max(1, self._context.scenario.timers.replica_lag_max_ms * 3 // 2)
        detail = f"one batch every {slow_ms} ms for {fault.duration_ms} ms"
        self._emit(node.name, fault, detail)
        node.fetcher.slow_ms = slow_ms
        return partial(self._full_speed, node)

    @staticmethod
    def _full_speed(node: Node) -> None:
        node.fetcher.slow_ms = 0

    def _slow_cleaner(self, fault: Fault, node: Node) -> Undo:
        self._emit(node.name, fault, f"its cleaner rests for {fault.duration_ms} ms")
        node.background.paused += 1
        return partial(self._clean_again, node)

    @staticmethod
    def _clean_again(node: Node) -> None:
        node.background.paused -= 1

    def _migrate(self, fault: Fault, node: Node) -> None:
        self._move_lead(fault, node, "is asked to lead", unclean=False)

    def _unclean_migrate(self, fault: Fault, node: Node) -> None:
        self._move_lead(fault, node, "is made leader whatever it has", unclean=True)

    def _move_lead(self, fault: Fault, node: Node, detail: str, *, unclean: bool) -> None:
        elections = self._cluster.elections
        for heir in self._heirs(fault, node):
            if elections.migrate(heir, unclean=unclean):
                self._emit(heir.name, fault, detail)
                return

    def _heirs(self, fault: Fault, node: Node) -> list[Node]:
        """Who is asked to lead, until one can: the target, or with target `leader` the others.

        With majorities the leader is asked itself; whom it names, the rule `successors` says.
        """
        if fault.target != "leader" or self._context.rules.replication.commit == "majority":
            return [node]
        others = [other for _, other in sorted(self._cluster.nodes.items()) if other is not node]
        first = fault.pick % len(others) if others else 0
        return others[first:] + others[:first]

    def _roll(self, fault: Fault, node: Node) -> None:
        """A manual roll: the active segment is empty after, so the tail can be cleaned."""
        log = node.replica.log
        if log.active.batches:
            self._emit(node.name, fault, f"a new segment starts at {log.log_end_offset}")
            log.roll(now_ms=node.now_ms)

    def _remove_replica(self, fault: Fault, node: Node) -> None:
        """It leaves for good, unless it led last, or the others need it."""
        leader = self._context.leader
        led_last = leader is None or leader[1] == node.name
        if led_last or not self._cluster.elections.may_remove(node):
            return
        self._emit(node.name, fault, "leaves for good")
        self._gone.add(node.name)
        self._cluster.remove(node)
