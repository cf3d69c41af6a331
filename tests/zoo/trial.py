"""What runs inside a copy of the product: its suite, and random runs.

`python -m tests.zoo.trial TASK` takes a task as JSON, and writes a line of JSON for each answer.
`sim` is the copy; this is not. All runs are audited (`tests.audits`).
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from sim.bounds import Bounds, bound_each_run
from sim.simulate.run import Run
from sim.simulate.run.timed import run_scenario
from sim.study.suite.cases import run_any
from sim.study.suite.result import CaseResult
from sim.study.suite.scenario_files import collect
from tests.audits.registering import BY_RULES, register
from tests.zoo.draws import SCENARIOS, Draw, draws

SECONDS_PER_RUN = 20.0
"""A run takes some hundredths of a second; one that takes so long is counted as one that hangs."""

Json = dict[str, Any]


def suite(below: str) -> Json | None:
    """The first file below a folder that is not as it expects, and how; None = all are."""
    for path in collect([SCENARIOS / below]).files:
        result = run_any(path)
        where = path.relative_to(SCENARIOS).as_posix()
        found = {one.invariant for one in result.unexpected}
        excused = found == BY_RULES.get(where) and len(result.differences) == len(found)
        if not result.expectation_met and not excused:
            return {"file": where, "invariant": _invariant(result), "why": _why(result)}
    return None


def _invariant(result: CaseResult) -> str:
    """What tells it: an invariant, or what else the file expects."""
    if result.unexpected:
        return result.unexpected[0].invariant
    missing = [name for name in result.expected or () if _is_missing(name, result)]
    if missing:
        return f"{missing[0]} is missing"
    return result.verdict if result.verdict in {"error", "inconclusive"} else "what it holds"


def _is_missing(name: str, result: CaseResult) -> bool:
    return all(violation.invariant != name for violation in result.outcome.violations)


def _why(result: CaseResult) -> str:
    return (result.complaints or ("",))[0][:200]


def random_run(draw: Draw) -> Json:
    """What a run violates, and its digest; an exception is its last line."""
    try:
        run = run_scenario(draw.scenario())
    except Exception as error:  # noqa: BLE001 - that it ends so is what we want to know
        return {"id": draw.id, "violated": [], "crash": _last_line(error), "digest": ""}
    return {
        "id": draw.id,
        "violated": run.violated,
        "crash": _no_end(run),
        "digest": run.digest,
    }


def _last_line(error: BaseException) -> str:
    return traceback.format_exception_only(error)[-1].strip()[:200]


def _no_end(run: Run) -> str:
    """Why a run did not come to its end; empty = it did, or has left the durability contract."""
    return (run.reason or "")[:200] if run.reason and run.outside is None else ""


def answers(task: Mapping[str, Any]) -> Iterator[Json]:
    """To a task: `suite`, of which folder; `first` and `count` of random runs, of `plans`."""
    if task.get("suite"):
        yield {"suite": suite(task["suite"])}
    for number, draw in enumerate(draws(task["count"], task["plans"])):
        if number >= task["first"]:
            yield random_run(draw)


if __name__ == "__main__":
    register()
    bound_each_run(Bounds(SECONDS_PER_RUN))
    for answer in answers(json.loads(sys.argv[1])):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
