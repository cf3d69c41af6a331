"""A run as a dozen lines of text: the logs at the violation, for terminals and CI logs.

It needs only the base install.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len, set_cell_size

from sim.check import Violation
from sim.diagnose.draw.cells import printable
from sim.diagnose.draw.frames import Lane
from sim.diagnose.draw.scene import DrawnCase, Room, Scene, has_a_place
from sim.diagnose.explain.case import listed

NARROWEST = 40
_COLUMN_MAX = 14
_NAME_MAX = 16
_ASIDE = re.compile(r"^(not copied from [^:]*|wiped|dropped): | \(.*")
"""Parts of a reason that a legend leaves out: what stands before its colon, or in brackets."""
_LEGEND = {
    "»": "» where it is violated",
    "…": "… left out",
    "⎡": "⎡ log start",
    "▕": "▕ high watermark",
    "╌": "╌ hole",
    "·": "· no log here",
    "!": "! not what was committed",
}


def strip(case: DrawnCase, width: int = 100) -> str:
    """Draws the logs of all replicas at a violation as a text of about a dozen lines.

    There is a column per offset: `A=d v1` is a record with the version that decides, `del A` a
    tombstone, `COMMIT 7` a marker; `╌` is a hole and `(empty)` an empty batch, with the reason,
    such as `>0` for superseded by the record at 0. `▕` is the high watermark, `⎡` the log start.
    The first row is the committed history; `!` marks a record that differs from it. The arrow
    points at the violated offset, `»` at the replica. The last lines list the contents of the
    violated offset and explain the signs.

    Args:
        case: The run, and the violation to point at.
        width: Columns of a line; 40 at least.
    """
    lines = _Strip(Scene(case), max(width, NARROWEST)).lines()
    return "\n".join(line.rstrip() for line in lines)


class _Strip:
    """Writes a scene as lines of text."""

    def __init__(self, scene: Scene, width: int) -> None:
        self._scene = scene
        self._width = width
        lanes = scene.frame.lanes
        self._names = [self._name(lane) for lane in lanes]
        self._left = min(max(map(cell_len, [*self._names, "  committed"])), _NAME_MAX)
        self._tails = [lane.marks + ("" if lane.up else " down") for lane in lanes]
        right = max(map(cell_len, self._tails), default=0)
        if self._left + right + 2 + 2 * _COLUMN_MAX > width:
            self._tails, right = [""] * len(lanes), 0
        room = width - self._left - right - 4

        def width_of(offset: int) -> int:
            lines = [cell.line for cell in scene.column(offset, scene.frame)]
            return min(max(map(cell_len, [str(offset), *lines])), _COLUMN_MAX)

        found = scene.columns(Room(width_of, room, 2, 2))
        self._columns = {offset: int(wide) for offset, wide in found.items()}

    def lines(self) -> Iterable[str]:
        """The lines from the offsets to the legend."""
        scene = self._scene
        cells = {one: scene.column(one, scene.frame) for one in self._columns}
        yield self._row("  offset", [str(one) for one in self._columns])
        if scene.frame.committed:
            yield self._row("  committed", [cells[one][0].line for one in self._columns])
        rows = []
        for number, lane in enumerate(scene.frame.lanes):
            borders = {lane.log_start_offset: "⎡"} if lane.log_start_offset else {}
            borders[lane.high_watermark] = "▕"
            texts = [cells[one][number + 1].line for one in self._columns]
            name = clipped(self._names[number], self._left)
            rows.append(self._row(name, texts, borders, self._tails[number]))
        yield from rows
        located = scene.violation is None or has_a_place(scene.violation)
        if scene.subject is not None and located:
            if scene.violation is not None:
                yield self._pointer(scene.violation, scene.subject)
            yield from self._wrapped(self._sentence(scene.subject))
        yield from self._wrapped(" · ".join(self._legend("".join(rows))))

    def _wrapped(self, text: str) -> list[str]:
        return textwrap.wrap(text, self._width, subsequent_indent="  ", break_on_hyphens=False)

    def _name(self, lane: Lane) -> str:
        violation, leads = self._scene.violation, ""
        if lane.leads is not None:
            leads = f"leads {lane.leads}" if lane.newest else f"led {lane.leads}?"
        concerned = violation is not None and violation.replica == lane.name
        return f"{'»' if concerned else ' '} {printable(lane.name)} {leads}".rstrip()

    def _row(
        self,
        name: str,
        cells: Sequence[str],
        borders: Mapping[int, str] | None = None,
        tail: str = "",
    ) -> str:
        """Writes a row: a name, a cell per column with a mark at its left border, a tail."""
        text, before, signs = set_cell_size(name, self._left), -1, borders or {}
        for cell, (offset, width) in zip(cells, self._columns.items(), strict=False):
            left_out = range(before + 1, offset)
            if left_out:
                text += next((sign for at, sign in signs.items() if at in left_out), " ") + "…"
            text += f" {signs.get(offset, ' ')}{set_cell_size(clipped(cell, width), width)}"
            before = offset
        return f"{text} {signs.get(before + 1, ' ')}  {tail}"

    def _pointer(self, violation: Violation, subject: int) -> str:
        """Draws an arrow below the violated offset, with the name of the invariant."""
        before = [each for each in self._columns if each < subject]
        line = self._row("", [*[""] * len(before), "▲"]).rstrip()
        line = line.replace("…", " ")
        behind = f"{line} {violation.invariant}"
        in_front = f"{violation.invariant} {line.strip()}".rjust(cell_len(line))
        return behind if cell_len(behind) <= self._width else clipped(in_front, self._width)

    def _sentence(self, offset: int) -> str:
        """Lists the contents of an offset on all replicas, in words."""
        frame = self._scene.frame
        truth, *cells = self._scene.column(offset, frame)
        parts = [f"committed is {truth.words}"] if frame.committed_at(offset).uid else []
        held: dict[tuple[str, bool], list[str]] = {}
        for cell, lane in zip(cells, frame.lanes, strict=True):
            has_it = cell.look not in ("below", "beyond")
            held.setdefault((cell.words, has_it), []).append(printable(lane.name))
        for (words, has_it), names in held.items():
            has = " has" if len(names) == 1 else " have"
            parts.append(f"{listed(names)}{has if has_it else ':'} {words}")
        return f"offset {offset}: {'; '.join(parts)}"

    def _legend(self, rows: str) -> list[str]:
        """Explains the signs in these rows."""
        meanings = [text for sign, text in _LEGEND.items() if sign in rows]
        lanes = self._scene.frame.lanes
        old = [lane.leads for lane in lanes if lane.leads is not None and not lane.newest]
        committed = len(self._scene.frame.committed)
        if "·" not in rows and committed and any(at >= committed for at in self._columns):
            meanings.append("· not committed")
        meanings += [f"led {epoch}? does not know of the newer epoch" for epoch in old[:1]]
        spots = [spot for offset in self._columns for spot in self._scene.frame.at(offset)]
        reasons = {spot.reason.short: spot.reason for spot in spots if spot.reason is not None}
        beaten = [each for each in reasons.values() if each.winner is not None][:1]
        plain = [each for each in reasons.values() if each.winner is None and each.short]
        for each in (*beaten, *plain):
            why = _ASIDE.sub("", each.words)
            meanings.append(f"{each.short} {why}")
        return meanings


def clipped(text: str, columns: int) -> str:
    """Shortens a text to a number of columns, with … at its end."""
    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1)}…"
