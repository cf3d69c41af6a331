"""The Parquet files of a sweep, read as if anybody could have written them.

Everything that reads rows comes through here: a file of somebody else, a truncated one, one with
other columns or with rows that no sweep has, is one line that names it. What is read at once is
bounded by the rows of a batch and the longest text, whatever a file says of itself.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sim.check.counters import COUNTERS
from sim.errors import BadInput
from sim.sweeps.evidence import stored_sentence
from sim.sweeps.inside import MIB
from sim.sweeps.layout import RUNS, VIOLATIONS
from sim.sweeps.row import VIOLATIONS_PER_RUN_MAX, runs_schema
from sim.sweeps.shapes import VERDICTS

if TYPE_CHECKING:
    from sim.sweeps.plan import Sweep

BATCH_ROWS = 2_048
TEXT_BYTES_MAX = 65_536
"""Of one value. The longest text is a traceback of 8,000 characters."""
GROUP_BYTES_MAX = 512 * MIB
"""Of a row group, as the file says itself: it has 5,000 rows or a few more."""
FOOTER_BYTES_MAX = 16 * MIB
GROUPS_MAX = 100_000
"""Row groups of a file."""

_INT, _TEXT, _BOOL, _REAL = pa.int64(), pa.string(), pa.bool_(), pa.float64()
_TYPES: dict[str, dict[str, pa.DataType]] = {
    RUNS: {
        **dict.fromkeys(("run_id", "case_id", "seed", "rule_set"), _INT),
        **dict.fromkeys(("verdict", "reason", "first_invariant"), _TEXT),
        **dict.fromkeys(
            ("first_violation_ms", "violation_count", "first_since_ms", *COUNTERS), _INT
        ),
        **dict.fromkeys(("reached", "digest", "weather", "error", "environment", "cause"), _TEXT),
        "wall_ms": _REAL,
        "hunted": _BOOL,
    },
    VIOLATIONS: {
        **dict.fromkeys(("run_id", "position", "at_ms", "since_ms", "offset"), _INT),
        **dict.fromkeys(("invariant", "replica", "key", "evidence", "family", "cause"), _TEXT),
    },
}
_NEVER_NULL = {
    RUNS: ("run_id", "case_id", "seed", "rule_set", "verdict", "wall_ms", "environment", "hunted"),
    VIOLATIONS: ("run_id", "position", "invariant", "at_ms", "evidence", "family"),
}
_OLDER_WITHOUT = ("cause", "since_ms", "first_since_ms")
"""Columns that a table of an earlier schema version does not have."""
_ONCE = {"evidence": "sentence"}
"""What was in a column's place in earlier schema versions, and is made into it as it is read."""
_FROM_0 = {
    RUNS: ("seed", "first_violation_ms", "first_since_ms", "violation_count", *COUNTERS),
    VIOLATIONS: ("position", "at_ms", "since_ms"),
}
_ENDED = ("digest", "weather", "reached", "violation_count", *COUNTERS)
"""What a run that came to an end has, and one that did not has not."""


class Shape(NamedTuple):
    """What the numbers of a sweep's runs have to fit.

    Attributes:
        runs: How many there are; they are numbered from 0.
        rule_sets: How many neighbouring ones are of one case.
        swept: The columns of the swept rules with their types.
    """

    runs: int
    rule_sets: int
    swept: Mapping[str, pa.DataType] = MappingProxyType({})


def shape_of(sweep: Sweep) -> Shape:
    """The shape of a sweep's tables."""
    schema = runs_schema(sweep)
    swept = {name: schema.field(name).type for name in sweep.swept}
    return Shape(sweep.runs, len(sweep.rule_sets), swept)


class File(NamedTuple):
    """A Parquet file, as it was read.

    Attributes:
        name: What messages call it.
        content: Its bytes.
        runs: Which runs its rows may be of; None = any of the sweep.
        rows: How many it has to have; None = as many as it has.
    """

    name: str
    content: bytes
    runs: range | None = None
    rows: int | None = None


