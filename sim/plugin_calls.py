"""Calls into other people's code: what goes wrong in there is said in one line, with whose it is.

A plugin may raise anything, print, and answer with anything. What it raises becomes a `PluginError`
that names it; what it prints goes to stderr, since stdout is for results (`--json`); and an answer
is looked at before anybody relies on it.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from sim.errors import PluginError
from sim.foreign.lines import one_line

TEXT_MAX = 300
"""Characters of what foreign code says, or of a value it made, that are passed on."""
_OURS = "sim."


class _ToStderr(io.TextIOBase):
    """Where foreign code prints; it may close it."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


TO_STDERR = _ToStderr()
"""What stands for stdout while foreign code runs."""


class Guarded:
    """A function of a plugin, of one argument."""

    def __init__(
        self,
        label: str,
        function: Callable[[Any], Any],
        problem: Callable[[Any, Any], str | None] | None = None,
    ) -> None:
        """Calls `function`.

        Args:
            label: The plugin, and what of it is called.
            function: It.
            problem: Given the argument and the answer: what is wrong with the answer, if anything.
        """
        self._label = label
        self._function = function
        self._problem = problem

    def __call__(self, argument: Any) -> Any:
        """Its answer. Raises PluginError."""
        results = sys.stdout
        sys.stdout = TO_STDERR
        try:
            answer = self._function(argument)
        except BaseException as error:  # noqa: BLE001 - foreign code may raise anything
            blame(error, self._label, f" at {shortly(argument)}")
        finally:
            sys.stdout = results
        if self._problem is not None:
            found = self._problem(argument, answer)
            if found is not None:
                raise PluginError(f"{self._label}: {found}")
        return answer


def blame(error: BaseException, label: str, where: str = "") -> NoReturn:
    """Raise what foreign code raised, as a PluginError that says whose it is.

    Ctrl-C and what is Replog's own pass as they are: the end of a time bound, a pass that a
    strategy stops.
    """
    ours = type(error).__module__.startswith(_OURS) and type(error).__name__ != "BadInput"
    if isinstance(error, KeyboardInterrupt) or ours:
        raise error
    raise PluginError(f"{label}: raises {told(error)}{where}") from error


def told(error: BaseException) -> str:
    """An exception in one line: its class, and what it says of itself."""
    said = shortly(error, str)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def shortly(value: object, text_of: Callable[[Any], str] = repr) -> str:
    """A value as text, in one line and not too long, even if its own `__repr__` fails."""
    try:
        text = " ".join(text_of(value).split())
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        text = f"a {type(value).__name__} that cannot be shown"
    return one_line(text, longest=TEXT_MAX)
