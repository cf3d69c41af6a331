"""DataFrames of one run: events, violations, replicas, records, and the changes that heal it.

A column is declared once: its name, its type, what it means, and how it is taken from a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
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
        of: Computes the value from the item of a row.
    """

    name: str
    kind: str
    means: str
    of: Callable[[Any], object]


class ViolationRow(NamedTuple):
    """A violation, and the time from which the logs were in the state that violates."""

    found: Any
    since: int


class ReplicaRow(NamedTuple):
    """The replica of a row of `REPLICAS`, or with `offset` the record of a row of `RECORDS`."""

    history: ClusterHistory
    view: ReplicaView
    offset: int = 0
    kind: str = ""
    uid: int = 0

    @property
    def known(self) -> Any:
        """The record written there with its batch; None for an empty batch and a hole."""
        return self.history.written.get(self.uid)

    @property
    def record(self) -> Any:
        """The record; None for a marker, an empty batch and a hole."""
        known = self.known
        return None if known is None or self.kind == "marker" else known.record

    def count(self, *kinds: str) -> int:
        """Counts the offsets of the log that hold one of these kinds."""
        return sum(kind in kinds for _, kind, _ in _slots(self.history, self.view))

    @property
    def committed(self) -> bool:
        """True when this is the record that was committed at the offset."""
        committed = self.history.committed
        there = self.known is not None and self.offset < len(committed)
        return there and committed[self.offset] == self.uid


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


def _sentence_of(row: tuple[int, Event]) -> str:
    from sim.protocol.events.sentences import describe

    return describe(row[1])


def _of_record(name: str) -> Callable[[ReplicaRow], object]:
    return lambda row: None if row.record is None else getattr(row.record, name)


def _stamp(row: ReplicaRow) -> int | None:
    stamp: int = -1 if row.record is None else row.record.timestamp_ms
    return None if stamp < 0 else stamp


EVENTS: Final = (
    Column("event", "category", "kind of event, a class of `sim.protocol.events`",
           lambda row: type(row[1]).__name__),
    Column("replica", "category", "where it happened; missing for what concerns the whole cluster",
           lambda row: row[1].replica or None),
    Column("peer", "string", "the other party: the leader it copied from, the follower or the "
           "consumer it is about", lambda row: _first_of(row[1], _PEERS)),
    Column("epoch", "Int64", "leader epoch it names, or of its batch",
           lambda row: _epoch_of(row[1])),
    Column("offset", "Int64", "first offset it is about (inclusive), or the position it moves to",
           lambda row: _offset_of(row[1])),
    Column("keys", "string", "keys of its records, joined by spaces",
           lambda row: " ".join(_keys_of(row[1])[:_KEYS_SHOWN])),
    Column("sentence", "string", "what happened, with the numbers in it", _sentence_of),
)  # fmt: skip
"""The other columns of `events`, one row per (when, event); the index is its position, from 0."""

VIOLATIONS: Final = (
    Column("invariant", "category", "the invariant that was broken (replog list invariants)",
           attrgetter("found.invariant")),
    Column("family", "category", "what kind of thing goes wrong", attrgetter("found.family")),
    Column("replica", "category", "where, if at one replica", attrgetter("found.replica")),
    Column("offset", "Int64", "the offset concerned, if one is", attrgetter("found.offset")),
    Column("key", "string", "the key concerned, if one is", attrgetter("found.key")),
    Column("sentence", "string", "what happened, with the numbers in it",
           attrgetter("found.sentence")),
    Column("since", "int64", "when it began to be so, in the unit of the first column, which is "
           "when it was judged", attrgetter("since")),
)  # fmt: skip
"""The other columns of `violations`, one row each, in order of detection."""

REPLICAS: Final = (
    Column("replica", "category", "its name", attrgetter("view.name")),
    Column("up", "bool", "whether it is up at the end, of a timed run before it settled",
           attrgetter("view.up")),
    Column("leads", "bool", "whether it was elected in the newest epoch",
           lambda row: row.view.name == row.history.leader),
    Column("log_start_offset", "int64", "first offset of its log (inclusive)",
           attrgetter("view.log_start_offset")),
    Column("first_dirty_offset", "int64", "below it, everything was cleaned (exclusive)",
           attrgetter("view.first_dirty_offset")),
    Column("high_watermark", "int64", "as far as it knows what is committed (exclusive)",
           attrgetter("view.high_watermark")),
    Column("log_end_offset", "int64", "where the next record goes (exclusive)",
           attrgetter("view.log_end_offset")),
    Column("records", "int64", "data records it holds",
           lambda row: row.count("record", "tombstone")),
    Column("tombstones", "int64", "of those, deletes", lambda row: row.count("tombstone")),
)  # fmt: skip
"""The columns of `replicas`, one row each, as they are at the end, before a timed run settles."""

