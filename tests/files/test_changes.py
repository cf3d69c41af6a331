"""Traces are read from Parquet and CSV; a value that cannot be used is reported with its row."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sim.errors import BadInput
from sim.files.changes import TraceChange, read_changes


def parquet(path: Path, **columns: Any) -> Path:
    file = path / "t.parquet"
    pq.write_table(pa.table(columns), file)
    return file


def test_the_columns_may_come_in_any_order_and_others_are_not_read(tmp_path: Path) -> None:
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
    file = tmp_path / "t.csv"
    file.write_text(
        "timestamp_ms,key,value,other,version,headers\n"
        '5,a,,1,12,"{""h"": ""x"", ""h"": ""y""}"\n'
        '-6,007,"",x,,\n'
    )

    assert list(read_changes(file)) == [
        TraceChange("a", None, 5, 12, (("h", b"x"), ("h", b"y"))),
        TraceChange("007", "", -6),
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "cannot be read: Empty CSV file"),
        ("key,time\na,1\n", "no column value, timestamp_ms"),
        ("key,value,timestamp_ms\na,b,x\n", "cannot be read: Failed to parse string: 'x'"),
        ("key,value,timestamp_ms\na,b\n", "cannot be read: CSV parse error"),
        ("key,value,timestamp_ms,headers\na,b,1,{\n", "row 1: headers: are no names"),
        ('key,value,timestamp_ms,headers\na,b,1,"{""h"": 7}"\n', "row 1: headers: are no names"),
        ("key,key,value,timestamp_ms\na,b,c,1\n", "column key: there twice"),
    ],
)
def test_csv_that_cannot_be_used_is_reported_in_one_line(
    tmp_path: Path, rows: str, said: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(rows)

    with pytest.raises(BadInput) as refused:
        list(read_changes(file))

    assert str(refused.value).startswith(f"{file}: {said}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_of_any_unit_is_read_as_ms(tmp_path: Path, unit: str) -> None:
    times = pa.array([2000, 3000], pa.timestamp("ms")).cast(pa.timestamp(unit))
    file = parquet(tmp_path, key=["a", "b"], value=["v", "w"], timestamp_ms=times)

    assert [change.timestamp_ms for change in read_changes(file)] == [2000, 3000]


def test_a_quoted_value_of_a_large_csv_file_may_have_line_breaks(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    rows = "".join(f'k{at},"a value\nof two lines",{at}\n' for at in range(40_000))
    file.write_text(f"key,value,timestamp_ms\n{rows}")

    assert {change.value for change in read_changes(file)} == {"a value\nof two lines"}


def test_a_file_of_many_batches_is_read_in_order(tmp_path: Path) -> None:
    count = 2_500
    file = parquet(tmp_path, key=["k"] * count, value=["v"] * count, timestamp_ms=range(count))

    assert [change.timestamp_ms for change in read_changes(file)] == list(range(count))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"timestamp_ms": ["5", "x"]}, "cannot be read: Failed to parse string: 'x'"),
        ({"timestamp_ms": pa.array([5, 6], pa.duration("us"))}, "cannot be read: duration[us]"),
        ({"timestamp_ms": [5.5, 6.0]}, "cannot be read: Float value 5.500000 was truncated"),
        ({"headers": ["h", "i"]}, "row 1: headers: are no names with texts or bytes"),
        ({"headers": [[], [3]]}, "row 2: headers: are no names with texts or bytes"),
        ({"key": ["a", None]}, "row 2: key: missing"),
        ({"value": pa.array(["v", "w" * 1_100_000])}, "row 2: value: 1,100,000 characters"),
        ({"key": [{"a": 1}, None]}, "cannot be read: Unsupported cast from struct<a: int64>"),
    ],
)
def test_a_column_that_cannot_be_used_is_reported_in_one_short_line(
    tmp_path: Path, columns: dict[str, Any], said: str
) -> None:
    good = {"key": ["a", "b"], "value": ["v", "w"], "timestamp_ms": [5, 6]}
    file = parquet(tmp_path, **(good | columns))

    with pytest.raises(BadInput) as refused:
        list(read_changes(file))

    text = str(refused.value)
    assert text.startswith(f"{file}: {said}")
    assert len(text) < 500


def test_missing_columns_are_all_named(tmp_path: Path) -> None:
    expected = (
        "no column value, timestamp_ms; needed: key, value, timestamp_ms; "
        "optional: version, headers; there are: key, time"
    )

    with pytest.raises(BadInput, match=f"t.parquet: {expected}"):
        next(read_changes(parquet(tmp_path, key=["a"], time=[1])))


def test_parquet_that_is_cut_or_changed_is_refused_or_read(tmp_path: Path) -> None:
    """Whatever byte is another one: no exception but BadInput."""
    whole = parquet(tmp_path, key=["a", "b"] * 50, value=["v"] * 100, timestamp_ms=range(100))
    content = whole.read_bytes()
    chance = Random(1)
    refused = 0
    for number in range(60):
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
    assert refused > 20


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.parquet", "cannot be read: No such file"),
        (".", "cannot be read: Is a directory"),
        ("broken.parquet", "cannot be read: "),
        ("/dev/zero", "is a device; allowed: a regular file, or a pipe"),
    ],
)
def test_what_is_no_parquet_file_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")

    with pytest.raises(BadInput, match=said):
        next(read_changes(tmp_path / name))
