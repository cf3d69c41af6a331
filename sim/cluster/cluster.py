"""One simulated cluster from its start to its rest: wires the parts together and runs them."""

from __future__ import annotations

from collections.abc import Callable

from sim.cluster.changing import Changing
from sim.cluster.clock import EventLimitReached
from sim.cluster.consumers import Consumers
from sim.cluster.context import Outcome, World
from sim.cluster.controller import Controller
from sim.cluster.coordinating import Coordination
from sim.cluster.faults import Faults
from sim.cluster.healing import Healing
from sim.cluster.node import Node
from sim.cluster.producers import Producers
from sim.cluster.quorum import Quorum
from sim.errors import BadInput
from sim.scenario.model import Scenario
from sim.trace import Event


def simulate(scenario: Scenario, emit: Callable[[int, Event], None]) -> Outcome:
    """Run a scenario to its end and bring the cluster to rest.

    Args:
        scenario: What to simulate. A workload from a file goes on until the file ends, at least for
            `duration_ms`.
        emit: Called as `emit(at_ms, event)` for everything that happens, in order. Nothing else
            leaves the world; the same scenario gives the same calls on every machine.

    Raises:
        BadInput: The rules need something that only stories can do, or a trace cannot be read.
    """
    if scenario.rules.replication.offset_assignment != "leader_assigned":
        raise BadInput(
            f"scenario {scenario.id}: rules.offset_assignment: in a timed run leaders give offsets;"
            " allowed: leader_assigned (follower_assigned is for stories)"
        )
    world = World(scenario, emit)
    inconclusive: str | None
    try:
        inconclusive = _run(world)
    except EventLimitReached:
        inconclusive = f"limits.max_events: {scenario.limits.max_events} simulator events were used"
    clock, network = world.clock, world.network
    return Outcome(
        inconclusive, clock.processed, clock.now_ms, network.sent, network.lost, world.counts
    )


def _run(world: World) -> str | None:
    scenario = world.scenario
    world.elections = (
        Controller(world) if world.rules.replication.commit == "isr" else Quorum(world)
    )
    for spec in scenario.replicas:
        world.add(Node(world, spec))
    world.elections.start()
    for index, node in enumerate(world.nodes.values()):
        node.housekeeper.start(index, len(scenario.replicas))

    def add_replica(name: str) -> Node:
        node = Node(world, world.spec_for(name))
        node.configure(next(iter(world.nodes.values())).settings)
        world.add(node)
        node.housekeeper.start(0, 1)
        world.elections.added(node)
        return node

    producers, consumers = Producers(world), Consumers(world)
    faults = Faults(world, add_replica)
    Changing(world, producers, consumers).start()
    producers.start()
    consumers.start()
    faults.start()
    if world.rules.cleaner.tombstone_removal == "coordinated":
        Coordination(world).start()
    world.clock.run_until(max(1, scenario.duration_ms))
    while producers.reads_trace:
        world.clock.run_until(world.clock.now_ms + scenario.duration_ms)
    healing = Healing(world, producers=producers, consumers=consumers, faults=faults)
    return healing.run()
