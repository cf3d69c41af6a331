"""Calls into the code of plugins: an error there is one line that names the plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim.errors import PluginError
from sim.files.foreign import one_line

TEXT_MAX = 300
"""Longest text of a plugin's message or value in an error."""


class Guarded:
    """A function of a plugin, of one argument."""

    def __init__(
        self,
        label: str,
        function: Callable[[Any], Any],
        problem: Callable[[Any, Any], str | None] | None = None,
    ) -> None:
        """Wraps a function.

        Args:
            label: The plugin and its function, for messages.
            function: The function.
            problem: From the argument and the answer to the problem with the answer; None for none.
        """
        self._label = label
        self._function = function
        self._problem = problem

    def __call__(self, argument: Any) -> Any:
        """Calls the function. Raises PluginError."""
        try:
            answer = self._function(argument)
        except PluginError:
            raise
        except Exception as error:
            where = f"{self._label}: raises {in_one_line(error)} at {shortly(argument)}"
            raise PluginError(where) from error
        found = None if self._problem is None else self._problem(argument, answer)
        if found is not None:
            raise PluginError(f"{self._label}: {found}")
        return answer


def in_one_line(error: BaseException) -> str:
    """An exception in one line: its class and its message."""
    said = " ".join(str(error).split())
    return one_line(f"{type(error).__name__}{': ' if said else ''}{said}", longest=TEXT_MAX)


def shortly(value: object) -> str:
    """A value as text, in one line and not too long."""
    return one_line(" ".join(repr(value).split()), longest=TEXT_MAX)
