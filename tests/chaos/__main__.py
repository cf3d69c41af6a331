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
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count
from pathlib import Path

from tests.chaos import report
from tests.chaos.rounds import Round, Undisturbed, one_round, small_disk, undisturbed
from tests.chaos.running import ROOT
from tests.chaos.sites import ENGINES, Site, sites
from tests.sections import put_into

KEPT = ROOT / "build/chaos"


def main() -> int:
    """Reads the arguments and does as they say."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("-j", "--jobs", type=int, default=1, help="sweeps at a time, per engine")
    parser.add_argument("--count", type=int, default=60, help="cases of the sweep")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this round of each engine")
    parser.add_argument("--report", type=Path, metavar="FILE", help="put the figures there")
    given = parser.parse_args()
    total = Round()
    status = 0
    KEPT.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(
            prefix="chaos-", dir=KEPT, ignore_cleanup_errors=True
        ) as folder,
        sites(given.engines, Path(folder), each=given.jobs) as places,
    ):
        mounts = _mounts(Path(folder))
        expected = undisturbed(Path(folder), given.count, places, mounts=mounts)
        took = ", ".join(f"{each:.0f} s ({name})" for name, each in expected.seconds.items())
        print(f"left in peace: {took}", file=sys.stderr, flush=True)
        began = time.monotonic()
        try:
            _rounds(given, began + given.minutes * 60, places, expected, total)
        except KeyboardInterrupt:
            status = 130
    minutes = (time.monotonic() - began) / 60
    rows = f"{total.compared:,} sweeps compared, {total.rows:,} rows"
    print(f"seed {given.seed}, {minutes:.1f} minutes, {total.rounds:,} rounds, {rows}")
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


def _rounds(
    given: argparse.Namespace,
    until: float,
    places: list[Site],
    expected: Undisturbed,
    total: Round,
) -> None:
    """Rounds of every engine at the same time, at each site one after another."""
    numbers = {site.engine: _numbers(given.only) for site in places}
    with ThreadPoolExecutor(len(places)) as pool:
        under_way: dict[Future[Round], Site] = {}

        def begin(site: Site) -> None:
            number = next(numbers[site.engine], None)
            if number is not None and time.monotonic() < until:
                under_way[pool.submit(_round, given.seed, number, site, expected, until)] = site

        for site in places:
            begin(site)
        while under_way:
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for one in done:
                result, site = one.result(), under_way.pop(one)
                total.add(result)
                print(*result.findings, sep="\n", end="\n" if result.findings else "", flush=True)
                begin(site)
            faults = sum(total.survived.values())
            print(f"{total.rounds} rounds, {faults} faults", file=sys.stderr, flush=True)


def _numbers(only: int | None) -> Iterator[int]:
    return count() if only is None else iter([only])


def _round(seed: int, number: int, site: Site, expected: Undisturbed, until: float) -> Round:
    """A round in a folder of its own, which is kept when something was found."""
    place = KEPT / f"{site.engine}-{seed}-{number}"
    if place.exists():
        shutil.rmtree(place)
    result = one_round(seed, number, site, expected, place, until=until)
    if not result.findings:
        shutil.rmtree(place)
    return result


if __name__ == "__main__":
    sys.exit(main())
