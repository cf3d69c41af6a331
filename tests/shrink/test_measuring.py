"""The report on shrinking: what a story is compared with."""

from tests.bench.shrinking import Row, judged


def row(name: str, bug: str, *, written: int, alone: int, steps: int) -> Row:
    return Row(name, bug, "a-law", "why", written, alone, 530, True, steps, 1, 100, True)


def test_the_shortest_story_known_may_be_that_of_another_file_with_the_same_bug() -> None:
    rows = [
        row("a", "one", written=9, alone=6, steps=6),
        row("b", "one", written=4, alone=4, steps=4),
        row("c", "two", written=5, alone=5, steps=6),
    ]

    assert [(each.shortest, each.ratio) for each in judged(rows)] == [(4, 1.5), (4, 1.0), (5, 1.2)]
