"""Disturbs sweeps at random moments and compares them with one left in peace: `make chaos`.

Goes round the engines until the time is up or something is found, whose folder is kept in
build/chaos. Exit status: 0 nothing found, 1 something, 130 interrupted.
"""

import argparse
import shutil
import sys
import time
import traceback
from collections import Counter
from itertools import count

from tests.chaos.rounds import rounds
from tests.chaos.sweeping import ENGINES, ROOT


def main() -> int:
    """Reads the arguments and does as they say."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=60, help="cases of the sweep")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    given = parser.parse_args()
    survived: Counter[str] = Counter()
    until = time.monotonic() + given.minutes * 60
    for number in count():
        for engine in given.engines:
            if time.monotonic() > until:
                return 0
            folder = ROOT / f"build/chaos/{engine}-{given.seed}-{number}"
            folder.mkdir(parents=True)
            try:
                struck = rounds(engine, folder, seed=given.seed, number=number, count=given.count)
            except AssertionError:
                traceback.print_exc()
                return 1
            survived.update(f"{engine}: {name}" for name in struck)
            print(f"seed {given.seed}:", dict(survived), flush=True)
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
