"""Tables for notebooks: DataFrames of one run, and any values as HTML.

Values are escaped in HTML, which has the colours of the page around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from sim.files.foreign import html_text as shown
from sim.files.shipped import check_extra

if TYPE_CHECKING:
    import pandas as pd

    from sim.check import Violation
    from sim.check.facts import ReplicaView
    from sim.check.history import ClusterHistory
    from sim.diagnose.explain.past import Past
    from sim.diagnose.what_if import NoReturn
    from sim.protocol.events import Event
    from sim.simulate.run import Run
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story

_LEFT = 'style="text-align:left;vertical-align:top"'
_KEYS_SHOWN = 8
"""Number of keys of one event that are listed."""
_PEERS = ("leader", "follower", "consumer", "client", "reader")
"""Fields that may name the peer of an event; the first one that the event has counts."""
_OFFSETS = (
    *("offset", "target", "fetch_offset", "first_dirty_offset", "first_offset", "base_offset"),
    *("epoch_start_offset", "end_offset", "position", "log_start_offset", "start"),
    *("log_end_offset", "high_watermark"),
)
"""Fields that may be the offset of an event; the first one that the event has counts."""

EVENTS: Final = "event replica peer epoch offset keys sentence"
"""Columns of `Run.events`, behind the time."""
VIOLATIONS: Final = "invariant family replica offset key sentence since"
"""Columns of `Run.violations`, behind the time."""
REPLICAS: Final = (
    "replica up leads log_start_offset first_dirty_offset high_watermark log_end_offset "
    "records tombstones"
)
"""Columns of `Run.replicas`."""
RECORDS: Final = "replica offset kind key value epoch timestamp_ms committed wins"
"""Columns of `Run.records`."""
_TEXTS = (
    *("against", "breaks", "cause", "change", "error", "event", "family", "first_invariant"),
    *("invariant", "invariants", "key", "keys", "kind", "peer", "replica", "rules", "sentence"),
    *("still", "story", "value", "verdict"),
)
TYPES: Final = {
    **dict.fromkeys(_TEXTS, "string"),
    **dict.fromkeys(("committed", "exhausted", "leads", "sealed", "up", "wins"), "bool"),
    **dict.fromkeys(("high", "low", "share"), "float64"),
}
"""Types of pandas by the name of a column; a column with another name has whole numbers."""


def check_pandas() -> None:
    """Raises BadInput where pandas is not installed: the base installation has no tables."""
    check_extra("tables need", "report", "pandas")


def frame(rows: Sequence[Any], columns: Iterable[str]) -> pd.DataFrame:
    """A table of rows, with the types in `TYPES`.

    Args:
        rows: Tuples in the order of the columns, or mappings.
        columns: Names of the columns.

    Raises:
        BadInput: pandas is not installed.
    """
    check_pandas()
    import pandas as pd

    types = {name: TYPES.get(name, "Int64") for name in columns}
    return pd.DataFrame(rows, columns=list(types), dtype=object).astype(types)


def events_table(recorded: Run, time: str) -> pd.DataFrame:
    """Makes the table `Run.events`; `time` is the name of its first column, `at_ms` or `step`."""
    rows = [(when, *_row_of_event(event)) for when, event in recorded.events]
    table = frame(rows, [time, *EVENTS.split()])
    table.index.name = "position"
    return table


def _row_of_event(event: Event) -> tuple[Any, ...]:
    from sim.protocol.events.sentences import describe

    batch = getattr(event, "batch", None)
    return (
        type(event).__name__,
        event.replica or None,
        _first_of(event, _PEERS),
        getattr(event, "epoch", None) if batch is None else batch.epoch,
        _first_of(event, _OFFSETS) if batch is None else int(batch.base_offset),
        " ".join(_keys_of(event)[:_KEYS_SHOWN]),
        describe(event),
    )


def _first_of(event: Event, names: Iterable[str]) -> Any:
    return next((getattr(event, name) for name in names if hasattr(event, name)), None)


def _keys_of(event: Event) -> Sequence[str]:
    batch = getattr(event, "batch", None)
    batches = getattr(event, "batches", ()) if batch is None else (batch,)
    records = [record for batch in batches for record in batch.records]
    records += [*getattr(event, "records", ()), *getattr(event, "removals", ())]
    named = [getattr(event, "key", None), *(record.key for record in records)]
    return list(dict.fromkeys(key for key in named if key is not None))


def violations_table(recorded: Run, past: Past, time: str) -> pd.DataFrame:
    """Makes the table `Run.violations`; `time` as in `events_table`."""
    from sim.diagnose.explain import so_since

    rows = [
        (
            *(one.at, one.invariant, one.family, one.replica, one.offset, one.key, one.sentence),
            so_since(past, one),
        )
        for one in recorded.violations
    ]
    return frame(rows, [time, *VIOLATIONS.split()])


def replicas_table(recorded: Run) -> pd.DataFrame:
    """Makes the table `Run.replicas`."""
    history = recorded.history
    rows = []
    for view in history.replicas.values():
        kinds = [kind for _, kind, _ in _slots(history, view)]
        tombstones = kinds.count("tombstone")
        rows.append(
            (
                view.name,
                view.up,
                view.name == history.leader,
                view.log_start_offset,
                view.first_dirty_offset,
                view.high_watermark,
                view.log_end_offset,
                kinds.count("record") + tombstones,
                tombstones,
            )
        )
    return frame(rows, REPLICAS.split())


def records_table(recorded: Run) -> pd.DataFrame:
    """Makes the table `Run.records`."""
    history = recorded.history
    rows = [row for view in history.replicas.values() for row in _rows_of_log(history, view)]
    return frame(rows, RECORDS.split())


def _rows_of_log(history: ClusterHistory, view: ReplicaView) -> Iterator[tuple[Any, ...]]:
    """A row of the table `Run.records` for each offset of a log."""
    for offset, kind, uid in _slots(history, view):
        known = history.written.get(uid)
        record = None if known is None or kind == "marker" else known.record
        key, value, stamp = None, None, -1
        if record is not None:
            key, value, stamp = record.key, record.value, record.timestamp_ms
        yield (
            view.name,
            offset,
            kind,
            key,
            value,
            None if known is None else known.batch.epoch,
            None if stamp < 0 else stamp,
            known is not None and [*history.committed[offset : offset + 1]] == [uid],
            key is not None and history.winners.get(key) == uid,
        )


def _slots(history: ClusterHistory, view: ReplicaView) -> Iterator[tuple[int, str, int]]:
    """(offset, kind, uid) of each offset of a log."""
    from sim.check.facts import EMPTY

    for offset in range(view.log_start_offset, view.log_end_offset):
        uid = view.uid_at(offset)
        known = history.written.get(uid)
        if known is None:
            yield offset, "empty batch" if uid == EMPTY else "hole", uid
        elif known.batch.control is not None:
            yield offset, "marker", uid
        else:
            yield offset, "tombstone" if known.tombstone else "record", uid


def heals_table(
    content: Story | Scenario, invariant: str, *, within_s: float | None
) -> pd.DataFrame:
    """Makes the table of `Run.heals`."""
    from sim.diagnose.what_if import heals

    found = heals(content, invariant, within_s=within_s)
    passed = [(one.change, one.kind, " ".join(one.still), "") for one in found.found]
    failed = [(one.change, one.kind, None, one.error) for one in found.failed]
    return frame([*passed, *failed], ["change", "kind", "still", "error"])


def no_return_table(found: NoReturn) -> pd.DataFrame:
    """Makes the table of `Run.no_return`."""
    rows = []
    for point in found.points:
        share = point.violated / point.tries if point.tries else None
        sealed = point.at_ms >= found.first.at_ms
        counts = (point.at_ms, point.violated, point.tries)
        rows.append((*counts, share, *point.interval, sealed, point.sentence))
    names = ("at_ms", "violated", "tries", "share", "low", "high", "sealed", "sentence")
    return frame(rows, names)


def causes_table(violations: Iterable[Violation], past: Past) -> pd.DataFrame:
    """Makes the table of `Run.causes`."""
    from sim.diagnose.explain.questions import signature_of

    named: dict[str, list[str]] = {}
    for found in violations:
        cause = signature_of(past, found).cause
        named.setdefault(cause, []).append(found.invariant)
    rows = [(cause, " ".join(dict.fromkeys(names)), len(names)) for cause, names in named.items()]
    return frame(rows, ["cause", "invariants", "violations"])


def shorten(text: str, limit: int) -> str:
    """The text in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """A table of two columns, name and value; rows with an empty value are left out."""
    cells = "".join(
        f"<tr><th {_LEFT}>{shown(name)}</th><td {_LEFT}>{shown(value)}</td></tr>"
        for name, value in rows
        if str(value)
    )
    return f"<table>{cells}</table>"


def grid(head: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = "") -> str:
    """A table with a head; `note` stands below it."""
    top = "".join(f"<th {_LEFT}>{shown(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td {_LEFT}>{shown(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    below = f"<p>{shown(note)}</p>" if note else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{below}"


def plain_text(text: str) -> str:
    """Text with its lines and columns kept; long lines are folded."""
    style = "white-space:pre-wrap;text-align:left;line-height:1.35"
    return f'<pre style="{style}">{shown(text)}</pre>'
