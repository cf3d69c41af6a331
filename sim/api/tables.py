"""One run as DataFrames: its events, its violations, its replicas, and what their logs hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from sim.extras import check_extra
from sim.recorded import Recorded

if TYPE_CHECKING:
    import pandas as pd

    from sim.check.history import ClusterHistory
    from sim.check.replica_view import ReplicaView
    from sim.trace import Event

TIME: Final = {
    "at_ms": "simulated time in milliseconds; of a story there is `step` instead",
    "step": "number of the step, from 1; of a timed scenario there is `at_ms` instead",
}
"""The first column of `events` and `violations`, by the kind of the scenario."""

EVENT_COLUMNS: Final = {
    "event": "kind of event, a class of `sim.trace`",
    "replica": "where it happened; missing for what concerns the whole cluster",
    "peer": "the other party: the leader it copied from, the follower or the consumer it is about",
    "epoch": "leader epoch it names, or of its batch",
    "offset": "first offset it is about (inclusive), or the position it moves to",
    "keys": "keys of its records, joined by spaces",
    "sentence": "what happened, with the numbers in it",
}
"""The other columns of `events`, one row per event; the index is its position, from 0."""

VIOLATION_COLUMNS: Final = {
    "invariant": "the law that was broken (replog list invariants)",
    "family": "what kind of thing goes wrong",
    "replica": "where, if at one replica",
    "offset": "the offset concerned, if one is",
    "key": "the key concerned, if one is",
    "sentence": "what happened, with the numbers in it",
    "since": "when it began to be so, in the unit of the first column, which is when it was judged",
}
"""The other columns of `violations`, one row each, in order of detection."""

REPLICA_COLUMNS: Final = {
    "replica": "its name",
    "up": "whether it is up at the end",
    "leads": "whether it was elected in the newest epoch",
    "log_start_offset": "first offset of its log (inclusive)",
    "first_dirty_offset": "below it, everything was cleaned (exclusive)",
    "high_watermark": "as far as it knows what is committed (exclusive)",
    "log_end_offset": "where the next record goes (exclusive)",
    "records": "data records it holds",
    "tombstones": "of those, deletes",
}
"""The columns of `replicas`, one row per replica, as they are at the end."""

RECORD_COLUMNS: Final = {
    "replica": "whose log",
    "offset": "from the log start offset to the log end offset",
    "kind": "record, tombstone, marker (of a transaction), empty batch, or hole",
    "key": "missing for markers, empty batches, holes and records without a key",
    "value": "missing for the same, and for null values",
    "epoch": "leader epoch of its batch",
    "timestamp_ms": "create time; missing where there is none",
    "committed": "whether this is what was committed at the offset",
    "wins": "whether it is the committed, decided record that wins its key",
}
"""The columns of `records`, one row per replica and offset, as they are at the end."""

KINDS: Final = ("record", "tombstone", "marker", "empty batch", "hole")
_PEERS = ("leader", "follower", "consumer", "client", "reader")
_OFFSETS = (
    "offset",
    "target",
    "fetch_offset",
    "first_offset",
    "position",
    "epoch_start_offset",
    "end_offset",
    "log_start_offset",
    "high_watermark",
    "start",
    "log_end_offset",
)
_KEYS_SHOWN = 8
"""Keys of one event that are listed."""


COLUMNS: Final = {
    "events": EVENT_COLUMNS,
    "violations": VIOLATION_COLUMNS,
    "replicas": REPLICA_COLUMNS,
    "records": RECORD_COLUMNS,
}
"""What the columns of each table mean."""


def check_pandas() -> None:
    """Raises BadInput where pandas is not installed: the base installation has no tables."""
    check_extra("tables need", "report", "pandas")


def columns_table(time: str) -> pd.DataFrame:
    """What every column of a run's tables means; `time` as in `events_table`."""
    check_pandas()
    import pandas as pd

    rows = []
    for table, meanings in COLUMNS.items():
        if table in ("events", "violations"):
            rows.append((table, time, TIME[time]))
        rows += [(table, name, meaning) for name, meaning in meanings.items()]
    return pd.DataFrame(rows, columns=["table", "column", "means"])


def events_table(recorded: Recorded, time: str) -> pd.DataFrame:
    """See `EVENT_COLUMNS`; `time` is the column of `TIME` that this kind of run has."""
    check_pandas()
    import pandas as pd

    from sim.trace.sentences import describe

    rows = [
        {
            time: at,
            "event": type(event).__name__,
            "replica": event.replica or None,
            "peer": next((getattr(event, name) for name in _PEERS if hasattr(event, name)), None),
            "epoch": _epoch_of(event),
            "offset": _offset_of(event),
            "keys": " ".join(_keys_of(event)[:_KEYS_SHOWN]),
            "sentence": describe(event),
        }
        for at, event in recorded.events
    ]
    frame = pd.DataFrame(rows, columns=[time, *EVENT_COLUMNS])
    frame.index.name = "position"
    return _typed(
        frame,
        integers=["epoch", "offset"],
        categories=["event", "replica"],
        texts=["peer", "keys", "sentence"],
    )


