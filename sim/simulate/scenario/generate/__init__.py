"""Random scenarios: a seed and a mix give the same scenario on every machine.

Nothing here depends on rules, so every rule set of a sweep meets the same environment. Scenarios
are plain dataclasses without validation, since making one must cost far less than running it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sim.protocol.rules import RuleValue
from sim.simulate.scenario.generate.clients import (
    FIRST,
    SECOND,
    draw_consumers,
    draw_idle_phases,
    draw_shape,
    draw_takeover,
    draw_workload,
    with_deltas,
    with_header_mistakes,
    with_mixed_clients,
)
from sim.simulate.scenario.generate.faults import draw_faults, targeted_faults
from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix
from sim.simulate.scenario.generate.streams import (
    Draws,
    perhaps,
    stream,
)
from sim.simulate.scenario.model import (
    EVERY_REPLICA,
    Change,
    LateMessages,
    Link,
    Network,
    ReplicaSpec,
    Scenario,
    SnapshotSettings,
    Timers,
    Topic,
)

_CLEANER_BACKOFFS_MS = (100, 200, 500, 500, 1_000, 2_000)
_SEGMENT_BYTES = (400, 800, 2_000, 4_000, 16_000)
_SEGMENT_MS = (None, 200, 500, 1_000, 2_000)
_DIRTY_RATIOS = (0.0, 0.1, 0.3, 0.5)
_LAG_MAX_MS = (200, 400, 600, 1_000)


def draw_replicas(seed: int, mix: Mix) -> tuple[ReplicaSpec, ...]:
    """Draws replicas r1, r2, …, with their clocks and cleaners."""
    clocks, cleaners = Draws(seed, "clocks"), Draws(seed, "cleaners")
    skew_ms = mix.clock_skew_ms if clocks.happens(mix.skewed_clocks) else 0
    replicas = []
    for number in range(1, Draws(seed, "replicas").between(mix.replicas) + 1):
        cleans, backoff_ms = cleaners.happens(mix.cleaners), cleaners.choice(_CLEANER_BACKOFFS_MS)
        ahead_ms = int(skew_ms * (2.0 * clocks.random() - 1.0))
        replicas.append(ReplicaSpec(f"r{number}", ahead_ms, backoff_ms if cleans else None))
    return tuple(replicas)


def draw_network(seed: int, mix: Mix, replicas: Sequence[str]) -> Network:
    """Draws latency, perhaps loss, perhaps one link that is far slower than the others."""
    latency, slow, lossy = Draws(seed, "latency"), Draws(seed, "slow link"), Draws(seed, "loss")
    low = 1 + latency.below(4)
    high = low + int(25 ** latency.random())
    links: tuple[Link, ...] = ()
    if slow.happens(mix.slow_link) and len(replicas) > 1:
        source = slow.choice(replicas)
        target = slow.choice([name for name in replicas if name != source])
        links = (Link(source, target, (high, high + slow.log_between((20, 400)))),)
    loss = lossy.share_between(mix.loss) if lossy.happens(mix.lossy_network) else 0.0
    return Network((low, high), loss, links)


def draw_topic(seed: int, mix: Mix) -> Topic:
    """Draws segments, a dirty ratio, and perhaps each setting that has a chance in the mix.

    Small fetches hold one to eight small batches.
    """
    segments = Draws(seed, "segments")
    least_ms = perhaps(seed, "minimum lag", mix.topic_lags, (10, 1_000)) or 0
    longer_ms = perhaps(seed, "maximum lag", mix.topic_lags, (200, 5_000))
    return Topic(
        segment_bytes=segments.choice(_SEGMENT_BYTES),
        segment_ms=segments.choice(_SEGMENT_MS),
        min_cleanable_dirty_ratio=segments.choice(_DIRTY_RATIOS),
        min_compaction_lag_ms=least_ms,
        max_compaction_lag_ms=None if longer_ms is None else least_ms + longer_ms,
        dedupe_buffer_bytes=perhaps(seed, "offset map", mix.small_maps, (60, 400)),
        producer_expiration_ms=perhaps(
            seed, "producer expiration", mix.forgotten_producers, (500, 8_000)
        ),
        replica_fetch_max_bytes=perhaps(seed, "fetch size", mix.small_fetches, (80, 640)),
        flush_messages=perhaps(seed, "flush.messages", mix.flush_settings, (1, 50)),
        flush_ms=perhaps(seed, "flush.ms", mix.flush_settings, (50, 5_000)),
        timestamp_difference_max_ms=perhaps(
            seed, "timestamp limit", mix.timestamp_limits, (500, 5_000)
        ),
        **_retention(seed, mix),
    )


def _retention(seed: int, mix: Mix) -> dict[str, Any]:
    """Draws limits of retention, perhaps, but not where snapshots replace the start of a log."""
    draws, snapshots = Draws(seed, "retention"), draw_snapshots(seed, mix)
    due = (_snapshot_interval_ms(seed, mix), snapshots.record_bytes, snapshots.interval_ms)
    if any(due) or not draws.happens(mix.retention):
        return {}
    by_age, by_size = draws.below(3) < 2, draws.below(3) < 2
    age_ms, size = draws.log_between((800, 8_000)), draws.log_between((1_000, 12_000))
    return {
        "deletes": True,
        "retention_ms": age_ms if by_age or not by_size else None,
        "retention_bytes": size if by_size else None,
    }


def draw_timers(seed: int, mix: Mix) -> Timers:
    """Draws timers; with snapshots in the mix, half of the runs load state machines with delay.

    A leader takes no writes until its state machine is loaded.
    """
    draws = Draws(seed, "timers")
    loading = 0.5 if mix.snapshots > 0 else 0.0
    return Timers(
        replica_lag_max_ms=draws.choice(_LAG_MAX_MS),
        fetch_wait_ms=draws.choice((100, 300, 500)),
        fetch_retry_ms=draws.choice((50, 100, 300)),
        coordination_interval_ms=draws.choice((200, 500, 1_500)),
        snapshot_interval_ms=_snapshot_interval_ms(seed, mix),
        load_us_per_record=perhaps(seed, "loading", loading, (100, 50_000)) or 0,
    )


def _snapshot_interval_ms(seed: int, mix: Mix) -> int | None:
    return perhaps(seed, "snapshot interval", mix.snapshots, (500, 4_000))


def draw_snapshots(seed: int, mix: Mix) -> SnapshotSettings:
    """Draws settings of snapshots, with chunks so small that leaders change during a transfer."""
    if mix.snapshots <= 0:
        return SnapshotSettings()
    return SnapshotSettings(
        chunk_bytes=Draws(seed, "snapshot chunks").log_between((40, 1_000)),
        record_bytes=perhaps(seed, "snapshot records", 0.5, (150, 4_000)),
        interval_ms=perhaps(seed, "snapshot age", 0.3, (200, 4_000)),
        retention_bytes=perhaps(seed, "snapshot retention bytes", 0.4, (300, 8_000)),
        retention_ms=perhaps(seed, "snapshot retention ms", 0.3, (200, 4_000)),
    )


def draw_changes(seed: int, mix: Mix, replicas: Sequence[str]) -> tuple[Change, ...]:
    """Draws changes of the settings of one replica or of all, in order of time, perhaps."""
    draws = Draws(seed, "changed settings")
    if not draws.happens(mix.changed_settings):
        return ()
    times = sorted([draws.below(mix.duration_ms) for _ in range(1 + draws.below(3))])
    changes = []
    for at_ms in times:
        target = draws.choice((EVERY_REPLICA, draws.choice(replicas)))
        settings: dict[str, RuleValue] = {"map_range": "full"}
        if draws.happens(0.7):
            settings = {"delete_retention_ms": draws.log_between((1_000, 5_000))}
        changes.append(Change(at_ms, target, tuple(settings.items())))
    return tuple(changes)


_LAST_ROUNDS = 3
"""Rounds at rest: one sets delete horizons, one removes tombstones, one finds nothing more."""


def generate(seed: int, mix: Mix) -> Scenario:
    """Draws the scenario of `seed`, in [0, 2**63), from `mix`; its rules are the defaults.

    Every kind of fault and every optional part has a stream of its own, so that the rest of the
    scenario is the same without it.
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
        workload=replace(with_deltas(seed, mix, workload), instances=instances),
        consumers=draw_consumers(seed, mix, names),
        faults=draw_faults(seed, mix, replicas=names, idle=idle),
        changes=draw_changes(seed, mix, names),
        snapshots=draw_snapshots(seed, mix),
        last_rounds=_LAST_ROUNDS if Draws(seed, "last rounds").happens(mix.last_rounds) else 0,
    )
    mixed = with_mixed_clients(seed, mix, scenario, producers=shape.producers)
    return with_header_mistakes(seed, mix, mixed)


_TARGETED = ("tail", "elections", "lost_disks", "marks")
"""Names of the targeted faults, in the order of `targeted_faults`."""


def targeted_faults_of(seed: int, mix: Mix) -> tuple[str, ...]:
    """Names of the targeted faults of a scenario: `tail`, `elections`, `lost_disks`, `marks`."""
    names = [replica.name for replica in draw_replicas(seed, mix)]
    found = targeted_faults(seed, mix, names, draw_idle_phases(seed, mix))
    return tuple(name for name, faults in zip(_TARGETED, found.values(), strict=True) if faults)
