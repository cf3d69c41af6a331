"""What runs in a product with a defect: files of its suite, and random runs.

`python -m tests.zoo.trial suite [FILE ...]` and `... runs ID ...` write a line of JSON for each
file or run. All runs are audited (`tests.audits`).
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sim.bounds import Bounds, bound_each_run
from sim.simulate.run import Run
from sim.simulate.run.timed import run_scenario
from sim.study.suite import CaseResult, run_any
from sim.study.suite.scenario_files import collect
from tests.audits.registering import register
from tests.zoo.draws import SCENARIOS, Draw

SECONDS_PER_RUN = 20.0
"""A run takes some hundredths of a second; one that takes so long is counted as one that hangs."""

Json = dict[str, Any]


def suite_file(path: Path) -> Json:
    """How a file is not as it expects; without `invariant`, it is."""
    result = run_any(path)
    where = path.relative_to(SCENARIOS).as_posix()
    if result.expectation_met:
        return {"file": where}
    why = (result.complaints or ("",))[0].replace(str(path), where)[:200]
    return {"file": where, "invariant": _invariant(result), "why": why}


def _invariant(result: CaseResult) -> str:
    """What detects it: an invariant, or what else the file expects."""
    if result.unexpected:
        return result.unexpected[0].invariant
    violated = {one.invariant for one in result.outcome.violations}
    for name in result.expected or ():
        if name not in violated:
            return f"{name} is missing"
    return result.verdict if result.verdict in {"error", "inconclusive"} else "what it holds"


def random_run(draw: Draw) -> Json:
    """What a run violates, and its digest; an exception is its last line."""
    try:
        run = run_scenario(draw.scenario())
    except Exception as error:  # noqa: BLE001 - that it ends so is what we want to know
        crash = traceback.format_exception_only(error)[-1].strip()[:200]
        return {"id": draw.id, "violated": [], "crash": crash, "digest": ""}
    return {"id": draw.id, "violated": run.violated, "crash": _no_end(run), "digest": run.digest}


def _no_end(run: Run) -> str:
    """Why a run did not come to its end; empty = it did, or has left the durability contract."""
    return (run.reason or "")[:200] if run.reason and run.outside is None else ""


def answers(what: str, names: Sequence[str]) -> Iterator[Json]:
    """The answers for some files or runs, or for all files."""
    if what == "suite":
        paths = [SCENARIOS / name for name in names] or [*collect([SCENARIOS]).files]
        yield from map(suite_file, paths)
    else:
        yield from (random_run(Draw.named(name)) for name in names)


if __name__ == "__main__":
    register()
    bound_each_run(Bounds(SECONDS_PER_RUN))
    for answer in answers(sys.argv[1], sys.argv[2:]):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
