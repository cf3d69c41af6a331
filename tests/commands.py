"""The command in this process, for tests that look at what it prints and at how it ends."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from sim.cli import main


@dataclass(frozen=True)
class Ended:
    """Its exit status, and what it printed."""

    status: int
    out: str
    err: str


def replog(*words: object) -> Ended:
    """Run it with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    argv, status = ["replog", *map(str, words)], None
    with patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            status = ended.code
    assert isinstance(status, int)
    return Ended(status, out.getvalue(), err.getvalue())
