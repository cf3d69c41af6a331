"""Folders of sweeps, changed in one place, sealed again or not."""

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.fuzz.case import SWEEP, Case, Content, Special
from tests.fuzz.damage import anything, damaged
from tests.fuzz.documents import as_json, changed
from tests.fuzz.tables import TYPES

PLAN = b"""\
format: replog-sweep/1
title: two fixes
source: a test
count: 6
seed: 3
about: [no-offset-reuse]
generate: {mix: reference, duration_ms: 3000}
rules: {preset: kip-280}
rule_sets:
  - {fix: none}
  - {fix: leo_retention}
"""
SWEEPING = Case(
    reader="sweep folder",
    argv=("sweep", "plan.yaml", "--out", SWEEP, "--engine", "process"),
    files={"plan.yaml": PLAN},
    outputs=(SWEEP,),
)
"""Makes the folder that all others here are a change of."""

SPECIALS = (
    Special("gone"), Special("folder"), Special("fifo"), Special("link", "/dev/zero"),
    Special("link", "."), Special("link", "/nonexistent"), Special("hole", str(2**33)),
)  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@st.composite
def changes(draw: st.DrawFn, sound: Mapping[str, bytes]) -> Mapping[str, Content]:
    """What is other than in the sound folder, by path below it."""
    new: dict[str, Content] = {}
    for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
        name = draw(st.sampled_from([one for one in sorted(sound) if not one.endswith(".lock")]))
        how = draw(st.sampled_from(("content", "content", "content", "content", "special", "copy",
                                    "other", "stray")))  # fmt: skip
        if how == "content":
            new[name] = draw(_content(name, sound[name]))
        elif how == "special":
            new[name] = draw(st.sampled_from(SPECIALS))
        elif how == "copy":
            new[draw(st.sampled_from(_siblings(name)))] = sound[name]
        elif how == "other":
            new[name] = sound[draw(st.sampled_from(sorted(sound)))]
        else:
            new[draw(st.sampled_from(STRAY))] = draw(anything())
    return _sealed(sound, new) if draw(st.booleans()) else new


STRAY = ("letter.txt", ".hidden", "runs/x.parquet", "runs/wave=00000/.part-9.parquet.crc",
         "runs/wave=99999/part-0.parquet", "runs/wave=-1/part.parquet", "waves/wave=00001.json",
         "waves/wave=99999999999999999999.json", "waves/x", ".staging/x",
         "runs/wave=00000/_temporary/0/x",
         "witnesses/w.json", "finished.json", "summary.csv", "\x1b[31m", "new\nline")  # fmt: skip


def _siblings(name: str) -> tuple[str, ...]:
    folder, slash, last = name.rpartition("/")
    return (
        f"{folder}{slash}copy-{last}",
        f"{folder}{slash}.{last}",
        f"{folder}{slash}{last}.tmp",
        name.replace("wave=00000", "wave=00001"),
        name.replace("wave=00000", "wave=x"),
        f"{name}x/{last}",
    )


def _content(name: str, old: bytes) -> st.SearchStrategy[bytes]:
    spoilt = damaged(old)
    if name.endswith(".json"):
        return st.one_of(_json(old), _json(old), _json(old), spoilt)
    if name.endswith(".parquet"):
        return st.one_of(_table(old), _table(old), spoilt)
    return st.one_of(_text(old), spoilt)


@st.composite
def _json(draw: st.DrawFn, old: bytes) -> bytes:
    return draw(as_json(draw(changed(json.loads(old)))))


@st.composite
def _text(draw: st.DrawFn, old: bytes) -> bytes:
    """A CSV file with lines or cells taken away, doubled or exchanged."""
    lines = old.split(b"\n")
    place = draw(st.integers(0, len(lines) - 1))
    cells = lines[place].split(b",")
    cell = draw(st.integers(0, len(cells) - 1))
    cells[cell] = draw(st.sampled_from((b"", b"x", b"-1", b"1e999", b"nan", b"\x1b[2J", b"9" * 30)))
    lines[place : place + 1] = draw(st.sampled_from(([], [b",".join(cells)], lines[place:] * 2)))
    return b"\n".join(lines)


