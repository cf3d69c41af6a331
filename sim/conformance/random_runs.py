"""The random comparison: thousands of small logs, both sides, and the smallest log they differ on.

Hypothesis writes the logs and makes a counterexample small. The same seed gives the same logs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.reporting import with_reporter

from sim.conformance.compare import (
    Answerer,
    Json,
    Refused,
    answers,
    difference_between,
    replog_answer,
)
from sim.conformance.features import features_expected, features_of, passes, written_batches
from sim.conformance.random_logs import documents

ROUND = 500
"""Hypothesis is asked for so many logs at a time."""

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


class _Differs(Exception):
    """Makes Hypothesis look for a smaller log."""

    def __init__(self, document: Json, difference: str) -> None:
        super().__init__(difference)
        self.document = document
        self.difference = difference


class _Enough(BaseException):
    """Ends a round of Hypothesis when as many logs were compared as were asked for."""


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
    comparison = _Comparison(count, Compared(seed, preset), replog, kafka, progress, agreed)
    number = 0
    while comparison.result.logs < count and comparison.result.difference is None:
        comparison.round(number)
        number += 1
    return comparison.result


class _Comparison:
    """Runs both sides on what Hypothesis draws, and counts."""

    def __init__(
        self,
        count: int,
        result: Compared,
        replog: Answerer,
        kafka: Answerer,
        progress: Progress,
        agreed: Callable[[Agreed], None],
    ) -> None:
        self.result = result
        self._count = count
        self._logs = documents(result.preset)
        self._replog = replog
        self._kafka = kafka
        self._progress = progress
        self._agreed = agreed
        self._seen: set[bytes] = set()
        self._failed = False

    def round(self, number: int) -> None:
        """One run of Hypothesis; sets the result's difference if it finds one."""

        @seed(f"{self.result.seed}/{number}")
        @settings(
            max_examples=ROUND,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            report_multiple_bugs=False,
            print_blob=False,
        )
        @given(self._logs)
        def agree(document: Json) -> None:
            self._compare(document)

        try:
            with with_reporter(lambda text: None):
                agree()
        except _Enough:
            pass
        except _Differs as found:
            self.result.difference = found.difference
            self.result.document = found.document

    def _compare(self, document: Json) -> None:
        identity = blake2b(json.dumps(document).encode(), digest_size=16).digest()
        if identity in self._seen and not self._failed:
            return
        if self.result.logs >= self._count and not self._failed:
            raise _Enough
        try:
            ours, theirs = answers(document, self._replog, self._kafka)
            difference = difference_between(document, ours, theirs)
        except Refused as refused:
            difference = str(refused)
        if difference is not None:
            self._failed = True
            self._progress(self.result.logs, SHRINKING)
            raise _Differs(document, difference)
        if not self._failed:
            self._seen.add(identity)
            self._count_in(document, ours, theirs)

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
