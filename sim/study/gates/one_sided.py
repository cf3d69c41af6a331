"""Tests with one direction: is a rate above a limit?

They ask in one direction alone, since nobody wants to be told that a rate has fallen. All are
exact: where nothing is wrong, p is below a level no more often than the level says, however few
runs there are.
"""

from __future__ import annotations

from bisect import bisect_left

from scipy import special, stats

MOST_RUNS = 10**12
"""Where looking for a number of runs that would do ends."""


def above(events: int, runs: int, limit: float) -> float:
    """How likely so many events, or more, are by chance where the rate is `limit` at most: p.

    The exact binomial test, which goes with `least`. Needs `runs` > 0 and 0 < `limit` < 1.
    """
    return float(stats.binom.sf(events - 1, runs, limit))


def least(events: float, runs: float, level: float) -> float:
    """The lower limit of a proportion, one-sided, with confidence 1 - `level`.

    Clopper and Pearson 1934; it is above a value if and only if `above` has p below `level`.
    """
    return float(special.betaincinv(events, runs - events + 1, level)) if events else 0.0


def most(events: float, runs: float, level: float) -> float:
    """The upper limit of a proportion, one-sided, with confidence 1 - `level`.

    Clopper and Pearson 1934; without an event it is 1 - `level` ** (1 / `runs`).
    """
    if events >= runs:
        return 1.0
    return float(special.betaincinv(events + 1, runs - events, 1 - level))


def runs_to_decide(
    events: int, runs: int, limit: float, level: float, *, comparisons: int = 1
) -> int | None:
    """About how many runs it takes to tell a rate from `limit`, should it go on as seen.

    That it is above has to be shown among so many `comparisons`. None when the rate seen is the
    limit, or so near that no number of runs is of use.
    """
    rate = events / runs

    def decided(size: int) -> bool:
        seen = rate * size
        low = least(seen, size, level / comparisons)
        return most(seen, size, level) <= limit or low > limit

    sizes = range(max(runs, 1), MOST_RUNS)
    place = bisect_left(sizes, 1, key=decided)
    return sizes[place] if place < len(sizes) else None
