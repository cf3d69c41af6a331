"""How far a sweep is: a bar with rate and time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.progress import ProgressColumn as Column
from rich.text import Text

LINE_EVERY_SECONDS = 10.0
BAR_PER_SECOND = 2
"""How often the bar is drawn: that takes time which the simulations could use."""


Reporter = Callable[[int], None]
"""Takes the number of runs done so far; it never goes back."""


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
        columns = (
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} runs"),
            _Rate(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, refresh_per_second=BAR_PER_SECOND) as bar:
            task = bar.add_task("runs", total=total, completed=before, before=before)
            yield lambda done: bar.update(task, completed=before + done)
    else:
        yield _lines(console, total, before)


def _lines(console: Console, total: int, before: int) -> Reporter:
    """Progress for a log file: one plain line every ten seconds and one at the end."""
    started = told = time.monotonic()

    def report(done: int) -> None:
        nonlocal told
        now, left = time.monotonic(), total - before - done
        if told == math.inf or (left > 0 and now - told < LINE_EVERY_SECONDS):
            return
        told = now if left > 0 else math.inf
        rate = done / max(now - started, 1e-6)
        line = f"{before + done:,} of {total:,} runs, {rate:,.0f} runs/s"
        if left > 0 and rate > 0:
            line += f", {left / rate:,.0f} s left"
        console.print(line, highlight=False, soft_wrap=True)

    return report