def violations_table(recorded: Recorded, time: str) -> pd.DataFrame:
    """See `VIOLATION_COLUMNS`; `time` as in `events_table`."""
    check_pandas()
    import pandas as pd

    from sim.explain.since import all_since

    since = all_since(recorded.events, recorded.violations, recorded.rules)
    rows = [
        {**found.as_row(when=time), "family": found.family, "since": began}
        for found, began in zip(recorded.violations, since, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=[time, *VIOLATION_COLUMNS])
    frame = frame.astype({time: "int64", "since": "int64"})
    return _typed(
        frame,
        integers=["offset"],
        categories=["invariant", "family", "replica"],
        texts=["key", "sentence"],
    )


def replicas_table(recorded: Recorded) -> pd.DataFrame:
    """See `REPLICA_COLUMNS`."""
    check_pandas()
    import pandas as pd

    history = _history(recorded)
    rows = []
    for view in history.replicas.values():
        kinds = [kind for _, kind, _ in _slots(history, view)]
        rows.append(
            {
                "replica": view.name,
                "up": view.up,
                "leads": view.name == history.leader,
                "log_start_offset": view.log_start_offset,
                "first_dirty_offset": view.first_dirty_offset,
                "high_watermark": view.high_watermark,
                "log_end_offset": view.log_end_offset,
                "records": kinds.count("record") + kinds.count("tombstone"),
                "tombstones": kinds.count("tombstone"),
            }
        )
    frame = pd.DataFrame(rows, columns=list(REPLICA_COLUMNS))
    return _typed(frame, categories=["replica"])


def records_table(recorded: Recorded) -> pd.DataFrame:
    """See `RECORD_COLUMNS`."""
    check_pandas()
    import pandas as pd

    history = _history(recorded)
    rows = [
        _record_row(history, view, offset, kind, uid)
        for view in history.replicas.values()
        for offset, kind, uid in _slots(history, view)
    ]
    frame = pd.DataFrame(rows, columns=list(RECORD_COLUMNS))
    frame["kind"] = pd.Categorical(frame["kind"], categories=list(KINDS))
    return _typed(
        frame,
        integers=["epoch", "timestamp_ms"],
        categories=["replica"],
        texts=["key", "value"],
    )


def _record_row(
    history: ClusterHistory, view: ReplicaView, offset: int, kind: str, uid: int
) -> dict[str, Any]:
    known = history.written.get(uid)
    record = None if known is None or kind == "marker" else known.record
    committed = offset < len(history.committed) and history.committed[offset] == uid
    key = None if record is None else record.key
    stamp = -1 if record is None else record.timestamp_ms
    return {
        "replica": view.name,
        "offset": offset,
        "kind": kind,
        "key": key,
        "value": None if record is None else record.value,
        "epoch": None if known is None else known.batch.epoch,
        "timestamp_ms": None if stamp < 0 else stamp,
        "committed": known is not None and committed,
        "wins": key is not None and history.winners.get(key) == uid,
    }


def _slots(history: ClusterHistory, view: ReplicaView) -> Iterator[tuple[int, str, int]]:
    """(offset, kind, uid) of each offset of a log."""
    from sim.check.replica_view import EMPTY

    for offset in range(view.log_start_offset, view.log_end_offset):
        uid = view.uid_at(offset)
        known = history.written.get(uid)
        if known is None:
            yield offset, "empty batch" if uid == EMPTY else "hole", uid
        elif known.batch.control is not None:
            yield offset, "marker", uid
        else:
            yield offset, "tombstone" if known.tombstone else "record", uid


def _history(recorded: Recorded) -> ClusterHistory:
    """The facts at the end, by events alone."""
    from sim.check.history import ClusterHistory

    history = ClusterHistory(recorded.rules)
    for at, event in recorded.events:
        history.at = at
        history.apply(event)
    return history


def _epoch_of(event: Event) -> int | None:
    batch = getattr(event, "batch", None)
    return getattr(event, "epoch", None) if batch is None else batch.epoch


def _offset_of(event: Event) -> int | None:
    batch = getattr(event, "batch", None)
    if batch is not None:
        return int(batch.base_offset)
    return next((getattr(event, name) for name in _OFFSETS if hasattr(event, name)), None)


def _keys_of(event: Event) -> Sequence[str]:
    batch = getattr(event, "batch", None)
    batches = getattr(event, "batches", ()) if batch is None else (batch,)
    records = [record for batch in batches for record in batch.records]
    records += [*getattr(event, "records", ()), *getattr(event, "removals", ())]
    named = [getattr(event, "key", None), *(record.key for record in records)]
    return list(dict.fromkeys(key for key in named if key is not None))


def _typed(
    frame: pd.DataFrame,
    *,
    integers: Sequence[str] = (),
    categories: Sequence[str] = (),
    texts: Sequence[str] = (),
) -> pd.DataFrame:
    """Integers that may be missing, axes as categories in order of appearance, the rest text."""
    import pandas as pd

    for name in integers:
        frame[name] = pd.array(frame[name].tolist(), dtype="Int64")
    for name in categories:
        there = list(dict.fromkeys(value for value in frame[name] if isinstance(value, str)))
        frame[name] = pd.Categorical(frame[name], categories=there)
    for name in texts:
        frame[name] = pd.array(frame[name].tolist(), dtype="string")
    return frame
