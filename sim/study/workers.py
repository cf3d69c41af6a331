"""Worker processes: their start, their number, and their end with the parent process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TypeVar

T = TypeVar("T")
SAFE_PATH = "PYTHONSAFEPATH"
"""Variable of Python: without it `python -c` and `python -m` look for modules in the current folder
first, also for those of the standard library."""


@contextmanager
def without_current_folder() -> Iterator[None]:
    """Keeps Python processes of this block from importing files of the current folder."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[SAFE_PATH]
        os.environ.update({} if before is None else {SAFE_PATH: before})


class _Process(SpawnProcess):
    def start(self) -> None:
        with without_current_folder(), starting_workers():
            super().start()


class _Context(SpawnContext):
    Process = _Process


def worker_context() -> SpawnContext:
    """The start method of workers: a new Python, which imports nothing from the current folder."""
    with without_current_folder():
        resource_tracker.ensure_running()  # is a process, too; else the first lock starts it
    return _Context()


def usable_cores() -> int:
    """Processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def starting_workers() -> Iterator[None]:
    """Starts the processes of this block completely; they ignore Ctrl-C.

    A terminal sends Ctrl-C to every process of the group, and a worker would end in a traceback of
    its own while it imports; only the parent decides what to do about it. The parent receives it,
    and SIGTERM, at the end of the block: a process that is half started would print an error, too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    handled = {
        number: signal.signal(number, lambda number, _frame: heard.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(signal.getsignal(number))
    }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which children inherit
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handled.items():
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])


def interruptibly(call: Callable[[], T]) -> T:
    """The result of a call that Ctrl-C must not interrupt.

    Ctrl-C ends the wait for the call, which continues in a thread of its own.
    """
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return found.result()


@contextmanager
def pool_of(size: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of workers that end with the block, at once if an exception ends it."""
    end, lifeline = multiprocessing.Pipe(duplex=False)  # workers end once it is cut
    pool = ProcessPoolExecutor(size, worker_context(), follow_the_parent, (end,))
    with end, lifeline:
        try:
            yield pool
        except BaseException:
            lifeline.close()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def follow_the_parent(lifeline: Connection) -> None:
    """Makes this worker leave Ctrl-C to the parent, and end with it.

    Ctrl-C reaches every process of the group; only the parent decides what to do about it. A parent
    that is killed sends no signal, and its workers would wait for work for ever.
    """
    parent = multiprocessing.parent_process()
    ends: list[Connection | int] = [lifeline, *([] if parent is None else [parent.sentinel])]

    def end() -> None:
        wait(ends)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end, daemon=True).start()
