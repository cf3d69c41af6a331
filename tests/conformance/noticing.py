"""Whether the random comparison notices errors of the cleaner that are planted in the product.

The logs were agreed on before, and Kafka's answers to them are kept in a file, so that no planted
error has to ask Kafka again. A product with the error answers log after log in a process of its
own, up to the first difference.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.conformance.compare import Json, first_difference
from tests.conformance.recordings import Agreed
from tests.zoo.planted import DEFECTS, OF_LOGS, Planted, command

ROOT = Path(__file__).parents[2]
PLANTED = tuple(one for one in DEFECTS.values() if one.group == OF_LOGS)
"""The errors that the random logs have to notice."""
WORKERS = 2
"""Processes that answer at the same time."""
LIMIT_SECONDS = 600
"""A product that takes longer hangs: noticed, too."""


class Noticed(NamedTuple):
    """What came of one planted error.

    Attributes:
        error: The error.
        log: Number of the first log, from 1, to which its answer differs; None = none.
        difference: The difference in one sentence; empty without one.
    """

    error: Planted
    log: int | None
    difference: str


class KeptLogs:
    """Writes agreed logs with Kafka's answers to a file, one a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("w", encoding="utf-8")

    def add(self, case: Agreed) -> None:
        """Keep one more."""
        self._file.write(json.dumps([case.document, case.kafka, sorted(case.features)]) + "\n")

    def close(self) -> None:
        """No more come."""
        self._file.close()

    def those_that_notice(self, noticed: Sequence[Noticed]) -> list[Agreed]:
        """The logs that were the first to notice an error, each once, in the order they came."""
        wanted = {one.log for one in noticed}
        with self.path.open(encoding="utf-8") as lines:
            kept = [
                json.loads(line) for number, line in enumerate(lines, start=1) if number in wanted
            ]
        return [Agreed(log, answer, frozenset(features)) for log, answer, features in kept]


def notice(
    logs: Path,
    errors: Sequence[Planted] = PLANTED,
    *,
    progress: Callable[[Noticed], None] = lambda noticed: None,
) -> list[Noticed]:
    """Plants each error by itself and lets the product answer the logs up to the first difference.

    Args:
        logs: The file that `KeptLogs` wrote.
        errors: The errors.
        progress: Called after each.

    Raises:
        ValueError: An error has no place in today's source, or the product does not even start.
    """

    def one(error: Planted) -> Noticed:
        noticed = _answered(error, logs)
        progress(noticed)
        return noticed

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(one, errors))


def _answered(error: Planted, logs: Path) -> Noticed:
    try:
        done = subprocess.run(
            command(error, "tests.conformance.noticing", str(logs.resolve())),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Noticed(error, 1, f"no answer in {LIMIT_SECONDS} s")
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:]
        raise ValueError(f"the product in which {error.what} does not start: {' '.join(last)}")
    return Noticed(error, *json.loads(done.stdout))


def first_noticed(logs: Path) -> tuple[int | None, str]:
    """Number of the first log, from 1, that this product answers otherwise than Kafka, and how."""
    with logs.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            log, answer, _ = json.loads(line)

            def kafka(_: Json, *, kept: Json = answer) -> Json:
                return kept

            difference = first_difference(log, kafka=kafka)
            if difference is not None:
                return number, difference
    return None, ""


if __name__ == "__main__":
    sys.stdout.write(json.dumps(first_noticed(Path(sys.argv[1]))))
