"""The random comparison: thousands of logs, both sides, and the smallest log they differ on.

The same seed gives the same logs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from hypothesis import strategies as st

from tests.conformance.compare import (
    Answerer,
    Json,
    Refused,
    answers,
    difference_between,
)
from tests.conformance.features import features_expected, features_of, passes, written_batches
from tests.conformance.log_source import LogSource
from tests.conformance.random_logs import documents
from tests.conformance.recordings import Agreed

Progress = Callable[[int, str], None]
"""Takes how many different logs were compared so far, and what is being done."""

COMPARING = "comparing"
SHRINKING = "they differ: looking for a smaller log"


class Judged(NamedTuple):
    """What comes of one drawn value.

    Attributes:
        case: The log file, Kafka's answer, what happened in it.
        counts: What is in it, by name.
        difference: The first difference in one sentence; None = both sides agree.
    """

    case: Agreed
    counts: Mapping[str, int]
    difference: str | None = None


@dataclass(slots=True)
class Compared:
    """What a random comparison found.

    Attributes:
        seed: The seed of the logs.
        expected: What can happen in them.
        logs: How many different logs, or sets of logs, were compared.
        counts: What was in them, by name.
        features: In how many of them each feature occurred.
        difference: The first difference in one sentence; None = all agree.
        document: The smallest log found that shows it.
    """

    seed: int
    expected: tuple[str, ...]
    logs: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    difference: str | None = None
    document: Json | None = None

    @property
    def never(self) -> list[str]:
        """Features that did not occur in any log."""
        return [name for name in self.expected if not self.features[name]]

    def complaints(self, what: str) -> list[str]:
        """What is wrong, one sentence each, about logs that are called so."""
        if self.difference is not None:
            return [f"{what}: {self.difference}"]
        return [f"{what}: in none of them: {name}; raise --count" for name in self.never]


def compare_drawn(
    drawn: st.SearchStrategy[Json],
    judge: Callable[[Json], Judged],
    result: Compared,
    *,
    count: int,
    progress: Progress = lambda done, doing: None,
    agreed: Callable[[Agreed], None] = lambda case: None,
) -> Compared:
    """Judge `count` different drawn values, or up to the first difference, and count.

    Args:
        drawn: What is drawn.
        judge: Asks both sides.
        result: Empty, with the seed.
        count: How many.
        progress: Told after each.
        agreed: Given each one on which both sides agree.
    """
    source = LogSource(drawn, result.seed)
    seen: set[bytes] = set()
    number = -1
    while result.logs < count:
        number += 1
        value = source.log(number)
        identity = blake2b(json.dumps(value).encode(), digest_size=16).digest()
        if value is None or identity in seen:
            continue
        seen.add(identity)
        judged = judge(value)
        if judged.difference is not None:
            progress(result.logs, SHRINKING)
            smallest = judge(
                source.smallest(number, lambda other: judge(other).difference is not None)
            )
            result.difference, result.document = smallest.difference, smallest.case.document
            break
        result.logs += 1
        result.counts.update(judged.counts)
        result.features.update(judged.case.features)
        agreed(judged.case)
        progress(result.logs, COMPARING)
    return result


def compare_random(
    count: int,
    seed: int = 0,
    *,
    kafka: Answerer,
    preset: str = "kafka-4.0",
    progress: Progress = lambda done, doing: None,
    agreed: Callable[[Agreed], None] = lambda case: None,
) -> Compared:
    """Compare both sides on `count` different random logs of a preset, as `compare_drawn` does.

    Kafka's side must be of a release that the preset is named after.
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
            "passes": sum(1 for _ in passes(document, ours)),
            "records": sum(len(batch["records"]) for batch in written_batches(document)),
        }
        return Judged(Agreed(document, theirs, features_of(document, ours)), counts)

    return compare_drawn(
        documents(preset),
        judge,
        Compared(seed, features_expected(preset)),
        count=count,
        progress=progress,
        agreed=agreed,
    )
