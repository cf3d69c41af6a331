"""Numbers for people: the notation of counts, shares, intervals and p values."""

from __future__ import annotations

import math
from typing import NamedTuple

MINUS = "\u2212"


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float


def count(number: int) -> str:
    """Formats a count as 12,345."""
    return f"{number:,}".replace("-", MINUS)


def counted(number: int, noun: str) -> str:
    """Formats a count with its noun: 1 run, 2 runs."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def share(value: float) -> str:
    """Formats a proportion in per cent: 12.7 %, 0.035 %, 0 %."""
    return f"{_digits(100 * value)} %"


def shares(interval: Interval) -> str:
    """Formats an interval of shares: 10.7 to 13.6 %."""
    return f"{_digits(100 * interval.low)} to {share(interval.high)}"


def number(value: float) -> str:
    """Formats a mean, as a whole number from 1,000 on."""
    if abs(value) >= 1000:
        return count(round(value))
    return _digits(value)


def signed_numbers(interval: Interval) -> str:
    """Formats the interval of a mean difference: +0.83 to +0.86."""
    low, high = (f"{'+' if one > 0 else ''}{number(one)}" for one in interval)
    return f"{low} to {high}"


def p_value(value: float) -> str:
    """Formats a p value: "p < 0.0001", "p = 0.016"."""
    return "p < 0.0001" if value < 1e-4 else f"p = {_digits(value)}"


def _digits(value: float) -> str:
    """Formats with three significant digits from 1 on (all before the point), two below 1.

    There are at most 12 decimals.
    """
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    decimals = max(0, 2 - size) if size >= 0 else 1 - size
    return f"{value:.{min(decimals, 12)}f}".replace("-", MINUS)
