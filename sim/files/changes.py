"""Reading a trace of real changes from a Parquet or CSV file, change by change.

Columns: `key`, `value` (null = tombstone; in CSV an empty field without quotes), `timestamp_ms`;
optional `version` (a whole number) and `headers` (Parquet: map or list of name
and value; CSV: a JSON object). Further columns are not read. Memory does not grow with the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sim.errors import BadInput
from sim.files.document import listed, shown
from sim.files.limits import FILE_COLUMNS, HEADERS, LONG, ROW_GROUP, ROWS, TEXT, whole_number
from sim.files.reading import UTF_16, head_of
from sim.files.shipped import check_extra

NEEDED = ("key", "value", "timestamp_ms")
OPTIONAL = ("version", "headers")

_PARQUET_MAGIC = b"PAR1"
_ROWS_PER_BATCH = 1_000
"""With the longest texts that are allowed, such a batch takes a gigabyte."""
_BATCH_BYTES = 1 << 30
"""Largest batch of Parquet in memory: one value of a dictionary may be repeated in every row."""
_BLOCK = 1 << 20
"""Bytes of CSV that are parsed together: a longer line is refused."""
_NAMES_SHOWN = 20
"""Number of columns that a message names."""

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
    """The changes in a file, in order. The file is opened and its columns are checked at once.

    Raises:
        BadInput: The file cannot be read, is neither Parquet nor CSV, lacks a needed column, or has
            one of a wrong type; while iterating, also a value that cannot be used, with its row
            (from 1, not counting the names of the columns).
    """
    head = head_of(path, _BLOCK)
    check_extra("reading a trace needs", "trace", "pyarrow")
    if head.startswith(_PARQUET_MAGIC):
        return _parquet_changes(path)
    if head.startswith(UTF_16):
        raise BadInput(f"{path}: is UTF-16 text; allowed: UTF-8")
    if path.suffix == ".csv":
        # Before Arrow converts each of them.
        _check_columns(path, head.partition(b"\n")[0].count(b",") + 1)
        return _csv_changes(path)
    raise BadInput(f"{path}: is neither a Parquet file nor named .csv")


def _parquet_changes(path: Path) -> Iterator[TraceChange]:
    import pyarrow.parquet as pq

    with _clear_errors(path):
        file = pq.ParquetFile(path)
        _check_columns(path, file.metadata.num_columns)
        names = _chosen(path, file.schema_arrow.names)
        _check_types(path, file.schema_arrow, names)
        _check_groups(path, file.metadata)
        rows = _rows_per_batch(file.metadata)
        batches = file.iter_batches(batch_size=rows, columns=list(names))
    return _changes(path, batches, names, dict.fromkeys(names, _as_it_is) | {"headers": _headers})


def _csv_changes(path: Path) -> Iterator[TraceChange]:
    import pyarrow as pa
    from pyarrow import csv

    # Everything is read as text: Arrow would guess types from the first block, and its errors
    # name no row.
    convert = csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    options = csv.ReadOptions(block_size=_BLOCK)
    with _clear_errors(path):
        with csv.open_csv(path, read_options=options) as probe:
            names = _chosen(path, probe.schema.names)
        convert.column_types = dict.fromkeys(names, pa.string())
        convert.include_columns = list(names)
        batches = csv.open_csv(path, read_options=options, convert_options=convert)
    numbers = ("timestamp_ms", "version")
    parsers: dict[str, _Parse] = dict.fromkeys(names, _as_it_is)
    parsers.update(dict.fromkeys(numbers, _whole_number), headers=_json_headers)
    return _changes(path, batches, names, parsers)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Converts errors of Arrow to one line of BadInput.

    Arrow also raises ValueError, for names and texts that are not UTF-8.
    """
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


_Parse = Callable[[Any], Any]


def _changes(
    path: Path, batches: Any, names: Sequence[str], parsers: dict[str, _Parse]
) -> Iterator[TraceChange]:
    """The changes in `batches`, whose columns are `names`."""
    done = 0
    while True:
        with _clear_errors(path):
            batch = next(batches, None)
        if batch is None:
            return
        columns: dict[str, Sequence[Any]] = {
            name: _parsed(path, name, batch.column(name), parsers[name], done) for name in names
        }
        rows, done = batch.num_rows, done + batch.num_rows
        if done > ROWS.most:
            raise BadInput(f"{path}: {ROWS.too_many(done, 'rows')}")
        yield from map(
            TraceChange,
            columns["key"],
            columns["value"],
            columns["timestamp_ms"],
            columns.get("version", [None] * rows),
            columns.get("headers", [()] * rows),
        )


