"""Finds failing random runs in the plans of `scenarios/sweeps`, and shrinks them.

`python -m tests.bench.shrinking_runs -j 2` takes a few minutes on two cores and writes
`reports/shrink_runs.md`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple

from sim.diagnose.shrink.engine import Budget
from sim.diagnose.shrink.smallest import Case, SmallestExample, smallest_example
from sim.files.atomic import replacing
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.model import Scenario
from sim.simulate.story import load_story
from sim.study.sweep.plan import Sweep, load_plan, number_runs
from tests.bench.shrinking import SCENARIOS, red_stories

PLANS = (
    "demo",
    "cures",
    "replication",
    "log_end_unclean",
    "headers",
    "log_end",
)
RUNS = 60
"""So many runs of a plan are looked at, spread over its cases and rule sets."""
CASES = 100_000
STRIDE = 7919
EACH = 1
"""Failing runs taken of one plan and invariant."""
LEAST = 500
"""Events that a run has to have to count."""
TRIES = 2000
RATIO = 1.5

HOW = """\
Every run is one of a plan in `scenarios/sweeps`, made as `replog sweep` makes it; of each plan \
and invariant the first ones count that have 500 events or more. An example violates the same \
invariant with the same signature, and as a story it takes no illegal step of a kind that the run \
did not take, such as to elect a replica that is not in sync. The shortest story known is the \
shortest one, shrunk by itself, of `scenarios/` that violates the same invariant with the same \
signature, under whichever rules; where there is none, nothing is compared. A scenario is what is \
left where no story shows the same. Events left are those of the example up to its violation."""


class Row(NamedTuple):
    """One failing run.

    Attributes:
        plan: Of which plan.
        case: Number of its case.
        rule_set: Number of its rule set.
        example: What it was shrunk to.
        seconds: Of processor time.
    """

    plan: str
    case: int
    rule_set: int
    example: SmallestExample
    seconds: float


def rows_of_random_runs(
    plans: Sequence[str] = PLANS, *, runs: int = RUNS, tries: int = TRIES, jobs: int = 1
) -> Iterator[Row]:
    """Failing runs of the plans with their examples, plan by plan."""
    if jobs == 1:
        for plan in plans:
            yield from _rows_of_plan(plan, runs, tries)
        return
    count = len(plans)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for rows in pool.map(_rows_of_plan, plans, [runs] * count, [tries] * count):
            yield from rows


def _rows_of_plan(plan: str, runs: int, tries: int) -> list[Row]:
    sweep = number_runs(load_plan(SCENARIOS / "sweeps" / f"{plan}.yaml"), count=CASES)
    taken: dict[str, int] = {}
    rows: list[Row] = []
    for number in range(runs):
        case = (1 + number // len(sweep.rule_sets)) * STRIDE % CASES
        rule_set = number % len(sweep.rule_sets)
        scenario = _scenario(sweep, case, rule_set)
        run = run_scenario(scenario)
        if run.counters["events"] < LEAST:
            continue
        for invariant in run.violated:
            if taken.get(invariant, 0) < EACH:
                taken[invariant] = taken.get(invariant, 0) + 1
                begun = time.process_time()
                example = smallest_example(scenario, invariant, tries=tries)
                rows.append(Row(plan, case, rule_set, example, time.process_time() - begun))
    return rows


def _scenario(sweep: Sweep, case: int, rule_set: int) -> Scenario:
    chosen = sweep.rule_sets[rule_set]
    drawn = generate(sweep.case_seed(case), sweep.environment_of(case).mix)
    return replace(drawn.with_rules(chosen.rules), preset=chosen.preset)


def shortest_known(folder: Path = SCENARIOS) -> dict[str, int]:
    """Signature -> steps of the shortest red story that has it, when it is shrunk by itself."""
    found: dict[str, int] = {}
    for path in red_stories(folder):
        alone = Case(load_story(path)).shrink(Budget())
        steps, cause = alone.steps or 0, str(alone.signature)
        found[cause] = min(steps, found.get(cause, steps))
    return found


def page(rows: Sequence[Row], shortest: dict[str, int]) -> str:
    """The report."""
    stories = [row for row in rows if row.example.kind == "story"]
    known = [row for row in stories if str(row.example.signature) in shortest]
    ratios = [(row.example.steps or 0) / shortest[str(row.example.signature)] for row in known] or [
        0.0
    ]
    seconds = [row.seconds for row in rows]
    small = sum(row.example.events <= 60 for row in rows)
    lines = [
        "# Shrinking random runs",
        "",
        "Failing runs of the sweeps' plans, made small by `sim.diagnose.shrink.smallest`.",
        "",
        (
            f"Made by `python -m tests.bench.shrinking_runs`; at most {TRIES:,} tries each; times "
            "are of one processor core."
        ),
        "",
        "| | |",
        "|---|--:|",
        f"| runs | {len(rows)} |",
        f"| events of a run: median | {median(row.example.events_before for row in rows):,.0f} |",
        f"| stories | {len(stories)} |",
        f"| steps of a story: median | {median(row.example.steps or 0 for row in stories):.0f} |",
        f"| stories whose bug has a story in `scenarios/` | {len(known)} |",
        f"| steps, of the shortest of those: median | {median(ratios):.2f} |",
        f"| at most {RATIO:g} times the shortest | {sum(r <= RATIO for r in ratios)} |",
        f"| examples of at most 60 events | {small} |",
        f"| seconds: median, longest | {median(seconds):.1f}, {max(seconds):.1f} |",
        f"| shrunk to the end | {sum(row.example.complete for row in rows)} |",
        "",
        HOW,
        "",
        (
            "| plan | case, rule set | violates | why | events | example | steps | shortest known "
            "| events left | seconds | tries |"
        ),
        "|---|--:|---|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        seen = row.example
        least = shortest.get(str(seen.signature), "") if seen.kind == "story" else ""
        kind = seen.kind if seen.complete else f"{seen.kind}, cut short"
        lines.append(
            f"| {row.plan} | {row.case}, {row.rule_set} | {seen.invariant} "
            f"| {'; '.join(seen.signature.mechanism)} | {seen.events_before:,} | {kind} "
            f"| {seen.steps or ''} | {least} | {seen.events} | {row.seconds:.1f} "
            f"| {seen.tries:,} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of a plan to look at")
    parser.add_argument("--plans", nargs="*", default=list(PLANS))
    parser.add_argument("--out", type=Path, default=Path("reports/shrink_runs.md"))
    given = parser.parse_args()
    rows: list[Row] = []
    for row in rows_of_random_runs(given.plans, runs=given.runs, jobs=given.jobs):
        rows.append(row)
        seen = row.example
        print(
            f"{row.plan} {row.case} {seen.invariant}: {seen.events_before} events to {seen.kind} "
            f"of {seen.steps or seen.events}, {row.seconds:.1f} s",
            file=sys.stderr,
            flush=True,
        )
    with replacing(given.out) as file:
        file.write(page(rows, shortest_known()).encode())
    print(given.out)


if __name__ == "__main__":
    main()
