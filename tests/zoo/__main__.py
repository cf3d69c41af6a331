"""`make zoo`: plants defects, sees whether something detects each, writes `reports/zoo.md`.

A defect is first tried with the very file, random run or test that detected it last time, which
takes seconds. What these do not detect is tried with everything, and its result replaced.
`--afresh` tries with everything whatever was last tried so with other sources than today's; it goes
on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from sim.files.atomic import replace_text
from tests.zoo.detecting import Detectors
from tests.zoo.page import page
from tests.zoo.planted import DEFECTS, UNDETECTED, Planted, code_digest
from tests.zoo.results import Results, read, write


def main(given: Sequence[str]) -> int:
    """Does what the arguments say; status 1 = nothing detects something, and no class says why."""
    chosen = _parser().parse_args(given)
    results = read(chosen.data)
    defects = [
        one for one in DEFECTS.values() if not chosen.only or {one.name, one.group} & {*chosen.only}
    ]
    if not chosen.page:
        _plant_all(defects, results, chosen)
    replace_text(chosen.data.with_suffix(".md"), page(results))
    left = [one.name for one in defects if one.name in results and not results[one.name].detected]
    print(f"{len(defects) - len(left)} of {len(defects)} are detected")
    for name in left:
        kind = UNDETECTED[name].kind if name in UNDETECTED else "not looked into"
        print(f"nothing detects {name} ({kind})")
    return 0 if UNDETECTED.keys() >= {*left} else 1


def _plant_all(defects: Sequence[Planted], results: Results, chosen: argparse.Namespace) -> None:
    lock = Lock()
    detectors = Detectors()
    if not chosen.afresh:
        detectors.prepare(results[one.name] for one in defects if one.name in results)

    def plant(error: Planted) -> None:
        known = results.get(error.name)
        if chosen.afresh:
            is_done = known is not None and known.code == code_digest()
        else:
            is_done = known is not None and detectors.detects_again(error, known)
        result = known if known is not None and is_done else detectors.tried(error)
        with lock:
            print(f"{error.group} {error.name}: {'' if is_done else 'now '}{result}", flush=True)
            if not is_done:
                results[error.name] = result
                write(chosen.data, results)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        list(pool.map(plant, defects))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.zoo",
        description="Plant defects in the product, one by one, and see what detects them.",
    )
    parser.add_argument("--afresh", action="store_true", help="everything, for each defect: 90 min")
    parser.add_argument("--only", action="append", metavar="GROUP|NAME", help="of these alone")
    parser.add_argument("--page", action="store_true", help="write the page anew, try nothing")
    parser.add_argument("--jobs", "-j", type=int, default=2, help="defects at a time (2)")
    parser.add_argument(
        "--data", type=Path, default=Path("reports/zoo.json"), help="results (reports/zoo.json)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
