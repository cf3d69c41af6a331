"""Whether a process is alive, and patience."""

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 20


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait until something has happened, or fail."""
    until = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.05)
