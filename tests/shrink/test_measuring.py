"""The report on shrinking: what a story is compared with, and that what falls short shows."""

from tests.bench.shrinking import Row, judged, page


def row(name: str, bug: str, *, written: int, alone: int, steps: int, seconds: float = 1) -> Row:
    return Row(name, bug, "a-law", "why", written, alone, 530, True, steps, seconds, 100, True)


def test_the_shortest_story_known_may_be_that_of_another_file_with_the_same_bug() -> None:
    rows = [
        row("a", "one", written=9, alone=6, steps=6),
        row("b", "one", written=4, alone=4, steps=4),
        row("c", "two", written=5, alone=5, steps=6),
    ]

    assert [(each.shortest, each.ratio) for each in judged(rows)] == [(4, 1.5), (4, 1.0), (5, 1.2)]


def test_a_story_that_stays_too_long_or_takes_too_long_is_counted() -> None:
    rows = [
        row("a", "one", written=4, alone=4, steps=7),
        row("b", "two", written=4, alone=4, steps=4, seconds=11),
    ]

    text = page(judged(rows), seed=1, noise=520)

    assert "| at most 1.5 times the shortest | 1 of 2 |" in text
    assert "| shrunk within 10 s | 1 of 2 |" in text
    assert "| the same: largest | 1.75 |" in text
