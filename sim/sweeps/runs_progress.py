"""How far a sweep is: a bar with rate and time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.progress import ProgressColumn as Column
from rich.text import Text

LINE_EVERY_SECONDS = 10.0
BAR_PER_SECOND = 2
"""How often the bar is drawn: that takes time which the simulations could use."""


class Reporter(Protocol):
    """Takes the number of runs done so far; it never goes back."""

    def __call__(self, done: int) -> None:
        """Show that so many runs are done."""


class _Rate(Column):
    """Runs per second since the bar appeared."""

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        done = task.completed - task.fields["before"]
        rate = f"{done / elapsed:,.0f}" if elapsed > 0 and done else "-"
        return Text(f"{rate} runs/s", style="cyan")


@contextmanager
def show_progress(console: Console | None, *, total: int, before: int = 0) -> Iterator[Reporter]:
    """Shows the progress of `total` runs, of which `before` were done by an earlier sweep.

    `console` should write to stderr; None shows nothing.
    """
    if console is None:
        yield lambda done: None
    elif console.is_terminal:
        with _bar(console) as bar:
            task = bar.add_task("runs", total=total, completed=before, before=before)
            yield lambda done: bar.update(task, completed=before + done)
    else:
        yield _Lines(console, total=total, before=before)


def _bar(console: Console) -> Progress:
    count = TextColumn("{task.completed:,.0f} of {task.total:,.0f} runs")
    return Progress(
        BarColumn(),
        count,
        _Rate(),
        TimeRemainingColumn(),
        console=console,
        refresh_per_second=BAR_PER_SECOND,
    )


class _Lines:
    """Progress for a log file: one plain line every ten seconds and one at the end."""

    def __init__(self, console: Console, *, total: int, before: int) -> None:
        self._console = console
        self._total = total
        self._before = before
        self._started = time.monotonic()
        self._last = self._started
        self._finished = False

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        all_done = self._before + done
        finished = all_done >= self._total
        if self._finished or (not finished and now - self._last < LINE_EVERY_SECONDS):
            return
        self._last = now
        self._finished = finished
        rate = done / max(now - self._started, 1e-6)
        line = f"{all_done:,} of {self._total:,} runs, {rate:,.0f} runs/s"
        if not finished and rate > 0:
            line += f", {(self._total - all_done) / rate:,.0f} s left"
        self._console.print(line, highlight=False, soft_wrap=True)
