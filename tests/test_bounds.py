"""A run that takes too long, or too much memory, ends there, and says which bound it hit."""

import contextlib
import gc
import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim.bounds import Bounds, bounded, each_run_within, uninterrupted
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import load_story
from sim.study.suite import run_any
from tests.commands import replog

ENDLESS = """\
format: replog-scenario/1
duration_ms: 2000000000
limits: {max_events: 2000000000}
workload: [{at: 5, key: a, value: b}]
"""
LONG_STORY = "format: replog-story/1\nreplicas: [a]\nsteps:\n" + "- quiesce\n" * 20_000


@pytest.fixture(autouse=True)
def nobody_listens_to_the_collector() -> Iterator[None]:
    """Hypothesis does, once it was used in this process; a bound raised in there is lost."""
    before = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = before


def spin() -> None:
    while True:
        with contextlib.suppress(Exception):  # no handler may swallow a bound
            time.sleep(0.001)


def eat(megabytes: int) -> None:
    eaten = [bytearray(b"x") * 10**6 for _ in range(megabytes)]
    time.sleep(1)
    assert eaten


def test_a_bound_waits_for_the_end_of_what_is_written_also_while_a_library_has_threads() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)  # which may receive the signal of the timer
    thread.start()
    written = False
    try:
        with bounded(Bounds(0.05)) as watch:
            with uninterrupted():
                time.sleep(0.2)
                written = True
            spin()
    finally:
        over.set()
        thread.join()

    assert written
    assert watch.reached == "wall time: more than 0.05 s"


def test_a_block_ends_when_it_needs_too_much_memory() -> None:
    with bounded(Bounds(10, 20)) as watch:
        eat(80)

    assert watch.reached == "memory: more than 20 MB"


def test_a_block_that_ends_by_itself_has_reached_nothing_and_fails_as_it_fails() -> None:
    with bounded(Bounds(5)) as watch:
        pass
    with pytest.raises(ValueError, match="own"), bounded(Bounds(5)):
        raise ValueError("own")

    assert watch.reached is None
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 10  # that of this test alone


def test_what_a_block_within_takes_does_not_count_for_the_one_around_it() -> None:
    with bounded(Bounds(0.3)) as outer:
        with bounded(Bounds(0.4)) as inner:
            spin()
        time.sleep(0.05)

    assert inner.reached == "wall time: more than 0.4 s"
    assert outer.reached is None


def test_the_timer_of_somebody_else_goes_on_behind_a_block() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: rung.append(number))
    timer = signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with bounded(Bounds(0.1)) as watch:
            spin()
        time.sleep(0.02)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)

    assert (watch.reached, rung) == ("wall time: more than 0.1 s", [signal.SIGALRM])


def test_another_thread_has_no_bounds() -> None:
    reached: list[str | None] = []

    def work() -> None:
        with bounded(Bounds(0.01)) as watch:
            time.sleep(0.1)
        reached.append(watch.reached)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert reached == [None]


def test_a_story_that_takes_too_long_is_inconclusive_with_what_it_did(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(LONG_STORY)
    story = load_story(tmp_path / "long.yaml")

    with each_run_within(Bounds(0.05)):
        run = run_story(story)

    assert (run.verdict, run.reason) == ("inconclusive", "wall time: more than 0.05 s")
    assert run.events
    assert run.differences == ()


@pytest.mark.parametrize("kind", ["timed", "log"])
def test_a_file_of_a_suite_that_hits_a_bound_is_inconclusive_alone(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"x.{'json' if kind == 'log' else 'yaml'}"
    file.write_text('{"format": "replog-log/1"}' if kind == "log" else ENDLESS)
    if kind == "log":  # no log file within the limits is that slow
        monkeypatch.setattr("sim.study.suite.load_case", lambda _path: spin())

    with each_run_within(Bounds(0.1)):
        result = run_any(file)

    assert (result.verdict, result.exit_code) == ("inconclusive", 3)
    assert result.reason == "wall time: more than 0.1 s"


def test_a_run_that_is_cut_off_writes_the_trace_of_what_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The start of the command, which may take as long as this run, has no bound here.
    monkeypatch.setattr("sim.cli.arguments.bounded", contextlib.nullcontext)
    (tmp_path / "x.yaml").write_text(ENDLESS)
    trace = tmp_path / "x.jsonl"

    answer = replog("run", tmp_path / "x.yaml", "--max-seconds", "0.2", "--trace", trace, "--json")

    assert answer.status == 3
    assert answer.document["verdict"] == "inconclusive"
    assert answer.document["reason"] == "wall time: more than 0.2 s"
    *events, verdict = map(json.loads, trace.read_text().splitlines()[1:])
    assert events
    assert (verdict["verdict"], verdict["reason"]) == ("inconclusive", answer.document["reason"])
    assert replog("certify", trace).status == 0


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "x.yaml"],
        ["shrink", "x.yaml"],
        ["matrix", "x.yaml", "--vary", "fix"],
        ["clean", "x.json"],
    ],
)
def test_without_its_end_a_command_has_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "x.yaml").write_text(ENDLESS)
    (tmp_path / "x.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sim.simulate.logfile.file.log_file_in", lambda *_, **__: spin())

    answer = replog(*words, "--max-seconds", "0.1")

    assert answer.status == 3
    assert answer.complaint.startswith("inconclusive: ")
    assert "wall time: more than 0.1 s" in answer.complaint


def test_no_bound_is_a_bound_of_0(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(LONG_STORY.replace("- quiesce\n" * 19_000, ""))

    answer = replog("run", tmp_path / "x.yaml", "--max-seconds", "0", "--max-memory-mb", "0")

    assert answer.status == 0
