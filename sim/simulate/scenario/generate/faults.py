"""Random faults: their number of each kind, their times, targets and durations.

Each kind is drawn from streams of its own, so that a new kind, or another weight, leaves the faults
of all other kinds as they are. Targeted faults are added: sequences that independent faults rarely
form, around the tail of a log, a new disk, an election or an old high watermark. They need not do
any harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any

from sim.simulate.faults import (
    FAULTS,
    ROLES,
    Crash,
    Fault,
    Migrate,
    OneWayPartition,
    Partition,
    Roll,
    SlowFetcher,
    Wipe,
)
from sim.simulate.scenario.generate.clients import busy_spans, draw_shape
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws

_OUTAGES: dict[type[Fault], int] = {
    Crash: 6,
    Partition: 4,
    OneWayPartition: 2,
    SlowFetcher: 4,
    Wipe: 1,
}
"""The outages among targeted faults, with their relative frequencies.

They are not the weights of a mix, so that another weight leaves targeted faults of other kinds as
they are.
"""
_ENDS = tuple(accumulate(_OUTAGES.values()))
_IDLE_MS = 1_000
"""Length of an idle phase in ms below which there is no time to clean a tail and then miss it."""
_BEFORE_MS = (50, 1_200)
_RETURN_MS = (10, 1_500)
"""Range of the time in ms from the end of an outage to the migration to the replica."""


def tail_faults(
    seed: int, mix: Mix, replicas: Sequence[str], idle: Sequence[tuple[int, int]]
) -> list[Fault]:
    """Draws outage, roll, return and migration around one idle phase, or nothing.

    In this order a cleaned tail can be lost (KIP-280, KAFKA-17076), if it has lost to earlier
    records and is cleaned in time. The roll may also come after the return. Nothing is drawn if the
    outage, rolls or migrations have weight 0.
    """
    draws, weights = Draws(seed, "hunt"), mix.weights
    phases = [phase for phase in idle if phase[1] - phase[0] >= _IDLE_MS]
    targeted = draws.happens(mix.tail_hunts)
    if not (targeted and phases and weights.of(Roll) and weights.of(Migrate)):
        return []
    point = draws.random() * _ENDS[-1]
    kind = next(kind for kind, end in zip(_OUTAGES, _ENDS, strict=True) if point < end)
    if not weights.of(kind):
        return []
    start, end = draws.choice(phases)
    length = end - start
    target = draws.choice(replicas)
    away_ms = max(0, start - draws.between(_BEFORE_MS))
    roll_ms = start + int(draws.random() * length * 0.3)
    back_ms = start + int((0.2 + draws.random() * 0.6) * length)
    migrate_ms = back_ms + draws.log_between(_RETURN_MS)
    faults: list[Fault] = [
        kind(away_ms, target, back_ms - away_ms),
        Roll(roll_ms, "leader"),
        Migrate(migrate_ms, target),
    ]
    return [fault for fault in faults if fault.at_ms < mix.duration_ms]


_SOON_MS = 400
"""Time in ms (exclusive) from the return with a new disk within which the leader crashes or hands
over, so that the replica has hardly begun to copy."""
_AT_ONCE_MS = (1, 25)
"""Range of outages in ms that are so short that messages from before them arrive after them."""


def disk_faults(seed: int, mix: Mix, replicas: Sequence[str]) -> list[Fault]:
    """Draws a replica that loses its disk and a leader that goes right after that, or nothing.

    The replica has left the in-sync set before, or its disk would not be replaced: it was away for
    long, or so slow that it lagged behind. In the second case its restart is short, so that answers
    from before arrive afterwards.
    """
    draws = Draws(seed, "disk hunt")
    if not draws.happens(mix.disk_hunts) or len(replicas) == 1:
        return []
    at_ms, target = draws.below(mix.duration_ms * 0.8), draws.choice(replicas)
    slow, lags_ms = draws.happens(0.5), draws.between((700, 2_000))
    away_ms = draws.log_between(_AT_ONCE_MS) if slow else draws.log_between((700, 3_000))
    wiped_ms = at_ms + lags_ms if slow else at_ms
    back_ms = wiped_ms + away_ms
    soon_ms = back_ms + draws.below(_SOON_MS)
    crashes, down_ms = draws.happens(0.5), draws.log_between((300, 3_000))
    heir = draws.choice(replicas)
    faults: list[Fault] = [SlowFetcher(at_ms, target, lags_ms + away_ms)] if slow else []
    faults.append(Wipe(wiped_ms, target, away_ms))
    faults.append(Crash(soon_ms, "leader", down_ms) if crashes else Migrate(soon_ms, heir))
    return [fault for fault in faults if fault.at_ms < mix.duration_ms]


_ELECTED_MS = (300, 1_200)
"""Range of the time in ms until the remaining replicas have a leader."""
_EARLY = 0.4
"""Factor on the start of the longest script, so that it ends within the run."""
_LEADER, _FOLLOWER = ROLES


def election_faults(
    seed: int, mix: Mix, replicas: Sequence[str], idle: Sequence[tuple[int, int]]
) -> list[Fault]:
    """Draws one of three sequences of faults in which leaders follow each other, or nothing.

    They begin while clients write. Runs with one replica have none.
    """
    draws = Draws(seed, "election hunt")
    if not draws.happens(mix.election_hunts) or len(replicas) == 1:
        return []
    spans = busy_spans(idle, mix.duration_ms)
    start, end = draws.choice(spans) if spans else (0, mix.duration_ms)
    at_ms = start + draws.below((end - start) * 0.8)
    script = draws.choice((_successor_dies, _three_leaders, _restarts_between_votes))
    if script is _three_leaders:
        at_ms = int(at_ms * _EARLY)
    return [fault for fault in script(at_ms, replicas, draws) if fault.at_ms < mix.duration_ms]


def _successor_dies(at_ms: int, replicas: Sequence[str], draws: Draws) -> list[Fault]:
    """Draws a cut-off leader while clients write, and a crash of the next when it is back."""
    del replicas
    away_ms = draws.log_between((300, 2_500))
    dies_ms = at_ms + away_ms + draws.below(300)
    return [
        Partition(at_ms, _LEADER, away_ms),
        Crash(dies_ms, _LEADER, draws.log_between((100, 2_000))),
    ]


def _three_leaders(at_ms: int, replicas: Sequence[str], draws: Draws) -> list[Fault]:
    """Draws figure 8 of Raft: what the first leader wrote is on a majority, yet not committed.

    The first one writes what no follower gets, and crashes; the second one does the same; the first
    one comes back, leads again, hands on what it has and crashes; the second one comes back and
    leads again.
    """
    first = draws.choice(replicas)
    second = draws.choice([name for name in replicas if name != first])
    mute_ms = at_ms + draws.between(_ELECTED_MS)
    crash_ms = mute_ms + draws.between((50, 400))
    second_leads_ms = crash_ms + draws.between(_ELECTED_MS)
    second_mute_ms = second_leads_ms + draws.below(400)
    second_crash_ms = second_mute_ms + draws.between((50, 400))
    back_ms = second_crash_ms + draws.below(300)
    again_ms = back_ms + draws.between(_ELECTED_MS)
    third_ms = again_ms + draws.between((20, 600))
    second_back_ms = third_ms + draws.below(300)
    return [
        Migrate(at_ms, first),
        OneWayPartition(mute_ms, first, crash_ms - mute_ms + 1),
        Crash(crash_ms, first, back_ms - crash_ms),
        Migrate(second_leads_ms, second),
        OneWayPartition(second_mute_ms, second, second_crash_ms - second_mute_ms + 1),
        Crash(second_crash_ms, second, second_back_ms - second_crash_ms),
        Migrate(again_ms, first),
        Crash(third_ms, first, draws.log_between((500, 3_000))),
        Migrate(second_back_ms + draws.between(_ELECTED_MS), second),
    ]


def _restarts_between_votes(at_ms: int, replicas: Sequence[str], draws: Draws) -> list[Fault]:
    """Draws a crash of the leader, and restarts of voters between the requests of two candidates.

    A voter that forgot its vote could give it to both.
    """
    restarts = [
        Crash(
            at_ms + draws.between((200, 1_400)),
            _FOLLOWER,
            draws.log_between((1, 60)),
            draws.below(len(replicas)),
        )
        for _ in range(4)
    ]
    return [Crash(at_ms, _LEADER, draws.log_between((1_000, 4_000))), *restarts]


_UNREACHABLE_MS = (800, 4_500)
"""Range of the time in ms for which a replica is out of reach after its restart with an old high
watermark: a snapshot may be due."""
_OLD_MARKS = 8


def mark_faults(
    seed: int, mix: Mix, replicas: Sequence[str], idle: tuple[tuple[int, int], ...]
) -> list[Fault]:
    """Draws restarts with an old high watermark, out of reach of the leader, or nothing.

    The mark may be in the middle of a batch, and stays until the replica can fetch; a snapshot that
    it takes before then ends there, and the log starts there later.
    """
    draws = Draws(seed, "mark hunt")
    if not draws.happens(mix.mark_hunts):
        return []
    sends, faults = draw_shape(seed, mix, idle).sends, list[Fault]()
    for _ in range(_OLD_MARKS):
        share, target = draws.random(), draws.choice(replicas)
        at_ms, down_ms = int(share * mix.duration_ms), draws.log_between((1, 60))
        mark = int(sends * share * (0.1 + 0.9 * draws.random()))
        faults.append(Partition(at_ms, target, down_ms + draws.between(_UNREACHABLE_MS)))
        faults.append(Crash(at_ms, target, down_ms, high_watermark=mark))
    return faults


def targeted_faults(
    seed: int, mix: Mix, replicas: Sequence[str], idle: tuple[tuple[int, int], ...]
) -> dict[str, list[Fault]]:
    """Draws all targeted faults, by the name of their stream; a mix without faults has none.

    See `Mix.tail_hunts`, `Mix.election_hunts`, `Mix.disk_hunts`, `Mix.mark_hunts`.
    """
    found = {
        "hunt": tail_faults(seed, mix, replicas, idle),
        "election hunt": election_faults(seed, mix, replicas, idle),
        "disk hunt": disk_faults(seed, mix, replicas),
        "mark hunt": mark_faults(seed, mix, replicas, idle),
    }
    return found if mix.faults[1] > 0 else {name: [] for name in found}


WEIGHTS = 16.0
"""Sum of weights, as of the default ones, that gives the number of faults in `Mix.faults`."""
_LOPSIDED, _LOPSIDED_MEAN = 4.0, 1.3525
"""A kind is up to 16 times as frequent in one run as in another run that has it.

