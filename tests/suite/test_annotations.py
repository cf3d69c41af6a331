"""Annotations of GitHub: each mistake in a file has one, and each file that ends otherwise."""

from collections.abc import Sequence

import pytest

from sim.study.suite import CaseResult, collect, run_suite
from sim.study.suite.reports import error_commands
from tests.suite.conftest import Fill
from tests.suite.red import LOG, STORY, TIMED


def places(lines: Sequence[str]) -> list[str]:
    return [line.partition("::error ")[2].partition("::")[0] for line in lines]


def test_an_annotation_is_one_line_at_the_place_of_what_is_wrong(
    results: list[CaseResult],
) -> None:
    lines = list(error_commands(results))

    assert places(lines) == [
        "file=s/log.json,line=2,title=log%3A not as expected",
        "file=s/story.yaml,line=1,title=shorter%3A not as expected",
        "file=s/timed.yaml,line=3,title=timed%3A not as expected",
        "file=s/z.yaml,line=2,title=z%3A bad input",
        "file=s/z.yaml,line=1,title=z%3A bad input",
    ]
    assert not any("\n" in line or "\\n" in line for line in lines)
    assert lines[0].endswith(
        "::steps[0].log_end_offset is 0, expected 7%0Areproduce: replog clean s/log.json"
    )


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("x.yaml", STORY.replace("elect r2 2", "elct r2 2"), [9]),
        ("x.yaml", STORY + "expect:\n  leader: r1\n  replicas: {r1: {leo: 9}}\n", [10]),
        ("x.json", LOG.replace("log_end_offset", "log_end"), [2]),
        ("x.yaml", TIMED, [3]),
        ("x.yaml", "format: replog-story/1\na: [\n", [3]),
        ("x.yaml", "format: replog-story/1\nreplcas: [r1]\nsteps:\n  - elct r1 1\n", [2, 1, 4]),
        ("x.yaml", "format: replog-scenario/1\nlimits:\n  max_events: 5\nduration_ms: 9\n", [1]),
    ],
)
def test_each_mistake_points_at_its_own_line_and_a_wrong_end_at_what_is_expected(
    fill: Fill, name: str, text: str, lines: list[int]
) -> None:
    (result,) = run_suite(collect([fill({name: text})]))

    assert not result.expectation_met
    assert [int(place.split(",")[1][5:]) for place in places([*error_commands([result])])] == lines
