"""Does what a page of the guide says, as a reader would, and compares what is printed.

In a fenced block `console` a line that begins with `$ ` is typed, and the lines below it are what
it prints; a line `...` stands for any lines, and `...` within a line for any characters. A block
with a `title` is a file that the reader writes. `$ pip install` and `$ make` are left to whoever
made the environment. Also a program of its own, so that it needs no test environment:

    python tests/guide/run_page.py PAGE --path FOLDER_OF_REPLOG
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LEFT_OUT = ("$ pip install", "$ make ")
_MILLISECONDS = re.compile(r"\b\d+ ms$", re.MULTILINE)


class Typed(NamedTuple):
    """A command of a page, what the page says it prints, and its exit status."""

    command: str
    printed: str
    status: int


class Written(NamedTuple):
    """A file that the page lets its reader write."""

    name: str
    text: str


def steps_of(page: str) -> Iterator[Typed | Written]:
    """What a reader of the page does, in order; `# exit status N` ends a command that fails."""
    for language, title, body in _BLOCK.findall(page):
        if title:
            yield Written(title, body)
        elif language == "console":
            for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
                command, _, printed = part.partition("\n")
                if command.startswith("$ ") and not command.startswith(_LEFT_OUT):
                    command, _, status = command.partition("  # exit status ")
                    yield Typed(command[2:], printed, int(status or 0))


def agrees(said: str, printed: str) -> bool:
    """Whether the output is what the page says, its times aside."""
    said, printed = (_MILLISECONDS.sub("N ms", text.strip()) for text in (said, printed))
    pattern = "".join(
        "(?:.*\n)?" if line == "..." else re.escape(line).replace(r"\.\.\.", "[^\n]*") + "\n"
        for line in said.split("\n")
    )
    return re.fullmatch(pattern, f"{printed}\n", re.DOTALL) is not None


def run_page(page: Path, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Do everything in `folder`; what was not as the page says, one text each."""
    problems = []
    for step in steps_of(page.read_text(encoding="utf-8")):
        if isinstance(step, Written):
            path = folder / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
            continue
        done = subprocess.run(  # noqa: S602 - a reader types it into a shell
            step.command,
            shell=True,
            cwd=folder,
            env=dict(environment),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != step.status or not agrees(step.printed, done.stdout):
            problems.append(
                f"$ {step.command}\nsaid (exit status {step.status}):\n{step.printed}\n"
                f"printed (exit status {done.returncode}):\n{done.stdout}\n{done.stderr}"
            )
    return problems


def main() -> int:
    """Run one page with the `replog` of a folder; print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--path", type=Path, required=True, help="Where that replog is.")
    given = parser.parse_args()
    environment = {**os.environ, "PATH": f"{given.path.resolve()}{os.pathsep}{os.environ['PATH']}"}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        problems = run_page(given.page.resolve(), Path(folder), environment)
    seconds = time.monotonic() - started
    sys.stdout.write("\n".join(problems) or f"{given.page}: as it says, {seconds:.0f} s")
    sys.stdout.write("\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
