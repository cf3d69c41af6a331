"""Tries cases one after the other, each in a folder of its own, and judges the answers."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tests.fuzz.case import Case
from tests.fuzz.oracle import Answer, faults
from tests.fuzz.server import FULLY

ROOT = Path(__file__).parent.parent.parent
SECONDS = 20.0
LONG = {"sweep", "matrix"}
"""Make many runs, each with a bound of its own. When their time is up they are interrupted; what is
judged is how they take that."""
PREPARING_SECONDS = 120.0
MEMORY = 4 * 2**30
"""Of addresses; the peak of what is really used is judged apart."""

CALM = {
    # One thread each: a fork has none of its parent's, and two cores are soon busy.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # No Java: starting Spark takes seconds, and its absence is bad input as well as any.
    "JAVA_HOME": "/nonexistent",
    "GITHUB_ACTIONS": "",
    "COLUMNS": "80",
    "PYTHONHASHSEED": "0",
    "MPLCONFIGDIR": tempfile.gettempdir(),
}


class Runner:
    """Tries cases in a warm process; a context manager.

    Attributes:
        seconds: When a command that goes on is taken for a hang.
        fully: Whether all is imported beforehand, what only reports need included.
    """

    def __init__(self, seconds: float = SECONDS, *, fully: bool = True) -> None:
        self.seconds = seconds
        self.fully = fully
        self._prepared: dict[str, Path] = {}

    def __enter__(self) -> Self:
        self._home = Path(tempfile.mkdtemp(prefix="replog-fuzz-"))
        environment = {**os.environ, **CALM, "PYTHONPATH": str(ROOT)}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.server", *([FULLY] if self.fully else [])],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == '"ready"\n'
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        try:
            self._server.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def prepare(self, name: str, case: Case) -> Path:
        """The folder `name` that this case makes, once: other cases may start from it."""
        if name not in self._prepared:
            with self._place() as place:
                answer = self._answer(case, place, PREPARING_SECONDS)
                assert answer.status == 0, answer.err.decode()
                kept = self._home / f"prepared-{name}"
                (place / name).rename(kept)
            self._prepared[name] = kept
        return self._prepared[name]

    def answer(self, case: Case) -> tuple[Answer, list[str]]:
        """What the command answers, and what is wrong with that."""
        with self._place() as place:
            answer = self._answer(case, place)
            return answer, faults(case, answer, place)

    def again(self, case: Case) -> tuple[int, bytes, bytes]:
        """Status, stdout and stderr of the same in a process of its own, with another hash seed."""
        with self._place() as place:
            self._lay(case, place)
            environment = {**os.environ, **CALM, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
            for variable, value in case.environment.items():
                environment.pop(variable, None)
                if value is not None:
                    environment[variable] = value
            try:
                done = subprocess.run(
                    [sys.executable, "-m", "sim", *map(os.fsencode, case.argv)],
                    cwd=place,
                    env=environment,
                    input=case.stdin,
                    capture_output=True,
                    timeout=4 * self.seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return -9, b"", b""
            return done.returncode, done.stdout, done.stderr

    @contextmanager
    def _place(self) -> Iterator[Path]:
        """A new folder of always the same name, so that answers that name it are the same."""
        place = self._home / "here"
        place.mkdir()
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _lay(self, case: Case, place: Path) -> None:
        if case.start is not None:
            shutil.copytree(self._prepared[case.start], place / case.start)
        case.lay(place)

    def _answer(self, case: Case, place: Path, seconds: float | None = None) -> Answer:
        self._lay(case, place)
        before = picture(place)
        names = {name: str(self._home / name) for name in ("stdin", "out", "err")}
        Path(names["stdin"]).write_bytes(case.stdin)
        Path(names["out"]).write_bytes(b"")
        said = self._ask(
            {
                **names,
                "folder": str(place),
                "argv": case.argv,
                "environment": dict(case.environment),
                "stdout": case.stdout,
                "seconds": seconds or self.seconds,
                "long": case.command in LONG,
                "memory": MEMORY,
            }
        )
        return Answer(
            out=Path(names["out"]).read_bytes(),
            err=Path(names["err"]).read_bytes(),
            before=before,
            after=picture(place),
            left=tuple(said.pop("left")),
            **said,
        )

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        said: dict[str, Any] = json.loads(self._server.stdout.readline())
        return said


def picture(folder: Path) -> dict[str, str]:
    """What is below a folder: each path, and a digest of its bytes or what it is instead."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) and path.stat().st_size > 2**24:
            found[name] = f"{path.stat().st_size} bytes"
        elif stat.S_ISREG(mode):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(mode):
            found[name] = f"link to {path.readlink()}"
        else:
            found[name] = "folder" if stat.S_ISDIR(mode) else "no file"
    return found
