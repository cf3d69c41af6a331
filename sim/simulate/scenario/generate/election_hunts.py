"""The faults that endanger elections, in the order in which they do."""

from __future__ import annotations

from collections.abc import Sequence

from sim.simulate.faults import Fault
from sim.simulate.faults.crash import Crash
from sim.simulate.faults.migrate import Migrate
from sim.simulate.faults.one_way_partition import OneWayPartition
from sim.simulate.faults.partition import Partition
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws, between, log_between
from sim.simulate.scenario.generate.workload import busy_spans

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
