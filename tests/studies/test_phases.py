"""Phase diagrams: where a failure begins, and how the page says it."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from sim.studies.phases import QUESTIONS, page
from sim.studies.phases.figure import phase_figure
from sim.studies.phases.question import Axis, Found, Point, case_seed

SEEDS = [case_seed(7, case) for case in range(12)]
ALL, SOME = 4, range(1, 12)


@pytest.mark.parametrize(
    ("name", "point", "expected"),
    [
        ("deleted_key", (0.0, 0.25, 0.5), 0),  # an outage shorter than the retention
        ("deleted_key", (0.0, 0.25, 5.0), SOME),
        ("late_write", (0.0, 0.1, 0.5), 0),  # a write that is less late than the retention
        ("late_write", (0.0, 0.1, 3.0), ALL),
        ("late_write", (1.0, 0.1, 0.5), 0),
        ("late_write", (1.0, 0.1, 3.0), ALL),
        ("offset_reuse", (2.0, 0.5, 0.1), 0),  # no time to clean the tail
        ("offset_reuse", (2.0, 4.0, 3.0), SOME),
        ("compaction_lag", (1.0, 0.0, 0.5), ALL),  # idle, and only an append rolls
        ("compaction_lag", (1.0, 1.0, 0.5), 0),
        ("compaction_lag", (0.0, 0.0, 0.5), 0),
    ],
)
def test_where_it_happens_and_where_not(name: str, point: Point, expected: int | range) -> None:
    question = QUESTIONS[name]
    assert point in question.points
    seeds = SEEDS if isinstance(expected, range) else SEEDS[:ALL]
    happened = [question.happened(seed, point) for seed in seeds]
    assert any(happened) if isinstance(expected, range) else sum(happened) == expected


def made_up(*happened: int) -> Found:
    axes = {
        "panels": Axis("fix", (0.0, 1.0), ("none", "some")),
        "rows": Axis("rows", (1.0,)),
        "columns": Axis("columns", (0.5, 2.0)),
    }
    question = replace(QUESTIONS["deleted_key"], name="made_up", setting="A setting.", **axes)
    return Found(question, 200, 3, happened)


@pytest.mark.parametrize(
    ("happened", "answer"),
    [
        (
            (0, 20, 0, 50),
            (
                "In none of 400 runs with columns 0.5. "
                "Most, 25.0 % (19.2 to 31.6), at fix some, rows 1, columns 2."
            ),
        ),
        ((1, 20, 50, 0), "Most, 25.0 % (19.2 to 31.6), at fix some, rows 1, columns 0.5."),
        ((0, 0, 0, 0), "In none of 800 runs."),
    ],
)
def test_the_answer_says_where_it_never_happened_and_where_most(
    happened: tuple[int, ...], answer: str
) -> None:
    assert page.answer(made_up(*happened)) == answer


def test_each_cell_of_the_figure_has_its_number() -> None:
    svg = phase_figure(made_up(0, 1, 50, 200))

    texts = {one.text for one in ET.fromstring(svg).iter() if one.tag.endswith("text")}  # noqa: S314
    assert {"0", "<1 %", "25 %", "all", "fix none", "fix some", "rows", "columns"} <= texts
    assert "prefers-color-scheme:dark" in svg


def test_page_and_document_have_every_count_and_what_they_are_of() -> None:
    found = made_up(0, 20, 3, 50)
    text = page.as_markdown([found], command="replog phases made_up")
    [diagram] = page.as_document([found])["diagrams"]

    for part in (
        "`replog phases made_up`",
        "A setting. 200 cases in each cell, seed 3.",
        (
            "**fix none**\n\n| rows ↓, columns → | 0.5 | 2 |\n|---|--:|--:|\n"
            "| 1 | 0.0 % (0.0 to 1.8) | 10.0 % (6.2 to 15.0) |\n\n**fix some**"
        ),
        "(phases_made_up.svg)",
    ):
        assert part in text, part
    assert diagram["happened"] == [[[0, 20]], [[3, 50]]]
    assert (diagram["cases"], diagram["seed"]) == (200, 3)