@st.composite
def _table(draw: st.DrawFn, old: bytes) -> bytes:
    """A Parquet table with another column, type, value, or number of rows."""
    table = pq.read_table(io.BytesIO(old))
    how = draw(st.sampled_from(("drop", "rename", "type", "value", "value", "rows", "order")))
    index = draw(st.integers(0, table.num_columns - 1))
    name, column = table.column_names[index], table.column(index)
    if how == "drop":
        table = table.remove_column(index)
    elif how == "rename":
        other = draw(st.sampled_from((*table.column_names, "x", "", "\x1b[2J")))
        table = table.rename_columns([other if i == index else n for i, n in enumerate(
            table.column_names)])  # fmt: skip
    elif how == "type":
        kind = draw(st.sampled_from(TYPES))
        table = table.set_column(index, name, pa.nulls(table.num_rows, kind))
    elif how == "value":
        table = table.set_column(index, name, _edged(draw, column))
    elif how == "rows":
        parts = draw(st.sampled_from(([], [table] * 2, [table.slice(1)], [table] * 200)))
        table = pa.concat_tables(parts) if parts else table.slice(0, 0)
    else:
        table = table.take(pa.array(range(table.num_rows), pa.int64())[::-1])
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink)
    except (pa.ArrowException, ValueError):
        return old
    return sink.getvalue()


def _edged(draw: st.DrawFn, column: Any) -> Any:
    """The column with one value, or all, at a limit of its type, or missing."""
    kind = column.type
    edges: tuple[Any, ...] = (None,)
    if pa.types.is_integer(kind):
        bits = kind.bit_width - 1
        edges = (-(2**bits), -1, 0, 1, 2**bits - 1, None)
    elif pa.types.is_string(kind):
        edges = ("", "x", "\x1b[31m", "<script>", "{", "[1]", "$\\frac", "x" * 100_000, None)
    elif pa.types.is_floating(kind):
        edges = (float("nan"), float("inf"), -1.0, None)
    values = column.to_pylist()
    edge = draw(st.sampled_from(edges))
    if draw(st.booleans()) or not values:
        values = [edge] * len(values)
    else:
        values[draw(st.integers(0, len(values) - 1))] = edge
    try:
        return pa.array(values, type=kind)
    except (pa.ArrowException, OverflowError):
        return column


def _sealed(sound: Mapping[str, bytes], new: Mapping[str, Content]) -> dict[str, Content]:
    """The same with checksums, sizes and rows that fit, as a forger would see to."""
    sealed = dict(new)
    for _ in range(3):  # a part, its manifest, and what names the manifest
        fits = {
            _digest(was): sealed[name]
            for name, was in sound.items()
            if isinstance(sealed.get(name), bytes)
        }
        for name, old in sound.items():
            content = new.get(name, old)
            if not name.endswith(".json") or not isinstance(content, bytes):
                continue
            try:
                document = json.loads(content)
            except (ValueError, RecursionError):
                continue
            if _fitted(document, fits):
                sealed[name] = json.dumps(document, indent=1).encode()
    return sealed


def _fitted(document: Any, fits: Mapping[str, Content]) -> bool:
    """Put the checksums of new contents in the place of the old ones'; whether any was there."""
    if isinstance(document, list):
        return sum(_fitted(one, fits) for one in document) > 0
    if not isinstance(document, dict):
        return False
    changed = sum(_fitted(one, fits) for one in document.values()) > 0
    for key, value in document.items():
        content = fits.get(value) if isinstance(value, str) else None
        if isinstance(content, bytes):
            changed = True
            document[key] = _digest(content)
            if "bytes" in document:
                document["bytes"] = len(content)
            if "rows" in document and content.startswith(b"PAR1"):
                document["rows"] = _rows(content, document["rows"])
    return changed


def _rows(content: bytes, otherwise: Any) -> Any:
    try:
        return pq.read_metadata(io.BytesIO(content)).num_rows
    except (pa.ArrowException, OSError):
        return otherwise


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
