"""The output of commands: tables, JSON, exit statuses, on streams that foreign text cannot break.

What a command prints goes through these streams: characters that cannot be seen are escaped
(`sim.files.foreign`), and letters that the terminal's encoding lacks. Tables, redrawn lines and
annotations for GitHub go to the stream beneath: their texts are Replog's own, or escaped before.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TextIO, cast

from sim.files.foreign import one_line, plain_lines

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

    from sim.api.answers import Explanation
    from sim.check import Violation
    from sim.simulate.run.value import Run


class EscapedStream:
    """A stream that escapes what a terminal would not show as text.

    Attributes:
        beneath: The stream without escaping.
    """

    def __init__(self, beneath: TextIO) -> None:
        """Takes the stream beneath."""
        self.beneath = beneath

    def write(self, text: str) -> int:
        """Writes a text. Raises TypeError for bytes, and OSError as the stream does."""
        if not isinstance(text, str):
            raise TypeError(f"a text is written here, not {type(text).__name__}")
        self.beneath.write(plain_lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


def beneath(stream: TextIO) -> TextIO:
    """A stream without escaping, for texts that are escaped already, or Replog's own."""
    return stream.beneath if isinstance(stream, EscapedStream) else stream


@contextmanager
def shown_streams() -> Iterator[None]:
    """Wraps stdout and stderr in an `EscapedStream` for the block."""
    _open_closed_streams()
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = (cast("TextIO", EscapedStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        try:
            before[0].flush()
        except (OSError, ValueError):  # was reported before
            write_no_more()


def _open_closed_streams() -> None:
    """Opens streams that the caller closed, as by `>&-`, so that no other file takes their place.

    Writing to such a stdout fails: there is no success without output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)  # the lowest number
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def write_no_more() -> None:
    """Discards what is still buffered for a broken stdout, so that Python exits quietly."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INCONCLUSIVE = 3
EXIT_INTERRUPTED = 130

REDRAWN_EVERY_S = 0.1
LINE_EVERY_S = 10.0
"""Seconds between two lines of progress where none is redrawn."""
WIDTH_WHEN_PIPED = 160
WIDEST = 1_000
"""Largest width of a line, even where the environment asks for more."""
TABLE_WIDTH = 120
"""A narrower terminal gets a list with one field per line instead of a table of texts."""
NAME_WIDTH = 40
"""Longer names in the first column get such a list, too: no room is left beside them."""

Cells = Sequence[Mapping[str, object]]


def complain(text: str) -> None:
    """Prints problems to stderr, each line with the name of the program."""
    for line in text.split("\n") if text else ():
        print(f"replog: {line}", file=sys.stderr)


def tell(text: str, file: TextIO | None = None) -> None:
    """Prints a text as one line; line breaks in foreign names are escaped."""
    print(one_line(text), file=file or sys.stdout)


def beside(as_json: bool) -> TextIO:
    """The stream for lines that are not part of the result: stderr where JSON is on stdout."""
    return sys.stderr if as_json else sys.stdout


def print_answer(
    as_json: bool, document: object, show: Callable[[], object], *, status: int = 0
) -> int:
    """Prints a result, as one document or by `show`; returns the exit status it is given."""
    if as_json:
        print_json(document)
    else:
        show()
    return status


def print_json(value: object) -> None:
    """Prints a value as one JSON document."""
    from sim.files.foreign import fit_for, json_text

    print(fit_for(json_text(value, indent=1), sys.stdout.encoding or "utf-8"))


class StatusLine:
    """Progress on stderr: on a terminal one line that is redrawn, wiped when the block ends.

    Args:
        lines_every_s: Seconds between lines where stderr is no terminal; None for no lines.
    """

    def __init__(self, *, lines_every_s: float | None = None) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._every_s = REDRAWN_EVERY_S if self._on_terminal else lines_every_s
        self._last = time.monotonic() if lines_every_s else 0.0

    def show(self, text: str, *, at_once: bool = False) -> None:
        """Shows a text, unless another was shown a moment ago and `at_once` is False."""
        now = time.monotonic()
        if self._every_s is None or (now - self._last < self._every_s and not at_once):
            return
        self._last = now
        if not self._on_terminal:
            complain(text)
        self._draw(text)

    def wipe(self) -> None:
        """Wipes the line off the terminal."""
        self._draw("")

    def tell(self, text: str) -> None:
        """Prints a line that stays."""
        self.wipe()
        complain(one_line(text))

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.wipe()

    def _draw(self, text: str) -> None:
        if self._on_terminal:
            beneath(sys.stderr).write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def _console(file: TextIO) -> Console:
    """A console of Rich that interprets nothing in a text."""
    from rich.console import Console

    return Console(
        file=file,
        width=width(),
        force_terminal=sys.stdout.isatty(),
        highlight=False,
        markup=False,
        emoji=False,
        # Rich fails for a size of the terminal that is no number.
        _environ={k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}},
    )


def width() -> int:
    """Columns to fill: those of the terminal, at most `WIDEST`, or `WIDTH_WHEN_PIPED`."""
    if not sys.stdout.isatty():
        return WIDTH_WHEN_PIPED
    return min(get_terminal_size().columns, WIDEST)


def print_table(rows: Cells, *, texts: bool = False) -> None:
    """Prints rows with the same columns, the first aligned left, the others right.

    With `texts` all are aligned left, and all but the first may wrap; on a narrow terminal, or with
    a long name in the first, they become a list. Without rows nothing is printed.
    """
    if not rows:
        return
    shown = [{one_line(name): one_line(str(cell)) for name, cell in row.items()} for row in rows]
    longest = max(len(next(iter(row.values()))) for row in shown)
    if texts and (width() < TABLE_WIDTH or longest > NAME_WIDTH):
        _print_list(shown)
        return
    from rich.table import Table

    drawn = io.StringIO()
    console = _console(drawn)
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(shown[0]):
        left = texts or index == 0
        side: JustifyMethod = "left" if left else "right"
        table.add_column(name, justify=side, no_wrap=index == 0, overflow="fold")
    for row in shown:
        table.add_row(*row.values())
    console.print(table)
    lines = [line.rstrip() for line in drawn.getvalue().split("\n")[:-1]]
    # Rich's own control sequences; all texts are escaped already.
    print("\n".join(lines), file=beneath(sys.stdout))


def _print_list(rows: Cells) -> None:
    """Prints a block per row: its name, then its other fields that are not empty, one per line."""
    import textwrap

    labels = list(rows[0])[1:]
    indent = max(map(len, labels)) + 4
    for row in rows:
        name, *values = row.values()
        print(name)
        for label, value in zip(labels, values, strict=True):
            text = f"  {label:<{indent - 2}}{value}" if value else ""
            folded = textwrap.wrap(
                text, max(width(), 40), subsequent_indent=" " * indent, break_long_words=False
            )
            print(*folded, sep="\n", end="\n" if folded else "")


def print_explanation(explanation: Explanation, violations: Iterable[Violation], run: Run) -> None:
    """Prints an explanation under a heading that names the other violated invariants."""
    about = explanation.about
    times = "ms" if run.unit == "ms" else "steps"
    if run.settling and any(run.at_rest(found) for found in run.seen if found.invariant == about):
        times += f", settling from {run.settling.from_ms} on"
    others = [name for name in dict.fromkeys(v.invariant for v in violations) if name != about]
    more = f"; also violated: {', '.join(others)}" if others else ""
    print(f"  why {about} was violated (times in {times}, newest first){more}:")
    for line in explanation:
        print(f"  {line}")


def explanation_in_json(explanation: Explanation | None) -> dict[str, Any]:
    """Keys of a JSON document: `explanation` has the lines, `explained` the same as data."""
    if explanation is None:
        return {"explanation": [], "explained": None}
    return {"explanation": list(explanation), "explained": explanation.as_json()}


def hand_over(page: str, annotations: Iterable[str], *, as_json: bool) -> None:
    """Adds a page of Markdown to the summary of a job on GitHub, and prints annotations.

    Elsewhere does neither. With JSON on stdout, the annotations go to stderr.
    """
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as added:
                added.write(page)
        except OSError as error:
            complain(f"GITHUB_STEP_SUMMARY: {summary}: {error.strerror}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations:
            print(line, file=beneath(beside(as_json)))
