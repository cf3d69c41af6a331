"""A file of real changes as the workload."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.protocol.compaction.strategies import encode_version
from sim.protocol.events import Appended
from sim.simulate.scenario.model import TraceSource, Workload
from tests.cluster.worlds import log_ends, scenario, tell

ROWS = {
    "key": [f"k{index % 7}" for index in range(250)],
    "value": [None if index % 10 == 9 else f"v{index}" for index in range(250)],
    "timestamp_ms": range(1_000, 1_250),
    "version": range(0, 750, 3),
}


def trace(folder: Path, **more: int) -> Workload:
    path = folder / "changes.parquet"
    pq.write_table(pa.table(ROWS), path)
    return Workload(trace=TraceSource(str(path), **more))


CHANGES = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from(["v", "", None]),
        st.integers(0, 9_000),
        st.none() | st.integers(-9, 9),
        st.lists(st.sampled_from([("h", b"1"), ("h", b""), ("version", b"x")]), max_size=2),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=10)
@given(CHANGES, st.integers(1, 5))
def test_every_change_is_written_once_in_order_with_its_version_and_all_its_headers(
    changes: list[tuple[str, str | None, int, int | None, list[tuple[str, bytes]]]], most: int
) -> None:
    names = ("key", "value", "timestamp_ms", "version", "headers")
    kinds = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.map_(pa.string(), pa.binary()))
    columns = [
        pa.array(values, kind)
        for kind, values in zip(kinds, zip(*changes, strict=True), strict=True)
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder, "changes.parquet")
        pq.write_table(pa.table(columns, names), path)
        source = TraceSource(str(path), batch_records=most)
        story = tell(scenario(workload=Workload(trace=source), duration_ms=50))
    batches = [e.batch for _, e in story.of(Appended)]
    written = [(r.key, r.value, r.timestamp_ms, r.headers) for b in batches for r in b.records]

    assert {len(batch.records) for batch in batches[:-1]} <= {most}
    assert written == [
        (
            key,
            value,
            at_ms,
            (*[("version", encode_version(v)) for v in [version] if v is not None], *headers),
        )
        for key, value, at_ms, version, headers in changes
    ]
    assert set(log_ends(story).values()) == {len(changes)}


def test_no_change_is_given_up_in_a_bad_network(tmp_path: Path) -> None:
    rough = scenario(workload=trace(tmp_path, batch_records=10)).network.__class__((1, 5), 0.3)
    story = tell(scenario(workload=trace(tmp_path, batch_records=10), network=rough))

    assert set(log_ends(story).values()) == {250}
