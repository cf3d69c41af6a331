"""The faults of a scenario as they happen; what each kind does is in `sim.simulate.faults`.

Faults act from above the cluster: they read the true state of replicas, and need no message. A
fault is left out when its target does not exist or is down, unless its kind needs none that is up,
or when the target may not suffer it now.
"""

from __future__ import annotations

from simpy.events import ProcessGenerator

from sim.protocol.events import FaultEnded, FaultInjected
from sim.simulate.cluster.broker import PlannedCrash
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.waiting import ProcessGroup
from sim.simulate.faults.fault import Fault, Life


class Faults:
    """The faults of a scenario, each a process; the end of the run interrupts them.

    Attributes:
        cluster: The cluster that they happen to.
        context: Shared services of the cluster.
        gone: The names of replicas that have left for good.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Starts with all faults ahead; see `start`."""
        self.cluster = cluster
        self.context = cluster.context
        self.gone: set[str] = set()
        self._processes = ProcessGroup(cluster.context.env)
        self._going_on: list[FaultEnded] = []

    def start(self) -> None:
        """Begins to wait for the times of the faults."""
        for fault in sorted(self.context.scenario.faults, key=lambda fault: fault.at_ms):
            self._processes.start(self._happen(fault))

    def _happen(self, fault: Fault) -> ProcessGenerator:
        """The process of one fault, from its time until its duration is over."""
        yield self.context.env.timeout(max(0, fault.at_ms))
        node = self.target_of(fault)
        if fault.needs_target_up and (node is None or not node.replica.up):
            return
        life = fault.happen(self, node)
        if node is not None and life is not None:
            next(life)
            yield from self._last(fault, node, life)

    def _last(self, fault: Fault, node: Node, life: Life) -> ProcessGenerator:
        """Waits until a fault is over, and ends it, unless its replica has left for good."""
        ended = FaultEnded(node.name, fault.kind)
        self._going_on.append(ended)
        yield self.context.env.timeout(max(1, fault.duration_ms))
        self._going_on.remove(ended)
        if node.name not in self.gone:
            next(life, None)
        self.context.emit(ended)

    def end(self) -> None:
        """Ends all faults now."""
        self._processes.interrupt()
        self.context.network.heal()
        for node in list(self.cluster.nodes.values()):
            node.fetcher.slow_ms = 0
            node.background.paused = 0
            node.crashes.clear()
            node.membership.reconnected()
            node.restart()
        self.context.emit_all(self._going_on)

    def goes_on(self, fault: Fault, node: Node) -> bool:
        """True while another fault of the same kind goes on at a replica."""
        return FaultEnded(node.name, fault.kind) in self._going_on

    def target_of(self, fault: Fault) -> Node | None:
        """The replica that a fault is aimed at, up or down; None where no replica fits."""
        leader = self.cluster.elections.leading()
        if fault.target == "leader":
            return leader
        if fault.target != "follower":
            return self.cluster.nodes.get(fault.target)
        followers = [
            node
            for name, node in sorted(self.cluster.nodes.items())
            if node is not leader and node.replica.up
        ]
        return followers[fault.pick % len(followers)] if followers else None

    def inject(self, fault: Fault, replica: str, detail: str) -> None:
        """Emits the event of a fault that begins at a replica; `detail` is for people."""
        self.context.emit(FaultInjected(replica, fault.kind, detail))

    def plan(self, fault: Fault, node: Node, moment: str | int, life: Life) -> None:
        """Plans a crash for a moment of a replica's next pass, or before its next install.

        It takes the place of an earlier plan for the same work.
        """

        def happen() -> None:
            next(life)
            self._processes.start(self._last(fault, node, life))

        node.crashes["install" if moment == "install" else "pass"] = PlannedCrash(moment, happen)
