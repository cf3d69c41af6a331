"""The one exception that is meant for the person at the keyboard, and a question it may end on."""

from __future__ import annotations

from collections.abc import Iterable

from sim.files.foreign.lines import LONGEST, one_line

_COMPARED = 200
"""Characters of a name that are compared with the names there are."""


class BadInput(Exception):
    """Something given to Replog cannot be used: a file, a value, a name, a folder.

    The text is one clear line: where it is (file, line or path), what is wrong, what is allowed.
    The command line prints it on stderr and exits with status 2; nothing is left half-written.
    """

    def __init__(self, *lines: str) -> None:
        """One line, or one for each thing that is wrong; what is foreign in them is escaped."""
        super().__init__(*[one_line(line, longest=LONGEST) for line in lines])

    def __str__(self) -> str:
        return "\n".join(self.args)


class PluginError(BadInput):
    """A plugin raises, or does what it may not; the text names it, and the event or record.

    Like any bad input it ends a command with status 2; in a sweep it is the error of a run.
    """


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` when one of `known` is close to what was given, else nothing."""
    close = closest(given, known)
    return "" if close is None else f" (did you mean {close!r}?)"


def closest(given: object, known: Iterable[str]) -> str | None:
    """The one of `known` that is close to what was given; None = none is."""
    from difflib import get_close_matches  # only a mistake needs it

    # What is many times as long is like none of them, and would take as long to compare.
    close = get_close_matches(str(given)[:_COMPARED], list(known), n=1)
    return close[0] if close else None
