"""How far a sweep is, in words: runs that are done, their rate, the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Teller(Protocol):
    """Tells people what goes on."""

    def show(self, text: str) -> None:
        """How far it is: said again and again."""

    def tell(self, text: str) -> None:
        """What they should know."""


class Nobody:
    """Tells nothing; see `Teller`."""

    def show(self, text: str) -> None:
        """Nobody looks."""

    def tell(self, text: str) -> None:
        """Nobody listens."""


def progress_of(teller: Teller, *, total: int, before: int = 0) -> Callable[[int], None]:
    """Takes how many runs are done by now, and shows how far that is.

    Args:
        teller: Shows it.
        total: How many runs there are.
        before: So many of them an earlier sweep has done.
    """
    started = time.monotonic()

    def report(done: int) -> None:
        rate, left = done / max(time.monotonic() - started, 1e-6), total - before - done
        ends = f", {left / rate:,.0f} s left" if left and done else ""
        teller.show(f"{before + done:,} of {total:,} runs, {rate:,.0f} runs/s{ends}")

    return report
