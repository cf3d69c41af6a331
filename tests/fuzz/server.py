"""Runs the command line in a forked copy of a warm process: some milliseconds each, and isolated.

`python -m tests.fuzz.server` reads one request per line from standard input, JSON, and answers each
with one line. It imports what Replog imports once; each command then has a process of its own, with
bounds on its memory, the size of a file and its time, its own session and standard streams in
files. What still lives when the command has ended is named, and ended.
"""

import atexit
import gc
import importlib
import io
import json
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WARM = (
    "sim.cli.about", "sim.cli.causes", "sim.cli.certify", "sim.cli.completion",
    "sim.cli.drawing", "sim.cli.failures", "sim.cli.gates", "sim.cli.logs",
    "sim.cli.matrices", "sim.cli.metadata", "sim.cli.new", "sim.cli.phases",
    "sim.cli.scenarios", "sim.cli.shrink", "sim.cli.suites", "sim.cli.sweeps",
    "sim.cli.traces", "sim.cli.what_if", "sim.story", "sim.scenario.file", "sim.timed_run",
    "sim.logfile", "sim.certify", "sim.draw", "sim.explain", "sim.sweeps", "sim.suite",
    "sim.shrink", "sim.changelog", "sim.report", "sim.gates", "yaml", "pyarrow",
    "pyarrow.parquet", "pyarrow.csv", "rich.console", "rich.table", "concurrent.futures",
    "multiprocessing",
)  # fmt: skip
"""Modules that are there before the first command; one that is missing is no error."""

HEAVY = ("sim.report", "sim.gates", "sim.causes", "sim.cli.causes", "sim.cli.gates")
LIGHT = tuple(name for name in WARM if name not in HEAVY)
"""The same without what takes seconds, for a search that is over soon."""
FULLY = "--fully"

INTERRUPTED_SECONDS = 20.0
"""So long a command may take to end when it is told to, as by Ctrl-C."""
MOST_FILE_BYTES = 256 * 2**20


def warm_up(names: Sequence[str]) -> None:
    """Import what commands import, so that they find it."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    sys.dont_write_bytecode = True  # from now on: a plugin's would be litter beside it
    gc.collect()
    gc.freeze()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command and say how it ended."""
    began = time.monotonic()
    child = os.fork()
    if not child:
        _become_the_command(request)
    ended = _wait(child, began + request["seconds"])
    took = time.monotonic() - began
    in_time = ended is not None
    if ended is None and request["long"]:
        os.kill(child, signal.SIGINT)
        ended = _wait(child, time.monotonic() + INTERRUPTED_SECONDS)
        in_time = ended is not None
    if ended is None:
        os.killpg(child, signal.SIGKILL)
        ended = os.wait4(child, 0)
    _, status, usage = ended
    left = _end_what_is_left(child)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "in_time": in_time,
        "seconds": round(took, 3),
        "peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "left": left,
    }


def _wait(child: int, until: float) -> tuple[int, int, Any] | None:
    """How the child ended, or None when it has not by then; no polling where the system can."""
    try:
        handle = os.pidfd_open(child)
    except (AttributeError, OSError):
        while time.monotonic() < until:
            ended = os.wait4(child, os.WNOHANG)
            if ended[0]:
                return ended
            time.sleep(0.005)
        return None
    try:
        ready, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
    finally:
        os.close(handle)
    return os.wait4(child, 0) if ready else None


def _end_what_is_left(session: int) -> list[str]:
    """The commands of processes that the ended one left behind, each ended; a moment is granted."""
    for _ in range(20):
        left = _of_session(session)
        if not left:
            return []
        time.sleep(0.05)
    names = []
    for process in left:
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            names.append(b" ".join(words).decode(errors="replace").strip()[:200])
            os.kill(process, signal.SIGKILL)
        except OSError:
            continue
    return names


def _of_session(session: int) -> list[int]:
    """Living processes of a session, as Linux lists them; elsewhere nobody is found."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in (b"Z", b"X"):
            found.append(int(entry.name))
    return found


def _become_the_command(request: dict[str, Any]) -> None:
    """In the child: never returns."""
    status = 1
    try:
        os.setsid()
        os.chdir(request["folder"])
        _surround(request)
        try:
            from sim.cli import main

            main()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        status = _flushed(status)
    except BaseException:  # noqa: BLE001 - shown as the interpreter would
        os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
    finally:
        os._exit(status)


def _flushed(status: int) -> int:
    """As the interpreter ends: 120 when what was printed cannot be written."""
    try:
        sys.stdout.flush()
    except (AttributeError, ValueError):  # closed
        return status
    except OSError:
        return 120
    return status


def _surround(request: dict[str, Any]) -> None:
    """Standard streams, environment, arguments, bounds."""
    _redirect(0, request["stdin"], os.O_RDONLY)
    _redirect(2, request["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    out = "/dev/full" if request["stdout"] == "full" else request["out"]
    _redirect(1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for name, value in request["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    encoding = os.environ.get("PYTHONIOENCODING") or "utf-8"
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding=encoding)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding=encoding
    )
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=True,
    )
    if request["stdout"] == "closed":  # what the interpreter makes of a closed descriptor
        os.close(1)
        sys.stdout = None
    sys.argv = ["replog", *request["argv"]]
    if hasattr(os, "sched_setaffinity"):  # a sweep then has one worker, not one for each core
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
    memory = request["memory"]
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _redirect(descriptor: int, path: str, flags: int) -> None:
    opened = os.open(path, flags, 0o644)
    os.dup2(opened, descriptor)
    os.close(opened)


def main() -> None:
    """Serve until standard input ends."""
    warm_up(WARM if FULLY in sys.argv else LIGHT)
    # Commands must not see, or hold open, the two pipes of this conversation.
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _redirect(0, os.devnull, os.O_RDONLY)
    _redirect(1, os.devnull, os.O_WRONLY)
    answers.write('"ready"\n')
    answers.flush()
    for line in requests:
        said = answer(json.loads(line))
        answers.write(json.dumps(said) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
