"""Every part of a random scenario is drawn for itself: with it or without, the rest is the same."""

from collections import Counter
from dataclasses import fields, is_dataclass

import pytest
from msgspec import Struct

from sim.simulate.faults import Fault, FaultKind
from sim.simulate.scenario.generate import Mix, generate
from sim.simulate.scenario.generate.mix import Weights

SEEDS = range(60)
EVERYTHING = {
    "install_crashes": 0.5,
    "power_losses": 0.5,
    "power_failures": 0.5,
    "cleaning_crashes": 0.5,
    "snapshots": 1.0,
    "faults": (2, 12),
}

CHANGED_BY = {
    "tail_hunts": {"faults"},
    "election_hunts": {"faults"},
    "disk_hunts": {"faults"},
    "mark_hunts": {"faults"},
    "retention": {"topic.deletes", "topic.retention_ms", "topic.retention_bytes"},
    "instances": {
        "workload.sends.producer",
        "workload.sends.transaction",
        "workload.ends",
        "workload.ends.*",
        "workload.instances",
    },
    "long_transactions": {"workload.sends.transaction", "workload.ends", "workload.ends.*"},
    "bursts": {"workload.sends.*", "workload.ends", "workload.ends.*"},
    "old_files": {"faults.high_watermark", "faults.cleaned", "faults.epochs"},
    "late_messages": {"late_messages.late"},
    "repeated_messages": {"late_messages.repeated"},
    "idle_phases": {"workload.sends.*", "workload.ends", "workload.ends.*", "faults", "faults.*"},
    "transactional": {"workload.sends.transaction", "workload.ends"},
    "not_idempotent": {"workload.idempotent"},
    "acks_one": {"workload.acks"},
    "ending_readers": {"consumers.until"},
    "last_rounds": {"last_rounds"},
    "skewed_clocks": {"replicas.clock_skew_ms"},
    "cleaners": {"replicas.cleaner_backoff_ms"},
    "lossy_network": {"network.loss"},
    "slow_link": {"network.links"},
    "snapshots": {"snapshots.*", "timers.snapshot_interval_ms", "timers.load_us_per_record"},
    "topic_lags": {"topic.min_compaction_lag_ms", "topic.max_compaction_lag_ms"},
    "small_maps": {"topic.dedupe_buffer_bytes"},
    "forgotten_producers": {"topic.producer_expiration_ms"},
    "small_fetches": {"topic.replica_fetch_max_bytes"},
    "flush_settings": {"topic.flush_messages", "topic.flush_ms"},
    "read_committed": {"consumers.isolation"},
    "partial_partitions": {"faults.peers"},
    "power_losses": {"faults.power_loss", "faults.lose_batches"},
    "power_failures": {"faults"},
    "cleaning_crashes": {"faults.during"},
    "install_crashes": {"faults"},
    "mixed_clients": {
        "replicas.versions",
        "workload.sends.value",
        "workload.sends.flag",
        "consumers.format",
        "changes",
    },
    "header_mistakes": {"workload.sends.headers"},
    "changed_settings": {"changes"},
    "timestamp_limits": {"topic.timestamp_difference_max_ms"},
    "deltas": {"workload.sends.key", "workload.sends.value"},
    "consumers": {"consumers"},
}
"""What of a scenario may differ when a part of the mix is there or is left out."""
RANGES = {
    *("mix", "duration_ms", "replicas", "sends", "keys", "producers", "faults", "weights"),
    *("kind_off", "outage_ms", "delete_share", "late_share", "lateness_ms", "idle_ms"),
    *("clock_skew_ms", "loss", "old_producers", "old_consumers"),
}
"""What no scenario does without."""


def mix_with(**parts: object) -> Mix:
    return Mix().model_copy(update=parts)


def counted(mix: Mix, seed: int) -> Counter[Fault]:
    return Counter(generate(seed, mix).faults)


def differences(one: object, other: object, path: str = "") -> set[str]:
    """The paths of the fields that differ; of a list that is longer or shorter, its own path."""
    if one == other:
        return set()
    names: list[str] = []
    if is_dataclass(one) and type(one) is type(other):
        names = [field.name for field in fields(one)]
    elif hasattr(one, "_fields"):
        names = [*one._fields]
    elif isinstance(one, Struct):
        names = [*one.__struct_fields__]
    if names:
        pairs = [(f"{path}.{name}", getattr(one, name), getattr(other, name)) for name in names]
        return {found for name, a, b in pairs for found in differences(a, b, name)}
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return {found for a, b in zip(one, other, strict=True) for found in differences(a, b, path)}
    return {path.removeprefix(".")}


def allowed(path: str, expected: set[str]) -> bool:
    return path in expected or f"{path.rpartition('.')[0]}.*" in expected


@pytest.mark.parametrize("kind", Weights.model_fields)
def test_without_a_kind_of_fault_only_its_own_and_what_follows_them_is_missing(kind: str) -> None:
    given = {**EVERYTHING, "tail_hunts": 0.0}
    every = {name: weight or 2.0 for name, weight in Weights()}
    mix = mix_with(**given, weights=Weights(**every))
    without = mix_with(**given, weights=Weights(**{**every, kind: 0.0}))
    missing: Counter[Fault] = Counter()
    for seed in SEEDS:
        assert not counted(without, seed) - counted(mix, seed)
        missing += counted(mix, seed) - counted(without, seed)

    assert any(fault.kind == kind for fault in missing)
    for fault in missing:
        follows = fault.kind == FaultKind.MIGRATE or fault.during == "install"
        assert fault.kind == kind or follows


@pytest.mark.parametrize("part", CHANGED_BY)
def test_a_part_of_a_mix_changes_its_own_part_of_a_scenario(part: str) -> None:
    """Faults, idle phases and transactions stay where they are when a link is slow, and so on."""
    ranges = ("idle_phases", "consumers")
    there, absent = (1.0, 0.0) if part not in ranges else ((2, 3), (0, 0))
    given = {"snapshots": 1.0, "faults": (2, 12), "transactional": 1.0, "cleaning_crashes": 0.5}
    if part == "retention":
        given["snapshots"] = 0.0
    pairs = [
        (
            generate(seed, mix_with(**{**given, part: absent})),
            generate(seed, mix_with(**{**given, part: there})),
        )
        for seed in range(30)
    ]
    found = {path for before, after in pairs for path in differences(before, after)}

    assert found
    assert sorted(path for path in found if not allowed(path, CHANGED_BY[part])) == []


def test_every_part_that_a_mix_may_leave_out_is_tried() -> None:
    assert set(CHANGED_BY) | RANGES == set(Mix.model_fields)
    assert not set(CHANGED_BY) & RANGES
