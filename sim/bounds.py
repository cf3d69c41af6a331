"""Bounds of real time and memory for one run.

A scenario is bounded in simulator events, and every field by a limit (`sim.files.limits`); these
bounds stop the rest, such as one huge step. A timer checks the clock and the memory of the process
a few times a second, so that a run need not count its own work, and raises BoundReached between two
steps of Python. It needs the main thread of a process, where commands and workers run: other
threads have no bounds.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, NamedTuple

SECONDS: Final = 60.0
MEGABYTES: Final = 2_048
"""Bounds of one run without an option. The largest known, a trace of 101,229 changes through three
replicas and a log file of a million records, take 5 s and 14 s, 0.25 GB and 0.7 GB."""

_LOOK_EVERY_S: Final = 0.25
_AGAIN_AFTER_S: Final = 2.0
"""Seconds until BoundReached is raised again: code may have swallowed the first one."""
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Bounds(NamedTuple):
    """Bounds of one run.

    Attributes:
        seconds: Real time in seconds; None for no bound.
        megabytes: Growth of the resident memory of the process in 10**6 bytes; None for no bound.
    """

    seconds: float | None = SECONDS
    megabytes: int | None = MEGABYTES


NO_BOUNDS: Final = Bounds(None, None)


class BoundReached(BaseException):
    """A bound was hit, which the text names; its `bounded` block swallows this.

    Not an Exception: no handler in the simulator may catch it as a failure of its own.
    """


class Inconclusive(Exception):
    """A run hit a bound, which the text names, and a run without its end gives no answer."""


class bounded:  # noqa: N801 - is read as a word: with bounded(): ...
    """Ends the block when a bound is hit; afterwards `reached` says which.

    The block may have stopped anywhere: what it was working on may be half done. A block within
    another one has bounds of its own. What it takes does not count for the outer block, which can
    so go on when the inner one was ended. A block with `NO_BOUNDS` has those of the outer one. A
    MemoryError counts as a bound, too.

    Attributes:
        reached: The bound that was hit, such as `wall time: more than 60 s`; None without one.
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        """Takes the bounds; None for those that are in force for each run."""
        self.bounds = _TIMER.of_each_run if bounds is None else bounds
        self.reached: str | None = None
        self._started_s = 0.0
        self._started_bytes = 0
        self._reported_s: float | None = None

    def __enter__(self) -> bounded:
        """Starts to measure time and memory."""
        self._started_s = time.monotonic()
        self._started_bytes = resident_bytes()
        if self.bounds != NO_BOUNDS:
            _TIMER.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        """Swallows BoundReached, and MemoryError where memory is bounded."""
        _TIMER.remove(self)
        if isinstance(error, MemoryError) and self.bounds.megabytes is not None:
            self.reached = "memory: none is left"
        elif isinstance(error, BoundReached) and self.bounds != NO_BOUNDS:
            self.reached = str(error)
        return self.reached is not None and error is not None

    def _excess(self, now_s: float, used_bytes: int) -> str | None:
        """The bound that is exceeded; None without one."""
        seconds, megabytes = self.bounds
        if seconds is not None and now_s - self._started_s >= seconds:
            return f"wall time: more than {seconds:g} s"
        if megabytes is not None and used_bytes - self._started_bytes > megabytes * 10**6:
            return f"memory: more than {megabytes:,} MB"
        return None

    def look(self) -> None:
        """Raises BoundReached if a bound is exceeded; not again within `_AGAIN_AFTER_S`."""
        now_s = time.monotonic()
        if self._reported_s is not None and now_s - self._reported_s < _AGAIN_AFTER_S:
            return
        reason = self._excess(now_s, resident_bytes())
        if reason is not None:
            self._reported_s = now_s
            raise BoundReached(reason)

    def leave_out(self, inner: bounded) -> None:
        """Excludes the time and memory of a block within this one."""
        self._started_s += time.monotonic() - inner._started_s
        self._started_bytes += max(0, resident_bytes() - inner._started_bytes)


def resident_bytes() -> int:
    """Memory of this process in bytes; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - some times a second
            return int(file.read().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def bounds_in_force() -> Bounds:
    """The bounds of each run of this process."""
    return _TIMER.of_each_run


def bound_each_run(bounds: Bounds) -> None:
    """Sets the bounds of each run of this process from now on; for workers."""
    _TIMER.of_each_run = bounds


@contextmanager
def each_run_within(bounds: Bounds) -> Iterator[None]:
    """Sets the bounds of each run in the block."""
    before, _TIMER.of_each_run = _TIMER.of_each_run, bounds
    try:
        yield
    finally:
        _TIMER.of_each_run = before


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays a reached bound beyond the end of the block, so that a file in it is written whole.

    Masking the signal would not do: a library's thread may receive it, and Python then still calls
    the handler in the main thread.
    """
    before, _TIMER.silent = _TIMER.silent, True
    try:
        yield
    finally:
        _TIMER.silent = before


class _Timer:
    """The timer of the process, and the blocks it checks, the innermost last."""

    def __init__(self) -> None:
        self.of_each_run = Bounds()
        self.silent = False
        self._waiting: list[bounded] = []
        self._handler: Any = None
        self._interrupted = (0.0, 0.0)
        self._started_s = 0.0

    def add(self, watch: bounded) -> None:
        """Checks the bounds of a block from now on; does nothing outside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            return
        if not self._waiting:
            self._handler = signal.signal(signal.SIGALRM, self._ring)
            self._started_s = time.monotonic()
            seconds = watch.bounds.seconds
            every_s = _LOOK_EVERY_S if seconds is None else min(max(seconds, 0.001), _LOOK_EVERY_S)
            self._interrupted = signal.setitimer(signal.ITIMER_REAL, every_s, every_s)
        self._waiting.append(watch)

    def remove(self, watch: bounded) -> None:
        """Stops checking a block; after the last one the timer that was set before is restored."""
        if watch not in self._waiting:
            return
        self._waiting.remove(watch)
        if self._waiting:
            self._waiting[-1].leave_out(watch)
        else:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._handler)
            left_s, every_s = self._interrupted
            if left_s:  # 0 without a timer; it rings at once if its time has come
                left_s = max(left_s - (time.monotonic() - self._started_s), 0.001)
                signal.setitimer(signal.ITIMER_REAL, left_s, every_s)

    def forget(self) -> None:
        """Drops the bounds of the parent process, in a process that was forked."""
        self._waiting.clear()

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        if self._waiting and not self.silent:
            self._waiting[-1].look()


_TIMER: Final = _Timer()
os.register_at_fork(after_in_child=_TIMER.forget)
