"""The old release and the choices: what they complain of, and what the report says of them."""

from collections import Counter
from dataclasses import replace

from tests.conformance.beside import BesideResult
from tests.conformance.beside_page import beside_lines, beside_sections
from tests.conformance.features import features_expected
from tests.conformance.pool_runs import POOL_FEATURES, ComparedPools
from tests.conformance.random_runs import Compared

EXPECTED = features_expected("kafka-2.8")
HALVES = (Counter(dict.fromkeys(EXPECTED[::2], 2)), Counter(dict.fromkeys(EXPECTED[1::2], 3)))
POOLS = ComparedPools(280, 500, 958, Counter(dict.fromkeys(POOL_FEATURES, 4)))


def result() -> BesideResult:
    """Two seeds which show everything together."""
    old = tuple(
        Compared(seed, "kafka-2.8", logs=200, steps=700, passes=390, records=2_000, features=half)
        for seed, half in zip((280, 281), HALVES, strict=True)
    )
    return BesideResult("2.8.2", old, POOLS)


def test_what_one_seed_does_not_show_another_one_may() -> None:
    assert result().complaints == []
    assert result().old[0].never != []


def test_what_no_seed_shows_is_a_complaint() -> None:
    found = result()
    alone = replace(found, old=found.old[:1])

    assert alone.complaints == [f"random logs of 2.8.2: in none: {name}" for name in EXPECTED[1::2]]


def test_a_difference_names_the_seed_and_comes_alone() -> None:
    found = result()
    differs = replace(found.old[0], difference="steps[0]: no")
    alone = replace(found, old=(differs,))

    assert alone.complaints == ["random logs of 2.8.2, seed 280: steps[0]: no"]


def test_a_choice_that_differs_or_shows_too_little_is_a_complaint() -> None:
    found = result()
    differs = replace(found, pools=replace(POOLS, difference="selected: no"))
    few = replace(found, pools=replace(POOLS, features=Counter(list(POOL_FEATURES)[1:])))

    assert differs.complaints == ["choice of a log: selected: no"]
    assert few.complaints == ["choice of a log: in none: several logs"]


def test_the_report_has_a_row_for_each_seed_and_each_feature() -> None:
    text = list(beside_sections(result()))

    assert "| 281 | 200 | 700 | 390 | 2,000 | all agree |" in text
    assert f"| {EXPECTED[0]} | 2 |" in text
    assert "| several logs | 4 |" in text


def test_the_terminal_has_a_line_for_each() -> None:
    old, pools = beside_lines(result())

    assert old == (
        "Kafka 2.8.2: 400 different random logs with 780 cleaning passes compared"
        " (seeds 280, 281): all agree"
    )
    assert pools == "choice of a log: 500 sets of 958 logs (seed 280): all agree"
