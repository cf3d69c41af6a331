"""Worker processes: how many there is room for, and that they end when who started them does."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading


def usable_cores() -> int:
    """Processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def follow_the_parent() -> None:
    """In a worker: leave Ctrl-C to the parent, and do not outlive it.

    Ctrl-C reaches every process of the group; only the parent decides what to do about it. A parent
    that is killed tells nobody, and its workers would wait for work for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
