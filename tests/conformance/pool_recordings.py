"""Recordings of which log Kafka's manager chose, so that the comparison runs again without Java.

A file of lines, each a log file for `replog eligible` with Kafka's answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sim.errors import BadInput
from sim.files.atomic import replacing
from tests.conformance.pool_kafka import PoolAnswer
from tests.conformance.recordings import FOLDER

CHOICES = FOLDER.with_name("kafka-choices")
"""Beside the recordings of what the cleaner keeps."""


class Choices:
    """Keeps the smallest agreed choice of each kind: of each set of features."""

    def __init__(self) -> None:
        self._kinds: dict[frozenset[str], tuple[str, PoolAnswer]] = {}

    def add(self, answer: PoolAnswer, features: frozenset[str]) -> None:
        """Consider one."""
        text = json.dumps(answer.document)
        known = self._kinds.get(features)
        if known is None or (len(text), text) < (len(known[0]), known[0]):
            self._kinds[features] = (text, answer)

    def chosen(self, count: int) -> list[tuple[frozenset[str], PoolAnswer]]:
        """At most `count`: first what it takes to have every feature, then small ones."""
        kinds = sorted(self._kinds.items(), key=lambda kind: (len(kind[1][0]), kind[1][0]))
        ranked = [(features, answer) for features, (_, answer) in kinds]
        needed: list[tuple[frozenset[str], PoolAnswer]] = []
        for feature in sorted({name for features, _ in ranked for name in features}):
            if not any(feature in features for features, _ in needed):
                needed.append(next(case for case in ranked if feature in case[0]))
        return [*needed, *(case for case in ranked if case not in needed)][:count]


def write_choices(
    cases: list[tuple[frozenset[str], PoolAnswer]], *, version: str, folder: Path = CHOICES
) -> Path:
    """Write the choices of one Kafka version to one file.

    Raises:
        BadInput: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"kafka-{version}.jsonl"
    with replacing(path) as file:
        for features, answer in cases:
            line = {"kafka": version, "features": sorted(features), **answer._asdict()}
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return path


def read_choices(folder: Path = CHOICES) -> Iterator[tuple[str, list[str], PoolAnswer]]:
    """Name, features and content of every recorded choice.

    Raises:
        BadInput: A line is no recording.
    """
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                read = json.loads(line)
                answer = PoolAnswer(read["document"], read["answer"])
                yield f"{path.name}:{number}", read["features"], answer
            except (ValueError, KeyError, TypeError):
                raise BadInput(f"{path}:{number}: not a recorded choice") from None
