"""The random comparison: thousands of logs, both sides, and the smallest log they differ on.

The same seed gives the same logs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from tests.conformance.compare import (
    Answerer,
    Json,
    Refused,
    answers,
    difference_between,
    first_difference,
    replog_answer,
)
from tests.conformance.features import features_expected, features_of, passes, written_batches
from tests.conformance.log_source import LogSource

Progress = Callable[[int, str], None]
"""Takes how many different logs were compared so far, and what is being done."""

COMPARING = "comparing"
SHRINKING = "they differ: looking for a smaller log"


@dataclass(frozen=True, slots=True)
class Agreed:
    """A log on which both sides agree.

    Attributes:
        document: The log file.
        kafka: Kafka's answer.
        features: What happened in it.
    """

    document: Json
    kafka: Json
    features: frozenset[str]


@dataclass(slots=True)
class Compared:
    """What a random comparison found.

    Attributes:
        seed: The seed of the logs.
        preset: What they are cleaned like.
        logs: How many different logs were compared.
        steps: Steps of these logs, after each of which everything was compared.
        passes: Cleaning passes among them.
        records: Records the logs wrote, markers included.
        features: In how many logs each feature occurred.
        difference: The first difference in one sentence; None = all agree.
        document: The smallest log found that shows it.
    """

    seed: int
    preset: str
    logs: int = 0
    steps: int = 0
    passes: int = 0
    records: int = 0
    features: Counter[str] = field(default_factory=Counter)
    difference: str | None = None
    document: Json | None = None

    @property
    def never(self) -> list[str]:
        """Features that did not occur in any log."""
        return [name for name in features_expected(self.preset) if not self.features[name]]


def compare_random(
    count: int,
    seed: int = 0,
    *,
    kafka: Answerer,
    replog: Answerer = replog_answer,
    preset: str = "kafka-4.0",
    progress: Progress = lambda done, doing: None,
    agreed: Callable[[Agreed], None] = lambda case: None,
) -> Compared:
    """Compare both sides on `count` different random logs, or up to the first difference.

    Args:
        count: How many.
        seed: The same seed gives the same logs.
        kafka: Kafka's side.
        replog: Replog's side.
        preset: What the logs are cleaned like; Kafka's side must be of such a release.
        progress: Told after each log.
        agreed: Given each log on which both agree.
    """
    comparison = _Comparison(Compared(seed, preset), replog, kafka, progress, agreed)
    comparison.run(count)
    return comparison.result


class _Comparison:
    """Runs both sides on random logs, and counts."""

    def __init__(
        self,
        result: Compared,
        replog: Answerer,
        kafka: Answerer,
        progress: Progress,
        agreed: Callable[[Agreed], None],
    ) -> None:
        self.result = result
        self._source = LogSource(result.preset, result.seed)
        self._replog = replog
        self._kafka = kafka
        self._progress = progress
        self._agreed = agreed

    def run(self, count: int) -> None:
        """Compare so many different logs; sets the result's difference where one is found."""
        seen: set[bytes] = set()
        number = 0
        while self.result.logs < count and self.result.difference is None:
            document = self._source.log(number)
            if document is not None:
                identity = blake2b(json.dumps(document).encode(), digest_size=16).digest()
                if identity not in seen:
                    seen.add(identity)
                    self._compare(number, document)
            number += 1

    def _compare(self, number: int, document: Json) -> None:
        try:
            ours, theirs = answers(document, self._replog, self._kafka)
            difference = difference_between(document, ours, theirs)
        except Refused as refused:
            difference = str(refused)
        if difference is None:
            self._count_in(document, ours, theirs)
            return
        self._progress(self.result.logs, SHRINKING)
        smallest = self._source.smallest(number, lambda other: self._difference(other) is not None)
        self.result.document = smallest
        self.result.difference = self._difference(smallest)

    def _difference(self, document: Json) -> str | None:
        return first_difference(document, replog=self._replog, kafka=self._kafka)

    def _count_in(self, document: Json, ours: Json, theirs: Json) -> None:
        found = features_of(document, ours)
        result = self.result
        result.logs += 1
        result.steps += len(document["steps"])
        result.passes += sum(1 for _ in passes(document, ours))
        result.records += records_in(document)
        result.features.update(found)
        self._agreed(Agreed(document, theirs, found))
        self._progress(result.logs, COMPARING)


def records_in(document: Json) -> int:
    """How many records a log file writes, markers included, appended ones included."""
    return sum(len(batch["records"]) for batch in written_batches(document))
