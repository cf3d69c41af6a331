"""Replog as somebody starts it, with all the processes that it starts in turn."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = "REPLOG_CHAOS"
"""A variable that every process of a command inherits, so that all of them can be found."""
NOT_FOR_COMMANDS = {"PYTHONDONTWRITEBYTECODE"}
"""Each would compile all of Replog again, which takes longer than a small sweep."""
STRAY_SECONDS = 20.0
"""How long after its command a process may live: a Java machine takes a while to notice."""


class Running:
    """A command under way, in a session of its own.

    Attributes:
        words: Its arguments.
        process: The one that was started.
    """

    def __init__(
        self, words: list[str], log: Path, environment: Mapping[str, str] = os.environ
    ) -> None:
        self.words = words
        self._environment = {k: v for k, v in environment.items() if k not in NOT_FOR_COMMANDS}
        self._mark = uuid.uuid4().hex
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.command", *words],
                cwd=ROOT,
                env={**self._environment, MARK: self._mark, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def again(self, log: Path) -> "Running":
        """The same once more, to continue what is there."""
        return Running([*self.words, "--resume"], log, self._environment)

    @property
    def over(self) -> bool:
        """Whether the process that was started has ended."""
        return self.process.poll() is not None

    @property
    def out(self) -> str:
        """What it wrote to stdout so far."""
        return self._out.read_text(errors="backslashreplace")

    @property
    def err(self) -> str:
        """What it wrote to stderr so far."""
        return self._err.read_text(errors="backslashreplace")

    def others(self, *words: str) -> list[int]:
        """The processes that it started, and these in turn, whose command has one of `words`."""
        mark = f"{MARK}={self._mark}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdecimal() or int(folder.name) == self.process.pid:
                continue
            with suppress(OSError):  # it ended meanwhile
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    command = (folder / "cmdline").read_bytes().decode(errors="replace")
                    if command and (not words or any(word in command for word in words)):
                        found.append(int(folder.name))
        return sorted(found)

    def wait(self, seconds: float) -> int | None:
        """Its exit status, negative for a signal; None = it did not end in time, and was killed."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill_all()
            self.process.wait()
            return None

    def kill_all(self) -> None:
        """Kill every process of the command at once."""
        for pid in (self.process.pid, *self.others()):
            send(pid, signal.SIGKILL)

    def strays(self) -> list[int]:
        """Processes that outlive the command; they are killed."""
        until = time.monotonic() + STRAY_SECONDS
        while (left := self.others()) and time.monotonic() < until:
            time.sleep(0.2)
        for pid in left:
            send(pid, signal.SIGKILL)
        return left


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
