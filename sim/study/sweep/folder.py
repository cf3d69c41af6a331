"""The folder of a sweep: its files, their lock, and its plan.

`plan.json` describes the table; `runs` is the table, a Parquet file for each block.
`sim.study.sweep.table` finds out which cases are done.

A folder is held by a lock of the kernel's (`flock`), on a file that says who holds it. A process
that is killed leaves the file and not the lock.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.document import Document, shown
from sim.files.foreign import json_text, readable
from sim.files.models import validate
from sim.files.reading import read_bytes
from sim.plugins import in_use, require_plugins
from sim.study.sweep.plan import Plan, Sweep, number_runs
from sim.version import Made, made_by

LOCK_FILE = ".lock"


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Locks a folder for one writer, and makes it if need be.

    The lock ends with the process that holds it, however that ends. Raises BadInput when another
    process holds it, naming that process, and when the file system has no locks.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / LOCK_FILE
    with path.open("a+", errors="backslashreplace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise BadInput(
                f"{out}: another sweep is writing here ({file.readline(500) or 'it just began'}); "
                "wait for its end, or name another folder"
            ) from None
        except OSError as error:
            raise BadInput(
                f"{out}: this file system has no locks ({error.strerror}); "
                "sweep into another folder"
            ) from None
        if not os.fstat(file.fileno()).st_nlink:  # its last holder has just removed it
            raise BadInput(f"{out}: another sweep has just ended here; try again")
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        command = shlex.join(sys.argv) if sys.argv[0] else "Python"
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {since}: {command}")
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):  # of a folder where nothing was written, nothing stays
                path.unlink()
                out.rmdir()


FOLDER_FORMAT = "replog-sweep-output/5"


class PlanFile(Struct):
    """The parts of `plan.json` that are read again."""

    package_version: str
    count: int
    seed: int
    plan: dict[str, Any]
    revision: str | None = None
    plan_file: str | None = None
    plugins: list[str] = []
    rule_sets: list[Any] = []


PLAN_FILE: Final = "plan.json"
RUNS: Final = "runs"
SET_ASIDE: Final = "set-aside"
"""Name of the folder of damaged and foreign files; nothing reads it."""
_OURS = {PLAN_FILE, RUNS, LOCK_FILE, SET_ASIDE}
DOCUMENT_BYTES_MAX = 1 << 30


def describe(sweep: Sweep, *, plan_file: str | None = None) -> dict[str, Any]:
    """Makes the content of `plan.json`, from which every run can be made again.

    `plan_file` is the plan's path as the user gave it, for the command in the report.
    """
    made = made_by()
    return {
        "format": FOLDER_FORMAT,
        "package_version": made.version,
        "revision": made.revision,
        "plan_file": None if plan_file is None else readable(plan_file),
        "plugins": list(in_use().modules),
        "count": sweep.count,
        "seed": sweep.seed,
        "runs": sweep.runs,
        "environments": [
            {
                "name": environment.name,
                "cases": sweep.cases_in(number),
                "generate": environment.mix.model_dump(mode="json"),
            }
            for number, environment in enumerate(sweep.environments)
        ],
        "rule_sets": [
            {
                "index": rule_set.index,
                "label": rule_set.label,
                "swept": rule_set.values,
                "rules": rule_set.rules.as_dict(),
            }
            for rule_set in sweep.rule_sets
        ],
        "plan": sweep.plan.model_dump(mode="json"),
    }


def plan_file_in(out: Path) -> PlanFile:
    """Reads `plan.json`. Raises BadInput when it is missing or no plan of this format."""
    path = out / PLAN_FILE
    if not path.exists():
        raise BadInput(f"{out}: no {PLAN_FILE} there; give the folder of a sweep (--out)")
    try:
        content = read_bytes(path, limit=DOCUMENT_BYTES_MAX)
        document: dict[str, Any] = msgspec.json.decode(content, type=dict[str, Any])
        if document.get("format") != FOLDER_FORMAT:
            reads = f"this version of Replog reads {FOLDER_FORMAT!r}"
            raise BadInput(f"{path}: format {document.get('format')!r:.80}; {reads}")
        return msgspec.convert(document, PlanFile)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {error!s:.200}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = f"without it --resume of the sweep writes it anew, for the files in {RUNS}"
        raise BadInput(f"{path}: is not JSON: {error}; {hint}") from None


def check_folder(out: Path, sweep: Sweep, *, resume: bool) -> None:
    """Raises BadInput unless `sweep` may be written to a folder; changes nothing.

    It may be written to a folder that does not exist or is empty, or holds its plan alone, and,
    with `resume`, to one that holds the same sweep, or fewer cases of it, made by the same version,
    or a table without `plan.json`. A case depends on the seed of the sweep and its own number, not
    on how many there are, so that existing ones stay as they are.
    """
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: is a file; a sweep is written into a folder of its own")
    entries = [entry.name for entry in out.iterdir()] if out.exists() else []
    names = {name for name in entries if not name.endswith(".part")}
    if PLAN_FILE not in names:
        foreign = sorted(names - _OURS)
        if foreign or (names - {LOCK_FILE} and not resume):
            raise BadInput(
                f"{out}: holds {(foreign or sorted(names))[0]!r} and no {PLAN_FILE}; "
                "a sweep is written into a new or empty folder"
            )
        return
    found = _differences(plan_file_in(out), sweep, may_grow=resume)
    if found:
        raise BadInput(f"{out}: holds another sweep ({'; '.join(found)}); name another folder")
    if not resume and RUNS in names:
        raise BadInput(f"{out}: holds this sweep already; --resume continues it")


def drawn_there(
    out: Path, plan: Plan, *, count: int | None, seed: int | None
) -> tuple[int | None, int | None]:
    """Count and seed with which a sweep resumes: the given ones, else those of the folder.

    None stands for the plan's own: without a sweep in the folder, and where the plan's value has
    changed since.
    """
    if not (out / PLAN_FILE).exists():
        return count, seed
    there = plan_file_in(out)
    if count is None and there.plan.get("count") == plan.count:
        count = there.count
    if seed is None and there.plan.get("seed") == plan.seed:
        seed = there.seed
    return count, seed


def _differences(there: PlanFile, here: Sweep, *, may_grow: bool) -> list[str]:
    """Lists the differences of a `plan.json` from a sweep, but for title, source and plan file.

    With `may_grow`, fewer cases in `plan.json` are no difference.
    """
    made = Made(there.package_version, there.revision)
    found = [] if made.same_as(made_by()) else [f"made by {made} there, {made_by()} here"]
    described = describe(here)
    compared = {name: (there.plan.get(name), value) for name, value in described["plan"].items()}
    compared |= {"count": (there.count, here.count), "seed": (there.seed, here.seed)}
    skipped = {"title", "source"} | ({"count"} if may_grow and there.count <= here.count else set())
    found += [
        f"{name} {shown(one)} there, {shown(other)} here"
        for name, (one, other) in sorted(compared.items())
        if one != other and name not in skipped
    ]
    if not found and there.rule_sets != described["rule_sets"]:
        return ["the plan's rules mean something else there"]
    return found


def write_plan(out: Path, sweep: Sweep, *, plan_file: str | None = None) -> None:
    """Writes `plan.json` unless one with as many cases is there; `check_folder` comes first."""
    if (out / PLAN_FILE).exists():
        before = plan_file_in(out)
        if before.count == sweep.count:
            return
        plan_file = plan_file or before.plan_file
    replace_text(out / PLAN_FILE, json_text(describe(sweep, plan_file=plan_file), indent=2) + "\n")


@contextmanager
def clear_errors(out: Path) -> Iterator[None]:
    """Turns an OSError, of a folder that cannot be read or written, into one line of BadInput."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{error.filename or out}: {error.strerror or error}") from None


def read_sweep(out: Path) -> Sweep:
    """Reads the sweep of a folder.

    Raises BadInput without one, for one of another format, for a missing plugin, and for a plan
    that is no longer valid.
    """
    content = plan_file_in(out)
    try:
        require_plugins(content.plugins)
    except BadInput as error:
        raise BadInput(f"{out}: made with a plugin: {error}") from None
    plan = validate(Document(f"{out}/{PLAN_FILE}: no longer a valid plan", content.plan), Plan)
    return number_runs(plan, count=content.count, seed=content.seed)
