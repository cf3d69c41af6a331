"""Traces are read from Parquet and CSV alike; what cannot be used is told with its row."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sim.changelog.reader import Change, read_changes
from sim.errors import BadInput


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
        append_time_ms=[6, None],
    )

    assert list(read_changes(file)) == [
        Change("a", "v", 5, 6, 7),
        Change("b", None, 3, None, None),
    ]


def test_optional_columns_may_be_missing(tmp_path: Path) -> None:
    file = parquet(tmp_path, key=["a"], value=["v"], timestamp_ms=[5])

    assert list(read_changes(file)) == [Change("a", "v", 5)]


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
        Change("a", None, 5, None, 12, (("h", b"x"), ("h", b"y"))),
        Change("007", "", -6),
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
        "optional: append_time_ms, version, headers; there are: key, time"
    )

    with pytest.raises(BadInput, match=f"t.parquet: {expected}"):
        read_changes(parquet(tmp_path, key=["a"], time=[1]))
    with pytest.raises(BadInput, match=f"t.csv: {expected}"):
        read_changes(csv(tmp_path, "key,time\na,1\n"))


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"timestamp_ms": ["5"]}, "column timestamp_ms: is string; allowed: whole numbers"),
        ({"timestamp_ms": [5.0]}, "column timestamp_ms: is double; allowed: whole numbers"),
        ({"key": [3]}, "column key: is int64; allowed: text"),
        ({"version": ["1"]}, "column version: is string; allowed: whole numbers"),
        ({"headers": ["h"]}, "column headers: is string; allowed: a map, or a list"),
    ],
)
def test_a_column_of_a_wrong_type_is_refused_at_once(
    tmp_path: Path, columns: dict[str, Any], complaint: str
) -> None:
    good = {"key": ["a"], "value": ["v"], "timestamp_ms": [5]}

    with pytest.raises(BadInput, match=f"t.parquet: {complaint}"):
        read_changes(parquet(tmp_path, **{**good, **columns}))


def test_a_value_that_cannot_be_used_is_told_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"t.parquet: row 2: key: missing"):
        list(
            read_changes(parquet(tmp_path, key=["a", None], value=["v"] * 2, timestamp_ms=[1] * 2))
        )
    for row, complaint in {
        "a,v,": "row 2: timestamp_ms: missing",
        "a,v,1.5": "row 2: timestamp_ms: '1.5' is not a whole number",
        f"a,v,{2**63}": "row 2: timestamp_ms: 9223372036854775808 does not fit 64 bits",
        "a,v": "cannot be read: CSV parse error",
    }.items():
        with pytest.raises(BadInput, match=f"t.csv: {complaint}"):
            list(read_changes(csv(tmp_path, f"key,value,timestamp_ms\na,v,1\n{row}\n")))


@pytest.mark.parametrize("text", ["[1]", "{", '{"h": 3}', '"h"'])
def test_headers_of_a_csv_file_are_a_json_object_of_texts(tmp_path: Path, text: str) -> None:
    field = '"' + text.replace('"', '""') + '"'
    file = csv(tmp_path, f"key,value,timestamp_ms,headers\na,v,1,{field}\n")

    with pytest.raises(BadInput, match=r"t.csv: row 1: headers: "):
        list(read_changes(file))


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and nothing else")
    text = tmp_path / "text.parquet"
    text.write_text("key,value\n")

    with pytest.raises(BadInput, match=r"nowhere.parquet: cannot be read: No such file"):
        read_changes(tmp_path / "nowhere.parquet")
    with pytest.raises(BadInput, match=r"cannot be read: Is a directory"):
        read_changes(tmp_path)
    with pytest.raises(BadInput, match=r"broken.parquet: cannot be read: "):
        read_changes(broken)
    with pytest.raises(BadInput, match=r"text.parquet: is neither a Parquet file nor named .csv"):
        read_changes(text)
    with pytest.raises(BadInput, match=r"t.csv: cannot be read: Empty CSV file"):
        read_changes(csv(tmp_path, ""))
