"""Tries mistaken files and legal commands on Replog: `make fuzz`, or `python -m tests.fuzz`.

Goes round the readers until the time is up or something is found. The smallest case of a finding
is kept in build/fuzz; the same seed finds it again. Exit status: 0 nothing found, 1
something, 130 interrupted.
"""

import argparse
import sys
import time
from itertools import count

from tests.fuzz.legal import legal
from tests.fuzz.search import mistaken, tried


def main() -> int:
    """Reads the arguments and does as they say."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--examples", type=int, default=60, help="of a reader, in each round")
    given = parser.parse_args()
    until = time.monotonic() + given.minutes * 60
    every = {**mistaken(), "legal commands": legal()}
    for number in count(given.seed * 1_000_003):
        for name, cases in every.items():
            if time.monotonic() > until:
                return 0
            faults = tried(name, cases, number=number, examples=given.examples)
            print(f"{name}: {given.examples} cases of number {number}", *faults, sep="\n")
            if faults:
                return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
