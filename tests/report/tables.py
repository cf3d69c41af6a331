"""Tables of runs and violations with chosen values, beside the folder of a sweep."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sim.check.counters import COSTS

Row = Sequence[int | None]


def write_tables(
    out: Path,
    costs: Mapping[str, Sequence[Row]],
    violations: Sequence[tuple[int, str, int]] = (),
    *,
    verdicts: Sequence[str] | None = None,
) -> Path:
    """`costs`: per counter one row per case, of one value per rule set; None did not end.

    Costs that are not given are 0 in every run. `violations`: run, invariant, ms. `verdicts` are
    those of all runs in order; without them a run with a violation is violated.
    """
    shape = next(iter(costs.values()))
    run_ids = range(sum(len(row) for row in shape))
    violated = {run for run, *_ in violations}
    own = ["violated" if run in violated else "holds" for run in run_ids]
    table = {"run_id": list(run_ids), "verdict": list(verdicts or own)}
    nothing = [[None if value is None else 0 for value in row] for row in shape]
    for counter in COSTS:
        table[counter] = [value for row in costs.get(counter, nothing) for value in row]
    named = ("run_id", "invariant", "since_ms")
    types = (pa.int64(), pa.string(), pa.int64())
    columns = zip(named, types, strict=True)
    found = {
        name: pa.array([one[place] for one in violations], kind)
        for place, (name, kind) in enumerate(columns)
    }
    for name, content in (("runs", table), ("violations", found)):
        folder = out / name / "wave=00000"
        folder.mkdir(parents=True)
        pq.write_table(pa.table(content), folder / "part-0.parquet")
    return out
