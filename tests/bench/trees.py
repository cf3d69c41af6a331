"""What is measured side by side: this tree and the compiled wheel."""

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
WORKER = Path(__file__).with_name("worker.py")
COMPILED = ROOT / ".venv-compiled"
"""What `make compiled` makes; its file `installed` says that it is whole."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A way to run Replog: an interpreter, and where it finds `sim`."""

    name: str
    python: Path
    path: Path | None
    """In front of everything else on Python's path; None = what the interpreter has installed."""

    @property
    def environment(self) -> dict[str, str]:
        """Of the processes of this tree; Python keeps its bytecode, whatever the caller's does."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }
        return inherited | ({} if self.path is None else {"PYTHONPATH": str(self.path)})

    def command(self, *arguments: str) -> list[str]:
        """Python of this tree; -P keeps the folder of a script off its path."""
        return [str(self.python), "-P", *arguments]


def trees() -> list[Tree]:
    """This tree, and the compiled one if it is made."""
    found = [Tree("pure", Path(sys.executable), ROOT)]
    if (COMPILED / "installed").exists():
        found.append(Tree("compiled", COMPILED / "bin/python", None))
    else:
        print("no .venv-compiled: `make compiled` makes it", file=sys.stderr)
    return found


class Worker:
    """A process of a tree that does what it is asked, and nothing meanwhile."""

    def __init__(self, tree: Tree) -> None:
        """Start it."""
        self.name = tree.name
        self._process = subprocess.Popen(
            tree.command(str(WORKER)),
            env=tree.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        """It runs already."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """End it."""
        self._process.communicate()

    def ask(self, *task: object) -> dict[str, Any]:
        """Have it do one thing; what it measured."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*task, file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer
