"""`--max-seconds` and `--max-memory-mb`: how much one run may take, and what is said beyond it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from sim.bounds import MEGABYTES, SECONDS, Bounds, Inconclusive, bounded, each_run_within
from sim.cli.signatures import call
from sim.cli.values import Number
from sim.limits import MEGABYTES as MOST_MEGABYTES
from sim.limits import SECONDS as MOST_SECONDS

ALLOW_MORE = "--max-seconds and --max-memory-mb allow more"


def take_bounds(parser: ArgumentParser) -> None:
    """Adds both options."""
    parser.add_argument(
        "--max-seconds",
        type=Number(0, whole=False, limit=MOST_SECONDS),
        default=SECONDS,
        metavar="S",
        help="A run that takes longer is inconclusive, status 3; 0 = no bound.",
    )
    parser.add_argument(
        "--max-memory-mb",
        type=Number(0, limit=MOST_MEGABYTES),
        default=MEGABYTES,
        metavar="MB",
        help="So is a run that needs more memory; 0 = no bound.",
    )


def run_within_bounds(run: Callable[..., int], given: dict[str, Any], *, is_one_run: bool) -> int:
    """Call the function of a command; each run within the bounds that were given.

    Raises:
        Inconclusive: A command that is one run, or little more, hit one besides.
    """
    seconds = given.pop("max_seconds", SECONDS)
    megabytes = given.pop("max_memory_mb", MEGABYTES)
    bounds = Bounds(seconds or None, megabytes or None)
    with each_run_within(bounds):
        if not is_one_run:
            return call(run, given)
        with bounded() as watch:
            return call(run, given)
    raise Inconclusive(f"{watch.reached}; {ALLOW_MORE}")
