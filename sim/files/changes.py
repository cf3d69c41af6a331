"""Reading a trace of real changes from a Parquet file, change by change.

Columns: `key`, `value` (null = tombstone), `timestamp_ms`; optional `version` (a whole number) and
`headers` (a map, or a list of structs of a name and a value). Further columns are not read. Memory
does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """The changes in a file, in order, which is opened when the first one is asked for.

    Raises:
        BadInput: The file cannot be read, is no Parquet file, lacks a needed column, or has one of
            a wrong type; or a value cannot be used: with its row, from 1.
    """
    head_of(path, 1)
    check_extra("reading a trace needs", "trace", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = dict.fromkeys(("key", "value"), pa.string())
    kinds |= dict.fromkeys(("timestamp_ms", "version"), pa.int64())
    done = 0
    try:
        file = pq.ParquetFile(path)
        names = _chosen(path, file.schema_arrow.names)
        for batch in file.iter_batches(_ROWS_PER_BATCH, columns=names):
            columns = [
                batch.column(name).cast(kinds[name]) if name in kinds else batch.column(name)
                for name in names
            ]
            for row in zip(*(column.to_pylist() for column in columns), strict=True):
                done += 1
                yield _change(dict(zip(names, row, strict=True)), f"{path}: row {done}")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def _chosen(path: Path, names: list[str]) -> list[str]:
    """The columns that are read. Raises BadInput where a needed one is missing."""
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise BadInput(
            f"{path}: no column {', '.join(missing)}; needed: {', '.join(NEEDED)}; "
            f"optional: {', '.join(OPTIONAL)}; there are: {listed(names)}"
        )
    return [name for name in (*NEEDED, *OPTIONAL) if name in names]


def _change(row: dict[str, Any], where: str) -> TraceChange:
    """The change in a row. Raises BadInput, which `where` begins."""
    for name in ("key", "timestamp_ms"):
        if row[name] is None:
            raise BadInput(f"{where}: {name}: missing")
    for name in ("key", "value"):
        problem = TEXT.too_many(len(row[name] or ""), "characters")
        if problem is not None:
            raise BadInput(f"{where}: {name}: {problem}")
    try:
        headers = tuple(map(_header, row.pop("headers", None) or ()))
    except (TypeError, ValueError):
        raise BadInput(f"{where}: headers: are no names with texts or bytes") from None
    return TraceChange(**row, headers=headers)


def _header(given: Any) -> tuple[str, bytes]:
    """A name and a value, from an entry of a map or from a struct.

    Raises:
        TypeError, ValueError: It is neither.
    """
    name, content = given.values() if isinstance(given, dict) else given
    return str(name), content.encode() if isinstance(content, str) else bytes(content)
