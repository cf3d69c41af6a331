"""The exceptions for mistakes of users and of plugins, and suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sim.files.foreign import LONGEST, one_line

_COMPARED = 200
"""Characters of a name that are compared with known names."""
TEXT_MAX = 300
"""Longest text of a plugin's message or value in an error, in characters."""


class BadInput(Exception):
    """An input that cannot be used: a file, a value, a name, a folder.

    The text has a line for each mistake: the place (file, line or path), the mistake, and what is
    allowed.
    The command line prints it on stderr and exits with status 2; nothing is left half-written.
    """

    def __init__(self, *lines: str) -> None:
        """Takes a line for each mistake; foreign text in them is escaped."""
        super().__init__(*[one_line(line, longest=LONGEST) for line in lines])

    def __str__(self) -> str:
        return "\n".join(self.args)


class PluginError(BadInput):
    """A plugin that raises or breaks its contract; the text names it, and the event or record.

    As any bad input it ends a command with status 2; in a sweep it is the error of a run.
    """


class Guarded:
    """A function of a plugin, of one argument; its mistakes are errors of one line that name it."""

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
            problem: (argument, answer) -> what is wrong with the answer; None for a good one.
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


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` when one of `known` is close to what was given, else nothing."""
    close = closest(given, known)
    return "" if close is None else f" (did you mean {close!r}?)"


def closest(given: object, known: Iterable[str]) -> str | None:
    """The name of `known` that is close to the given one; None without one."""
    from difflib import get_close_matches  # only a mistake needs it

    # A much longer text is close to none of them, and would take long to compare.
    close = get_close_matches(str(given)[:_COMPARED], list(known), n=1)
    return close[0] if close else None
