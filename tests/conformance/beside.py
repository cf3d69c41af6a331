"""What is compared beside the random logs of the newest release, in processes of their own.

A process can have the classes of one Kafka release only, and there are two cores to use.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from tests.conformance.jars import kafka_jars
from tests.conformance.kafka import KafkaCleaner
from tests.conformance.pool_kafka import KafkaPool
from tests.conformance.pool_recordings import Choices, write_choices
from tests.conformance.pool_runs import ComparedPools, compare_pools
from tests.conformance.random_runs import Compared, compare_random
from tests.conformance.recordings import Collection, write_recordings

OLD_VERSION = "2.8.2"
"""The last release without delete horizons (KIP-534)."""
OLD_SEEDS = 3
OLD_LOGS = 500
"""Logs of each seed."""
POOLS = 500


@dataclass(frozen=True, slots=True)
class BesideResult:
    """What came of it.

    Attributes:
        version: The old release.
        old: The random comparison with it, one for each seed.
        pools: The choice among several logs, by the newest release.
    """

    version: str
    old: tuple[Compared, ...]
    pools: ComparedPools

    @property
    def never(self) -> list[str]:
        """Features that did not occur with the old release, under any seed."""
        return [
            name for name in self.old[0].never if not any(one.features[name] for one in self.old)
        ]

    @property
    def complaints(self) -> list[str]:
        """What is wrong, one sentence each."""
        differences = [
            f"random logs of {self.version}, seed {one.seed}: {one.difference}"
            for one in self.old
            if one.difference is not None
        ]
        found = [*differences]
        if not differences:
            found += [f"random logs of {self.version}: in none: {name}" for name in self.never]
        if self.pools.difference is not None:
            found.append(f"choice of a log: {self.pools.difference}")
        else:
            found += [f"choice of a log: in none: {name}" for name in self.pools.never]
        return found


class Beside:
    """Both comparisons under way.

    Args:
        version: The newest release.
        seed: The first of the seeds.
        record: How many agreed logs, and choices, to keep as recordings.
    """

    def __init__(self, version: str, seed: int, *, record: int | None = None) -> None:
        kafka_jars(OLD_VERSION)  # one after the other: who downloads says what is wrong
        self._executor = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), max_tasks_per_child=1
        )
        self._old: Future[tuple[Compared, ...]] = self._executor.submit(
            compare_old, tuple(range(seed, seed + OLD_SEEDS)), record
        )
        self._pools: Future[ComparedPools] = self._executor.submit(
            compare_choices, version, seed, record
        )

    def result(self) -> BesideResult:
        """Wait for both."""
        try:
            return BesideResult(OLD_VERSION, self._old.result(), self._pools.result())
        finally:
            self._executor.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """Do not begin what has not begun."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def compare_old(
    seeds: Sequence[int], record: int | None = None, *, count: int = OLD_LOGS
) -> tuple[Compared, ...]:
    """Compare random logs with the old release, with one seed after the other."""
    kafka = KafkaCleaner(OLD_VERSION)
    kept = Collection()
    found = tuple(
        compare_random(count, one, kafka=kafka.answer, preset=kafka.preset, agreed=kept.add)
        for one in seeds
    )
    if record is not None and not any(one.difference for one in found):
        write_recordings(kept.chosen(record), version=OLD_VERSION)
    return found


def compare_choices(
    version: str, seed: int, record: int | None = None, *, count: int = POOLS
) -> ComparedPools:
    """Compare choices among several logs with the newest release."""
    kafka = KafkaPool(version)
    agreed = Choices()
    found = compare_pools(count, seed, kafka=kafka.answer, agreed=agreed.add)
    if record is not None and found.difference is None:
        write_choices(agreed.chosen(record), version=version)
    return found
