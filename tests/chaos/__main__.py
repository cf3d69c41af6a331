"""Disturbs sweeps at random moments and compares them with one left in peace: `make chaos`.

Goes on until the time is up; then, or at Ctrl-C, says what was survived and what was found. The
folder of a finding is kept in build/chaos. Exit status: 0 nothing found, 1 something, 130
interrupted with nothing found.
"""

import argparse
import shutil
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from tests.chaos import report
from tests.chaos.rounds import Round, Undisturbed, one_round, small_disk, undisturbed
from tests.chaos.running import ROOT
from tests.sections import put_into

KEPT = ROOT / "build/chaos"


def main() -> int:
    """Reads the arguments and does as they say."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("-j", "--jobs", type=int, default=1, help="sweeps at a time")
    parser.add_argument("--count", type=int, default=100, help="cases of the sweep")
    parser.add_argument("--engines", nargs="+", default=["process", "spark"])
    parser.add_argument("--report", type=Path, metavar="FILE", help="put the figures there")
    given = parser.parse_args()
    began = time.monotonic()
    total = Round()
    status = 0
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="chaos-", dir=KEPT) as place:
        expected = undisturbed(Path(place), given.count, given.engines, mounts=_mounts(Path(place)))
        try:
            _rounds(given, began + given.minutes * 60, expected, total)
        except KeyboardInterrupt:
            status = 130
    minutes = (time.monotonic() - began) / 60
    print(f"seed {given.seed}, {minutes:.1f} minutes, {total.rounds} sweeps, {total.rows:,} rows")
    print(*report.lines(total, seconds=expected.seconds), sep="\n")
    if given.report:
        text = report.section(total, minutes=minutes, seed=given.seed, seconds=expected.seconds)
        put_into(given.report, "chaos", text)
    print(f"{len(total.findings)} findings", *total.findings, sep="\n")
    return 1 if total.findings else status


def _mounts(place: Path) -> bool:
    try:
        with small_disk(place):
            return True
    except OSError as error:
        print(f"no disk of ours can be mounted, so none will be full: {error}", file=sys.stderr)
        return False


def _rounds(given: argparse.Namespace, until: float, expected: Undisturbed, total: Round) -> None:
    number = given.seed * 1_000_003
    with ThreadPoolExecutor(given.jobs) as pool:
        waiting: set[Future[Round]] = set()
        while waiting or time.monotonic() < until:
            while len(waiting) < given.jobs and time.monotonic() < until:
                number += 1
                waiting.add(pool.submit(_round, number, expected))
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in done:
                result = one.result()
                total.add(result)
                print(*result.findings, sep="\n", end="\n" if result.findings else "", flush=True)
            faults = sum(total.survived.values())
            print(f"{total.rounds} sweeps, {faults} faults", file=sys.stderr, flush=True)


def _round(number: int, expected: Undisturbed) -> Round:
    """A round in a folder of its own, which is kept when something was found."""
    place = KEPT / str(number)
    if place.exists():
        shutil.rmtree(place)
    result = one_round(number, expected, place)
    if not result.findings:
        shutil.rmtree(place)
    return result


if __name__ == "__main__":
    sys.exit(main())
