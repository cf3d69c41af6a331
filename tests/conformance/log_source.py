"""Random logs by number: each is made of random bytes of its own, and can be made smaller.

Hypothesis draws them. Left to itself it makes most logs by changing the one before a little, which
helps to come closer to an error, and shows few kinds of logs. So each log is drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, find, given, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase

from tests.conformance.compare import Json

CHANCE_BYTES = 2**14
"""Random bytes for one log; one that would need more is left out."""


class LogSource:
    """The random logs of a seed.

    Args:
        logs: What they are drawn from.
        seed: The same seed gives the same logs.
    """

    def __init__(self, logs: st.SearchStrategy[Json], seed: int) -> None:
        self._logs = logs
        self._seed = seed
        self._kept = _LastFailure()
        self._drawn: list[Json] = []
        self._fails = False
        self._settings = settings(
            database=self._kept,
            deadline=None,
            phases=(Phase.reuse, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        drawn: Any = self._settings(given(self._logs)(self._take))
        self._draw: Callable[[bytes], object] = drawn.hypothesis.fuzz_one_input

    def log(self, number: int) -> Json | None:
        """The log with a number, from 0; None where the random bytes do not make one."""
        self._drawn.clear()
        self._draw(Random(f"{self._seed}/{number}").randbytes(CHANCE_BYTES))
        return self._drawn[0] if self._drawn else None

    def smallest(self, number: int, differs: Callable[[Json], bool]) -> Json:
        """The smallest log found that `differs`, as the one with a number does."""
        self._fails = True
        try:
            self.log(number)
        except _Kept:
            pass
        finally:
            self._fails = False
        return find(self._logs, differs, settings=self._settings, database_key=_LastFailure.KEY)

    def _take(self, document: Json) -> None:
        self._drawn.append(document)
        if self._fails:
            raise _Kept


class _Kept(Exception):
    """Makes Hypothesis keep what it drew."""


class _LastFailure(ExampleDatabase):
    """Keeps what failed last, as something that is not as small as it can be."""

    KEY = b"log"

    def __init__(self) -> None:
        super().__init__()
        self._value: bytes | None = None

    def save(self, key: bytes, value: bytes) -> None:
        if key.endswith(b".secondary"):
            self._value = value

    def fetch(self, key: bytes) -> Iterable[bytes]:
        if self._value is None or key != self.KEY + b".secondary":
            return ()
        return (self._value,)

    def delete(self, key: bytes, value: bytes) -> None:
        """It is asked for once only."""
