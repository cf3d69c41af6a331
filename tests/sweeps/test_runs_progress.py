"""Progress: a bar on a terminal, plain lines elsewhere, nothing when nobody looks."""

import io

import pytest
from rich.console import Console

from sim.sweeps.runs_progress import show_progress


def console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=100), file


def test_a_terminal_gets_a_bar_with_the_rate() -> None:
    screen, file = console(terminal=True)

    with show_progress(screen, total=3_000, before=1_000) as report:
        report(1_500)

    assert "2,500 of 3,000 runs" in file.getvalue()
    assert "runs/s" in file.getvalue()


def test_a_log_file_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 20.0, 21.0, 40.0, 41.0])
    monkeypatch.setattr("sim.sweeps.runs_progress.time.monotonic", lambda: next(clock))
    log, file = console(terminal=False)

    with show_progress(log, total=3_000, before=1_000) as report:
        for done in (10, 1_000, 1_050, 2_000, 2_000):
            report(done)

    assert file.getvalue().splitlines() == [
        "2,000 of 3,000 runs, 50 runs/s, 20 s left",
        "3,000 of 3,000 runs, 50 runs/s",
    ]
