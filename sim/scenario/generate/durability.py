"""Random faults made harder: crashes that take what was not flushed, or come at a bad moment.

Drawn after the faults themselves, from streams of their own, so that a mix without them has the
environment it always had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from sim.scenario.generate.mix import Mix
from sim.scenario.generate.streams import log_between
from sim.scenario.model import Fault, FaultKind

_MOMENTS: tuple[Literal["cleaning", "swap", "checkpoint"], ...] = ("cleaning", "swap", "checkpoint")
_BEHIND = frozenset(
    {
        FaultKind.CRASH,
        FaultKind.WIPE,
        FaultKind.PARTITION,
        FaultKind.ONE_WAY_PARTITION,
        FaultKind.SLOW_FETCHER,
        FaultKind.ADD_REPLICA,
    }
)
"""After these a replica may be so far behind that it is sent a snapshot."""
_DARK_MS = (100, 2_000)
"""How long a replica is down after a failure of all power."""


def harder(
    faults: tuple[Fault, ...], mix: Mix, *, replicas: Sequence[str], rng: Random
) -> tuple[Fault, ...]:
    """The same faults in order of time, with losses of power and crashes during a pass."""
    if not (mix.power_losses or mix.power_failures or mix.cleaning_crashes):
        return faults
    random = rng.random
    found = [
        _harder(fault, mix, rng) if fault.kind is FaultKind.CRASH else fault for fault in faults
    ]
    if random() < mix.power_failures:
        at_ms = int(random() * mix.duration_ms)
        found += [
            Fault(at_ms, FaultKind.CRASH, name, log_between(rng, _DARK_MS), power_loss=True)
            for name in replicas
        ]
    return tuple(sorted(found, key=lambda fault: fault.at_ms))


def _harder(fault: Fault, mix: Mix, rng: Random) -> Fault:
    """Two numbers are drawn for each crash, whatever comes of them."""
    loses, waits = rng.random() < mix.power_losses, rng.random() < mix.cleaning_crashes
    if loses:
        fault = replace(fault, power_loss=True, lose_batches=0)
    return replace(fault, during=rng.choice(_MOMENTS)) if waits else fault


def interrupted_installs(faults: tuple[Fault, ...], mix: Mix, *, rng: Random) -> tuple[Fault, ...]:
    """The same faults in order of time, and crashes in the middle of the snapshots they lead to.

    Such a crash waits from the end of an outage for the replica's next snapshot, which may never
    come; only replicas that the outage names have one. Two numbers are drawn for each of them.
    """
    if not (mix.install_crashes and mix.snapshots):
        return faults
    found = list(faults)
    for fault in faults:
        if fault.kind not in _BEHIND or fault.target in ("leader", "follower") or fault.during:
            continue
        waits, down_ms = rng.random() < mix.install_crashes, log_between(rng, _DARK_MS)
        back_ms = fault.at_ms + fault.duration_ms + 1
        if waits and back_ms < mix.duration_ms:
            found.append(Fault(back_ms, FaultKind.CRASH, fault.target, down_ms, during="install"))
    return tuple(sorted(found, key=lambda fault: fault.at_ms))
