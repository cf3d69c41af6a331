"""Tables of changes in CSV and Parquet, of any columns, types and bytes."""

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.fuzz.damage import anything, damaged
from tests.fuzz.values import numbers, texts

GOOD = b"""\
key,value,timestamp_ms,append_time_ms,version,headers
k,v,1,1,1,"{""a"": ""b""}"
k,,2,3,2,
l,"",5,4,,{}
m,w,9,9,-1,
"""
COLUMNS = ("key", "value", "timestamp_ms", "append_time_ms", "version", "headers", "colour", "")
TYPES: Sequence[Any] = (
    pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.int32(), pa.int64(), pa.uint64(),
    pa.float64(), pa.bool_(), pa.null(), pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("ns"),
    pa.decimal128(38, 2), pa.duration("ms"), pa.time64("ns"), pa.list_(pa.int64()),
    pa.map_(pa.string(), pa.string()), pa.map_(pa.string(), pa.binary()),
    pa.map_(pa.int64(), pa.list_(pa.null())), pa.struct([("a", pa.int64())]),
    pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())])),
    pa.list_(pa.struct([("name", pa.string())])), pa.list_(pa.struct([("a", pa.null()),
    ("b", pa.null()), ("c", pa.null())])), pa.dictionary(pa.int32(), pa.string()),
)  # fmt: skip
USUAL = {
    "key": pa.string(),
    "value": pa.string(),
    "timestamp_ms": pa.int64(),
    "append_time_ms": pa.int64(),
    "version": pa.int64(),
    "headers": pa.map_(pa.string(), pa.string()),
}


@st.composite
def csv_files(draw: st.DrawFn) -> bytes:
    """A CSV file: cells changed, or bytes damaged, or none of it."""
    how = draw(st.sampled_from(("cells", "cells", "bytes", "long", "anything")))
    if how == "bytes":
        return draw(damaged(GOOD))
    if how == "anything":
        return draw(anything())
    names = draw(st.lists(st.sampled_from(COLUMNS[:6]), min_size=1, max_size=6, unique=True))
    if draw(st.booleans()):
        names = list(dict.fromkeys(("key", "value", "timestamp_ms", *names)))
    if draw(st.integers(0, 5)) == 5:
        names.append(draw(st.one_of(st.sampled_from(COLUMNS), texts())))
    cells = st.one_of(st.sampled_from(("1", "k", "", "2", "{}")), numbers().map(_cell), texts())
    rows = draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), max_size=4))
    if how == "long":
        rows = (rows or [["1"] * len(names)]) * 3_000
    quote = draw(st.booleans())
    lines = [",".join(_quoted(one) if quote else str(one) for one in row) for row in rows]
    ending = draw(st.sampled_from(("\n", "\n", "\r\n", "\r", "\n\n")))
    text = ending.join((",".join(map(str, names)), *lines)) + ending
    encoding = draw(st.sampled_from(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16")))
    return text.encode(encoding, "surrogatepass")


def _cell(number: float) -> str:
    return f"{number}" if abs(number) < 10**4000 else "1" + "0" * 4_000


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@st.composite
def parquet_files(draw: st.DrawFn) -> bytes:
    """A Parquet file of strange columns, or a sound one damaged."""
    names = list(USUAL)[: draw(st.integers(2, 6))]
    if draw(st.integers(0, 3)) == 3:
        names.append(draw(st.sampled_from(COLUMNS)))
    rows = draw(st.sampled_from((0, 1, 2, 3, 3, 2_000)))
    arrays, fields = [], []
    strange = draw(st.integers(0, len(names)))
    for index, name in enumerate(names):
        kind = USUAL.get(name, pa.string())
        if index == strange:
            kind = draw(st.sampled_from(TYPES))
        arrays.append(_filled(draw, kind, rows))
        fields.append(pa.field(name, kind))
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink, compression=draw(st.sampled_from(("none", "zstd", "gzip"))))
    except (pa.ArrowException, ValueError):
        return GOOD
    content = sink.getvalue()
    return draw(damaged(content)) if draw(st.integers(0, 2)) == 2 else content


def _filled(draw: st.DrawFn, kind: Any, rows: int) -> Any:
    """A column of `rows` values of this kind, the first few drawn."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        some: list[Any] = [
            draw(texts()).encode("utf-8", "replace").decode() for _ in range(min(rows, 3))
        ]
    elif pa.types.is_integer(kind):
        bits = kind.bit_width - 1
        low = 0 if pa.types.is_unsigned_integer(kind) else -(2**bits)
        edges = st.sampled_from((low, 0, 1, 2, 2**bits - 1))
        some = [draw(st.one_of(edges, st.integers(0, 100))) for _ in range(min(rows, 3))]
    elif pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        item = "v" if pa.types.is_string(kind.item_type) else b"\xff"
        pairs = [(draw(texts()).encode("utf-8", "replace").decode(), draw(
            st.sampled_from((item, None)))) for _ in range(2)]  # fmt: skip
        some = [pairs] if rows else []
    else:
        some = []
    if some and draw(st.integers(0, 3)) == 3:
        some[-1] = None
    filled = [*some, *([some[0] if some else None] * (rows - len(some)))]
    try:
        return pa.array(filled, type=kind)
    except (pa.ArrowException, OverflowError, TypeError):
        return pa.nulls(rows, kind)
