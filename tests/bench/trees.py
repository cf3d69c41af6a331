"""What is measured side by side: this tree, and another checkout where one is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.commands import ROOT


class Tree(NamedTuple):
    """A checkout of Replog that is measured.

    Attributes:
        name: Its name in the figures.
        path: Its folder, which comes first on Python's path.
    """

    name: str
    path: Path

    def python(self, *words: object, said: str = "") -> str:
        """What a process of Python prints in it, to which `said` is typed.

        It has none of the caller's variables of Python; -P keeps a script's folder off its path.
        """
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }
        done = subprocess.run(
            [sys.executable, "-P", *map(str, words)],
            cwd=self.path,
            env=inherited | {"PYTHONPATH": str(self.path)},
            input=said,
            capture_output=True,
            text=True,
            check=False,
        )
        # 1: what a story or a run expects is not met; or Python itself ended with a traceback.
        if done.returncode not in {0, 1} or "Traceback" in done.stderr:
            raise AssertionError(f"{words} ({self.name}): {done.stderr}")
        return done.stdout


def trees(beside: Path | None) -> list[Tree]:
    """Returns this tree and, where it is named, another checkout."""
    here = Tree("here", ROOT)
    return [here] if beside is None else [here, Tree("beside", beside.resolve())]
