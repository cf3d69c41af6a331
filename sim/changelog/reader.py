"""Reading a trace of real changes from a Parquet or CSV file, change by change.

Columns: `key`, `value` (null = tombstone; in CSV an empty field without quotes), `timestamp_ms`;
optional `append_time_ms`, `version` (a whole number) and `headers` (Parquet: map or list of name
and value; CSV: a JSON object). Further columns are not read. Memory does not grow with the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from sim.errors import BadInput

NEEDED = ("key", "value", "timestamp_ms")
OPTIONAL = ("append_time_ms", "version", "headers")

_PARQUET_MAGIC = b"PAR1"
_ROWS_PER_BATCH = 10_000
_LONG = range(-(2**63), 2**63)

Headers = tuple[tuple[str, bytes], ...]


class Change(NamedTuple):
    """One change.

    Attributes:
        key: What changed.
        value: Its new value; None deletes it.
        timestamp_ms: When it was made, in ms; need not ascend.
        append_time_ms: When it was written to the log, in ms; None when unknown.
        version: Its version, 64 bits signed; None when it has none.
        headers: Name and value of each header, in order.
    """

    key: str
    value: str | None
    timestamp_ms: int
    append_time_ms: int | None = None
    version: int | None = None
    headers: Headers = ()


def read_changes(path: Path) -> Iterator[Change]:
    """The changes in a file, in order. The file is opened and its columns are checked at once.

    Raises:
        BadInput: The file cannot be read, is neither Parquet nor CSV, lacks a needed column, or has
            one of a wrong type; while iterating, also a value that cannot be used, with its row
            (from 1, not counting the names of the columns).
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_PARQUET_MAGIC))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    if find_spec("pyarrow") is None:
        raise BadInput("reading a trace needs pyarrow: install replog[trace]")
    if magic == _PARQUET_MAGIC:
        return _parquet_changes(path)
    if path.suffix == ".csv":
        return _csv_changes(path)
    raise BadInput(f"{path}: is neither a Parquet file nor named .csv")


def _parquet_changes(path: Path) -> Iterator[Change]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        names = _chosen(path, file.schema_arrow.names)
        _check_types(path, file.schema_arrow, names)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    batches = file.iter_batches(batch_size=_ROWS_PER_BATCH, columns=list(names))
    return _changes(path, batches, names, dict.fromkeys(names, _as_it_is) | {"headers": _headers})


def _csv_changes(path: Path) -> Iterator[Change]:
    import pyarrow as pa
    from pyarrow import csv

    # Everything is read as text: Arrow would guess types from the first block, and its errors
    # name no row.
    convert = csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    try:
        with csv.open_csv(path, read_options=csv.ReadOptions(block_size=1 << 20)) as probe:
            names = _chosen(path, probe.schema.names)
        convert.column_types = dict.fromkeys(names, pa.string())
        convert.include_columns = list(names)
        batches = csv.open_csv(path, convert_options=convert)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    numbers = ("timestamp_ms", "append_time_ms", "version")
    parsers: dict[str, _Parse] = dict.fromkeys(names, _as_it_is)
    parsers.update(dict.fromkeys(numbers, _whole_number), headers=_json_headers)
    return _changes(path, batches, names, parsers)


_Parse = Callable[[Any], Any]


def _changes(
    path: Path, batches: Any, names: Sequence[str], parsers: dict[str, _Parse]
) -> Iterator[Change]:
    """The changes in `batches`, whose columns are `names`."""
    import pyarrow as pa

    done = 0
    try:
        for batch in batches:
            columns: dict[str, Sequence[Any]] = {
                name: _parsed(path, name, batch.column(name).to_pylist(), parsers[name], done)
                for name in names
            }
            rows, done = batch.num_rows, done + batch.num_rows
            nothing = [None] * rows
            yield from map(
                Change,
                columns["key"],
                columns["value"],
                columns["timestamp_ms"],
                columns.get("append_time_ms", nothing),
                columns.get("version", nothing),
                columns.get("headers", [()] * rows),
            )
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None


def _parsed(path: Path, name: str, values: list[Any], parse: _Parse, done: int) -> Sequence[Any]:
    """The values of a column; a bad one is reported with its row, `done` rows being before."""
    if name in ("key", "timestamp_ms") and None in values:
        raise BadInput(f"{path}: row {done + values.index(None) + 1}: {name}: missing")
    if parse is _as_it_is:
        return values
    result = []
    for index, value in enumerate(values):
        try:
            result.append(parse(value))
        except ValueError as error:
            raise BadInput(f"{path}: row {done + index + 1}: {name}: {error}") from None
    return result


def _chosen(path: Path, names: list[str]) -> tuple[str, ...]:
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise BadInput(
            f"{path}: no column {', '.join(missing)}; needed: {', '.join(NEEDED)}; "
            f"optional: {', '.join(OPTIONAL)}; there are: {', '.join(names)}"
        )
    chosen = tuple(name for name in (*NEEDED, *OPTIONAL) if name in names)
    twice = [name for name in chosen if names.count(name) > 1]
    if twice:
        raise BadInput(f"{path}: column {twice[0]} occurs twice")
    return chosen


def _check_types(path: Path, schema: Any, names: Sequence[str]) -> None:
    from pyarrow import types

    for name in names:
        kind = schema.field(name).type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if name in ("key", "value"):
            allowed = "text"
            good = types.is_string(kind) or types.is_large_string(kind)
            good = good or (name == "value" and types.is_null(kind))
        elif name == "headers":
            allowed = "a map, or a list of (name, value), from text to text or bytes"
            good = types.is_map(kind) or types.is_list(kind) or types.is_large_list(kind)
        else:
            allowed = "whole numbers of at most 64 bits, signed"
            good = types.is_integer(kind) and not types.is_uint64(kind)
        if not good:
            raise BadInput(f"{path}: column {name}: is {kind}; allowed: {allowed}")


def _unreadable(path: Path, error: Exception) -> BadInput:
    return BadInput(f"{path}: cannot be read: {' '.join(str(error).split())}")


def _as_it_is(value: Any) -> Any:
    return value


def _whole_number(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None
    if number not in _LONG:
        raise ValueError(f"{text} does not fit 64 bits")
    return number


def _headers(value: Any) -> Headers:
    """Pairs out of a map's or a list of structs' Python form."""
    pairs = []
    for item in value or ():
        name, content = item.values() if isinstance(item, dict) else item
        if isinstance(content, str):
            content = content.encode()
        good = isinstance(name, str) and isinstance(content, bytes)
        if not good:
            raise ValueError(f"{name!r}: {content!r} is not text or bytes under a name")
        pairs.append((name, content))
    return tuple(pairs)


def _json_headers(text: str | None) -> Headers:
    if text is None:
        return ()
    try:
        pairs = json.loads(text, object_pairs_hook=tuple)
    except ValueError:
        pairs = None
    if isinstance(pairs, tuple):
        return _headers(pairs)
    raise ValueError(f"{text!r} is not a JSON object")
