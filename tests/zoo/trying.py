"""Plants each defect in a copy of the product, and sees what tells it.

The suite comes first, then random runs. Tests come last, and for those alone that nothing else
tells. Of random runs each is compared with the same run of the product as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from tests.zoo.draws import draws
from tests.zoo.kept import Result
from tests.zoo.planted import OF_LOGS, Planted, code_digest, plant

ROOT = Path(__file__).parents[2]
BASE = ROOT / "build/zoo"
"""Where the answers of the product as it is are kept."""
SECONDS = 600
"""A trial that takes longer has told enough by then."""
TEST_SECONDS = 400
"""Of the tests of one package."""

Json = dict[str, Any]


def answers(error: Planted | None, task: Json, *, seconds: float = SECONDS) -> Generator[Json]:
    """What a copy with the error says to a task, one by one; None = no error.

    They end when time is up; the copy ends when nobody wants more of them.

    Raises:
        ValueError: The error has no place in today's source, or the copy does not even start.
    """
    with TemporaryDirectory(prefix="replog-zoo-") as name:
        folder = Path(name)
        plant(error, folder)
        complaint = folder / "complaint"
        with complaint.open("w") as stderr:
            copy = subprocess.Popen(
                [sys.executable, "-m", "tests.zoo.trial", json.dumps(task)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        late = Timer(seconds, copy.kill)
        late.start()
        said = 0
        try:
            for line in copy.stdout or ():
                if line.endswith("}\n"):
                    said += 1
                    yield json.loads(line)
        finally:
            late.cancel()
            copy.kill()
            copy.communicate()
        if copy.returncode > 0 and not said:
            last = complaint.read_text(encoding="utf-8").strip().splitlines()[-1:]
            raise ValueError(f"{error and error.name}: the copy does not start: {' '.join(last)}")


class Base:
    """The answers of the product as it is, kept from one time to the next."""

    def __init__(self, plans: Sequence[str]) -> None:
        """Of these plans."""
        self.plans = list(plans)
        self._path = BASE / f"{code_digest()}-{'-'.join(plans)}.jsonl"

    def answers(self, count: int) -> list[Json]:
        """Those to the first `count` random runs."""
        known: list[Json] = []
        if self._path.exists():
            known = [json.loads(line) for line in self._path.read_text().splitlines()]
        if len(known) < count:
            task = {"first": len(known), "count": count, "plans": self.plans}
            known += answers(None, task, seconds=10 * SECONDS)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text("".join(json.dumps(one) + "\n" for one in known))
        return known[:count]


def run_suite(error: Planted, result: Result, below: str = ".") -> None:
    """See whether the suite tells a defect, or the files of it below a folder."""
    for answer in answers(error, {"suite": below, "first": 0, "count": 0, "plans": []}):
        result.suite = answer["suite"] or {}


def run_random(
    error: Planted, result: Result, base: Base, count: int, *, to_the_end: bool = False
) -> None:
    """Go on to `count` random runs, if there were fewer, or to the first that shows it."""
    first = result.tries
    if first >= count or (result.found and not to_the_end):
        return
    task = {"first": first, "count": count, "plans": base.plans}
    places = [str(draw.environment) for draw in draws(count, base.plans)]
    with closing(answers(error, task)) as found:
        for number, (right, wrong) in enumerate(
            zip(base.answers(count)[first:], found, strict=False), start=first
        ):
            assert right["id"] == wrong["id"], "another run"
            result.runs[places[number]] += 1
            result.touched += right["digest"] != wrong["digest"]
            shown = _shown(right, wrong)
            result.by.update(shown)
            if shown:
                result.shown[places[number]] += 1
                result.first = result.first or number + 1
                if not to_the_end:
                    return


def _shown(right: Json, wrong: Json) -> list[str]:
    """What a run shows that the same run without the defect does not."""
    crash = wrong["crash"]
    if crash and not right["crash"]:
        return ["no end" if ":" not in crash or "rest" in crash else crash.split(":")[0]]
    return [name for name in wrong["violated"] if name not in right["violated"]]


def run_tests(error: Planted, result: Result) -> None:
    """See whether a test of the defect's package tells it, or Kafka's recorded answers."""
    rooms = [part for part in error.module.split("/")[:-1] if (ROOT / "tests" / part).exists()]
    places = [f"tests/{rooms[-1] if rooms else 'cluster'}", "tests/audits"]
    if error.group == OF_LOGS:
        places.insert(0, "tests/conformance/test_recordings.py")
    with TemporaryDirectory(prefix="replog-zoo-") as name:
        folder = Path(name)
        plant(error, folder)
        for part in ("tests", "scenarios"):
            shutil.copytree(ROOT / part, folder / part, symlinks=True)
        shutil.copy(ROOT / "pyproject.toml", folder)
        command = [sys.executable, "-m", "pytest", *places, "-x", "-q", "--tb=no"]
        command += ["-p", "no:cacheprovider", "-m", "not spark"]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(folder)},
                capture_output=True,
                text=True,
                timeout=TEST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            result.test = ""
            return
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    result.test = failed[0].split(" ")[1].split(" - ")[0] if failed else ""
