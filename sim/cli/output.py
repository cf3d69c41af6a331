"""The output of commands: tables, JSON, exit statuses, on streams that foreign text does not break.

Everything a command prints goes through here, so that no command has to think of it: what cannot be
seen is escaped (`sim.files.foreign.lines`), and so are letters that the encoding of a terminal has
not. What writes its own control sequences, such as a line that is drawn anew, asks for the stream
beneath.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from sim.files.foreign.lines import one_line, plain_lines

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

    from sim.api.answers import Explanation
    from sim.check import Violation
    from sim.simulate.run.value import Run, Settling


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


EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INCONCLUSIVE = 3
EXIT_INTERRUPTED = 130

REDRAWN_EVERY_S = 0.1
LINE_EVERY_S = 10.0
"""How often something that takes long says how far it is, where no line is drawn anew."""
WIDTH_WHEN_PIPED = 160
WIDEST = 1_000
"""No line is filled up to more columns, whatever the environment says."""
TABLE_WIDTH = 120
"""A narrower terminal gets a list with one field per line instead of a table of texts."""
NAME_WIDTH = 40
"""So do names that would leave no room for the other columns."""

Cells = Sequence[Mapping[str, object]]


def complain(text: str) -> None:
    """Problems go to stderr, each line with the name of the program."""
    for line in text.split("\n") if text else ():
        print(f"replog: {line}", file=sys.stderr)


def tell(text: str, file: TextIO | None = None) -> None:
    """Print one line, whatever names are in it."""
    print(one_line(text), file=file or sys.stdout)


def beside(as_json: bool) -> TextIO:
    """Where what is no part of the result goes: with JSON on stdout, to stderr."""
    return sys.stderr if as_json else sys.stdout


def print_answer(
    as_json: bool, document: object, show: Callable[[], object], *, status: int = 0
) -> int:
    """Print a result, as one document or by `show`; the status, which the command ends with."""
    if as_json:
        print_json(document)
    else:
        show()
    return status


def print_json(value: object) -> None:
    """One document."""
    from sim.files.foreign.documents import json_text

    print_json_text(json_text(value, indent=1))


def print_json_text(text: str) -> None:
    """A document that is JSON already."""
    from sim.files.foreign.documents import fit_for

    print(fit_for(text, sys.stdout.encoding or "utf-8"))


class StatusLine:
    """Says on stderr how far something is: on a terminal in one line that is drawn anew.

    It is gone when its block ends.

    Args:
        lines_every_s: Elsewhere it is a line of its own every so many seconds; None = never.
    """

    def __init__(self, *, lines_every_s: float | None = None) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._every_s = REDRAWN_EVERY_S if self._on_terminal else lines_every_s
        self._last = time.monotonic() if lines_every_s else 0.0

    def show(self, text: str, *, at_once: bool = False) -> None:
        """Show a text, unless one was shown a moment ago."""
        now = time.monotonic()
        if self._every_s is None or (now - self._last < self._every_s and not at_once):
            return
        self._last = now
        if not self._on_terminal:
            complain(text)
        self._draw(text)

    def wipe(self) -> None:
        """Take the line away."""
        self._draw("")

    def tell(self, text: str) -> None:
        """Say something that stays."""
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
    """What shows text as it is."""
    from rich.console import Console

    return Console(
        file=file,
        width=width(),
        force_terminal=sys.stdout.isatty(),
        highlight=False,
        markup=False,
        emoji=False,
        # Rich stumbles over a size of the terminal that is no number.
        _environ={k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}},
    )


def width() -> int:
    """Columns to fill: those of the terminal, or enough for a file."""
    if not sys.stdout.isatty():
        return WIDTH_WHEN_PIPED
    return terminal_width()


def terminal_width() -> int:
    """Columns of the terminal, as `shutil.get_terminal_size` finds them; 80 without one.

    That module takes as long to import as argparse, which asks it whenever it is not told.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and int(columns[:9]):
        return min(int(columns[:9]), WIDEST)
    try:
        return os.get_terminal_size().columns or 80
    except (OSError, ValueError):  # no terminal, or closed
        return 80


def print_table(rows: Cells, *, texts: bool = False) -> None:
    """Rows with the same columns, the first one to the left, numbers to the right.

    With `texts` every column is text that may wrap; where there is no room for that, a list. Of no
    rows nothing is printed.
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
    # In bold, perhaps; all texts are escaped already.
    print("\n".join(lines), file=beneath(sys.stdout))


def _print_list(rows: Cells) -> None:
    """One block per row: its name, then the other fields, one below the other."""
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


def print_counters(counters: Mapping[str, int]) -> None:
    """What was counted, but for the zeros."""
    shown = [f"{name} {value:,}" for name, value in counters.items() if value]
    print("  " + (", ".join(shown) or "nothing happened"))


def print_settling(settling: Settling) -> None:
    """By how much the counters are others at rest, and what was reached only then."""
    changed = [f"{name} {count:+,}" for name, count in settling.counters.items()]
    seen = settling.reached
    told = [*changed, *([f"reached: {', '.join(seen)}"] if seen else [])]
    print(f"  while settling, after {settling.from_ms:,} ms: {', '.join(told) or 'nothing'}")


def print_violations(violations: Iterable[Violation], when: Callable[[Violation], str]) -> None:
    """One sentence each, with when it was judged."""
    for violation in violations:
        tell(f"  {violation.invariant} ({when(violation)}): {violation.sentence}")


def print_explanation(explanation: Explanation, violations: Iterable[Violation], run: Run) -> None:
    """Its lines, under a heading that names what else was violated."""
    about = explanation.about
    times = "ms" if run.unit == "ms" else "steps"
    if run.settling and any(run.at_rest(found) for found in run.seen if found.invariant == about):
        times += f", settling from {run.settling.from_ms} on"
    others = [name for name in dict.fromkeys(v.invariant for v in violations) if name != about]
    more = f"; --explain NAME tells of {', '.join(others)}" if others else ""
    print(f"  why {about} was violated (times in {times}, newest first){more}:")
    for line in explanation:
        print(f"  {line}")


def explanation_in_json(explanation: Explanation | None) -> dict[str, Any]:
    """The keys of a JSON document: `explanation`, the lines, and the same as data beside it."""
    if explanation is None:
        return {"explanation": [], "explained": None}
    return {"explanation": list(explanation), "explained": explanation.as_json()}


def hand_over(page: str, annotations: Iterable[str], *, as_json: bool) -> None:
    """Add a page of Markdown to the summary of the job, and print annotations.

    With JSON on stdout, the annotations go to stderr.
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
