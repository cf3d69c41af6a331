"""The report on the index seek quotes the answers to the logs that its program writes."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.compare import replog_answer

REPORT = Path("reports/kafka_index_seek.md").read_text(encoding="utf-8")
BEGIN, END = "$ cat > logs.py\n", "$ python logs.py\n"


def left(document: dict[str, Any]) -> list[int]:
    offsets: list[int] = replog_answer(document)["steps"][-1]["surviving_offsets"]
    return offsets


def test_the_log_for_2_8_loses_the_delete_behind_abort_alone_and_above_the_buffer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "logs.py"
    program.write_text(REPORT.split(BEGIN)[1].split(END)[0])
    monkeypatch.chdir(tmp_path)
    log = runpy.run_path(str(program))["log"]

    aborted, committed = (
        left(json.loads(Path(f"{ending}.json").read_text())) for ending in ("abort", "commit")
    )
    assert (0 in aborted, 0 in committed) == (True, False)
    assert f"`abort.json` ends with `{aborted}`" in REPORT
    assert f"`commit.json` with `{committed}`" in REPORT
    small = [left(log(ending, [2_200] * 2)) for ending in ("ABORT", "COMMIT")]
    assert small[0] == small[1]
    assert f"both end with `{small[0]}`" in REPORT