The mean of 4 ** (2u - 1) over u from 0 to 1 is (4 - 1/4) / (2 ln 4)."""
_NEWCOMERS_MAX = 2
_LOSES_BATCHES, _MOST_LOST = 0.5, 6
"""Share of crashes that lose batches, and the largest number of these."""
_AIMED = 0.5
"""Share of faults that are placed at an idle phase: an outage begins shortly before it and ends in
it, a roll or a migration happens in it."""
_BEFORE_IDLE_MS = 900


def draw_faults(
    seed: int, mix: Mix, *, replicas: Sequence[str], idle: tuple[tuple[int, int], ...]
) -> tuple[Fault, ...]:
    """Draws faults in order of time; `idle` are the phases without writes, (from, to) in ms."""
    number = Draws(seed, "faults").between(mix.faults)
    drawn = {
        name: _of_kind(seed, mix, FAULTS[name], number * weight, replicas, idle)
        for name, weight in mix.weights
        if weight > 0
    }
    returns = list(_migrations_back(seed, mix, drawn))
    targeted = targeted_faults(seed, mix, replicas, idle)
    drawn["hunt"] = targeted.pop("hunt")
    for source in ("crash", "hunt"):
        drawn[source] = made_harder(seed, mix, source, drawn.get(source, []))
    for kind in (Partition.kind, OneWayPartition.kind):
        drawn[kind] = list(_partial(seed, mix, kind, drawn.get(kind, []), replicas))
    drawn |= targeted
    drawn["power failure"] = power_failure(seed, mix, replicas)
    installs = crashes_during_installs(seed, mix, drawn)
    return tuple(sorted([*chain(*drawn.values()), *returns, *installs], key=attrgetter("at_ms")))


def _frequency(mix: Mix, draws: Draws) -> float:
    """Draws the factor of a kind's weight in a run: 1 on average, 0 in a share of the runs."""
    present, factor = draws.random() >= mix.kind_off, _LOPSIDED ** (2.0 * draws.random() - 1.0)
    return factor / _LOPSIDED_MEAN / (1.0 - mix.kind_off) if present else 0.0


