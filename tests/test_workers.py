"""Worker processes end with who started them, and leave Ctrl-C to them."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sim.study.workers import Lifeline, interruptibly, starting_workers

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"

WORKER = """
import sys, time
from multiprocessing.connection import Connection
from sim.study.workers import follow_the_parent

follow_the_parent(Connection(int(sys.argv[1]), writable=False))
print("works for ever", flush=True)
time.sleep(60)
"""


def is_deaf_to_ctrl_c() -> bool:
    return subprocess.check_output([sys.executable, "-ISc", BLOCKED], text=True) == "True\n"


def test_a_worker_does_not_hear_ctrl_c_from_its_first_moment_on() -> None:
    with starting_workers():
        assert is_deaf_to_ctrl_c()
    assert not is_deaf_to_ctrl_c()


def test_an_interrupt_waits_until_the_workers_are_started() -> None:
    started: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _interrupted_while_starting(started)
    assert started == ["the first", "the second"]


def _interrupted_while_starting(started: list[str]) -> None:
    with starting_workers():
        started.append("the first")
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        started.append("the second")


def test_ctrl_c_ends_the_waiting_and_not_the_call() -> None:
    waiting, ended = threading.Event(), threading.Event()

    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        waiting.wait(20)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        interruptibly(call)
    assert not ended.is_set()
    waiting.set()
    assert ended.wait(20)


def test_workers_end_at_once_when_their_lifeline_is_cut() -> None:
    lifeline = Lifeline()
    end = lifeline.end.fileno()
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(end)],
        pass_fds=[end],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"works for ever\n"
        lifeline.cut()
        assert worker.wait(timeout=20) == 1
