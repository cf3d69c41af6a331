"""Random scenarios: one seed and a mix give one scenario, the same everywhere.

Nothing here looks at rules, so every rule set of a sweep meets the same environment. Scenarios are
made of plain dataclasses without validation: making one must cost far less than running it.
"""

from __future__ import annotations

from dataclasses import replace

from sim.simulate.scenario.generate.clients import (
    draw_consumers,
    draw_idle_phases,
    draw_shape,
    draw_takeover,
)
from sim.simulate.scenario.generate.disk_hunts import disk_hunt
from sim.simulate.scenario.generate.election_hunts import election_hunt
from sim.simulate.scenario.generate.faults import draw_faults
from sim.simulate.scenario.generate.headers import with_header_mistakes
from sim.simulate.scenario.generate.hunts import tail_hunt
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.mixed_clients import with_mixed_clients
from sim.simulate.scenario.generate.settings import (
    draw_network,
    draw_replicas,
    draw_snapshots,
    draw_timers,
    draw_topic,
)
from sim.simulate.scenario.generate.streams import Draws, stream
from sim.simulate.scenario.generate.workload import FIRST, SECOND, draw_workload
from sim.simulate.scenario.model import Applications, LateMessages, Scenario

_LAST_ROUNDS = 3
"""One sets a delete horizon, the next takes what has one, the third sees that nothing is left."""


def generate(seed: int, mix: Mix) -> Scenario:
    """The scenario of `seed`, in [0, 2**63), drawn from `mix`; its rules are the defaults.

    Every kind of fault and every part that a mix may leave out has a stream of its own: without it,
    or with one more, the rest of the scenario is the same.
    """
    replicas = draw_replicas(seed, mix)
    names = [replica.name for replica in replicas]
    idle = draw_idle_phases(seed, mix)
    shape = draw_shape(seed, mix, idle)
    takeover_ms = draw_takeover(seed, mix, shape)
    instances: tuple[tuple[int, int], ...] = ()
    if takeover_ms is not None:
        instances = ((SECOND, FIRST),)
        shape = replace(shape, transactional=max(SECOND, shape.transactional))
    workload = draw_workload(
        shape,
        duration_ms=mix.duration_ms,
        rng=stream(seed, "generate/workload"),
        takeover_ms=takeover_ms,
    )
    scenario = Scenario(
        id=f"{mix.mix}-{seed}",
        seed=seed,
        duration_ms=mix.duration_ms,
        topic=draw_topic(seed, mix),
        replicas=replicas,
        network=draw_network(seed, mix, names),
        late_messages=LateMessages(late=mix.late_messages, repeated=mix.repeated_messages),
        timers=draw_timers(seed, mix),
        workload=workload,
        applications=Applications(instances=instances),
        consumers=draw_consumers(seed, mix, names),
        faults=draw_faults(seed, mix, replicas=names, idle=idle),
        snapshots=draw_snapshots(seed, mix),
        last_rounds=last_rounds_of(seed, mix),
    )
    mixed = with_mixed_clients(seed, mix, scenario, producers=shape.producers)
    return with_header_mistakes(seed, mix, mixed)


def last_rounds_of(seed: int, mix: Mix) -> int:
    """How many rounds of cleaning that scenario has at rest, beside those of every run."""
    return _LAST_ROUNDS if Draws(seed, "last rounds").happens(mix.last_rounds) else 0


def hunts_of(seed: int, mix: Mix) -> tuple[str, ...]:
    """Which scripted hunts that scenario has: `tail`, `elections`, `lost_disks`, in this order.

    See `Mix.tail_hunts`, `Mix.election_hunts`, `Mix.disk_hunts`.
    """
    names = [replica.name for replica in draw_replicas(seed, mix)]
    idle = draw_idle_phases(seed, mix)
    scripts = {
        "tail": tail_hunt(seed, mix, names, idle),
        "elections": election_hunt(seed, mix, names, idle),
        "lost_disks": disk_hunt(seed, mix, names),
    }
    return tuple(name for name, faults in scripts.items() if faults)