def _parsed(path: Path, name: str, column: Any, parse: _Parse, done: int) -> Sequence[Any]:
    """The values of a column; a bad one is reported with its row, `done` rows being before."""
    values = _python_values(path, name, column, done)
    if name in ("key", "timestamp_ms") and None in values:
        raise BadInput(f"{path}: row {done + values.index(None) + 1}: {name}: missing")
    if parse is _as_it_is:
        if name in ("key", "value") and max(map(len, filter(None, values)), default=0) > TEXT.most:
            parse = _short_enough
        else:
            return values
    result = []
    for index, value in enumerate(values):
        try:
            result.append(parse(value))
        except ValueError as error:
            raise BadInput(f"{path}: row {done + index + 1}: {name}: {error}") from None
    return result


def _python_values(path: Path, name: str, column: Any, done: int) -> list[Any]:
    """A column as Python values; text in Parquet may turn out not to be UTF-8."""
    try:
        values: list[Any] = column.to_pylist()
        return values
    except UnicodeDecodeError:
        pass
    for index in range(len(column)):
        try:
            column[index].as_py()
        except UnicodeDecodeError:
            text = f"{path}: row {done + index + 1}: {name}: is not UTF-8 text"
            raise BadInput(text) from None
    raise AssertionError  # one of them was not


def _check_columns(path: Path, count: int) -> None:
    problem = FILE_COLUMNS.too_many(count, "columns")
    if problem is not None:
        raise BadInput(f"{path}: {problem}")


def _chosen(path: Path, names: list[str]) -> tuple[str, ...]:
    missing = [name for name in NEEDED if name not in names]
    if missing:
        there = [*names[:_NAMES_SHOWN], *(["…"] if len(names) > _NAMES_SHOWN else [])]
        raise BadInput(
            f"{path}: no column {', '.join(missing)}; needed: {', '.join(NEEDED)}; "
            f"optional: {', '.join(OPTIONAL)}; there are: {listed(there)}"
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


def _check_groups(path: Path, metadata: Any) -> None:
    """Raises BadInput for row groups above the limit of memory."""
    for number in range(metadata.num_row_groups):
        size = metadata.row_group(number).total_byte_size
        if not 0 <= size <= ROW_GROUP.most:
            allowed = f"at most {ROW_GROUP.most:,}"
            raise BadInput(f"{path}: row group {number}: {size:,} bytes; allowed: {allowed}")


def _rows_per_batch(metadata: Any) -> int:
    """Rows of a batch, if each value may be as large as its whole stored column."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    largest = max([group.total_byte_size for group in groups], default=0)
    return max(1, min(_ROWS_PER_BATCH, _BATCH_BYTES // max(1, largest)))


def _as_it_is(value: Any) -> Any:
    return value


def _refuse(problem: str | None) -> None:
    """Raises ValueError about a value, if there is a problem with it."""
    if problem is not None:
        raise ValueError(problem)


def _short_enough(text: str | None) -> str | None:
    _refuse(TEXT.too_many(len(text or ""), "characters"))
    return text


def _whole_number(text: str | None) -> int | None:
    if text is None:
        return None
    number = whole_number(text)
    if number is None:
        raise ValueError(f"{shown(text)} is not a whole number")
    if not -LONG - 1 <= number <= LONG:
        raise ValueError(f"{shown(text)} does not fit 64 bits")
    return number


def _headers(value: Any) -> Headers:
    """Headers from a map or a list of structs, as Arrow converts them to Python."""
    pairs = []
    for item in value or ():
        pair = tuple(item.values()) if isinstance(item, dict) else item
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"{shown(item)} is no pair of a name and a value")
        name, content = pair
        if isinstance(content, str):
            content = _encoded(content)
        good = isinstance(name, str) and isinstance(content, bytes)
        if not good:
            raise ValueError(f"{shown(name)}: {shown(content)} is not text or bytes under a name")
        _encoded(name)
        _refuse(TEXT.too_many(len(content), "bytes in a header"))
        pairs.append((name, content))
    _refuse(HEADERS.too_many(len(pairs), "headers"))
    return tuple(pairs)


def _encoded(text: str) -> bytes:
    try:
        _short_enough(text)
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{shown(text)} has half a character (a lone surrogate)") from None


def _json_headers(text: str | None) -> Headers:
    if text is None:
        return ()
    try:
        pairs = json.loads(text, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        pairs = None
    if isinstance(pairs, tuple):
        return _headers(pairs)
    raise ValueError(f"{shown(text)} is not a JSON object")
