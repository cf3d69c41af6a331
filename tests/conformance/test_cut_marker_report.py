"""What `reports/kafka_cut_marker.md` says of brokers and of a log is what was recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.compare import replog_answer
from tests.conformance.recordings import CLUSTERS, read_files

REPORT = Path("reports/kafka_cut_marker.md").read_text(encoding="utf-8")
RECORDED = read_files(CLUSTERS)
NOBODY, KNOWN = "kafka_08_cut_marker_nobody_known", "kafka_09_cut_marker_producer_known"


def read_by_a_consumer(story: str, moment: str) -> str:
    """The values of K, without their offsets."""
    reads = RECORDED[story]["moments"][moment]["consumer"]["reads"]
    return ", ".join(text.split("@")[0] for text in reads if text.startswith("K="))


def test_the_row_of_the_newest_release_is_what_was_recorded() -> None:
    found = [read_by_a_consumer(NOBODY, moment) for moment in ("elected", "cleaned")]
    control = {read_by_a_consumer(KNOWN, moment) for moment in ("elected", "cleaned")}

    assert f"| 4.3.1 | {found[0]}; then **{found[1]}** | {control.pop()} |" in REPORT
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

    table = REPORT.split("| step | nobody known |")[1].split("\n\n")[0].splitlines()[2:]
    assert [line.split("|")[column].strip() for line in table] == rows
