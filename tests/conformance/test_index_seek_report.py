"""What `reports/kafka_index_seek.md` says of a log is what comes of it."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.compare import replog_answer

REPORT = Path("reports/kafka_index_seek.md").read_text()
BEGIN, END = "$ cat > logs.py\n", "$ python logs.py\n"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program in the report, run; gives the function that makes a log file."""
    program = tmp_path / "logs.py"
    program.write_text(REPORT.split(BEGIN)[1].split(END)[0])
    monkeypatch.chdir(tmp_path)
    return runpy.run_path(str(program))["log"]


def left(document: dict[str, Any]) -> list[int]:
    offsets: list[int] = replog_answer(document)["steps"][-1]["surviving_offsets"]
    return offsets


def test_the_log_for_2_8_loses_the_delete_behind_abort_alone(logs: Any, tmp_path: Path) -> None:
    del logs
    for ending in ("abort", "commit"):
        offsets = left(json.loads((tmp_path / f"{ending}.json").read_text()))
        assert f"`{ending}.json` ends with `{offsets}`" in REPORT or f"with `{offsets}`" in REPORT
        assert (0 in offsets) == (ending == "abort")


def test_below_the_buffer_of_the_cleaner_2_8_loses_nothing(logs: Any) -> None:
    ends = [left(logs(ending, [2_200] * 2)) for ending in ("ABORT", "COMMIT")]

    assert ends[0] == ends[1]
    assert f"both end with `{ends[0]}`" in REPORT


def test_the_table_of_bytes_is_that_of_the_broker() -> None:
    recording = Path("tests/data/kafka_broker/log_index_seek_abort.json")
    batches = json.loads(recording.read_text())["held"][0]["batches"]

    for batch in batches[:-1]:
        row = next(
            line for line in REPORT.splitlines() if line.startswith(f"| {batch['base_offset']} |")
        )
        assert row.endswith(f"| {batch['size_bytes']:,} |")
    assert sum(batch["size_bytes"] for batch in batches if batch["base_offset"] < 6) == 4_780