def _of_kind(
    seed: int,
    mix: Mix,
    kind: type[Fault],
    weighted: float,
    replicas: Sequence[str],
    idle: Sequence[tuple[int, int]],
) -> list[Fault]:
    """Draws the faults of one kind, `weighted / WEIGHTS` on average over all runs."""
    draws = Draws(seed, f"faults/{kind.kind}")
    count = int(weighted / WEIGHTS * _frequency(mix, draws) + draws.random())
    if kind.joins:
        count = min(count, _NEWCOMERS_MAX)
    faults = []
    for number in range(1, count + 1):
        draws = Draws(seed, f"faults/{kind.kind}/{number}")
        at_ms, duration_ms = _when(mix, kind, idle, draws)
        target, pick = _target(kind, replicas, draws)
        if kind.joins:
            target, pick = f"r{len(replicas) + number}", 0
        fault = kind(at_ms, target, duration_ms, pick)
        if isinstance(fault, Crash) and draws.happens(_LOSES_BATCHES):
            fault = replace(fault, lose_batches=1 + draws.below(_MOST_LOST))
        faults.append(fault)
    return faults


def _when(
    mix: Mix, kind: type[Fault], idle: Sequence[tuple[int, int]], draws: Draws
) -> tuple[int, int]:
    """Draws start and duration in ms; takes five numbers, with and without idle phases."""
    aimed, place = draws.happens(_AIMED), draws.random()
    moment, before_ms = draws.random(), draws.below(_BEFORE_IDLE_MS)
    at_ms, duration_ms = int(moment * mix.duration_ms), draws.log_between(mix.outage_ms)
    if idle and aimed:
        start, end = idle[int(place * len(idle))]
        inside = start + int(moment * (end - start))
        begins_ms = max(0, start - before_ms)
        at_ms = min(inside, mix.duration_ms - 1) if kind.instant else begins_ms
        duration_ms = max(1, inside - begins_ms)
    return at_ms, 0 if kind.instant else duration_ms


