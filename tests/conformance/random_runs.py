"""Random comparisons of thousands of logs, down to the smallest log on which both sides differ.

The same seed gives the same logs. Comparisons other than that of the newest release run in
processes of their own, as a process can load the classes of one Kafka release only.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import count as numbers
from itertools import islice
from multiprocessing import get_context

from tests.conformance.batches import written_batches
from tests.conformance.compare import Json, Result, both_answers
from tests.conformance.features import features_expected, features_of
from tests.conformance.jvm import kafka_jars
from tests.conformance.kafka import KafkaCleaner
from tests.conformance.pools import (
    POOL_FEATURES,
    KafkaPool,
    choice_difference,
    pool_features,
    random_pool,
)
from tests.conformance.random_batches import Choices, numbered, smallest
from tests.conformance.random_logs import random_log
from tests.conformance.recordings import (
    CHOICES,
    Collection,
    Judged,
    compare_seen,
    write_recordings,
)
from tests.conformance.running import say

OLD_VERSION = "2.8.2"
"""The last release without delete horizons (KIP-534)."""
OLD_SEEDS = 3
OLD_LOGS = 500
"""Number of logs of each seed."""
POOLS = 500


@dataclass
class Compared(Result):
    """Result of a random comparison.

    Attributes:
        version: The Kafka release.
        preset: The preset that models it.
        seeds: Seeds of the logs.
        expected: Features that can occur in them.
        features: Number of logs, or sets of logs, in which each feature occurred.
        document: Smallest log found that shows a difference; None without a difference.
    """

    version: str = ""
    preset: str = ""
    seeds: Sequence[int] = ()
    expected: Sequence[str] = ()
    features: Counter[str] = field(default_factory=Counter)
    document: Json | None = None

    @property
    def complaints(self) -> list[str]:
        """A sentence for each difference, else for each feature that never occurred."""
        never = [name for name in self.expected if not self.features[name]]
        missing = [f"{self.what}: in none of them: {name}; raise --count" for name in never]
        return super().complaints or missing


def compare_drawn(
    make: Callable[[Choices], Json],
    judge: Callable[[Json], Judged],
    result: Compared,
    count: int,
    kept: Collection,
) -> Compared:
    """Compares `count` different logs of each seed, up to the first difference.

    Args:
        make: Makes a log, or a set of logs, from choices.
        judge: Asks both sides.
        result: An empty result with the seeds, which is filled.
        count: Number of logs of each seed.
        kept: Takes each log on which both sides agree.
    """
    seen: set[bytes] = set()
    for seed in result.seeds:
        drawn = islice(_different(make, seed, seen), count)
        for number, (choices, value) in enumerate(drawn, start=1):
            judged = judge(value)
            if judged.difference is not None:
                say(f"{result.what}: they differ: looking for a smaller log")
                best = smallest(choices, lambda made: bool(judge(make(Choices(made))).difference))
                judged = judge(make(Choices(best)))
                result.differences.append(f"seed {seed}: {judged.difference}")
                result.document = judged.document
                return result
            result.counts.update(judged.counts)
            result.features.update(judged.features)
            kept.add(judged)
            if number % 100 == 0:
                say(f"{result.what}: {number:,} of {count:,} compared")
    return result


def _different(
    make: Callable[[Choices], Json], seed: int, seen: set[bytes]
) -> Iterator[tuple[list[int], Json]]:
    """What a seed makes, each with its choices, without what was `seen` before."""
    for number in numbers():
        choices = numbered(seed, number)
        value = make(choices)
        identity = blake2b(json.dumps(value).encode(), digest_size=16).digest()
        if identity not in seen:
            seen.add(identity)
            yield choices.made, value


def compare_logs(
    version: str, seeds: Sequence[int], count: int, record: int | None = None
) -> Compared:
    """Compares random logs, and the files that were seen on a release, with its cleaner.

    Args:
        version: The Kafka release.
        seeds: Seeds of the logs.
        count: Number of logs of each seed.
        record: Number of agreed logs to keep as recordings; None for none.
    """
    kafka, kept = KafkaCleaner(version), Collection()

    def judge(document: Json) -> Judged:
        ours, theirs, difference = both_answers(document, kafka.answer)
        if difference is not None:
            return Judged(document, theirs, difference=difference)
        counts = {
            "different logs": 1,
            "steps": len(document["steps"]),
            "cleaning passes": sum(step["op"] == "clean" for step in document["steps"]),
            "records": sum(len(batch["records"]) for batch in written_batches(document)),
        }
        return Judged(document, theirs, features_of(document, ours), counts)

    what = f"random logs of Kafka {version} (seed {', '.join(map(str, seeds))})"
    expected = features_expected(kafka.preset)
    result = Compared(
        what, version=version, preset=kafka.preset, seeds=tuple(seeds), expected=expected
    )
    make = partial(random_log, preset=kafka.preset)
    compare_drawn(make, judge, result, count, kept)
    result.differences += compare_seen(version, kafka.answer, record=record is not None)
    if record is not None and not result.complaints:
        write_recordings(kept.chosen(record), version=version)
    return result


def compare_choices(version: str, seed: int, count: int, record: int | None = None) -> Compared:
    """Compares choices among several logs with a release; the rest as for `compare_logs`."""
    kafka, kept = KafkaPool(version), Collection(of_each_kind=1)

    def judge(pool: Json) -> Judged:
        answer = kafka.answer(pool)
        counts = {"different sets": 1, "logs": len(answer.document["logs"])}
        difference = choice_difference(answer)
        features = pool_features(answer) if difference is None else frozenset[str]()
        return Judged(answer.document, answer.answer, features, counts, difference)

    result = Compared(f"choice of a log (seed {seed})", seeds=(seed,), expected=POOL_FEATURES)
    compare_drawn(random_pool, judge, result, count, kept)
    if record is not None and not result.complaints:
        write_recordings(kept.chosen(record), version=version, folder=CHOICES)
    return result


@contextmanager
def other_comparisons(
    version: str, seed: int, record: int | None = None
) -> Iterator[tuple[Future[Compared], Future[Compared]]]:
    """Compares logs with the old release, and choices with the newest, in processes of their own.

    A comparison that has not begun at the end is cancelled.

    Args:
        version: The newest release.
        seed: The first of the seeds.
        record: Number of agreed logs, and of choices, to keep as recordings; None for none.
    """
    kafka_jars(OLD_VERSION)  # here, as only one process should download, and report a failure
    spawned = get_context("spawn")
    executor = ProcessPoolExecutor(1, mp_context=spawned, max_tasks_per_child=1)
    seeds = range(seed, seed + OLD_SEEDS)
    try:
        yield (
            executor.submit(compare_logs, OLD_VERSION, seeds, OLD_LOGS, record),
            executor.submit(compare_choices, version, seed, POOLS, record),
        )
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
