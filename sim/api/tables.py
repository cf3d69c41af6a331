"""DataFrames of one run: events, violations, replicas, records, and the changes that heal it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

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

EVENTS: Final = {
    **dict.fromkeys(("event", "replica"), "category"),
    "peer": "string",
    **dict.fromkeys(("epoch", "offset"), "Int64"),
    **dict.fromkeys(("keys", "sentence"), "string"),
}
"""Types of pandas of `Run.events`, behind the time: `category` in order of appearance."""
VIOLATIONS: Final = {
    **dict.fromkeys(("invariant", "family", "replica"), "category"),
    "offset": "Int64",
    **dict.fromkeys(("key", "sentence"), "string"),
    "since": "int64",
}
"""Types of pandas of `Run.violations`, behind the time."""
_NUMBERS = (
    *("log_start_offset", "first_dirty_offset", "high_watermark", "log_end_offset"),
    *("records", "tombstones"),
)
REPLICAS: Final = {
    "replica": "category",
    **dict.fromkeys(("up", "leads"), "bool"),
    **dict.fromkeys(_NUMBERS, "int64"),
}
"""Types of pandas of `Run.replicas`."""
RECORDS: Final = {
    "replica": "category",
    "offset": "int64",
    "kind": "category",
    **dict.fromkeys(("key", "value"), "string"),
    **dict.fromkeys(("epoch", "timestamp_ms"), "Int64"),
    **dict.fromkeys(("committed", "wins"), "bool"),
}
"""Types of pandas of `Run.records`."""


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


def events_table(recorded: Run, time: str) -> pd.DataFrame:
    """Makes the table `Run.events`; `time` is the name of its first column, at_ms or step."""
    rows = [(when, *_row_of_event(event)) for when, event in recorded.events]
    table = frame(rows, {time: "int64", **EVENTS})
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


def violations_table(recorded: Run, time: str) -> pd.DataFrame:
    """Makes the table `Run.violations`; `time` as in `events_table`."""
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
    return frame(rows, {time: "int64", **VIOLATIONS})


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
    return frame(rows, REPLICAS)


def records_table(recorded: Run) -> pd.DataFrame:
    """Makes the table `Run.records`."""
    history = recorded.history
    rows = [row for view in history.replicas.values() for row in _rows_of_log(history, view)]
    table = frame(rows, RECORDS)
    table["kind"] = table["kind"].cat.set_categories(list(KINDS))
    return table


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


def heals_table(scenario: Scenario, invariant: str, *, within_s: float | None) -> pd.DataFrame:
    """Makes the table of `Run.heals`."""
    from sim.diagnose.what_if import heals

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
    from sim.diagnose.what_if import point_of_no_return

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
