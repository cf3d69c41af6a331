"""`replog trace replay`, on a small trace made here."""

from pathlib import Path

import pytest

from sim.compaction import STRATEGIES
from tests.cli.conftest import Replog

CHANGES = """key,value,timestamp_ms,append_time_ms
a,1,5000,10000
b,1,5000,10000
a,2,1000,20000
b,,6000,30000
c,1,6000,30000
"""
"""Five changes of three paths, one of them deleted, one written before the first one."""


@pytest.fixture
def trace(here: Path) -> str:
    (here / "changes.csv").write_text(CHANGES)
    return "changes.csv"


def test_a_trace_replayed_says_what_each_strategy_keeps(replog: Replog, trace: str) -> None:
    answer = replog("trace", "replay", trace)

    lines = [line.split() for line in answer.out.splitlines()]
    assert answer.status == 0
    assert [line[0] for line in lines] == ["strategy", *STRATEGIES]
    assert [line.split(":")[0] for line in answer.err.splitlines()] == list(STRATEGIES)


def test_a_path_whose_later_change_was_written_earlier_has_another_winner(
    replog: Replog, trace: str
) -> None:
    rows = replog("trace", "replay", trace, "--json").document

    differing = {row["strategy"]: row["winners_differing"] for row in rows}
    assert (differing["offset"], differing["timestamp"], differing["header"]) == (0, 1, 0)
    assert {row["records_in"] for row in rows} == {5}
    assert {row["keys"] for row in rows} == {3}
    assert {row["verdict"] for row in rows} == {"holds"}


def test_one_strategy_and_other_rules_may_be_chosen(replog: Replog, trace: str) -> None:
    rules = ("--rule", "strategy=timestamp", "--rule", "preset=kafka-3.8")

    rows = replog("trace", "replay", trace, *rules, "--limit", 3, "--json").document

    assert [(row["strategy"], row["records_in"]) for row in rows] == [("timestamp", 3)]


def test_a_scenario_may_have_the_trace_as_its_workload(replog: Replog, trace: str) -> None:
    Path("x.yaml").write_text(
        "format: replog-scenario/1\nduration_ms: 500\nworkload: {trace: changes.csv}\n"
    )

    document = replog("run", "x.yaml", "--json").document

    assert (document["verdict"], document["counters"]["records"]) == ("holds", 5)
