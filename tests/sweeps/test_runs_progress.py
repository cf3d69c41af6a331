"""Progress: how much is done, how fast, and the time that is left."""

import pytest

from sim.study.sweep.runner import Silent, progress_of


class Listener(Silent):
    """Keeps what it is shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)


def test_what_is_done_its_rate_and_the_time_that_is_left_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 1.0, 20.0, 40.0])
    monkeypatch.setattr("sim.study.sweep.runner.time.monotonic", lambda: next(clock))
    listener = Listener()

    report = progress_of(listener, total=3_000, before=1_000)
    for done in (0, 1_000, 2_000):
        report(done)

    assert listener.shown == [
        "1,000 of 3,000 runs, 0 runs/s",
        "2,000 of 3,000 runs, 50 runs/s, 20 s left",
        "3,000 of 3,000 runs, 50 runs/s",
    ]
