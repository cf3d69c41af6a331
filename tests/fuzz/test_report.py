"""The figures of a search are those of its rounds."""

from collections import Counter

from tests.fuzz.hunting import Round, _timeless
from tests.fuzz.report import section, table

ROUNDS = (
    Round("story", Counter(refused=7, accepted=2, failed=1), 1, 0.5, 2**27),
    Round("plan", Counter(refused=1_000, inconclusive=1), 2, 12.0, 2**28),
)


def test_every_input_is_counted_under_how_it_ended() -> None:
    text = section(ROUNDS, minutes=10.2, seed=7)

    assert "`make fuzz`, seed 7, 10 minutes: 1,011 inputs tried, 0 findings." in text
    assert "| story | 10 | 2 | 1 | 7 | 0 | 0.5 | 128 | 0 |" in text
    assert "| plan | 1,001 | 0 | 0 | 1,000 | 1 | 12.0 | 256 | 0 |" in text
    assert [line.split()[:2] for line in table(ROUNDS)][1:] == [["story", "10"], ["plan", "1,001"]]


def test_only_durations_may_differ_when_the_same_is_asked_twice() -> None:
    row = "offset       0     7    holds      {seconds}\n"

    same = _timeless(row.format(seconds="0.1").encode())
    assert same == _timeless(row.format(seconds="12.0").encode())
    assert same != _timeless(row.replace("7", "8").format(seconds="0.1").encode())
    assert _timeless(b"r1: took 1.2 s") == _timeless(b"r1: took 3.4 s")
    assert _timeless(b"r1: took 1.2 s") != _timeless(b"r2: took 1.2 s")