RECORDS: Final = (
    Column("replica", "category", "whose log", attrgetter("view.name")),
    Column("offset", "int64", "from the log start offset to the log end offset",
           attrgetter("offset")),
    Column("kind", "category",
           "record, tombstone, marker (of a transaction), empty batch, or hole",
           attrgetter("kind")),
    Column("key", "string", "missing for markers, empty batches, holes and records without a key",
           _of_record("key")),
    Column("value", "string", "missing for the same, and for null values", _of_record("value")),
    Column("epoch", "Int64", "leader epoch of its batch",
           lambda row: None if row.known is None else row.known.batch.epoch),
    Column("timestamp_ms", "Int64", "create time; missing where there is none", _stamp),
    Column("committed", "bool", "whether this is what was committed at the offset",
           attrgetter("committed")),
    Column("wins", "bool", "whether it is the committed, decided record that wins its key",
           lambda row: row.record is not None and row.record.key is not None
           and row.history.winners.get(row.record.key) == row.uid),
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


def frame(rows: Sequence[Any], kinds: Mapping[str, str]) -> pd.DataFrame:
    """A table of rows, with its columns by name and their types; an empty type is left to pandas.

    Raises:
        BadInput: pandas is not installed.
    """
    check_pandas()
    import pandas as pd

    given = {name: kind for name, kind in kinds.items() if kind}
    return pd.DataFrame(rows, columns=list(kinds)).astype(given)


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
    table = _frame((Column(time, "int64", "", itemgetter(0)), *EVENTS), recorded.events)
    table.index.name = "position"
    return table


def violations_table(recorded: Run, time: str) -> pd.DataFrame:
    """Makes the table of `VIOLATIONS`; `time` as in `events_table`."""
    from sim.diagnose.explain.signature import all_since

    since = all_since(recorded.events, recorded.violations, recorded.rules)
    rows = list(map(ViolationRow, recorded.violations, since))
    return _frame((Column(time, "int64", "", attrgetter("found.at")), *VIOLATIONS), rows)


def replicas_table(recorded: Run) -> pd.DataFrame:
    """Makes the table of `REPLICAS`."""
    history = recorded.history
    return _frame(REPLICAS, [ReplicaRow(history, view) for view in history.replicas.values()])


def records_table(recorded: Run) -> pd.DataFrame:
    """Makes the table of `RECORDS`."""
    history = recorded.history
    views = history.replicas.values()
    table = _frame(
        RECORDS,
        [ReplicaRow(history, view, *slot) for view in views for slot in _slots(history, view)],
    )
    table["kind"] = table["kind"].cat.set_categories(list(KINDS))
    return table


def _frame(columns: Iterable[Column], rows: Sequence[object]) -> pd.DataFrame:
    check_pandas()
    import pandas as pd

    made: dict[str, Any] = {}
    for column in columns:
        values = [column.of(row) for row in rows]
        if column.kind == "category":
            there = list(dict.fromkeys(value for value in values if value is not None))
            made[column.name] = pd.Categorical(values, categories=there)
        else:
            kind: Any = column.kind
            made[column.name] = pd.array(values, dtype=kind)
    return pd.DataFrame(made)


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


def _first_of(event: Event, names: Iterable[str]) -> Any:
    return next((getattr(event, name) for name in names if hasattr(event, name)), None)


def _epoch_of(event: Event) -> int | None:
    batch = getattr(event, "batch", None)
    return getattr(event, "epoch", None) if batch is None else batch.epoch


def _offset_of(event: Event) -> int | None:
    batch = getattr(event, "batch", None)
    if batch is not None:
        return int(batch.base_offset)
    found: int | None = _first_of(event, _OFFSETS)
    return found


def _keys_of(event: Event) -> Sequence[str]:
    batch = getattr(event, "batch", None)
    batches = getattr(event, "batches", ()) if batch is None else (batch,)
    records = [record for batch in batches for record in batch.records]
    records += [*getattr(event, "records", ()), *getattr(event, "removals", ())]
    named = [getattr(event, "key", None), *(record.key for record in records)]
    return list(dict.fromkeys(key for key in named if key is not None))


def heals_table(scenario: Scenario, invariant: str, *, within_s: float | None) -> pd.DataFrame:
    """Makes the table of `Run.heals`."""
    from sim.diagnose.what_if.heals import heals

    found = heals(scenario.content, invariant, within_s=within_s)
    rows: list[tuple[str, str, str | None, str]]
    rows = [(one.change, one.kind, " ".join(one.still), "") for one in found.found]
    rows += [(one.change, one.kind, None, one.error) for one in found.failed]
    kinds = {"change": "string", "kind": "category", "still": "string", "error": "string"}
    return frame(rows, kinds)


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
    rows = [
        (
            *(point.at_ms, point.violated, point.tries),
            point.violated / point.tries if point.tries else float("nan"),
            *(point.interval.low, point.interval.high),
            point.at_ms >= found.first.at_ms,
            point.sentence,
        )
        for point in found.points
    ]
    names = ("at_ms", "violated", "tries", "share", "low", "high", "sealed")
    return frame(rows, dict.fromkeys(names, "") | {"sentence": "string"})


def causes_table(run: Run) -> pd.DataFrame:
    """Makes the table of `Run.causes`."""
    from sim.diagnose.explain.signature import signature_of

    named: dict[str, list[str]] = {}
    for found in run.violations:
        cause = signature_of(run.events, found, run.rules).cause
        named.setdefault(cause, []).append(found.invariant)
    rows = [(cause, " ".join(dict.fromkeys(names)), len(names)) for cause, names in named.items()]
    return frame(rows, {"cause": "string", "invariants": "string", "violations": "int64"})
