"""Whether anything detects a planted defect: first what detected it last time, then everything.

A full trial runs the suite, then random runs up to the first that shows the defect, and the tests
of its package only where neither detects it. Each random run is compared with the same run without
the defect.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock, Timer
from typing import Any

from tests.zoo.draws import PLANS, SCENARIOS, Draw, draws
from tests.zoo.planted import OF_LOGS, Planted, code_digest, command
from tests.zoo.results import Result

ROOT = Path(__file__).parents[2]
RIGHT = ROOT / "build/zoo"
"""Where the runs without a defect are kept."""
SECONDS = 600
"""A trial that takes longer has said enough by then; three times as long without a defect."""
RUNS = 300
"""Random runs of a full trial."""

Json = dict[str, Any]


def answers(error: Planted | None, *task: str) -> Generator[Json]:
    """The answers of a product with a defect to a task of `tests.zoo.trial`, one by one.

    They end when time is up; the process ends when no more of them are asked for.

    Raises:
        ValueError: The defect has no place in today's source, or the product does not even start.
    """
    with TemporaryFile("w+") as complaint:
        process = subprocess.Popen(
            command(error, "tests.zoo.trial", *task),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=complaint,
            text=True,
        )
        late = Timer(SECONDS if error else 3 * SECONDS, process.kill)
        late.start()
        answered = 0
        try:
            for line in process.stdout or ():
                if line.endswith("}\n"):
                    answered += 1
                    yield json.loads(line)
        finally:
            late.cancel()
            process.kill()
            process.communicate()
        if process.returncode > 0 and not answered:
            complaint.seek(0)
            last = complaint.read().strip().splitlines()[-1:]
            raise ValueError(f"{error and error.name}: nothing runs: {' '.join(last)}")


class Detectors:
    """The suite, random runs and tests of the product."""

    def __init__(self) -> None:
        """Starts with the runs without a defect that are kept for today's sources."""
        self._path = RIGHT / f"{code_digest()}.jsonl"
        self._lock = Lock()
        self._right: dict[str, Json] = {}
        self._quiet: dict[str, bool] = {}
        if self._path.exists():
            lines = self._path.read_text(encoding="utf-8").splitlines()
            self._right = {one["id"]: one for one in map(json.loads, lines)}

    def prepare(self, results: Iterable[Result]) -> None:
        """Runs without a defect the files and random runs that detected defects last time.

        A file that complains then detects nothing. That tests pass, `make test` says.
        """
        kept = [*results]
        files = {one.suite["file"] for one in kept if one.suite}
        there = sorted(name for name in files if (SCENARIOS / name).exists())
        if there:
            self._run_quietly(*there)
        self._runs_without_defect([one.run for one in kept if _is_drawn_today(one)])

    def _run_quietly(self, *files: str) -> None:
        for one in answers(None, "suite", *files):
            self._quiet[one["file"]] = "invariant" not in one

    def suite(self, error: Planted, *files: str) -> dict[str, str]:
        """The first of some files, or of the whole suite, that detects a defect; empty = none.

        One that complains without the defect, too, detects nothing.
        """
        with closing(answers(error, "suite", *files)) as found:
            for one in found:
                if "invariant" in one:
                    with self._lock:
                        if one["file"] not in self._quiet:
                            self._run_quietly(one["file"])
                    if self._quiet[one["file"]]:
                        return one
        return {}

    def _runs_without_defect(self, names: Sequence[str]) -> dict[str, Json]:
        with self._lock:
            missing = [name for name in dict.fromkeys(names) if name not in self._right]
            if missing:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as kept:
                    for one in answers(None, "runs", *missing):
                        self._right[one["id"]] = one
                        kept.write(json.dumps(one) + "\n")
        return self._right

    def detects_again(self, error: Planted, result: Result) -> bool:
        """Whether a defect is detected by what detected it last time."""
        if result.suite:
            return bool(self.suite(error, result.suite["file"]))
        if _is_drawn_today(result):
            again = Result(code_digest())
            self.random(error, again, [Draw.named(result.run)])
            return bool(again.run)
        return bool(result.test and failed_test(error, result.test))

    def tried(self, error: Planted) -> Result:
        """The result of a full trial."""
        result = Result(code_digest(), suite=self.suite(error))
        if not error.unseen:
            self.random(error, result, [*draws(RUNS)])
        if not result.detected:
            result.test = failed_test(error, *_tests_of(error))
        return result

    def random(self, error: Planted, result: Result, chosen: Sequence[Draw]) -> None:
        """Adds random runs to a result, up to the first that shows the defect."""
        names = [one.id for one in chosen]
        with closing(answers(error, "runs", *names)) as found:
            for draw, wrong in zip(chosen, found, strict=False):
                ahead = names[: 2 * result.tries + 10]
                right = self._runs_without_defect(ahead)[draw.id]
                result.tries += 1
                result.touched += right["digest"] != wrong["digest"]
                result.by = _shown(right, wrong)
                if result.by:
                    result.run, result.environment = draw.id, draw.environment
                    return


def _is_drawn_today(result: Result) -> bool:
    return result.run.split(" ")[0] in PLANS


def _shown(right: Json, wrong: Json) -> list[str]:
    """What a run shows that the same run without the defect does not."""
    crash = wrong["crash"]
    if crash and not right["crash"]:
        return ["no end" if ":" not in crash or "rest" in crash else crash.split(":")[0]]
    return [name for name in wrong["violated"] if name not in right["violated"]]


def _tests_of(error: Planted) -> list[str]:
    """The tests of a defect's package, Kafka's recorded answers and the tests of audits."""
    rooms = [part for part in error.module.split("/")[:-1] if (ROOT / "tests" / part).exists()]
    places = [f"tests/{rooms[-1] if rooms else 'cluster'}", "tests/audits"]
    return ["tests/conformance/test_recordings.py"] * (error.group == OF_LOGS) + places


def failed_test(error: Planted, *places: str) -> str:
    """The first of some tests that fails with a defect; empty = none does.

    Pytest would import the package of a plugin, as `sim` is, from the files alone to rewrite its
    assertions.
    """
    options = ["-x", "-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", "-m", "not spark"]
    try:
        done = subprocess.run(
            command(error, "pytest", *places, *options),
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "400"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, flags=re.MULTILINE)
    return failed[1] if failed else ""
