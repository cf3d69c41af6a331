"""Random faults: how many of each kind, when, to whom, for how long.

Each kind is drawn for itself, from streams that its name and the seed determine: a kind that is
new, or whose weight changes, leaves the faults of every other kind as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from sim.simulate.faults import FAULTS, Fault
from sim.simulate.faults.crash import Crash
from sim.simulate.faults.migrate import Migrate
from sim.simulate.faults.one_way_partition import OneWayPartition
from sim.simulate.faults.partition import Partition
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws, between, log_between
from sim.simulate.scenario.generate.targeted_faults import disk_hunt, election_hunt, tail_hunt

USUAL_WEIGHTS = 16.0
"""Weights that add up to this give as many faults as the mix says, on average; the defaults do."""
_LOPSIDED, _LOPSIDED_MEAN = 4.0, 1.3525
"""In one run a kind is up to 16 times as frequent as in another, of those that have it at all.

The mean of 4 ** (2u - 1) over u from 0 to 1 is (4 - 1/4) / (2 ln 4)."""
_NEWCOMERS_MAX = 2
_AIMED = 0.5
"""Share of faults placed at an idle phase instead of anywhere: an outage begins shortly before it
and ends in it, a roll or a migration happens in it."""
_BEFORE_IDLE_MS = 900
_RETURN_MS = (10, 1_500)
"""How long after an outage leadership comes to the replica that was away."""


def draw_faults(
    seed: int, mix: Mix, *, replicas: Sequence[str], idle: Sequence[tuple[int, int]]
) -> tuple[Fault, ...]:
    """Faults in order of time. `idle` are the phases without writes, (from, to) in ms."""
    number = between(Draws(seed, "faults"), mix.faults)
    drawn = {
        name: _of_kind(seed, mix, FAULTS[name], number * weight, replicas, idle)
        for name, weight in mix.weights
        if weight > 0
    }
    returns = list(_migrations_back(seed, mix, drawn))
    drawn["hunt"] = tail_hunt(seed, mix, replicas, idle)
    for source in ("crash", "hunt"):
        drawn[source] = made_harder(seed, mix, source, drawn.get(source, []))
    for kind in (Partition.kind, OneWayPartition.kind):
        drawn[kind] = list(_partial(seed, mix, kind, drawn.get(kind, []), replicas))
    drawn["election hunt"] = election_hunt(seed, mix, replicas, idle)
    drawn["disk hunt"] = disk_hunt(seed, mix, replicas)
    drawn["power failure"] = power_failure(seed, mix, replicas)
    installs = crashes_during_installs(seed, mix, drawn)
    return tuple(sorted([*chain(*drawn.values()), *returns, *installs], key=_by_time))


def _by_time(fault: Fault) -> int:
    return fault.at_ms


def _frequency(mix: Mix, draws: Draws) -> float:
    """By what a kind's weight is multiplied in a run: 1 on average, 0 in a share of the runs."""
    present, factor = draws.random() >= mix.kind_off, _LOPSIDED ** (2.0 * draws.random() - 1.0)
    return factor / _LOPSIDED_MEAN / (1.0 - mix.kind_off) if present else 0.0


def _of_kind(
    seed: int,
    mix: Mix,
    kind: type[Fault],
    usual: float,
    replicas: Sequence[str],
    idle: Sequence[tuple[int, int]],
) -> list[Fault]:
    """The faults of one kind in no order, `usual / USUAL_WEIGHTS` on average over all runs."""
    draws = Draws(seed, f"faults/{kind.kind}")
    count = int(usual / USUAL_WEIGHTS * _frequency(mix, draws) + draws.random())
    if kind.joins:
        count = min(count, _NEWCOMERS_MAX)
    faults = []
    for number in range(1, count + 1):
        draws = Draws(seed, f"faults/{kind.kind}/{number}")
        at_ms, duration_ms = _when(mix, kind, idle, draws)
        target, pick = _target(kind, replicas, draws)
        if kind.joins:
            target, pick = f"r{len(replicas) + number}", 0
        faults.append(kind(at_ms, target, duration_ms, pick, **kind.drawn(draws)))
    return faults


def _when(
    mix: Mix, kind: type[Fault], idle: Sequence[tuple[int, int]], draws: Draws
) -> tuple[int, int]:
    """Start and duration in ms; five numbers are drawn, whether there are idle phases or not."""
    aimed, place = draws.happens(_AIMED), draws.random()
    moment, before_ms = draws.random(), draws.below(_BEFORE_IDLE_MS)
    at_ms, duration_ms = int(moment * mix.duration_ms), log_between(draws, mix.outage_ms)
    if idle and aimed:
        start, end = idle[int(place * len(idle))]
        inside = start + int(moment * (end - start))
        begins_ms = max(0, start - before_ms)
        at_ms = min(inside, mix.duration_ms - 1) if kind.instant else begins_ms
        duration_ms = max(1, inside - begins_ms)
    return at_ms, 0 if kind.instant else duration_ms


def _target(kind: type[Fault], replicas: Sequence[str], draws: Draws) -> tuple[str, int]:
    """A replica by name, or by its role at the time, and from which follower on to look."""
    role, pick = draws.random(), draws.below(len(replicas))
    if not kind.draws_role or role >= 0.45:
        return replicas[pick], 0
    return "leader" if role < 0.3 else "follower", pick


def _partial(
    seed: int, mix: Mix, source: str, faults: Sequence[Fault], replicas: Sequence[str]
) -> Iterator[Fault]:
    """The same partitions, some of which are between the target and one other replica."""
    draws = Draws(seed, f"partial partitions/{source}")
    for fault in faults:
        happens, peer = draws.happens(mix.partial_partitions), draws.choice(replicas)
        if happens and isinstance(fault, Partition) and peer != fault.target:
            yield replace(fault, peers=(peer,))
        else:
            yield fault


def _migrations_back(seed: int, mix: Mix, drawn: Mapping[str, Sequence[Fault]]) -> Iterator[Fault]:
    """Migrations to replicas that were away, where the run has migrations at all."""
    migrates = _frequency(mix, Draws(seed, f"faults/{Migrate.kind}"))
    if not (migrates and mix.weights.of(Migrate)):
        return
    share = Draws(seed, "migrations back").random()
    for kind, faults in drawn.items():
        if kind in FAULTS and FAULTS[kind].keeps_position:
            continue
        draws = Draws(seed, f"migrations back/{kind}")
        for fault in faults:
            follows, pause_ms = draws.happens(share), log_between(draws, _RETURN_MS)
            at_ms = fault.at_ms + fault.duration_ms + pause_ms
            by_role = fault.target in ("leader", "follower")
            if follows and at_ms < mix.duration_ms and not by_role:
                yield Migrate(at_ms, fault.target)


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
