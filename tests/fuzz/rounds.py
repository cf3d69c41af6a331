"""What a worker process of the search does: rounds of cases, with a warm process of its own."""

import atexit
import signal
import time
from collections.abc import Mapping

from tests.fuzz.hunting import Round, hunt
from tests.fuzz.readers import Cases, cases
from tests.fuzz.running import Runner

_worker: tuple[Runner, Mapping[str, Cases]] | None = None


def start(seconds: float) -> None:
    """In a worker, once: a warm process of its own, and what the cases start from."""
    global _worker  # noqa: PLW0603 - one per process, as pools have it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leading process says what there is
    runner = Runner(seconds).__enter__()
    atexit.register(runner.__exit__)
    _worker = (runner, cases(runner))


def names() -> list[str]:
    """The readers there are."""
    assert _worker is not None
    return list(_worker[1])


def one(reader: str, number: int, examples: int, known: tuple[str, ...], left: float) -> Round:
    """A round of one reader; `left` seconds remain in all."""
    assert _worker is not None
    runner, strategies = _worker
    until = time.monotonic() + left
    return hunt(
        runner,
        reader,
        strategies[reader],
        number=number,
        examples=examples,
        known=known,
        until=until,
    )
