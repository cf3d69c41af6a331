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
from tests.conformance.pool_runs import compare_pools
from tests.conformance.random_runs import Compared, compare_random
from tests.conformance.recordings import CHOICES, Collection, write_recordings
from tests.conformance.seen_files import compare_seen

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
        seen: A sentence for each file seen on the old release that is answered otherwise now.
        pools: The choice among several logs, by the newest release.
    """

    version: str
    old: tuple[Compared, ...]
    seen: list[str]
    pools: Compared

    @property
    def together(self) -> Compared:
        """The comparisons with the old release as one; what one seed does not show another may."""
        result = Compared(self.old[0].seed, self.old[0].expected)
        for one in self.old:
            result.logs += one.logs
            result.counts += one.counts
            result.features += one.features
            if one.difference is not None and result.difference is None:
                result.difference = f"seed {one.seed}: {one.difference}"
        return result

    @property
    def complaints(self) -> list[str]:
        """What is wrong, one sentence each."""
        old = self.together.complaints(f"random logs of {self.version}")
        return [*old, *self.seen, *self.pools.complaints("choice of a log")]


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
        seeds = tuple(range(seed, seed + OLD_SEEDS))
        self._old: Future[tuple[tuple[Compared, ...], list[str]]]
        self._old = self._executor.submit(compare_old, seeds, record)
        self._pools: Future[Compared]
        self._pools = self._executor.submit(compare_choices, version, seed, record)

    def result(self) -> BesideResult:
        """Wait for both."""
        try:
            return BesideResult(OLD_VERSION, *self._old.result(), self._pools.result())
        finally:
            self._executor.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """Do not begin what has not begun."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def compare_old(
    seeds: Sequence[int], record: int | None = None, *, count: int = OLD_LOGS
) -> tuple[tuple[Compared, ...], list[str]]:
    """Compare random logs, one seed after the other, and the seen files, with the old release."""
    kafka = KafkaCleaner(OLD_VERSION)
    kept = Collection()
    found = tuple(
        compare_random(count, one, kafka=kafka.answer, preset=kafka.preset, agreed=kept.add)
        for one in seeds
    )
    if record is not None and not any(one.difference for one in found):
        write_recordings(kept.chosen(record), version=OLD_VERSION)
    return found, compare_seen(OLD_VERSION, kafka.answer, record=record is not None)


def compare_choices(
    version: str, seed: int, record: int | None = None, *, count: int = POOLS
) -> Compared:
    """Compare choices among several logs with the newest release."""
    kept = Collection(of_each_kind=1)
    found = compare_pools(count, seed, kafka=KafkaPool(version).answer, agreed=kept.add)
    if record is not None and found.difference is None:
        write_recordings(kept.chosen(record), version=version, folder=CHOICES)
    return found
