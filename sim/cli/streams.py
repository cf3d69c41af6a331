"""What the command writes to: nothing foreign moves the cursor, and a broken stream ends no run.

Everything a command prints goes through here, so that no command has to think of it: what cannot be
seen is escaped (`sim.files.foreign.lines`), and so are letters that the encoding of a terminal has
not. What writes its own control sequences, such as a line that is drawn anew, asks for the stream
beneath.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from sim.files.foreign.lines import plain_lines

_STDIN, _STDOUT, _STDERR = 0, 1, 2


class Shown:
    """A stream that shows text, and does nothing else with it.

    Args:
        stream: Where it goes.
        as_is: Leave control characters in it: they are our own.
        may_fail: That it cannot be written is no reason to stop: nobody waits for it.
    """

    def __init__(self, stream: TextIO, *, as_is: bool = False, may_fail: bool = False) -> None:
        self._stream = stream
        self._as_is = as_is
        self._may_fail = may_fail

    @property
    def beneath(self) -> TextIO:
        """The same stream for what writes control characters of its own."""
        return cast("TextIO", Shown(self._stream, as_is=True, may_fail=self._may_fail))

    def write(self, text: str) -> int:
        """Write a text. Raises OSError as the stream does, unless it may fail."""
        shown = text if self._as_is else plain_lines(text)
        with self._failing():
            self._stream.write(shown)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Raises OSError as the stream does, unless it may fail."""
        with self._failing():
            self._stream.flush()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError):  # broken, or closed
            if not self._may_fail:
                raise
            write_no_more(_STDERR)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def beneath(stream: TextIO) -> TextIO:
    """A stream without what escapes: for lines that are drawn anew, whose texts are our own."""
    return stream.beneath if isinstance(stream, Shown) else stream


@contextmanager
def shown_streams() -> Iterator[None]:
    """Puts both streams of this process into a `Shown`; one that was closed is there, and fails."""
    _open_what_is_closed()
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast("TextIO", Shown(before[0]))
    sys.stderr = cast("TextIO", Shown(before[1], may_fail=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        try:
            before[0].flush()
        except (OSError, ValueError):  # said already
            write_no_more()


def _open_what_is_closed() -> None:
    """Gives a process that was started with closed streams some of its own.

    Else the next file it opens would be its stdout. Nothing can be written to the one made here:
    a result that goes nowhere is no success.
    """
    for number, flags in ((_STDIN, os.O_RDONLY), (_STDOUT, os.O_RDONLY), (_STDERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(_STDOUT, "w", encoding="utf-8")  # noqa: SIM115 - for good
    if sys.stderr is None:
        sys.stderr = open(_STDERR, "w", encoding="utf-8")  # noqa: SIM115 - for good


def write_no_more(number: int = _STDOUT) -> None:
    """Sends what is still to be written to a broken stream nowhere, so that the end is quiet."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
