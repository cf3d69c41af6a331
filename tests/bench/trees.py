"""What is measured side by side: this tree, and another checkout where one is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
WORKER = Path("tests", "bench", "worker.py")
"""The worker within a checkout; each runs its own, which knows where its modules are."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A checkout of Replog that is measured.

    Attributes:
        name: Its name in the figures.
        path: Its folder, which comes first on Python's path.
    """

    name: str
    path: Path

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the processes of the tree, without the caller's variables of Python."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }
        return inherited | {"PYTHONPATH": str(self.path)}

    def command(self, *arguments: str) -> list[str]:
        """The command line of Python; -P keeps the folder of a script off its path."""
        return [sys.executable, "-P", *arguments]


def trees(beside: Path | None) -> list[Tree]:
    """Returns this tree and, where it is named, another checkout."""
    here = Tree("here", ROOT)
    return [here] if beside is None else [here, Tree("beside", beside.resolve())]


class Worker:
    """A process of a tree that measures on demand, one task after the other."""

    def __init__(self, tree: Tree) -> None:
        """Starts the process."""
        self.name = tree.name
        self._process = subprocess.Popen(
            tree.command(str(tree.path / WORKER)),
            env=tree.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        """Returns the process, which runs already."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self._process.communicate()

    def ask(self, *task: object) -> dict[str, Any]:
        """Returns what the process measured in one task, see `worker.py`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*task, file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer
