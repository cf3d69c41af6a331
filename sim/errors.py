"""The exception for mistakes of users, and suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable

from sim.files.foreign import LONGEST, one_line

_COMPARED = 200
"""Characters of a name that are compared with known names."""


class BadInput(Exception):
    """An input that cannot be used: a file, a value, a name, a folder.

    The text is one line: the place (file, line or path), the mistake, and what is allowed.
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
