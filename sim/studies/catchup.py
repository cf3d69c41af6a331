"""What a new replica costs with a full log, a compacted log and snapshots: one run each.

The same writes go to the same cluster three times; only what becomes of old records differs. Then a
replica with an empty disk joins, and later it restarts and loads its state (KIP-630, Motivation:
loading and bootstrapping take as long as the log is).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import takewhile

from sim.bounds import Inconclusive
from sim.errors import BadInput
from sim.faults.add_replica import AddReplica
from sim.faults.crash import Crash
from sim.limits import ANSWERS
from sim.rules import Rules
from sim.scenario.generate.shape import WorkloadShape
from sim.scenario.generate.streams import stream
from sim.scenario.generate.workload import draw_workload
from sim.scenario.model import Limits, Network, ReplicaSpec, Scenario, Timers, Topic
from sim.scenario.model.snapshots import SnapshotSettings
from sim.timed_run import run_scenario
from sim.trace import (
    Copied,
    Event,
    HighWatermarkMoved,
    ReplicaCrashed,
    SnapshotChunkFetched,
    SnapshotInstalled,
    StateLoaded,
)

NEWCOMER = "new"
QUIET_MS, WRITE_EVERY_MS, SETTLE_MS, DOWN_MS = 1_500, 4, 3_000, 100
"""Before the first write, between writes, after everybody has them all, and in the restart."""

SNAPSHOT_RECORD_BYTES = 80
"""More than a record takes in a snapshot."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What a new replica cost under one policy.

    Attributes:
        policy: `full log`, `compacted log` or `snapshot`.
        bytes_sent: Bytes of batches and snapshot chunks that it was sent until it restarted.
        fetches: So many answers brought them.
        caught_up_ms: From its joining until it had what was committed when it joined.
        snapshot_records: Records of a snapshot that it loaded when it restarted.
        log_records: Records of its log that it loaded.
        load_ms: How long that took.
    """

    policy: str
    bytes_sent: int
    fetches: int
    caught_up_ms: int
    snapshot_records: int
    log_records: int
    load_ms: int


def compare(
    *,
    keys: int,
    updates: int,
    fetch_bytes: int = 4_096,
    latency_ms: int = 5,
    load_us_per_record: int = 100,
    seed: int = 0,
) -> list[CatchUp]:
    """Measure the three policies.

    Args:
        keys: The writes go to so many keys.
        updates: So many records are written, none of them a delete.
        fetch_bytes: Most bytes of an answer, of a log or of a snapshot.
        latency_ms: What a message takes between two replicas.
        load_us_per_record: Microseconds that a state machine takes for each record.
        seed: Of the keys that are written.

    Raises:
        BadInput: The newcomer would need more answers than there is time for.
        Inconclusive: A run hit a bound.
    """
    answers = updates + keys * SNAPSHOT_RECORD_BYTES // fetch_bytes + 20
    problem = ANSWERS.too_many(answers, f"answers of {fetch_bytes} bytes")
    if problem is not None:
        raise BadInput(problem)
    written_ms = QUIET_MS + updates * WRITE_EVERY_MS
    shape = WorkloadShape(
        sends=updates, keys=keys, producers=1, delete_share=0.0, idle=((0, QUIET_MS),)
    )
    workload = draw_workload(shape, duration_ms=written_ms, rng=stream(seed, "catchup"))
    transfer_ms = 2 * latency_ms * answers  # with one record, or one chunk, per answer
    joins_ms = written_ms + transfer_ms + SETTLE_MS
    restarts_ms = joins_ms + transfer_ms + SETTLE_MS
    base = Scenario(
        id="catchup",
        seed=seed,
        duration_ms=restarts_ms + 10 * DOWN_MS,
        rules=Rules.of(commit="majority", leader_change_record=True, snapshot_offer="by_epoch"),
        topic=Topic(
            segment_bytes=4_096,
            segment_ms=500,
            min_cleanable_dirty_ratio=0.01,
            replica_fetch_max_bytes=fetch_bytes,
        ),
        network=Network((latency_ms, latency_ms)),
        timers=Timers(
            election_timeout_ms=(300 + 4 * latency_ms, 600 + 8 * latency_ms),
            snapshot_cleaning_ms=200,
            load_us_per_record=load_us_per_record,
        ),
        workload=replace(workload, idempotent=False, retry_ms=restarts_ms),
        consumers=(),
        limits=Limits(max_events=200_000 + 200 * answers),
        faults=(
            AddReplica(joins_ms, NEWCOMER),
            Crash(restarts_ms, NEWCOMER, DOWN_MS),
        ),
    )
    return [_measure(policy, scenario) for policy, scenario in _policies(base, fetch_bytes)]


def _policies(base: Scenario, fetch_bytes: int) -> Iterable[tuple[str, Scenario]]:
    def of(cleanup: str, backoff_ms: int | None, settings: SnapshotSettings) -> Scenario:
        names = ("v1", "v2", "v3")
        return replace(
            base,
            rules=base.rules.with_values({"cleanup": cleanup}),
            replicas=tuple(ReplicaSpec(name, cleaner_backoff_ms=backoff_ms) for name in names),
            snapshots=settings,
        )

    takes = SnapshotSettings(chunk_bytes=fetch_bytes, record_bytes=4_096, retention_bytes=0)
    yield "full log", of("compact", None, SnapshotSettings())
    yield "compacted log", of("compact", 100, SnapshotSettings())
    yield "snapshot", of("snapshot", None, takes)


def _measure(policy: str, scenario: Scenario) -> CatchUp:
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    if run.verdict == "inconclusive":
        raise Inconclusive(f"{policy}: {run.reason}")
    of_newcomer = [place for place, (_, event) in enumerate(events) if event.replica == NEWCOMER]
    joined = of_newcomer[0]
    joined_ms, wanted = events[joined][0], max(_known(event) for _, event in events[:joined])
    own = [events[place] for place in of_newcomer]
    first = takewhile(lambda one: not isinstance(one[1], ReplicaCrashed), own)
    life = [(at, event, _size(event)) for at, event in first]
    caught_up_ms = next(at for at, event, _ in life if _known(event) >= wanted)
    loaded = [event for _, event in own if isinstance(event, StateLoaded)]
    last = loaded[-1] if loaded else StateLoaded(NEWCOMER, 0, 0, 0, 0)
    return CatchUp(
        policy,
        bytes_sent=sum(size or 0 for *_, size in life),
        fetches=sum(size is not None for *_, size in life),
        caught_up_ms=caught_up_ms - joined_ms,
        snapshot_records=last.snapshot_records,
        log_records=last.log_records,
        load_ms=last.took_ms,
    )


def _size(event: Event) -> int | None:
    """Bytes that an answer brought; None = it is no answer."""
    if isinstance(event, Copied):
        return sum(batch.size_bytes for batch in event.batches)
    return event.size_bytes if isinstance(event, SnapshotChunkFetched) else None


def _known(event: Event) -> int:
    """Up to where a replica knows what is committed; -1 when an event does not say so."""
    if isinstance(event, HighWatermarkMoved):
        return event.high_watermark
    return event.end_offset if isinstance(event, SnapshotInstalled) else -1
