"""`make zoo`: plant defects, see what tells them, keep the results, write `reports/zoo.md`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from sim.files.atomic import replace_text
from tests.zoo.draws import PLANS
from tests.zoo.kept import Result, Results, read, write
from tests.zoo.page import page
from tests.zoo.planted import DEFECTS, Planted, code_digest
from tests.zoo.trying import Base, run_random, run_suite, run_tests

REPORTS = Path("reports")
COUNT_TUNED, COUNT_JUDGED = 300, 1_000
"""Random runs of a defect of each half, unless `--count` says otherwise."""


def main(given: Sequence[str]) -> int:
    """Do what the arguments say; status 1 = something is told by nothing."""
    chosen = _parser().parse_args(given)
    defects = [one for one in DEFECTS if _is_chosen(one, chosen)]
    results = read(chosen.data) if chosen.resume or chosen.page else {}
    if not chosen.page:
        keeper = Keeper(chosen.data, results)
        base = Base(chosen.plans or PLANS)
        _plant_all(keeper, defects, _steps(chosen, base), chosen.jobs)
    replace_text(chosen.data.with_suffix(".md"), page(results))
    left = [one.name for one in defects if one.name in results and not results[one.name].killed]
    print(f"{len(defects) - len(left)} of {len(defects)} are told by something")
    for name in left:
        print(f"nothing tells {name}")
    return 1 if left else 0


def _is_chosen(one: Planted, chosen: argparse.Namespace) -> bool:
    half = "judged" if one.judged else "tuned"
    named = not chosen.only or bool({one.name, one.group} & {*chosen.only})
    return named and chosen.half in {None, half}


Step = Callable[[Planted, Result], None]


def _steps(chosen: argparse.Namespace, base: Base) -> list[Step]:
    """What is tried of each defect, in order."""

    def suite(error: Planted, result: Result) -> None:
        if chosen.suite and result.suite is None:
            run_suite(error, result)

    def random(error: Planted, result: Result) -> None:
        if not error.unseen:
            run_random(error, result, base, _count(error, chosen), to_the_end=chosen.to_the_end)

    def tests(error: Planted, result: Result) -> None:
        if not result.killed and result.test is None:
            run_tests(error, result)

    if chosen.count != 0:
        base.answers(chosen.count or COUNT_JUDGED)
    return [suite, *[random] * (chosen.count != 0), *[tests] * chosen.tests]


def _count(error: Planted, chosen: argparse.Namespace) -> int:
    return chosen.count or (COUNT_JUDGED if error.judged else COUNT_TUNED)


class Keeper:
    """Keeps every result as soon as there is one."""

    def __init__(self, path: Path, results: Results) -> None:
        """In a file that holds these."""
        self._path = path
        self._lock = Lock()
        self.results = results

    def of(self, error: Planted) -> Result:
        """What is known of a defect so far."""
        return self.results.get(error.name) or Result(code_digest())

    def keep(self, error: Planted, result: Result) -> None:
        """Keep what is known now, and say it in a line."""
        with self._lock:
            self.results[error.name] = result
            write(self._path, self.results)
        suite = result.suite["file"] if result.suite else "no file"
        test = "" if result.test is None else f"; test: {result.test or 'none'}"
        said = f"{result.found} of {result.tries} runs, {result.touched} other; {suite}{test}"
        print(f"{error.group} {error.name}: {said}", flush=True)


def _plant_all(
    keeper: Keeper, defects: Iterable[Planted], steps: Sequence[Step], jobs: int
) -> None:
    def one(error: Planted) -> None:
        result = keeper.of(error)
        for step in steps:
            step(error, result)
        keeper.keep(error, result)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, defects))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.zoo",
        description="Plant defects in copies of the product, one by one, and see what tells them.",
    )
    parser.add_argument(
        "--count",
        type=int,
        help=f"random runs of each, over all plans ({COUNT_TUNED}; {COUNT_JUDGED:,} of the judged"
        " half); 0 = none",
    )
    parser.add_argument(
        "--to-the-end", action="store_true", help="go on after a run has shown a defect"
    )
    parser.add_argument("--only", action="append", metavar="GROUP|NAME", help="of these alone")
    parser.add_argument("--plans", nargs="*", metavar="PLAN", help="draw from these alone")
    parser.add_argument("--resume", action="store_true", help="go on with what the file has kept")
    parser.add_argument("--no-suite", dest="suite", action="store_false", help="run no suite")
    parser.add_argument("--half", choices=("tuned", "judged"), help="of this half alone")
    parser.add_argument("--no-tests", dest="tests", action="store_false", help="run no tests")
    parser.add_argument("--page", action="store_true", help="write the page anew, try nothing")
    parser.add_argument("--jobs", "-j", type=int, default=2, help="copies at a time (2)")
    parser.add_argument(
        "--data", type=Path, default=REPORTS / "zoo.json", help="the results (reports/zoo.json)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
