"""Random comparisons of thousands of logs, down to the smallest log on which both sides differ.

The same seed gives the same logs. Comparisons other than that of the newest release run in
processes of their own, as a process can load the classes of one Kafka release only.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from multiprocessing import get_context
from typing import NamedTuple

from tests.conformance.compare import Answerer, Json, Refused, answers, difference_between
from tests.conformance.features import features_expected, features_of, written_batches
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
    Agreed,
    Collection,
    compare_seen,
    write_recordings,
)

OLD_VERSION = "2.8.2"
"""The last release without delete horizons (KIP-534)."""
OLD_SEEDS = 3
OLD_LOGS = 500
"""Number of logs of each seed."""
POOLS = 500

Progress = Callable[[int, str], None]
"""Function that takes the number of logs compared so far, and the present activity."""


class Judged(NamedTuple):
    """Result for one log, or set of logs.

    Attributes:
        case: The log file, Kafka's answer, and the features that occurred.
        counts: Numbers of steps, passes, records or logs in it, by name.
        difference: First difference in one sentence; None if both sides agree.
    """

    case: Agreed
    counts: Mapping[str, int]
    difference: str | None = None


@dataclass(slots=True)
class Compared:
    """Result of a random comparison.

    Attributes:
        seeds: Seeds of the logs.
        expected: Features that can occur in them.
        logs: Number of different logs, or sets of logs, that were compared.
        counts: Numbers of steps, passes, records or logs in them, by name.
        features: Number of them in which each feature occurred.
        difference: First difference in one sentence; None if all agree.
        document: Smallest log found that shows it; None without a difference.
    """

    seeds: tuple[int, ...]
    expected: tuple[str, ...]
    logs: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    difference: str | None = None
    document: Json | None = None

    @property
    def verdict(self) -> str:
        """The outcome in two words."""
        return "all agree" if self.difference is None else "they differ"

    def complaints(self, what: str) -> list[str]:
        """A sentence for each difference or missing feature; `what` names the logs."""
        if self.difference is not None:
            return [f"{what}: {self.difference}"]
        never = [name for name in self.expected if not self.features[name]]
        return [f"{what}: in none of them: {name}; raise --count" for name in never]


def compare_drawn(
    make: Callable[[Choices], Json],
    judge: Callable[[Json], Judged],
    result: Compared,
    *,
    count: int,
    progress: Progress = lambda done, doing: None,
    agreed: Callable[[Agreed], None] = lambda case: None,
) -> Compared:
    """Compares `count` different logs of each seed, up to the first difference.

    Args:
        make: Makes a log, or a set of logs, from choices.
        judge: Asks both sides.
        result: An empty result with the seeds, which is filled.
        count: Number of logs of each seed.
        progress: Called after each log.
        agreed: Called with each log on which both sides agree.
    """
    seen: set[bytes] = set()
    for seed in result.seeds:
        number, until = -1, result.logs + count
        while result.logs < until:
            number += 1
            choices = numbered(seed, number)
            value = make(choices)
            identity = blake2b(json.dumps(value).encode(), digest_size=16).digest()
            if identity in seen:
                continue
            seen.add(identity)
            judged = judge(value)
            if judged.difference is not None:
                progress(result.logs, "they differ: looking for a smaller log")
                best = smallest(
                    choices.made, lambda made: bool(judge(make(Choices(made))).difference)
                )
                judged = judge(make(Choices(best)))
                result.difference = f"seed {seed}: {judged.difference}"
                result.document = judged.case.document
                return result
            result.logs += 1
            result.counts.update(judged.counts)
            result.features.update(judged.case.features)
            agreed(judged.case)
            progress(result.logs, "comparing")
    return result


def compare_random(
    count: int,
    seeds: Sequence[int],
    *,
    kafka: Answerer,
    preset: str,
    progress: Progress = lambda done, doing: None,
    agreed: Callable[[Agreed], None] = lambda case: None,
) -> Compared:
    """Compares both sides on `count` different random logs of each seed, by `compare_drawn`.

    Kafka's side must be a release that the preset models.
    """

    def judge(document: Json) -> Judged:
        try:
            ours, theirs = answers(document, kafka)
            difference = difference_between(document, ours, theirs)
        except Refused as refused:
            difference = str(refused)
        if difference is not None:
            return Judged(Agreed(document, {}, frozenset()), {}, difference)
        counts = {
            "steps": len(document["steps"]),
            "passes": sum(step["op"] == "clean" for step in document["steps"]),
            "records": sum(len(batch["records"]) for batch in written_batches(document)),
        }
        return Judged(Agreed(document, theirs, features_of(document, ours)), counts)

    make = partial(random_log, preset=preset)
    result = Compared(tuple(seeds), features_expected(preset))
    return compare_drawn(make, judge, result, count=count, progress=progress, agreed=agreed)


@dataclass(frozen=True, slots=True)
class OtherResults:
    """Results of the comparisons other than that of the newest release.

    Attributes:
        version: The old release.
        old: The random comparison with it.
        seen: A sentence for each file seen on the old release whose answer differs now.
        pools: The comparison of choices among several logs, with the newest release.
    """

    version: str
    old: Compared
    seen: list[str]
    pools: Compared

    @property
    def complaints(self) -> list[str]:
        """A sentence for each difference or missing feature."""
        old = self.old.complaints(f"random logs of {self.version}")
        return [*old, *self.seen, *self.pools.complaints("choice of a log")]


@contextmanager
def other_comparisons(
    version: str, seed: int, *, record: int | None = None
) -> Iterator[Callable[[], OtherResults]]:
    """Runs both comparisons in other processes; gives the function that waits for the results.

    A comparison that has not begun at the end is cancelled.

    Args:
        version: The newest release.
        seed: The first of the seeds.
        record: Number of agreed logs, and of choices, to keep as recordings; None for none.
    """
    kafka_jars(OLD_VERSION)  # here, as only one process should download, and report a failure
    spawned = get_context("spawn")
    executor = ProcessPoolExecutor(1, mp_context=spawned, max_tasks_per_child=1)
    old = executor.submit(compare_old, range(seed, seed + OLD_SEEDS), record)
    pools = executor.submit(compare_choices, version, seed, record)
    try:
        yield lambda: OtherResults(OLD_VERSION, *old.result(), pools.result())
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def compare_old(
    seeds: Sequence[int], record: int | None = None, *, count: int = OLD_LOGS
) -> tuple[Compared, list[str]]:
    """Compares random logs, and the seen files, with the old release."""
    kafka, kept = KafkaCleaner(OLD_VERSION), Collection()
    found = compare_random(count, seeds, kafka=kafka.answer, preset=kafka.preset, agreed=kept.add)
    if record is not None and found.difference is None:
        write_recordings(kept.chosen(record), version=OLD_VERSION)
    return found, compare_seen(OLD_VERSION, kafka.answer, record=record is not None)


def compare_choices(
    version: str, seed: int, record: int | None = None, *, count: int = POOLS
) -> Compared:
    """Compares choices among several logs with the newest release."""
    kafka, kept = KafkaPool(version), Collection(of_each_kind=1)

    def judge(pool: Json) -> Judged:
        answer = kafka.answer(pool)
        difference = choice_difference(answer)
        features = pool_features(answer) if difference is None else frozenset[str]()
        counts = {"logs": len(answer.document["logs"])}
        return Judged(Agreed(answer.document, answer.answer, features), counts, difference)

    result = Compared((seed,), tuple(POOL_FEATURES))
    compare_drawn(random_pool, judge, result, count=count, agreed=kept.add)
    if record is not None and result.difference is None:
        write_recordings(kept.chosen(record), version=version, folder=CHOICES)
    return result
