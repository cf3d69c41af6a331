"""The reports on two bugs of Kafka quote brokers and logs as they were recorded."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.compare import replog_answer
from tests.conformance.recordings import CLUSTERS, read_files

CUT_MARKER = Path("reports/kafka_cut_marker.md").read_text(encoding="utf-8")
INDEX_SEEK = Path("reports/kafka_index_seek.md").read_text(encoding="utf-8")
RECORDED = read_files(CLUSTERS)
NOBODY, KNOWN = "kafka_08_cut_marker_nobody_known", "kafka_09_cut_marker_producer_known"


def read_by_a_consumer(story: str, moment: str) -> str:
    """The values of K, without their offsets."""
    reads = RECORDED[story]["moments"][moment]["consumer"]["reads"]
    return ", ".join(text.split("@")[0] for text in reads if text.startswith("K="))


def test_the_row_of_the_newest_release_is_what_was_recorded() -> None:
    found = [read_by_a_consumer(NOBODY, moment) for moment in ("elected", "cleaned")]
    control = {read_by_a_consumer(KNOWN, moment) for moment in ("elected", "cleaned")}

    assert f"| 4.3.1 | {found[0]}; then **{found[1]}** | {control.pop()} |" in CUT_MARKER
    assert not control


@pytest.mark.parametrize(("column", "name"), [(2, "nobody_known"), (3, "producer_known")])
def test_the_table_of_the_smallest_log_is_what_comes_of_it(column: int, name: str) -> None:
    document: dict[str, Any] = json.loads(
        Path(f"scenarios/transactions/log_cut_marker_{name}.json").read_text(encoding="utf-8")
    )
    steps = replog_answer(document)["steps"]
    aborted = steps[2]["aborted_txns"]
    (gone, why), *_ = steps[-1]["removed"].items()
    rows = [
        f"last stable offset {steps[1]['last_stable_offset']}",
        f"aborted: {aborted[0]['first_offset']} to {aborted[0]['last_offset']}"
        if aborted
        else "no aborted transaction",
        f"{gone} goes, {why}",
    ]

    table = CUT_MARKER.split("| step | nobody known |")[1].split("\n\n")[0].splitlines()[2:]
    assert [line.split("|")[column].strip() for line in table] == rows


BEGIN, END = "$ cat > logs.py\n", "$ python logs.py\n"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program in the report, run; gives the function that makes a log file."""
    program = tmp_path / "logs.py"
    program.write_text(INDEX_SEEK.split(BEGIN)[1].split(END)[0])
    monkeypatch.chdir(tmp_path)
    return runpy.run_path(str(program))["log"]


def left(document: dict[str, Any]) -> list[int]:
    offsets: list[int] = replog_answer(document)["steps"][-1]["surviving_offsets"]
    return offsets


def test_the_log_for_2_8_loses_the_delete_behind_abort_alone(logs: Any, tmp_path: Path) -> None:
    del logs
    for ending in ("abort", "commit"):
        offsets = left(json.loads((tmp_path / f"{ending}.json").read_text()))
        assert (
            f"`{ending}.json` ends with `{offsets}`" in INDEX_SEEK
            or f"with `{offsets}`" in INDEX_SEEK
        )
        assert (0 in offsets) == (ending == "abort")


def test_below_the_buffer_of_the_cleaner_2_8_loses_nothing(logs: Any) -> None:
    ends = [left(logs(ending, [2_200] * 2)) for ending in ("ABORT", "COMMIT")]

    assert ends[0] == ends[1]
    assert f"both end with `{ends[0]}`" in INDEX_SEEK


def test_the_table_of_bytes_is_that_of_the_broker() -> None:
    recording = Path("tests/data/kafka_broker/log_index_seek_abort.json")
    batches = json.loads(recording.read_text())["held"][0]["batches"]

    for batch in batches[:-1]:
        row = next(
            line
            for line in INDEX_SEEK.splitlines()
            if line.startswith(f"| {batch['base_offset']} |")
        )
        assert row.endswith(f"| {batch['size_bytes']:,} |")
    assert sum(batch["size_bytes"] for batch in batches if batch["base_offset"] < 6) == 4_780
