"""Audits random runs for a while: `python -m tests.audits --minutes 10 --seed 20261129`.

Without a seed the date is taken. `--count` is the most runs.
Prints each alarm, and at the end how many runs met each situation; status 1 after an alarm.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from itertools import islice
from time import monotonic

from tests.audits.random_runs import Audited, audit, slice_of
from tests.audits.situations import SITUATIONS
from tests.zoo.draws import Draw


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Audits runs until the time is up or all are done; returns the exit status."""
    today = int(datetime.now(UTC).strftime("%Y%m%d"))
    parser = argparse.ArgumentParser(prog="tests.audits")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=today)
    parser.add_argument("--count", type=int, default=None, help="most runs; default: no limit")
    parser.add_argument("--run", default=None, help="one run, as an alarm names it")
    options = parser.parse_args()
    if options.run is not None:
        chosen = iter([Draw.named(options.run)])
    else:
        _write(f"seed {options.seed}")
        chosen = islice(slice_of(options.seed), options.count)
    found, shown, until = Audited(), 0, monotonic() + 60 * options.minutes
    for found in audit(chosen):
        for run, name, sentence in found.alarms[shown:]:
            _write(f"{name} in '{run}': {sentence}")
        shown = len(found.alarms)
        if monotonic() > until:
            break
    _write(f"{found.runs} runs, {len(found.alarms)} alarms; situations met by so many runs:")
    for name in SITUATIONS:
        _write(f"  {found.met[name]:5}  {name}")
    return 1 if found.alarms else 0


if __name__ == "__main__":
    sys.exit(main())