def batches(
    table: str, files: Iterable[File], shape: Shape, columns: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """Some columns of a table, in small batches, in order of `run_id`.

    A column that only newer tables have is null throughout in older ones; a sentence that these
    have is given as evidence.

    Args:
        table: RUNS or VIOLATIONS.
        files: Its files, in order of their runs.
        shape: Of the sweep.
        columns: Their names, `run_id` among them.

    Raises:
        BadInput: A file is not what it should be, or has a row that this sweep cannot have; the
            line says which file, and what is wrong.
    """
    order = _Order(table, shape)
    for file in files:
        rows = 0
        for batch in _batches_of(file, table, shape, columns):
            rows += batch.num_rows
            problem = order.problem(batch, file.runs) or _problem(table, batch)
            if problem is not None:
                raise BadInput(f"{file.name}: {problem}; the table is damaged or of another sweep")
            yield batch
        if file.rows not in (None, rows):
            raise BadInput(f"{file.name}: has {rows} rows instead of {file.rows}")


def schema_of(table: str, shape: Shape) -> pa.Schema:
    """All columns that a table can have, with their types."""
    return pa.schema([*_TYPES[table].items(), *(shape.swept.items() if table == RUNS else ())])


def columns_of(file: File) -> tuple[str, ...]:
    """The names of the columns of a file, as they are now. Raises BadInput as `batches`."""
    now = {once: name for name, once in _ONCE.items()}
    with _opened(file) as opened:
        return tuple(now.get(name, name) for name in opened.schema_arrow.names)


class _Order:
    """Rows come in order, no run twice, and none that the sweep does not have."""

    def __init__(self, table: str, shape: Shape) -> None:
        self._table = table
        self._shape = shape
        self._last = (-1, -1)

    def problem(self, batch: pa.RecordBatch, runs: range | None) -> str | None:
        """What is wrong with the numbers of these rows; None = nothing."""
        run_ids = batch.column("run_id")
        if not len(run_ids):
            return None
        if run_ids.null_count:
            return "a row without run_id"
        lowest, highest = pc.min_max(run_ids).values()
        allowed = range(self._shape.runs) if runs is None else runs
        for found in (lowest.as_py(), highest.as_py()):
            if found not in allowed:
                return f"run {found}, where runs {allowed.start} to {allowed.stop - 1} belong"
        return self._place_problem(batch, run_ids) or self._order_problem(batch, run_ids)

    def _place_problem(self, batch: pa.RecordBatch, run_ids: pa.Array) -> str | None:
        rule_sets = self._shape.rule_sets
        cases = pc.divide(run_ids, rule_sets)
        places = pc.subtract(run_ids, pc.multiply(cases, rule_sets))
        for name, values in {"case_id": cases, "rule_set": places}.items():
            if self._table == RUNS and name in batch.schema.names:
                there = batch.column(name)
                if there.null_count or not there.equals(values):
                    return f"a {name} that does not go with its run_id"
        return None

    def _order_problem(self, batch: pa.RecordBatch, run_ids: pa.Array) -> str | None:
        numbers = run_ids.to_numpy()
        steps = numbers[1:] - numbers[:-1]
        again = int((steps <= 0).argmax()) + 1 if (steps <= 0).any() else 0
        if self._table == VIOLATIONS:
            again = int((steps < 0).argmax()) + 1 if (steps < 0).any() else 0
        first = int(numbers[0])
        before = self._last[0]
        self._last = (int(numbers[-1]), 0)
        if first < before or (first == before and self._table == RUNS):
            return f"run {first} comes after run {before}"
        if again:
            return f"run {numbers[again]} comes after run {numbers[again - 1]}"
        return None


def _problem(table: str, batch: pa.RecordBatch) -> str | None:
    """What no row of a sweep has; None = nothing of the kind."""
    there = set(batch.schema.names)
    for name in _NEVER_NULL[table]:
        if name in there and batch.column(name).null_count:
            return f"a row without {name}"
    for name in _FROM_0[table]:
        if name in there:
            lowest = pc.min(batch.column(name)).as_py()
            if lowest is not None and lowest < 0:
                return f"{name} {lowest}"
    return None if table == VIOLATIONS else _run_problem(batch, there)


def _run_problem(batch: pa.RecordBatch, there: set[str]) -> str | None:
    if "verdict" in there and (problem := _verdict_problem(batch, there)):
        return problem
    if "digest" in there:
        ended = pc.is_valid(batch.column("digest"))
        for name in there.intersection(_ENDED):
            if _any(pc.and_(ended, pc.is_null(batch.column(name)))):
                return f"a run that ended, without {name}"
    return None


def _verdict_problem(batch: pa.RecordBatch, there: set[str]) -> str | None:
    verdicts = batch.column("verdict")
    unknown = verdicts.filter(pc.invert(pc.is_in(verdicts, pa.array(VERDICTS))))
    if len(unknown):
        return f"verdict {unknown[0].as_py()!r:.60} (there are {', '.join(VERDICTS)})"
    violated = pc.equal(verdicts, "violated")
    for name in {"first_invariant", "first_violation_ms"} & there:
        if _any(pc.and_(violated, pc.is_null(batch.column(name)))):
            return f"a violated run without {name}"
    judged = pc.or_(violated, pc.equal(verdicts, "holds"))
    if "digest" in there and _any(pc.and_(judged, pc.is_null(batch.column("digest")))):
        return "a judged run without digest"
    return None


def _any(flags: pa.Array) -> bool:
    return bool(pc.any(flags).as_py())


def _batches_of(
    file: File, table: str, shape: Shape, columns: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """The batches of one file, with texts that are texts; how it can be read is checked."""
    types = {**_TYPES[table], **shape.swept}
    with _opened(file) as opened:
        names = _names_in(opened.schema_arrow, columns)
        _check_columns(file, opened.schema_arrow, types, columns, names)
        _check_sizes(file, opened.metadata, table, shape)
        metadata = opened.metadata
    texts = [there for name, there in names.items() if types[name] == _TEXT]
    with _opened(file, metadata, texts) as opened:
        try:
            present = list(names.values())
            for batch in opened.iter_batches(batch_size=BATCH_ROWS, columns=present):
                batch.validate(full=True)
                arrays = [
                    _with_text(file, there, batch.column(there))
                    if (there := names.get(name))
                    else pa.nulls(batch.num_rows, types[name])
                    for name in columns
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
        except (pa.ArrowException, OSError, MemoryError, UnicodeError) as error:
            raise BadInput(_unreadable(file, error)) from None


def _opened(
    file: File, metadata: pq.FileMetaData | None = None, texts: Sequence[str] = ()
) -> pq.ParquetFile:
    """A file; with its metadata, if they were read before, and some columns as dictionaries."""
    try:
        _check_footer(file)
        return pq.ParquetFile(
            pa.BufferReader(file.content),
            metadata=metadata,
            read_dictionary=list(texts),
            thrift_string_size_limit=FOOTER_BYTES_MAX,
            thrift_container_size_limit=GROUPS_MAX * 10,
        )
    except (pa.ArrowException, OSError, MemoryError, ValueError) as error:
        raise BadInput(_unreadable(file, error)) from None


def _check_footer(file: File) -> None:
    """A footer says how large it is in the last eight bytes; Arrow reads it as a whole."""
    size = len(file.content)
    if size < 12:
        raise BadInput(f"{file.name}: is no Parquet file ({size} bytes)")
    footer, magic = struct.unpack("<I4s", file.content[-8:])
    if magic != b"PAR1":
        raise BadInput(f"{file.name}: is no Parquet file, or was cut off (its end is not PAR1)")
    if footer > min(size, FOOTER_BYTES_MAX):
        raise BadInput(f"{file.name}: damaged: a footer of {footer:,} bytes")


def _names_in(schema: pa.Schema, columns: Collection[str]) -> dict[str, str]:
    """Column -> what a file calls it; without those that it does not have."""
    there = set(schema.names)
    found = {name: name if name in there else _ONCE.get(name, "") for name in columns}
    return {name: called for name, called in found.items() if called in there}


def _check_columns(
    file: File,
    schema: pa.Schema,
    types: dict[str, pa.DataType],
    columns: Collection[str],
    names: Mapping[str, str],
) -> None:
    if len(set(schema.names)) != len(schema.names):
        raise BadInput(f"{file.name}: a column twice; not a table of a sweep")
    for name in columns:
        if name not in names:
            if name in _OLDER_WITHOUT:
                continue
            raise BadInput(f"{file.name}: no column {name}; not a table of a sweep")
        found, wanted = schema.field(names[name]).type, types.get(name)
        if pa.types.is_dictionary(found) and wanted == _TEXT:
            found = found.value_type  # as it was asked for
        if found != wanted:
            raise BadInput(f"{file.name}: column {name} has type {found!s:.60}; expected {wanted}")


def _check_sizes(file: File, metadata: pq.FileMetaData, table: str, shape: Shape) -> None:
    rows_max = shape.runs * (1 if table == RUNS else VIOLATIONS_PER_RUN_MAX * 10)
    if not 0 <= metadata.num_rows <= rows_max:
        raise BadInput(f"{file.name}: {metadata.num_rows:,} rows in a sweep of {shape.runs:,} runs")
    if metadata.num_row_groups > GROUPS_MAX:
        raise BadInput(
            f"{file.name}: {metadata.num_row_groups:,} row groups; {GROUPS_MAX:,} at most"
        )
    for number in range(metadata.num_row_groups):
        # Not of each column: asking a damaged file for one ends the process (pyarrow 26).
        if metadata.row_group(number).total_byte_size > GROUP_BYTES_MAX:
            most = f"more than {GROUP_BYTES_MAX // MIB:,} MiB"
            raise BadInput(f"{file.name}: row group {number} unpacks to {most}")


def _with_text(file: File, name: str, values: pa.Array) -> pa.Array:
    """A column; texts were read as dictionaries, so that a long one is in memory once."""
    if pa.types.is_dictionary(values.type):
        longest = pc.max(pc.binary_length(values.dictionary)).as_py() or 0
        if longest > TEXT_BYTES_MAX:
            raise BadInput(
                f"{file.name}: a {name} of {longest:,} bytes; {TEXT_BYTES_MAX:,} at most"
            )
        values = values.cast(_TEXT)
    if name in _ONCE.values():
        told = (None if one is None else stored_sentence(one) for one in values.to_pylist())
        return pa.array(told, _TEXT)
    return values


def _unreadable(file: File, error: BaseException) -> str:
    text = " ".join(str(error).split())
    reason = getattr(error, "strerror", None) or text or type(error).__name__
    return f"{file.name}: cannot be read as Parquet: {reason:.200}"
