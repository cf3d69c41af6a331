"""Parquet that was damaged anywhere: a line, or rows that a sweep can have."""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sim.errors import BadInput
from sim.sweeps.parquet import File, batches, schema_of, shape_of
from sim.sweeps.plan import number_runs
from tests.sweeps.fakes import plan, quick

SWEEP = number_runs(plan(), count=5)
SHAPE = shape_of(SWEEP)


@pytest.fixture(scope="module")
def content() -> bytes:
    """The runs of five cases."""
    from sim.sweeps.blocks import Block, Work, simulate_block

    return simulate_block(Work(SWEEP, quick, 100.0), Block(0, 5)).runs


def read(content: bytes) -> int:
    columns = schema_of("runs", SHAPE).names
    found = batches("runs", [File("a file", content)], SHAPE, columns)
    return sum(len(batch.to_pylist()) for batch in found)


def complaint(content: bytes) -> str:
    """What is said of a file; empty = it was read."""
    try:
        assert read(content) <= SWEEP.runs
    except BadInput as error:
        return str(error)
    return ""


def test_what_was_written_is_read(content: bytes) -> None:
    assert read(content) == SWEEP.runs


def test_a_byte_that_is_another_one_is_a_line_and_ends_no_process(content: bytes) -> None:
    """Half of them in the footer, where Arrow itself gives up in the middle of some questions."""
    rng, refused = random.Random(1), 0
    for number in range(80):
        changed = bytearray(content)
        start = len(content) * 2 // 3 if number % 2 else 0
        for _ in range(rng.choice((1, 2, 8))):
            changed[rng.randrange(start, len(content))] = rng.randrange(256)
        line = complaint(bytes(changed))
        refused += bool(line)
        assert not line or (line.startswith("a file: ") and "\n" not in line)
    assert refused > 20


def test_a_row_group_that_unpacks_to_too_much_is_refused(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.sweeps.parquet.GROUP_BYTES_MAX", 1_000)

    with pytest.raises(BadInput, match="row group 0 unpacks to more than"):
        read(content)


def test_a_long_text_is_in_memory_once_and_refused(content: bytes) -> None:
    table = pq.read_table(io.BytesIO(content))
    long = pa.array(["x" * 2_000_000] * table.num_rows)
    written = io.BytesIO()
    pq.write_table(table.set_column(table.column_names.index("error"), "error", long), written)

    with pytest.raises(BadInput, match="a error of 2,000,000 bytes; 65,536 at most"):
        read(written.getvalue())
