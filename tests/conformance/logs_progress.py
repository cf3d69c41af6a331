"""How far a conformance run is: a bar on a terminal, plain lines elsewhere; both on stderr."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.conformance.random_runs import Progress as Reporter

LINE_EVERY_SECONDS = 10.0


@contextmanager
def show_logs(console: Console, total: int) -> Iterator[Reporter]:
    """Shows how many of `total` random logs were compared."""
    if not console.is_terminal:
        yield _Lines(console, total)
        return
    what = TextColumn("{task.description}")
    with Progress(
        BarColumn(), MofNCompleteColumn(), what, TimeRemainingColumn(), console=console
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, doing: bar.update(task, completed=done, description=doing)


class _Lines:
    """One plain line every ten seconds, when something else begins, and at the end."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._doing = ""
        self._next = time.monotonic() + LINE_EVERY_SECONDS

    def __call__(self, done: int, doing: str) -> None:
        now = time.monotonic()
        news = self._doing not in {doing, ""}
        self._doing = doing
        if news or done == self._total or now >= self._next:
            self._next = now + LINE_EVERY_SECONDS
            line = f"{done:,} of {self._total:,} random logs: {doing}"
            self._console.print(line, highlight=False, soft_wrap=True)
