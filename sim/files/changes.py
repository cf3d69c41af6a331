"""Reading a trace of real changes from a Parquet or CSV file, change by change.

Columns: `key`, `value` (null = tombstone; in CSV an empty field without quotes), `timestamp_ms`;
optional `version` (a whole number) and `headers` (a map, or a list of structs of a name and a
value; in CSV a JSON object). Further columns are not read. Memory does not grow with the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sim.errors import BadInput
from sim.files.document import listed
from sim.files.limits import TEXT
from sim.files.reading import head_of
from sim.files.shipped import check_extra

NEEDED = ("key", "value", "timestamp_ms")
OPTIONAL = ("version", "headers")

_ROWS_PER_BATCH = 1_000

Headers = tuple[tuple[str, bytes], ...]


class TraceChange(NamedTuple):
    """A change of one key.

    Attributes:
        key: The key.
        value: Its new value; None for a deletion.
        timestamp_ms: Time of the change, in ms; need not ascend.
        version: Version, 64 bits signed; None without one.
        headers: Name and value of each header, in order.
    """

    key: str
    value: str | None
    timestamp_ms: int
    version: int | None = None
    headers: Headers = ()


def read_changes(path: Path) -> Iterator[TraceChange]:
    """The changes in a file, in order; the file is opened when the first one is asked for.

    Raises:
        BadInput: The file cannot be read, is neither Parquet nor CSV, lacks a needed column, or has
            one of a wrong type; or a value cannot be used: with its row, from 1.
    """
    head_of(path, 1)
    check_extra("reading a trace needs", "trace", "pyarrow")
    import pyarrow as pa

    kinds = dict.fromkeys(("key", "value"), pa.string())
    kinds |= dict.fromkeys(("timestamp_ms", "version"), pa.int64())
    done = 0
    try:
        names, batches = _csv(path) if path.suffix == ".csv" else _parquet(path)
        for batch in batches:
            columns = [_as_kind(batch.column(name), kinds.get(name)) for name in names]
            for row in zip(*(column.to_pylist() for column in columns), strict=True):
                done += 1
                yield _change(dict(zip(names, row, strict=True)), f"{path}: row {done}")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def _as_kind(column: Any, kind: Any) -> Any:
    """A column as text or whole numbers; times of any unit in ms. Raises ArrowException."""
    import pyarrow as pa

    if kind == pa.int64() and pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz))
    elif kind == pa.int64() and pa.types.is_temporal(column.type):
        raise pa.ArrowTypeError(f"{column.type}: expected whole numbers or times")
    return column if kind is None else column.cast(kind)


def _parquet(path: Path) -> tuple[list[str], Iterable[Any]]:
    """The columns of a Parquet file that are read, and its rows in batches of Arrow."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    names = _chosen(path, file.schema_arrow.names)
    return names, file.iter_batches(_ROWS_PER_BATCH, columns=names)


def _csv(path: Path) -> tuple[list[str], Iterable[Any]]:
    """The same of a CSV file, as texts: Arrow would guess other types from the first rows."""
    import pyarrow as pa
    from pyarrow import csv

    with csv.open_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True)) as probe:
        names = _chosen(path, probe.schema.names)
    as_text = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=names,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    within = csv.ParseOptions(newlines_in_values=True)
    return names, csv.open_csv(path, parse_options=within, convert_options=as_text)


def _chosen(path: Path, names: list[str]) -> list[str]:
    """The columns that are read. Raises BadInput where a needed one is missing."""
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise BadInput(
            f"{path}: no column {', '.join(missing)}; needed: {', '.join(NEEDED)}; "
            f"optional: {', '.join(OPTIONAL)}; there are: {listed(names)}"
        )
    chosen = [name for name in (*NEEDED, *OPTIONAL) if name in names]
    twice = [name for name in chosen if names.count(name) > 1]
    if twice:
        raise BadInput(f"{path}: column {', '.join(twice)}: there twice")
    return chosen


def _change(row: dict[str, Any], where: str) -> TraceChange:
    """The change in a row. Raises BadInput, which begins with `where`."""
    for name in ("key", "timestamp_ms"):
        if row[name] is None:
            raise BadInput(f"{where}: {name}: missing")
    for name in ("key", "value"):
        problem = TEXT.too_many(len(row[name] or ""), "characters")
        if problem is not None:
            raise BadInput(f"{where}: {name}: {problem}")
    try:
        given = row.pop("headers", None) or ()
        pairs = json.loads(given, object_pairs_hook=tuple) if isinstance(given, str) else given
        headers = tuple(map(_header, pairs))
    except (TypeError, ValueError):
        raise BadInput(f"{where}: headers: are no names with texts or bytes") from None
    return TraceChange(**row, headers=headers)


def _header(given: Any) -> tuple[str, bytes]:
    """A name and a value, from an entry of a map or from a struct.

    Raises:
        TypeError, ValueError: It is neither.
    """
    name, content = given.values() if isinstance(given, dict) else given
    if not (isinstance(name, str) and isinstance(content, str | bytes)):
        raise TypeError
    return name, content.encode() if isinstance(content, str) else content
