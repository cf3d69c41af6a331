"""Harder crashes: those that take what was not flushed, and those that come at a bad moment.

They change or follow faults that are drawn already. What is drawn for the faults of one kind has a
stream of its own, so that a mix without them, or with one more kind, has the same other faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sim.simulate.faults import Fault
from sim.simulate.faults.crash import Crash
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws, log_between

_OPERATIONS = 60
"""More than most passes have; they are counted round."""
_OLD = (1, 200)
"""What an old file says, if it said more: an offset, or an epoch."""
_DARK_MS = (100, 2_000)
"""How long a replica is down after a failure of all power."""


def made_harder(seed: int, mix: Mix, source: str, faults: list[Fault]) -> list[Fault]:
    """The same faults, some crashes of which are as the mix asks for."""
    for chance, purpose, harder in (
        (mix.power_losses, "power losses", _without_power),
        (mix.cleaning_crashes, "moments", _during_a_pass),
        (mix.old_files, "old files", _beside_old_files),
    ):
        if chance:
            draws = Draws(seed, f"{purpose}/{source}")
            faults = [
                harder(fault, chance, draws) if isinstance(fault, Crash) else fault
                for fault in faults
            ]
    return faults


def _without_power(fault: Crash, chance: float, draws: Draws) -> Crash:
    return replace(fault, power_loss=True, lose_batches=0) if draws.happens(chance) else fault


def _during_a_pass(fault: Crash, chance: float, draws: Draws) -> Crash:
    """It waits for a cleaning pass, and comes after any one of its operations on files."""
    waits, number = draws.happens(chance), draws.below(_OPERATIONS)
    return replace(fault, during=number) if waits else fault


def _beside_old_files(fault: Crash, chance: float, draws: Draws) -> Crash:
    """One of the files beside the log is older than it."""
    happens, number = draws.happens(chance), log_between(draws, _OLD)
    old: dict[str, Any] = {draws.choice(("high_watermark", "cleaned", "epochs")): number}
    return replace(fault, **old) if happens else fault


def power_failure(seed: int, mix: Mix, replicas: Sequence[str]) -> list[Fault]:
    """Perhaps a crash of every replica at one time, with a loss of power."""
    draws = Draws(seed, "power failure")
    if not draws.happens(mix.power_failures):
        return []
    at_ms = draws.below(mix.duration_ms)
    return [Crash(at_ms, name, log_between(draws, _DARK_MS), power_loss=True) for name in replicas]


def crashes_during_installs(
    seed: int, mix: Mix, drawn: Mapping[str, Sequence[Fault]]
) -> Iterator[Fault]:
    """Crashes in the middle of the snapshots that the faults lead to.

    Such a crash waits from the end of an outage for the replica's next snapshot, which may never
    come; only replicas that the outage names have one. `drawn` are the faults by what drew them.
    """
    if not (mix.install_crashes and mix.snapshots):
        return
    for source, faults in drawn.items():
        draws = Draws(seed, f"installs/{source}")
        for fault in faults:
            waits, down_ms = draws.happens(mix.install_crashes), log_between(draws, _DARK_MS)
            back_ms = fault.at_ms + fault.duration_ms + 1
            named = fault.target not in ("leader", "follower")
            behind = fault.outage or fault.joins  # so far that it may be sent a snapshot
            if waits and behind and named and fault.during is None and back_ms < mix.duration_ms:
                yield Crash(back_ms, fault.target, down_ms, during="install")