def _target(kind: type[Fault], replicas: Sequence[str], draws: Draws) -> tuple[str, int]:
    """Draws a target, by name or by its role at the time, and its place among followers."""
    role, pick = draws.random(), draws.below(len(replicas))
    if not kind.draws_role or role >= 0.45:
        return replicas[pick], 0
    return _LEADER if role < 0.3 else _FOLLOWER, pick


def _partial(
    seed: int, mix: Mix, source: str, faults: Sequence[Fault], replicas: Sequence[str]
) -> Iterator[Fault]:
    """Limits some of the partitions to the target and one other replica."""
    draws = Draws(seed, f"partial partitions/{source}")
    for fault in faults:
        happens, peer = draws.happens(mix.partial_partitions), draws.choice(replicas)
        if happens and isinstance(fault, Partition) and peer != fault.target:
            yield replace(fault, peers=(peer,))
        else:
            yield fault


def _migrations_back(seed: int, mix: Mix, drawn: Mapping[str, Sequence[Fault]]) -> Iterator[Fault]:
    """Draws migrations to replicas that were away, in runs that have migrations."""
    migrates = _frequency(mix, Draws(seed, f"faults/{Migrate.kind}"))
    if not (migrates and mix.weights.of(Migrate)):
        return
    share = Draws(seed, "migrations back").random()
    for kind, faults in drawn.items():
        if FAULTS[kind].keeps_position:
            continue
        draws = Draws(seed, f"migrations back/{kind}")
        for fault in faults:
            follows, pause_ms = draws.happens(share), draws.log_between(_RETURN_MS)
            at_ms = fault.at_ms + fault.duration_ms + pause_ms
            if follows and at_ms < mix.duration_ms and fault.target not in ROLES:
                yield Migrate(at_ms, fault.target)


_OPERATIONS = 60
"""Upper bound (exclusive) of the operation of a pass after which a crash comes, modulo their count;
most passes have fewer."""
_OLD = (1, 200)
"""Range of the offsets or epochs in old files; a file that says less stays as it is."""
_DARK_MS = (100, 2_000)
"""Range of the time in ms that a replica is down after a power failure or a crash in an install."""


def made_harder(seed: int, mix: Mix, source: str, faults: list[Fault]) -> list[Fault]:
    """Makes some crashes harder, as the mix asks: without power, in a pass, with old files."""
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
    """Perhaps makes a crash wait for a cleaning pass and one of its operations on files."""
    waits, number = draws.happens(chance), draws.below(_OPERATIONS)
    return replace(fault, during=number) if waits else fault


def _beside_old_files(fault: Crash, chance: float, draws: Draws) -> Crash:
    """Perhaps lets a crash leave a file of the replica that is older than the log."""
    happens, number = draws.happens(chance), draws.log_between(_OLD)
    old: dict[str, Any] = {draws.choice(("high_watermark", "cleaned", "epochs")): number}
    return replace(fault, **old) if happens else fault


def power_failure(seed: int, mix: Mix, replicas: Sequence[str]) -> list[Fault]:
    """Draws a crash of every replica at one time, with a loss of power, or nothing."""
    draws = Draws(seed, "power failure")
    if not draws.happens(mix.power_failures):
        return []
    at_ms = draws.below(mix.duration_ms)
    return [Crash(at_ms, name, draws.log_between(_DARK_MS), power_loss=True) for name in replicas]


def crashes_during_installs(
    seed: int, mix: Mix, drawn: Mapping[str, Sequence[Fault]]
) -> Iterator[Fault]:
    """Draws crashes of replicas that install a snapshot after an outage or after they joined.

    Such a crash waits from the end of the fault for the replica's next snapshot, which may never
    come; only faults that name their replica have one. `drawn` has the faults by their source.
    """
    if not (mix.install_crashes and mix.snapshots):
        return
    for source, faults in drawn.items():
        draws = Draws(seed, f"installs/{source}")
        for fault in faults:
            waits, down_ms = draws.happens(mix.install_crashes), draws.log_between(_DARK_MS)
            back_ms = fault.at_ms + fault.duration_ms + 1
            named = fault.target not in ROLES
            behind = fault.outage or fault.joins  # so far that it may be sent a snapshot
            if waits and behind and named and fault.during is None and back_ms < mix.duration_ms:
                yield Crash(back_ms, fault.target, down_ms, during="install")
