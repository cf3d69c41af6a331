"""The faults that endanger what a replica with a new disk is believed to have."""

from __future__ import annotations

from collections.abc import Sequence

from sim.simulate.faults import Fault
from sim.simulate.faults.crash import Crash
from sim.simulate.faults.migrate import Migrate
from sim.simulate.faults.slow_fetcher import SlowFetcher
from sim.simulate.faults.wipe import Wipe
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws, between, log_between

_SOON_MS = 400
"""A new disk, and the leader goes within so many ms: the replica has hardly begun to copy."""
_AT_ONCE_MS = (1, 25)
"""So short is an outage after which messages to the life before are still on their way."""


def disk_hunt(seed: int, mix: Mix, replicas: Sequence[str]) -> list[Fault]:
    """Perhaps a replica that loses its disk, and a leader that goes right after.

    The replica is out of the in-sync set before, or nobody would take its disk: it was away for
    long, or so slow that it lagged behind; then its restart is short, and answers to the life
    before arrive in the new one. There is none in runs without faults.
    """
    draws = Draws(seed, "disk hunt")
    if not (draws.happens(mix.disk_hunts) and mix.faults[1] > 0 and len(replicas) > 1):
        return []
    at_ms, target = draws.below(mix.duration_ms * 0.8), draws.choice(replicas)
    slow, lags_ms = draws.happens(0.5), between(draws, (700, 2_000))
    away_ms = log_between(draws, _AT_ONCE_MS) if slow else log_between(draws, (700, 3_000))
    wiped_ms = at_ms + lags_ms if slow else at_ms
    back_ms = wiped_ms + away_ms
    soon_ms = back_ms + draws.below(_SOON_MS)
    crashes, down_ms = draws.happens(0.5), log_between(draws, (300, 3_000))
    heir = draws.choice(replicas)
    faults: list[Fault] = [SlowFetcher(at_ms, target, lags_ms + away_ms)] if slow else []
    faults.append(Wipe(wiped_ms, target, away_ms))
    faults.append(Crash(soon_ms, "leader", down_ms) if crashes else Migrate(soon_ms, heir))
    return [fault for fault in faults if fault.at_ms < mix.duration_ms]
