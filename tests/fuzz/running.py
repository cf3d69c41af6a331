"""Tries cases, each in a process and a folder of its own, and says how it went."""

import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.case import Case
from tests.fuzz.oracle import Answer, faults

SECONDS = 30.0
"""A command that takes longer hangs."""
GRACE_SECONDS = 2.0
"""So long what a command started may outlive it."""
MEMORY = 4 * 2**30
"""Of addresses, in bytes."""
DATA = 2_500 * 2**20
"""Of memory of its own, in bytes; threads of Arrow and DuckDB reserve 2 GB and use little of it."""
MOST_FILE_BYTES = 256 * 2**20
WARM = (
    "pytest", "yaml", "sim.cli.runs", "sim.cli.suites", "sim.cli.logs", "sim.cli.diagnosing",
    "sim.cli.studies", "sim.cli.sweeps", "sim.cli.new",
    "sim.cli.listing", "sim.simulate.story", "sim.simulate.scenario.file",
    "sim.simulate.run.timed", "sim.simulate.logfile", "sim.check.certify", "sim.diagnose.draw",
    "sim.diagnose.explain", "sim.study.sweep", "sim.study.suite", "sim.diagnose.shrink",
    "pyarrow.parquet", "sim.study.report", "sim.study.gates", "scipy.stats",
    "matplotlib.figure",
)  # fmt: skip
"""What commands import, so that they find it."""

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload(list(WARM))


def judged(case: Case) -> tuple[Answer, list[str]]:
    """What the command answers, and what is wrong with that."""
    with TemporaryDirectory(prefix="replog-fuzz-", ignore_cleanup_errors=True) as folder:
        home, place = Path(folder), Path(folder, "here")
        place.mkdir()
        case.lay(place)
        answer = run_in(place, case.argv, home)
        return answer, faults(case, answer, place)


def run_in(place: Path, argv: Sequence[str], home: Path) -> Answer:
    """How the command ends in the folder `place`; what it prints goes to files in `home`."""
    before = picture(place)
    command = _PROCESSES.Process(target=_command, args=(argv, str(place), str(home)))
    began = time.monotonic()
    command.start()
    group = command.pid
    assert group is not None
    command.join(SECONDS)
    if in_time := not command.is_alive():
        wait_for_the_end_of(group)
    left = exists(group)
    if left:
        os.killpg(group, signal.SIGKILL)
    command.join()
    assert command.exitcode is not None
    return Answer(
        status=command.exitcode,
        out=(home / "out").read_bytes(),
        err=(home / "err").read_bytes(),
        seconds=time.monotonic() - began,
        in_time=in_time,
        left=left,
        before=before,
        after=picture(place),
    )


def exists(group: int) -> bool:
    """Whether a process of the group lives."""
    with suppress(ProcessLookupError):
        os.killpg(group, 0)
        return True
    return False


def wait_for_the_end_of(group: int) -> None:
    """Until nothing of it lives, or the patience is over."""
    until = time.monotonic() + GRACE_SECONDS
    while exists(group) and time.monotonic() < until:
        time.sleep(0.02)


def _command(argv: Sequence[str], place: str, home: str) -> None:
    """In the process of the command, whose status is that of `main`."""
    os.setsid()
    os.chdir(place)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{home}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), descriptor)
    os.environ.update(COLUMNS="80", JAVA_HOME="/nonexistent", GITHUB_ACTIONS="")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one worker for a sweep
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_DATA, (DATA, DATA))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
    sys.argv = ["replog", *argv]
    from sim.cli import main

    main()


def picture(folder: Path) -> dict[str, bytes]:
    """What is below a folder: each path, and its bytes or what it is instead."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        small = path.is_file() and not path.is_symlink() and path.stat().st_size < 2**24
        found[name] = path.read_bytes() if small else str(path.lstat().st_mode).encode()
    return found
