"""DataFrames of one run: events, violations, replicas, records, and the changes that heal it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sim.api.scenarios import Scenario
from sim.errors import BadInput
from sim.files.shipped import check_extra
from sim.simulate.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from sim.check import Violation
    from sim.check.facts import ReplicaView
    from sim.check.history import ClusterHistory
    from sim.protocol.events import Event


class Column(NamedTuple):
    """A column of a table of a run.

    Attributes:
        name: Name of the column.
        kind: The type of pandas: `category` in order of appearance, `Int64` and `string` where a
            value may be missing.
        means: Meaning, in a sentence.
    """

    name: str
    kind: str
    means: str


TIME: Final = {
    "at_ms": "simulated time in milliseconds; of a story there is `step` instead",
    "step": "number of the step, from 1; of a timed scenario there is `at_ms` instead",
}
"""The first column of `events` and `violations`, by the kind of the scenario."""
KINDS: Final = ("record", "tombstone", "marker", "empty batch", "hole")
_KEYS_SHOWN = 8
"""Number of keys of one event that are listed."""
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

EVENTS: Final = (
    Column("event", "category", "kind of event, a class of `sim.protocol.events`"),
    Column("replica", "category", "where it happened; missing for what concerns the whole cluster"),
    Column("peer", "string", "the other party: the leader it copied from, the follower or the "
           "consumer it is about"),
    Column("epoch", "Int64", "leader epoch it names, or of its batch"),
    Column("offset", "Int64", "first offset it is about (inclusive), or the position it moves to"),
    Column("keys", "string", "keys of its records, joined by spaces"),
    Column("sentence", "string", "what happened, with the numbers in it"),
)  # fmt: skip
"""The other columns of `events`, one row per (when, event); the index is its position, from 0."""

VIOLATIONS: Final = (
    Column("invariant", "category", "the invariant that was broken (replog list invariants)"),
    Column("family", "category", "what kind of thing goes wrong"),
    Column("replica", "category", "where, if at one replica"),
    Column("offset", "Int64", "the offset concerned, if one is"),
    Column("key", "string", "the key concerned, if one is"),
    Column("sentence", "string", "what happened, with the numbers in it"),
    Column("since", "int64", "when it began to be so, in the unit of the first column, which is "
           "when it was judged"),
)  # fmt: skip
"""The other columns of `violations`, one row each, in order of detection."""

REPLICAS: Final = (
    Column("replica", "category", "its name"),
    Column("up", "bool", "whether it is up at the end, of a timed run before it settled"),
    Column("leads", "bool", "whether it was elected in the newest epoch"),
    Column("log_start_offset", "int64", "first offset of its log (inclusive)"),
    Column("first_dirty_offset", "int64", "below it, everything was cleaned (exclusive)"),
    Column("high_watermark", "int64", "as far as it knows what is committed (exclusive)"),
    Column("log_end_offset", "int64", "where the next record goes (exclusive)"),
    Column("records", "int64", "data records it holds"),
    Column("tombstones", "int64", "of those, deletes"),
)
"""The columns of `replicas`, one row each, as they are at the end, before a timed run settles."""

RECORDS: Final = (
    Column("replica", "category", "whose log"),
    Column("offset", "int64", "from the log start offset to the log end offset"),
    Column("kind", "category",
           "record, tombstone, marker (of a transaction), empty batch, or hole"),
    Column("key", "string", "missing for markers, empty batches, holes and records without a key"),
    Column("value", "string", "missing for the same, and for null values"),
    Column("epoch", "Int64", "leader epoch of its batch"),
    Column("timestamp_ms", "Int64", "create time; missing where there is none"),
    Column("committed", "bool", "whether this is what was committed at the offset"),
    Column("wins", "bool", "whether it is the committed, decided record that wins its key"),
)  # fmt: skip
"""The columns of `records`, one row per replica and offset, at the same time."""

COLUMNS: Final = {
    "events": EVENTS,
    "violations": VIOLATIONS,
    "replicas": REPLICAS,
    "records": RECORDS,
}


def check_pandas() -> None:
    """Raises BadInput where pandas is not installed: the base installation has no tables."""
    check_extra("tables need", "report", "pandas")


def frame(rows: Sequence[Any], kinds: Mapping[str, Any]) -> pd.DataFrame:
    """A table of rows, with its columns by name and their types.

    Args:
        rows: Tuples in the order of the columns, or mappings.
        kinds: Types of pandas by column: `category` has its values in order of appearance, an empty
            one is left to pandas.

    Raises:
        BadInput: pandas is not installed.
    """
    check_pandas()
    import pandas as pd

    table = pd.DataFrame(rows, columns=list(kinds), dtype=object)
    for name, kind in kinds.items():
        if kind == "category":
            table[name] = pd.Categorical(table[name], categories=table[name].dropna().unique())
        else:
            table[name] = table[name].astype(kind) if kind else table[name].infer_objects()
    return table


def columns_table(time: str) -> pd.DataFrame:
    """Documents every column of a run's tables; `time` as in `events_table`."""
    rows = []
    for table, columns in COLUMNS.items():
        if table in ("events", "violations"):
            rows.append((table, time, TIME[time]))
        rows += [(table, column.name, column.means) for column in columns]
    return frame(rows, dict.fromkeys(("table", "column", "means"), ""))


