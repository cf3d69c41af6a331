"""Worker processes end with who started them, and leave Ctrl-C to them."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from sim.study.workers import interruptibly, pool_of, starting_workers
from tests.commands import ROOT

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"

PARENT = """
import time
from sim.study.workers import pool_of

if __name__ == "__main__":
    with pool_of(1) as pool:
        pool.submit(time.sleep, 0).result()
        pool.submit(time.sleep, 600)
        print("works for ever", flush=True)
        time.sleep(600)
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


def test_an_exception_ends_the_workers_of_its_block_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        _failing_while_a_worker_works()
    assert time.monotonic() - began < 60


def _failing_while_a_worker_works() -> None:
    with pool_of(1) as pool:
        pool.submit(time.sleep, 0).result()
        pool.submit(time.sleep, 60)
        raise ZeroDivisionError


def test_workers_end_with_a_parent_that_is_killed() -> None:
    """They hold its output, which ends with the last of them."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"works for ever\n"
        parent.kill()
        assert parent.stdout.read() == b""
