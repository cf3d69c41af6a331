"""Targeted faults: sequences in the order that endangers a log's tail, a new disk, or elections.

Independent faults rarely happen in such an order. Whether one does any harm stays open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from sim.simulate.faults import Fault
from sim.simulate.faults.crash import Crash
from sim.simulate.faults.migrate import Migrate
from sim.simulate.faults.one_way_partition import OneWayPartition
from sim.simulate.faults.partition import Partition
from sim.simulate.faults.roll import Roll
from sim.simulate.faults.slow_fetcher import SlowFetcher
from sim.simulate.faults.wipe import Wipe
from sim.simulate.scenario.generate.clients import busy_spans
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws, between, log_between

_OUTAGES: dict[type[Fault], int] = {
    Crash: 6,
    Partition: 4,
    OneWayPartition: 2,
    SlowFetcher: 4,
    Wipe: 1,
}
"""What takes the replica away, and how often compared with the others.

These are no weights of a mix, so that another weight leaves the hunts of other kinds as they are.
"""
_ENDS = tuple(accumulate(_OUTAGES.values()))
_IDLE_MS = 1_000
"""Shorter idle phases leave no time for a tail to be cleaned and then missed."""
_BEFORE_MS = (50, 1_200)
_MIGRATION_MS = (10, 1_500)
"""How long after the return the migration comes."""


def tail_hunt(
    seed: int, mix: Mix, replicas: Sequence[str], idle: Sequence[tuple[int, int]]
) -> list[Fault]:
    """Perhaps outage, roll, return, migration around one idle phase, each at a random time.

    That is the order in which a cleaned tail can be lost (KIP-280, KAFKA-17076). Independent faults
    rarely happen in it. Whether the tail loses, is cleaned in time and is missed stays open. There
    is none of an outage whose weight is 0, and none at all in runs without faults.
    """
    draws, weights = Draws(seed, "hunt"), mix.weights
    phases = [phase for phase in idle if phase[1] - phase[0] >= _IDLE_MS]
    hunts = draws.happens(mix.tail_hunts) and mix.faults[1] > 0
    if not (hunts and phases and weights.of(Roll) and weights.of(Migrate)):
        return []
    point = draws.random() * _ENDS[-1]
    kind = next(kind for kind, end in zip(_OUTAGES, _ENDS, strict=True) if point < end)
    if not weights.of(kind):
        return []
    start, end = draws.choice(phases)
    length = end - start
    target = draws.choice(replicas)
    away_ms = max(0, start - between(draws, _BEFORE_MS))
    roll_ms = start + int(draws.random() * length * 0.3)
    back_ms = start + int((0.2 + draws.random() * 0.6) * length)
    migrate_ms = back_ms + log_between(draws, _MIGRATION_MS)
    faults: list[Fault] = [
        kind(away_ms, target, back_ms - away_ms),
        Roll(roll_ms, "leader"),
        Migrate(migrate_ms, target),
    ]
    return [fault for fault in faults if fault.at_ms < mix.duration_ms]


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


_ELECTED_MS = (300, 1_200)
"""How long until the replicas that are left have a leader."""
_EARLY = 0.4
"""By how much earlier the longest script begins, so that it ends within the run."""
_LEADER, _FOLLOWER = "leader", "follower"


def election_hunt(
    seed: int, mix: Mix, replicas: Sequence[str], idle: Sequence[tuple[int, int]]
) -> list[Fault]:
    """Perhaps one of three orders of faults in which leaders follow on each other.

    They begin while clients write. There is none in runs without faults, or with one replica.
    """
    draws = Draws(seed, "election hunt")
    if not (draws.happens(mix.election_hunts) and mix.faults[1] > 0 and len(replicas) > 1):
        return []
    spans = busy_spans(idle, mix.duration_ms)
    start, end = draws.choice(spans) if spans else (0, mix.duration_ms)
    at_ms = start + draws.below((end - start) * 0.8)
    script = draws.choice((_successor_dies, _three_leaders, _restarts_between_votes))
    if script is _three_leaders:
        at_ms = int(at_ms * _EARLY)
    return [fault for fault in script(at_ms, replicas, draws) if fault.at_ms < mix.duration_ms]


def _successor_dies(at_ms: int, replicas: Sequence[str], draws: Draws) -> list[Fault]:
    """The leader is cut off while clients write; the next one dies when it returns."""
    del replicas
    away_ms = log_between(draws, (300, 2_500))
    dies_ms = at_ms + away_ms + draws.below(300)
    return [
        Partition(at_ms, _LEADER, away_ms),
        Crash(dies_ms, _LEADER, log_between(draws, (100, 2_000))),
    ]


def _three_leaders(at_ms: int, replicas: Sequence[str], draws: Draws) -> list[Fault]:
    """As in figure 8 of Raft: what the first leader wrote is on a majority, and yet not committed.

    The first one writes what nobody gets, and crashes; the second one does the same; the first one
    comes back, leads again, hands on what it has and crashes; the second one is back.
    """
    first = draws.choice(replicas)
    second = draws.choice([name for name in replicas if name != first])
    mute_ms = at_ms + between(draws, _ELECTED_MS)
    crash_ms = mute_ms + between(draws, (50, 400))
    second_leads_ms = crash_ms + between(draws, _ELECTED_MS)
    second_mute_ms = second_leads_ms + draws.below(400)
    second_crash_ms = second_mute_ms + between(draws, (50, 400))
    back_ms = second_crash_ms + draws.below(300)
    again_ms = back_ms + between(draws, _ELECTED_MS)
    third_ms = again_ms + between(draws, (20, 600))
    second_back_ms = third_ms + draws.below(300)
    return [
        Migrate(at_ms, first),
        OneWayPartition(mute_ms, first, crash_ms - mute_ms + 1),
        Crash(crash_ms, first, back_ms - crash_ms),
        Migrate(second_leads_ms, second),
        OneWayPartition(second_mute_ms, second, second_crash_ms - second_mute_ms + 1),
        Crash(second_crash_ms, second, second_back_ms - second_crash_ms),
        Migrate(again_ms, first),
        Crash(third_ms, first, log_between(draws, (500, 3_000))),
        Migrate(second_back_ms + between(draws, _ELECTED_MS), second),
    ]


def _restarts_between_votes(at_ms: int, replicas: Sequence[str], draws: Draws) -> list[Fault]:
    """The leader goes, and voters restart between the requests of two candidates.

    A voter that forgot its vote could give it to both.
    """
    restarts = [
        Crash(
            at_ms + between(draws, (200, 1_400)),
            _FOLLOWER,
            log_between(draws, (1, 60)),
            draws.below(len(replicas)),
        )
        for _ in range(4)
    ]
    return [Crash(at_ms, _LEADER, log_between(draws, (1_000, 4_000))), *restarts]
