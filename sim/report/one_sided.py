"""Tests with one direction: is a rate above a limit, has it grown since an earlier sweep?

They ask in one direction alone, since nobody wants to be told that a rate has fallen. All are
exact: where nothing is wrong, p is below a level no more often than the level says, however few
runs there are.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

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


@lru_cache(maxsize=1 << 14)
def grown(events: int, runs: int, earlier: int, earlier_runs: int) -> float:
    """How likely the later sample has so many of all events, or more, where the rate is one: p.

    Fisher's exact test, one-sided. Needs both numbers of runs > 0.
    """
    return float(stats.hypergeom.sf(events - 1, runs + earlier_runs, events + earlier, runs))


def grown_at_most(together: int, runs: int, earlier_runs: int) -> float:
    """The lowest p that `grown` can have when both samples have so many events together."""
    events = min(together, runs)
    return grown(events, runs, together - events, earlier_runs)


def grown_from(runs: int, earlier: int, earlier_runs: int, level: float) -> int | None:
    """From how many events on `grown` is below `level`; None = even if every run had one, not."""
    if grown(runs, runs, earlier, earlier_runs) >= level:
        return None

    def shows(events: int) -> bool:
        return grown(events, runs, earlier, earlier_runs) < level

    return bisect_left(range(runs), 1, key=shows)


@lru_cache(maxsize=1 << 14)
def grown_in_pairs(only_now: int, only_earlier: int) -> float:
    """How likely so many pairs, or more, change for worse where both ways are alike: p.

    McNemar's exact test, one-sided; 1.0 when no pair changed.
    """
    changed = only_now + only_earlier
    return float(stats.binom.sf(only_now - 1, changed, 0.5)) if changed else 1.0
