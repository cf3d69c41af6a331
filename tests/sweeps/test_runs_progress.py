"""Progress: how much is done, how fast, and the time that is left."""

import pytest

from sim.study.sweep.runner import progress


@pytest.mark.parametrize(
    ("done", "seconds", "text"),
    [
        (0, 1.0, "1,000 of 3,000 runs, 0 runs/s"),
        (1_000, 20.0, "2,000 of 3,000 runs, 50 runs/s, 20 s left"),
        (2_000, 40.0, "3,000 of 3,000 runs, 50 runs/s"),
    ],
)
def test_what_is_done_its_rate_and_the_time_that_is_left_are_shown(
    done: int, seconds: float, text: str
) -> None:
    assert progress(done, before=1_000, total=3_000, seconds=seconds) == text