def events_table(recorded: Run, time: str) -> pd.DataFrame:
    """Makes the table of `EVENTS`; `time` is the column of `TIME` that this kind of run has."""
    rows = [(when, *_row_of_event(event)) for when, event in recorded.events]
    table = frame(rows, {time: "int64", **_kinds(EVENTS)})
    table.index.name = "position"
    return table


def _kinds(columns: Iterable[Column]) -> dict[str, str]:
    return {column.name: column.kind for column in columns}


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


def violations_table(recorded: Run, time: str) -> pd.DataFrame:
    """Makes the table of `VIOLATIONS`; `time` as in `events_table`."""
    from sim.diagnose.explain.past import Past
    from sim.diagnose.explain.signature import so_since

    past = Past(recorded.events, recorded.rules)
    rows = [
        (
            *(one.at, one.invariant, one.family, one.replica, one.offset, one.key, one.sentence),
            so_since(past, one),
        )
        for one in recorded.violations
    ]
    return frame(rows, {time: "int64", **_kinds(VIOLATIONS)})


def replicas_table(recorded: Run) -> pd.DataFrame:
    """Makes the table of `REPLICAS`."""
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
    return frame(rows, _kinds(REPLICAS))


def records_table(recorded: Run) -> pd.DataFrame:
    """Makes the table of `RECORDS`."""
    history = recorded.history
    rows = [row for view in history.replicas.values() for row in _rows_of_log(history, view)]
    table = frame(rows, _kinds(RECORDS))
    table["kind"] = table["kind"].cat.set_categories(list(KINDS))
    return table


def _rows_of_log(history: ClusterHistory, view: ReplicaView) -> Iterator[tuple[Any, ...]]:
    """A row of `RECORDS` for each offset of a log."""
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


def heals_table(scenario: Scenario, invariant: str, *, within_s: float | None) -> pd.DataFrame:
    """Makes the table of `Run.heals`."""
    from sim.diagnose.what_if.heals import heals

    found = heals(scenario.content, invariant, within_s=within_s)
    passed = [(one.change, one.kind, " ".join(one.still), "") for one in found.found]
    failed = [(one.change, one.kind, None, one.error) for one in found.failed]
    kinds = {"change": "string", "kind": "category", "still": "string", "error": "string"}
    return frame([*passed, *failed], kinds)


def no_return_table(
    scenario: Scenario,
    recorded: Run,
    violation: Violation,
    *,
    tries: int,
    within_s: float | None,
) -> pd.DataFrame:
    """Makes the table of `Run.no_return`.

    Raises:
        BadInput: It is a story.
    """
    if scenario.kind == "story":
        raise BadInput(
            f"{scenario.id}: a story has no chance in it, so no point of no return; ask .heals()"
        )
    from sim.diagnose.what_if.no_return import point_of_no_return

    content: Any = scenario.content
    found = point_of_no_return(content, recorded.events, violation, tries=tries, within_s=within_s)
    rows = []
    for point in found.points:
        share = point.violated / point.tries if point.tries else None
        sealed = point.at_ms >= found.first.at_ms
        counts = (point.at_ms, point.violated, point.tries)
        rows.append((*counts, share, *point.interval, sealed, point.sentence))
    names = ("at_ms", "violated", "tries", "share", "low", "high", "sealed")
    return frame(rows, dict.fromkeys(names, "") | {"sentence": "string"})


def causes_table(run: Run) -> pd.DataFrame:
    """Makes the table of `Run.causes`."""
    from sim.diagnose.explain.past import Past
    from sim.diagnose.explain.signature import signature_of

    named: dict[str, list[str]] = {}
    past = Past(run.events, run.rules)
    for found in run.violations:
        cause = signature_of(past, found).cause
        named.setdefault(cause, []).append(found.invariant)
    rows = [(cause, " ".join(dict.fromkeys(names)), len(names)) for cause, names in named.items()]
    return frame(rows, {"cause": "string", "invariants": "string", "violations": "int64"})
