"""Phase diagrams: where a failure begins, and how the page says it."""

import re
from dataclasses import replace

import pytest

from sim.studies.phases import QUESTIONS, page
from sim.studies.phases.measuring import case_seed
from sim.studies.phases.question import Axis, Found, Point, Question

SEEDS = [case_seed(7, case) for case in range(4)]


def times(name: str, point: Point) -> int:
    question = QUESTIONS[name]
    assert point in question.points
    return sum(question.happened(question.scenario(seed, point)) for seed in SEEDS)


def test_a_deleted_key_returns_only_after_an_outage_longer_than_the_retention() -> None:
    assert times("deleted_key", (0.0, 0.25, 0.5)) == 0
    assert times("deleted_key", (0.0, 0.25, 5.0)) >= 1


@pytest.mark.parametrize("order", [0.0, 1.0])
def test_a_write_outlives_its_delete_once_it_is_later_than_the_retention(order: float) -> None:
    assert times("late_write", (order, 0.1, 0.5)) == 0
    assert times("late_write", (order, 0.1, 3.0)) == len(SEEDS)


def test_an_offset_is_given_twice_where_rolls_and_pause_leave_time_to_clean_the_tail() -> None:
    seeds = [case_seed(7, case) for case in range(12)]
    question = QUESTIONS["offset_reuse"]
    calm, harsh = (2.0, 0.5, 0.1), (2.0, 4.0, 3.0)

    assert not any(question.happened(question.scenario(seed, calm)) for seed in seeds[:4])
    assert any(question.happened(question.scenario(seed, harsh)) for seed in seeds)


def test_an_idle_partition_breaks_the_promise_of_kip_354_unless_a_timer_rolls() -> None:
    assert times("compaction_lag", (1.0, 0.0, 0.5)) == len(SEEDS)
    assert times("compaction_lag", (1.0, 1.0, 0.5)) == 0
    assert times("compaction_lag", (0.0, 0.0, 0.5)) == 0


def made_up(*happened: int) -> Found:
    question = Question(
        name="made_up",
        title="A title",
        rate_of="runs",
        setting="A setting.",
        panels=Axis("fix", (0.0, 1.0), ("none", "some")),
        rows=Axis("rows", (1.0,)),
        columns=Axis("columns", (0.5, 2.0)),
        scenario=QUESTIONS["deleted_key"].scenario,
        happened=lambda scenario: False,
    )
    return Found(question, 200, 3, happened)


def test_counts_stand_panel_by_panel_and_row_by_row() -> None:
    found = made_up(1, 2, 3, 4)

    assert (found.panel(0), found.panel(1)) == ([[1, 2]], [[3, 4]])


def test_the_answer_says_where_it_never_happened_and_where_most() -> None:
    assert page.answer(made_up(0, 20, 0, 50)) == (
        "In none of 400 runs with columns 0.5. "
        "Most, 25.0 % (19.2 to 31.6), at fix some, rows 1, columns 2."
    )
    assert page.answer(made_up(1, 20, 0, 50)).startswith("Most, 25.0 %")
    assert page.answer(made_up(0, 0, 0, 0)) == "In none of 800 runs."


def test_each_cell_of_the_figure_has_its_number() -> None:
    svg = page.as_figure(made_up(0, 1, 50, 200))

    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    for text in ("0", "&lt;1 %", "25 %", "all", "fix none", "fix some", "rows", "columns"):
        assert text in texts, text
    assert "prefers-color-scheme:dark" in svg
    assert 'xmlns="http://www.w3.org/2000/svg"' in svg


def test_the_page_names_command_setting_cases_and_seed() -> None:
    text = page.as_markdown([made_up(0, 20, 0, 50)], command="replog phases made_up")

    for part in (
        "`replog phases made_up`",
        "A setting. 200 cases in each cell, seed 3.",
        "| 1 | 0.0 % (0.0 to 1.8) | 10.0 % (6.2 to 15.0) |",
        "(phases_made_up.svg)",
    ):
        assert part in text, part


def test_the_document_has_every_count() -> None:
    found = made_up(0, 20, 0, 50)
    [diagram] = page.as_document([found, replace(found, seed=4)][:1])["diagrams"]

    assert diagram["happened"] == [[[0, 20]], [[0, 50]]]
    assert (diagram["cases"], diagram["seed"]) == (200, 3)
