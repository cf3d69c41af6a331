"""Random scenarios: one seed and a mix give one scenario, the same everywhere.

Nothing here looks at rules, so every rule set of a sweep meets the same environment. Scenarios are
made of plain dataclasses without validation: making one must cost far less than running it.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from sim.scenario.generate.durability import harder, interrupted_installs
from sim.scenario.generate.faults import draw_faults
from sim.scenario.generate.flag_drawing import with_flag_upgrade
from sim.scenario.generate.mix import BUILT_IN_MIXES, Mix
from sim.scenario.generate.streams import between, log_between, share_between, stream
from sim.scenario.generate.workload import WorkloadShape, draw_workload
from sim.scenario.model import (
    Consumer,
    Link,
    Network,
    ReplicaSpec,
    Scenario,
    Timers,
    Topic,
)
from sim.scenario.model.rollouts import Rollout
from sim.scenario.model.snapshots import SnapshotSettings

__all__ = ["BUILT_IN_MIXES", "Mix", "generate"]

_CLEANER_BACKOFFS_MS = (100, 200, 500, 500, 1_000, 2_000)
_SEGMENT_BYTES = (400, 800, 2_000, 4_000, 16_000)
_SEGMENT_MS = (None, 200, 500, 1_000, 2_000)
_DIRTY_RATIOS = (0.0, 0.1, 0.3, 0.5)
_POLL_MS = (50, 100, 300)
_LAG_MAX_MS = (200, 400, 600, 1_000)
_BUSY_BEGINNING = 0.05
"""Share of a run before which no idle phase begins: there has to be something to clean."""


def generate(seed: int, mix: Mix) -> Scenario:
    """The scenario of `seed`, in [0, 2**63), drawn from `mix`; its rules are the defaults.

    Workload, faults, cluster and consumers have a random stream each.
    """
    cluster = stream(seed, "generate/cluster")
    replicas = _replicas(mix, cluster)
    names = [replica.name for replica in replicas]
    writes = stream(seed, "generate/workload")
    idle = _idle_phases(mix, writes)
    shape = _shape(mix, idle, writes)
    scenario = Scenario(
        id=f"{mix.mix}-{seed}",
        seed=seed,
        duration_ms=mix.duration_ms,
        topic=_flushed(
            mix,
            _fetched_in_pieces(mix, _topic(mix, cluster), stream(seed, "generate/fetches")),
            stream(seed, "generate/flushing"),
        ),
        replicas=replicas,
        network=_network(mix, names, cluster),
        timers=_loading(mix, _timers(mix, cluster), stream(seed, "generate/loading")),
        workload=draw_workload(shape, duration_ms=mix.duration_ms, rng=writes),
        consumers=_isolated(
            mix,
            _consumers(mix, names, stream(seed, "generate/consumers")),
            stream(seed, "generate/isolation"),
        ),
        faults=interrupted_installs(
            harder(
                draw_faults(mix, replicas=names, idle=idle, rng=stream(seed, "generate/faults")),
                mix,
                replicas=names,
                rng=stream(seed, "generate/durability"),
            ),
            mix,
            rng=stream(seed, "generate/installs"),
        ),
        rollout=_rollout(mix, len(names), shape.producers, stream(seed, "generate/rollout")),
        snapshots=_snapshots(mix, stream(seed, "generate/snapshots")),
    )
    return with_flag_upgrade(mix, scenario, shape.producers, stream(seed, "generate/flag_upgrade"))


def _flushed(mix: Mix, topic: Topic, rng: Random) -> Topic:
    """With `flush.messages` and `flush.ms`, if the mix has them."""
    if mix.flush_settings <= 0:
        return topic
    return replace(
        topic,
        flush_messages=log_between(rng, (1, 50)) if rng.random() < mix.flush_settings else None,
        flush_ms=log_between(rng, (50, 5_000)) if rng.random() < mix.flush_settings else None,
    )


def _idle_phases(mix: Mix, rng: Random) -> tuple[tuple[int, int], ...]:
    """Phases without writes, in order, apart from each other."""
    phases: list[tuple[int, int]] = []
    duration_ms = mix.duration_ms
    first_ms = int(duration_ms * _BUSY_BEGINNING) + 1
    drawn = []
    for _ in range(between(rng, mix.idle_phases)):
        start = first_ms + int(rng.random() * (duration_ms - first_ms))
        drawn.append((start, min(duration_ms, start + log_between(rng, mix.idle_ms))))
    for start, end in sorted(drawn):
        if phases and start <= phases[-1][1]:
            phases[-1] = (phases[-1][0], max(end, phases[-1][1]))
        else:
            phases.append((start, end))
    return tuple(phases)


def _shape(mix: Mix, idle: tuple[tuple[int, int], ...], rng: Random) -> WorkloadShape:
    random = rng.random
    producers = between(rng, mix.producers)
    transactional = 1 + int(random() * producers) if random() < mix.transactional else 0
    return WorkloadShape(
        sends=between(rng, mix.sends),
        keys=between(rng, mix.keys),
        producers=producers,
        delete_share=share_between(rng, mix.delete_share),
        late_share=share_between(rng, mix.late_share),
        lateness_ms=log_between(rng, mix.lateness_ms),
        unversioned_share=random() * 0.2 if random() < 0.3 else 0.0,
        hot=random() < 0.3,
        late_tail=random(),
        deleted_tail=random() * 0.5,
        idle=idle,
        transactional=transactional,
        transaction_sends=1 + int(random() * 6),
        abort_share=random(),
        idempotent=random() >= mix.not_idempotent,
    )


def _replicas(mix: Mix, rng: Random) -> tuple[ReplicaSpec, ...]:
    random = rng.random
    skew_ms = mix.clock_skew_ms if random() < mix.skewed_clocks else 0
    return tuple(
        [
            ReplicaSpec(
                f"r{number}",
                int(skew_ms * (2.0 * random() - 1.0)),
                None if random() >= mix.cleaners else rng.choice(_CLEANER_BACKOFFS_MS),
            )
            for number in range(1, between(rng, mix.replicas) + 1)
        ]
    )


def _topic(mix: Mix, rng: Random) -> Topic:
    random = rng.random
    least = log_between(rng, (10, 1_000)) if random() < mix.topic_lags else 0
    most = least + log_between(rng, (200, 5_000)) if random() < mix.topic_lags else None
    return Topic(
        segment_bytes=rng.choice(_SEGMENT_BYTES),
        segment_ms=rng.choice(_SEGMENT_MS),
        min_cleanable_dirty_ratio=rng.choice(_DIRTY_RATIOS),
        min_compaction_lag_ms=least,
        max_compaction_lag_ms=most,
        dedupe_buffer_bytes=log_between(rng, (60, 400)) if random() < mix.small_maps else None,
        producer_expiration_ms=(
            log_between(rng, (500, 8_000)) if random() < mix.forgotten_producers else None
        ),
    )


def _fetched_in_pieces(mix: Mix, topic: Topic, rng: Random) -> Topic:
    """The topic, with followers that perhaps copy one to eight small batches at once."""
    if mix.small_fetches <= 0 or rng.random() >= mix.small_fetches:
        return topic
    return replace(topic, replica_fetch_max_bytes=log_between(rng, (80, 640)))


def _isolated(mix: Mix, consumers: tuple[Consumer, ...], rng: Random) -> tuple[Consumer, ...]:
    """The consumers, of which some perhaps read committed."""
    if mix.read_committed <= 0:
        return consumers
    return tuple(
        [
            replace(consumer, isolation="read_committed")
            if rng.random() < mix.read_committed
            else consumer
            for consumer in consumers
        ]
    )


def _rollout(mix: Mix, replicas: int, producers: int, rng: Random) -> Rollout | None:
    """An upgrade in three phases that do not overlap; a topic's setting spreads in no time."""
    if mix.upgrade <= 0 or rng.random() >= mix.upgrade:
        return None
    phase_ms = mix.duration_ms // 4
    first, second, last = (phase_ms * n + int(rng.random() * phase_ms / 4) for n in range(3))

    def delays(count: int, longest_ms: int) -> tuple[int, ...]:
        return tuple([int(rng.random() * longest_ms) for _ in range(count)])

    spread_ms = phase_ms * 3 // 4
    return Rollout(
        (first, second, last),
        delays(replicas, spread_ms),
        delays(producers, spread_ms),
        delays(replicas, spread_ms // 8),
        (last + mix.duration_ms) // 2,
    )


def _network(mix: Mix, names: list[str], rng: Random) -> Network:
    random = rng.random
    low = 1 + int(random() * 4)
    high = low + int(25 ** random())
    links: tuple[Link, ...] = ()
    if random() < mix.slow_link and len(names) > 1:
        source, target = rng.sample(names, 2)
        links = (Link(source, target, (high, high + log_between(rng, (20, 400)))),)
    loss = share_between(rng, mix.loss) if random() < mix.lossy_network else 0.0
    return Network((low, high), loss, links)


def _timers(mix: Mix, rng: Random) -> Timers:
    random = rng.random
    return Timers(
        replica_lag_max_ms=rng.choice(_LAG_MAX_MS),
        fetch_wait_ms=rng.choice((100, 300, 500)),
        fetch_retry_ms=rng.choice((50, 100, 300)),
        snapshot_interval_ms=(log_between(rng, (500, 4_000)) if random() < mix.snapshots else None),
        coordination_interval_ms=rng.choice((200, 500, 1_500)),
    )


def _loading(mix: Mix, timers: Timers, rng: Random) -> Timers:
    """State machines that take long enough to load for leaders to be busy with it."""
    if mix.snapshots <= 0 or rng.random() < 0.5:
        return timers
    return replace(timers, load_us_per_record=log_between(rng, (100, 50_000)))


def _snapshots(mix: Mix, rng: Random) -> SnapshotSettings:
    """Chunks so small that leaders change in the middle of a transfer, and records are cut."""
    if mix.snapshots <= 0:
        return SnapshotSettings()
    random = rng.random
    return SnapshotSettings(
        chunk_bytes=log_between(rng, (40, 1_000)),
        record_bytes=log_between(rng, (150, 4_000)) if random() < 0.5 else None,
        interval_ms=log_between(rng, (200, 4_000)) if random() < 0.3 else None,
        retention_bytes=log_between(rng, (300, 8_000)) if random() < 0.4 else None,
        retention_ms=log_between(rng, (200, 4_000)) if random() < 0.3 else None,
    )


def _consumers(mix: Mix, names: list[str], rng: Random) -> tuple[Consumer, ...]:
    random = rng.random
    consumers = []
    for number in range(1, between(rng, mix.consumers) + 1):
        pauses = []
        start = 0
        for _ in range(int(random() * 3)):
            start += int(random() * mix.duration_ms / 2)
            end = start + log_between(rng, (100, 4_000))
            pauses.append((start, end))
            start = end
        consumers.append(
            Consumer(
                f"c{number}",
                rng.choice(_POLL_MS),
                1 + int(random() * 5) if random() < 0.3 else None,
                rng.choice(names) if random() < 0.15 else None,
                tuple(pauses),
            )
        )
    return tuple(consumers)
