"""A run as a dozen lines of text: what each replica holds at the violation, for terminals and logs.

Nothing is needed for it but the base install.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from sim.check import Violation
from sim.draw.columns import has_a_place, subject_of, weighted
from sim.draw.frames import Events, Frame, Kind, Lane, Spot, position_of, replayed
from sim.draw.words import (
    Words,
    clipped,
    columns_of,
    leadership,
    marks,
    printable,
    short_reason,
)
from sim.rules import Rules

NARROWEST = 40
_COLUMN_MAX = 14
_NAME_MAX = 16
_ASCII = str.maketrans({"…": "~", "╌": "-", "▲": "^", "·": ".", "▕": "|", "⎡": "[", "»": ">"})
_LEGEND = {
    "⎡": "⎡ log start",
    "▕": "▕ high watermark",
    "╌": "╌ hole",
    "!": "! not what was committed",
    "?": "led 1? does not know of the newer epoch",
}


class _Column(NamedTuple):
    offset: int
    width: int


def strip(
    events: Events,
    violation: Violation | None = None,
    width: int = 100,
    *,
    rules: Rules | None = None,
    labels: Mapping[int, str] | None = None,
    ascii_only: bool = False,
) -> str:
    """What every replica held at a violation, as a text of about a dozen lines.

    One column per offset: `A=d v1` is a record with what decides between versions, `del A` a
    tombstone, `COMMIT 7` a marker; `╌` is a hole and `(empty)` an empty batch, with why: `>0` =
    superseded by the record at 0. `▕` stands where the high watermark is, `⎡` where the log starts.
    The first line is what was committed, and `!` a record that is another. The arrow points at the
    violated offset, `»` at the replica; the last lines say who has what there, and what signs mean.

    Args:
        events: (when, event) of the run or the story, in order.
        violation: What to look at; None = the end.
        width: Columns of a line; not less than 40.
        rules: Of the run: they say which version decides and what marks a tombstone.
        labels: Of a story: uid -> label.
        ascii_only: For terminals that show nothing else.
    """
    width = max(width, NARROWEST)
    position = position_of(events, violation, rules)
    replay = replayed(events, until=position, rules=rules)
    frame, words = replay.frame(), Words(replay, labels, versions=rules is not None)
    subject = subject_of(frame, words, violation)
    about = _About(frame, words, violation, subject)
    text = "\n".join(line.rstrip() for line in about.lines(width))
    if ascii_only:
        text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode()
    return text


class _About:
    """One frame, and what in it the strip is about."""

    def __init__(
        self, frame: Frame, words: Words, violation: Violation | None, subject: int | None
    ) -> None:
        self.frame = frame
        self.words = words
        self.violation = violation
        self.subject = subject

    def lines(self, width: int) -> Iterable[str]:
        """From the head to the words about the subject."""
        names = {lane.name: self._name(lane) for lane in self.frame.lanes}
        left = min(max([columns_of(name) for name in (*names.values(), "  committed")]), _NAME_MAX)
        tails = {lane.name: _tail(lane) for lane in self.frame.lanes}
        right = max([columns_of(tail) for tail in tails.values()], default=0)
        if left + right + 2 + 2 * _COLUMN_MAX > width:
            tails, right = {}, 0
        chosen = self._chosen(width - left - right - 4)
        yield _row("  offset", left, [str(one.offset) for one in chosen], chosen, {}, "")
        if self.frame.committed:
            truth = [self._committed(one.offset) for one in chosen]
            yield _row("  committed", left, truth, chosen, {}, "")
        rows = list(self._rows(names, left, tails, chosen))
        yield from rows
        located = self.violation is None or has_a_place(self.violation)
        if self.subject is not None and self.violation is not None and located:
            place = [one.offset for one in chosen].index(self.subject)
            points = ["▲" if number == place else "" for number in range(len(chosen))]
            room = chosen[: place + 1]
            line = _row("", left, points[: place + 1], room, {}, "").rstrip()
            behind = f"{line} {self.violation.invariant}"
            before = f"{self.violation.invariant} {line.strip()}".rjust(columns_of(line))
            yield behind if columns_of(behind) <= width else clipped(before, width)
        if self.subject is not None and located:
            yield from textwrap.wrap(
                self._sentence(self.subject),
                width,
                subsequent_indent="  ",
                break_long_words=True,
                break_on_hyphens=False,
            )
        yield from self._legend("".join(rows), width)

    def _rows(
        self, names: Mapping[str, str], left: int, tails: Mapping[str, str], chosen: list[_Column]
    ) -> Iterator[str]:
        """One line per replica."""
        for lane in self.frame.lanes:
            cells = [self._cell(lane.at(one.offset), one.offset) for one in chosen]
            borders = {lane.log_start_offset: "⎡"} if lane.log_start_offset else {}
            borders[lane.high_watermark] = "▕"
            name, tail = clipped(names[lane.name], left), tails.get(lane.name, "")
            yield _row(name, left, cells, chosen, borders, tail)

    def _legend(self, rows: str, width: int) -> list[str]:
        """What the signs mean that these rows have, on one line or two."""
        meanings = [text for sign, text in _LEGEND.items() if sign in rows]
        if "╌" in rows:
            shorts = {
                short_reason(spot.reason): spot.reason.rpartition(": ")[2]
                for lane in self.frame.lanes
                for spot in lane.spots
                if spot.kind is Kind.HOLE
            }
            beaten = next((text for text in shorts if text.startswith(">") and text in rows), None)
            meanings += [] if beaten is None else [f"{beaten} superseded by {beaten[1:]}"]
            meanings += [
                f"{short} {why}"
                for short, why in shorts.items()
                if short and not short.startswith(">") and f"╌{short}" in rows
            ]
        return textwrap.wrap(" · ".join(meanings), width, subsequent_indent="  ")

    def _chosen(self, room: int) -> list[_Column]:
        """As many columns as there is room for, those that matter most first."""
        chosen: dict[int, int] = {}
        for offset in weighted(self.frame, self.words, self.violation, self.subject):
            if offset in chosen:
                continue
            width = self._width(offset)
            holes = _gaps([*chosen, offset])
            taken = sum(chosen.values()) + len(chosen) * 2 + width + 2 + 2 * holes
            if chosen and taken > room:
                break
            chosen[offset] = width
        return [_Column(offset, chosen[offset]) for offset in sorted(chosen)]

    def _width(self, offset: int) -> int:
        texts = [self._cell(lane.at(offset), offset) for lane in self.frame.lanes]
        widest = max([columns_of(text) for text in (*texts, self._committed(offset), str(offset))])
        return min(widest, _COLUMN_MAX)

    def _committed(self, offset: int) -> str:
        if offset >= len(self.frame.committed):
            return ""
        uid = self.frame.committed[offset]
        return self.words.full(uid) if uid > 0 else "·"

    def _name(self, lane: Lane) -> str:
        concerned = self.violation is not None and self.violation.replica == lane.name
        sign = "»" if concerned else " "
        return f"{sign} {printable(lane.name)} {leadership(lane)}".rstrip()

    def _cell(self, spot: Spot, offset: int) -> str:
        if spot.uid:
            committed = self.frame.committed
            other = offset < len(committed) and committed[offset] not in (spot.uid, 0)
            return self.words.full(spot.uid) + (" !" if other else "")
        why = short_reason(spot.reason)
        if spot.kind is Kind.EMPTY:
            return f"(empty {why})" if why else "(empty)"
        if spot.kind is Kind.HOLE:
            return f"╌╌{why}"
        if spot.kind is Kind.BELOW:
            return f"·{why or 'deleted'}"
        return f"·{why}" if why else ""

    def _sentence(self, offset: int) -> str:
        """Who holds what at an offset, in words."""
        parts = []
        if offset < len(self.frame.committed) and self.frame.committed[offset] > 0:
            parts.append(f"committed is {self.words.full(self.frame.committed[offset])}")
        held: dict[str, list[str]] = {}
        for lane in self.frame.lanes:
            held.setdefault(self.words.spot(lane.at(offset)), []).append(printable(lane.name))
        for what, names in held.items():
            verb = "has" if len(names) == 1 else "have"
            outside = what.startswith(("below the log", "beyond the log"))
            parts.append(f"{_and(names)}: {what}" if outside else f"{_and(names)} {verb} {what}")
        return f"offset {offset}: {'; '.join(parts)}"


def _tail(lane: Lane) -> str:
    return marks(lane) + ("" if lane.up else " down")


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _gaps(offsets: Iterable[int]) -> int:
    """How often the offsets, put in order, leave some out."""
    ordered = sorted(offsets)
    inner = sum(after - before > 1 for before, after in pairwise(ordered))
    return inner + (ordered[0] > 0)


def _row(
    name: str,
    left: int,
    cells: Sequence[str],
    columns: Sequence[_Column],
    borders: Mapping[int, str],
    tail: str,
) -> str:
    """One line: a name, a cell per column with a mark at its left border, and what is behind."""
    text = _padded(name, left)
    before = -1
    for cell, column in zip(cells, columns, strict=True):
        left_out = range(before + 1, column.offset)
        if left_out:
            hidden = next((sign for at, sign in borders.items() if at in left_out), " ")
            text += f"{hidden}…"
        border = borders.get(column.offset, " ")
        text += f" {border}{_padded(clipped(cell, column.width), column.width)}"
        before = column.offset
    after = next((sign for at, sign in borders.items() if at == before + 1), " ")
    return f"{text} {after}  {tail}"


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - columns_of(text))
