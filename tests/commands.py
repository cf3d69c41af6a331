"""The command in this process, or Python in another one: what it prints and how it ends."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sim.cli import main

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = ROOT / "scenarios"
STORY = SCENARIOS / "kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml"
TIMED = SCENARIOS / "kip280/timed_lost_tail.yaml"
"""A leader that believes a follower's old position gives a committed offset twice: a story, and a
timed scenario."""


@dataclass(frozen=True)
class Ended:
    """Its exit status, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What it printed with --json."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line it complained in; it printed nothing else, and no traceback."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("replog: ")
        return line.removeprefix("replog: ")


class _Stream(io.TextIOWrapper):
    """A pipe, or a terminal, that takes UTF-8."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", newline="", write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def text(self) -> str:
        """What was written to it."""
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


def replog(*words: object, terminal: bool = False) -> Ended:
    """Run it with these arguments."""
    out, err = _Stream(terminal=terminal), _Stream(terminal=terminal)
    argv, status = ["replog", *map(str, words)], None
    with patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            status = ended.code
    assert isinstance(status, int)
    return Ended(status, out.text(), err.text())


def python(*words: object, cwd: Path = ROOT, **environment: str) -> Ended:
    """Runs Python as a process of its own, which finds Replog and its tests."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
