"""Traces are read from Parquet and CSV alike; what cannot be used is told with its row."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sim.errors import BadInput
from sim.files import changes as reader
from sim.files.changes import TraceChange, read_changes
from sim.files.limits import ROW_GROUP, ROWS, TEXT


def parquet(path: Path, **columns: Any) -> Path:
    file = path / "t.parquet"
    pq.write_table(pa.table(columns), file)
    return file


def csv(path: Path, text: str) -> Path:
    file = path / "t.csv"
    file.write_text(text)
    return file


def test_the_columns_of_a_parquet_file_may_come_in_any_order(tmp_path: Path) -> None:
    file = parquet(
        tmp_path,
        timestamp_ms=[5, 3],
        something_else=[1.5, 2.5],
        version=pa.array([7, None], pa.int32()),
        value=["v", None],
        key=["a", "b"],
    )

    assert list(read_changes(file)) == [
        TraceChange("a", "v", 5, 7),
        TraceChange("b", None, 3, None),
    ]


def test_optional_columns_may_be_missing(tmp_path: Path) -> None:
    file = parquet(tmp_path, key=["a"], value=["v"], timestamp_ms=[5])

    assert list(read_changes(file)) == [TraceChange("a", "v", 5)]


@pytest.mark.parametrize(
    "headers",
    [
        pa.array([[("h", b"1"), ("h", b"2")], None], pa.map_(pa.string(), pa.binary())),
        pa.array([[{"name": "h", "value": "1"}, {"name": "h", "value": "2"}], []]),
    ],
    ids=["map", "list"],
)
def test_headers_keep_their_order_and_may_repeat(tmp_path: Path, headers: pa.Array) -> None:
    file = parquet(tmp_path, key=["a", "b"], value=["v", "w"], timestamp_ms=[5, 6], headers=headers)

    assert [c.headers for c in read_changes(file)] == [(("h", b"1"), ("h", b"2")), ()]


def test_an_empty_field_of_a_csv_file_is_a_tombstone_and_a_quoted_one_is_not(
    tmp_path: Path,
) -> None:
    file = csv(
        tmp_path,
        "timestamp_ms,key,value,version,headers\n"
        '5,a,,12,"{""h"": ""x"", ""h"": ""y""}"\n'
        '-6,007,"",,\n',
    )

    assert list(read_changes(file)) == [
        TraceChange("a", None, 5, 12, (("h", b"x"), ("h", b"y"))),
        TraceChange("007", "", -6),
    ]


def test_a_file_of_many_batches_is_read_in_order(tmp_path: Path) -> None:
    count = 25_000
    file = parquet(
        tmp_path,
        key=[f"k{n}" for n in range(count)],
        value=["v"] * count,
        timestamp_ms=range(count),
    )

    assert [change.timestamp_ms for change in read_changes(file)] == list(range(count))


def test_missing_columns_are_all_named(tmp_path: Path) -> None:
    expected = (
        "no column value, timestamp_ms; needed: key, value, timestamp_ms; "
        "optional: version, headers; there are: key, time"
    )

    with pytest.raises(BadInput, match=f"t.parquet: {expected}"):
        read_changes(parquet(tmp_path, key=["a"], time=[1]))
    with pytest.raises(BadInput, match=f"t.csv: {expected}"):
        read_changes(csv(tmp_path, "key,time\na,1\n"))


HEAD = "key,value,timestamp_ms,headers\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be read: Empty CSV file"),
        (b"\n", "cannot be read: CSV parse error: Empty CSV file"),
        (b"key,key,value,timestamp_ms\na,b,c,1\n", "column key occurs twice"),
        (b"\xff\xfek\x00e\x00y\x00", "is UTF-16 text; allowed: UTF-8"),
        ((HEAD + '"a,b,1,\n').encode(), "cannot be read: CSV parse error: "),
        ((HEAD + "a,b\n").encode(), "cannot be read: CSV parse error: Expected 4 columns, got 2"),
        ((HEAD + "a,\xff,1,\n").encode("latin-1"), "cannot be read: In CSV column #"),
        ((HEAD + "a,b," + "9" * 5_000 + ",\n").encode(), 'row 1: timestamp_ms: "999'),
        ((HEAD + "a,b,1,\na,b,,\n").encode(), "row 2: timestamp_ms: missing"),
        ((HEAD + "a,b,1.5,\n").encode(), 'row 1: timestamp_ms: "1.5" is not a whole number'),
        ((HEAD + f"a,b,{2**63},\n").encode(), f'row 1: timestamp_ms: "{2**63}" does not fit 64'),
        ((HEAD + "a,b,1_0,\n").encode(), 'row 1: timestamp_ms: "1_0" is not a whole number'),
        ((HEAD + "a,b,\u0663,\n").encode(), 'row 1: timestamp_ms: "\u0663" is not a whole number'),
        ((HEAD + "a,b,1," + "[" * 100_000).encode(), 'row 1: headers: "[[[['),
        ((HEAD + 'a,b,1,"{""h"": 3}"').encode(), 'row 1: headers: "h": 3 is not text or bytes'),
        ((HEAD + 'a,b,1,"{""h"": [1, 2]}"').encode(), 'row 1: headers: "h": [1, 2] is not text'),
        ((HEAD + 'a,b,1,"{""\\ud800"": ""x""}"').encode(), "row 1: headers: "),
        ((HEAD + "a,b,1,NaN").encode(), 'row 1: headers: "NaN" is not a JSON object'),
        ((HEAD + "a,b,1,[1]").encode(), 'row 1: headers: "[1]" is not a JSON object'),
        ((HEAD + "a,b,1,{").encode(), 'row 1: headers: "{" is not a JSON object'),
        (f"{','.join(f'c{n}' for n in range(900))}\n".encode(), "no column key, value, "),
        (b"," * 10_000, "10,001 columns; at most 10,000 are allowed"),
        ((HEAD + "a," + "b" * 1_100_000 + ",1,\n").encode(), "row 1: value: 1,100,000 characters"),
        ((HEAD + "a," + "b" * 2_200_000 + ",1,\n").encode(), "cannot be read: straddling object"),
    ],
)
def test_csv_that_cannot_be_used_is_told_in_one_short_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(content)

    with pytest.raises(BadInput) as refused:
        list(read_changes(file))

    text = str(refused.value)
    assert text.startswith(f"{file}: {said}")
    assert "\n" not in text
    assert len(text) < 5_000


NOT_UTF_8 = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")]
)
LONG = pa.array([[("h", b"x" * (TEXT.most + 1))], []], pa.map_(pa.string(), pa.binary()))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"timestamp_ms": ["5", "6"]}, "column timestamp_ms: is string; allowed: whole numbers"),
        ({"timestamp_ms": [5.0, 6.0]}, "column timestamp_ms: is double; allowed: whole numbers"),
        ({"version": ["1", "2"]}, "column version: is string; allowed: whole numbers"),
        ({"headers": ["h", "i"]}, "column headers: is string; allowed: a map, or a list"),
        ({"headers": LONG}, "row 1: headers: 1,048,589 bytes in a header"),
        ({"key": ["a", None]}, "row 2: key: missing"),
        ({"key": NOT_UTF_8}, "row 2: key: is not UTF-8 text"),
        ({"value": pa.array(["v", "w" * 1_100_000])}, "row 2: value: 1,100,000 characters"),
        ({"key": [{"a": 1}, None]}, "column key: is struct<a: int64>; allowed: text"),
        ({"value": [[1], [2]]}, "column value: is list<"),
        ({"version": pa.array([1, 2], pa.uint64())}, "column version: is uint64; allowed: whole"),
        ({"headers": [[], [3]]}, "row 2: headers: 3 is no pair of a name and a value"),
        ({"headers": [[{"a": "x", "b": "y", "c": "z"}], []]}, "row 1: headers: {"),
        ({"headers": [[{"a": "x", "b": 3}], []]}, 'row 1: headers: "x": 3 is not text or bytes'),
        ({"headers": [[["a", "b"]] * 1_001, []]}, "row 1: headers: 1,001 headers; at most 1,000"),
    ],
)
def test_parquet_of_other_people_is_told_in_one_short_line(
    tmp_path: Path, columns: dict[str, Any], said: str
) -> None:
    good = {"key": ["a", "b"], "value": ["v", "w"], "timestamp_ms": [5, 6]}
    file = parquet(tmp_path, **(good | columns))

    with pytest.raises(BadInput) as refused:
        list(read_changes(file))

    text = str(refused.value)
    assert text.startswith(f"{file}: {said}")
    assert len(text) < 500


def test_parquet_that_is_cut_or_changed_is_refused_or_read(tmp_path: Path) -> None:
    """Whatever byte is another one: no exception but BadInput."""
    whole = parquet(tmp_path, key=["a", "b"] * 50, value=["v"] * 100, timestamp_ms=range(100))
    content = whole.read_bytes()
    chance = Random(1)
    refused = 0
    for number in range(150):
        changed = bytearray(content)
        if number % 3:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        else:
            del changed[chance.randrange(4, len(changed)) :]
        whole.write_bytes(changed)
        try:
            list(read_changes(whole))
        except BadInput:
            refused += 1
    assert refused > 50


def test_a_row_group_that_fits_no_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "ROW_GROUP", ROW_GROUP._replace(most=100))
    file = parquet(tmp_path, key=["a"] * 99, value=["v"] * 99, timestamp_ms=range(99))

    with pytest.raises(BadInput, match=r"t.parquet: row group 0: [\d,]+ bytes; allowed: at"):
        read_changes(file)


def test_one_text_of_a_dictionary_does_not_unfold_to_a_copy_for_each_row(tmp_path: Path) -> None:
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000, pa.int32()), ["x" * 20_000_000])
    table = {"key": ["a"] * 1_000, "value": long, "timestamp_ms": [1] * 1_000}
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(table), file, compression="zstd")
    assert file.stat().st_size < 10_000

    read = f"from sim.files.changes import *; next(read_changes(Path({str(file)!r})))"
    limited = f"import resource as r; r.setrlimit(r.RLIMIT_AS, ({4 << 30}, {4 << 30})); {read}"
    asked = [sys.executable, "-c", limited]
    run = subprocess.run(asked, check=False, capture_output=True, text=True)

    assert "row 1: value: 20,000,000 characters; at most" in run.stderr


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_change_log_has_a_largest_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(reader, "ROWS", ROWS._replace(most=1_999))
    if kind == "csv":
        file = csv(tmp_path, "key,value,timestamp_ms\n" + "a,b,1\n" * 2_000)
    else:
        file = parquet(tmp_path, key=["a"] * 2_000, value=["b"] * 2_000, timestamp_ms=[1] * 2_000)

    with pytest.raises(BadInput, match="2,000 rows; at most 1,999 are allowed"):
        list(read_changes(file))


def test_what_is_no_file_or_neither_of_the_two_is_no_change_log(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    (tmp_path / "text.parquet").write_text("key,value\n")
    os.mkfifo(tmp_path / "pipe.csv")
    odd = tmp_path / os.fsdecode(b"\xff.csv")
    odd.write_text("key,value,timestamp_ms\na,b,1\n")

    for path, said in {
        tmp_path / "pipe.csv": "is a pipe, and is read more than once here",
        Path("/dev/zero"): "is a device; allowed: a regular file, or a pipe",
        odd: "cannot be read: ",
        tmp_path / "nowhere.parquet": "cannot be read: No such file",
        tmp_path: "cannot be read: Is a directory",
        tmp_path / "broken.parquet": "cannot be read: ",
        tmp_path / "text.parquet": "is neither a Parquet file nor named .csv",
    }.items():
        with pytest.raises(BadInput, match=said):
            read_changes(path)
