"""A file of real changes as the workload."""

from pathlib import Path

from sim.protocol.events import Appended
from sim.simulate.scenario.model import TraceSource, Workload
from tests.cluster.worlds import log_ends, scenario, tell

ROWS = "".join(
    f"k{index % 7},{'' if index % 10 == 9 else f'v{index}'},{1_000 + index},{index * 3}\n"
    for index in range(250)
)


def trace(folder: Path, **more: int) -> Workload:
    path = folder / "changes.csv"
    path.write_text("key,value,timestamp_ms,version\n" + ROWS)
    return Workload(trace=TraceSource(str(path), **more))


def test_every_change_is_written_once_and_in_order(tmp_path: Path) -> None:
    story = tell(scenario(workload=trace(tmp_path, batch_records=40), duration_ms=50))
    batches = [e.batch for _, e in story.of(Appended)]
    records = [record for batch in batches for record in batch.records]

    assert [len(batch.records) for batch in batches] == [40, 40, 40, 40, 40, 40, 10]
    assert [record.timestamp_ms for record in records] == list(range(1_000, 1_250))
    assert records[9].value is None
    assert records[9].headers == (("version", (27).to_bytes(8, "big")),)
    assert set(log_ends(story).values()) == {250}


def test_no_change_is_given_up_in_a_bad_network(tmp_path: Path) -> None:
    rough = scenario(workload=trace(tmp_path, batch_records=10)).network.__class__((1, 5), 0.3)
    story = tell(scenario(workload=trace(tmp_path, batch_records=10), network=rough))

    assert set(log_ends(story).values()) == {250}
