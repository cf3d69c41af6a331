"""The folder of a sweep: its files, their lock, and its plan.

`plan.json` describes the table; `runs` is the table, a Parquet file for each block.

A folder is held by a lock of the kernel's (`flock`), on a file that says who holds it. A process
that is killed leaves the file and not the lock.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import msgspec
from msgspec import Meta, Struct
from pydantic import ValidationError

from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.foreign import json_text, readable
from sim.files.reading import read_bytes
from sim.plugins import in_use, require_plugins
from sim.study.sweep.plan import Plan, Sweep, number_runs
from sim.version import Made, made_by

LOCK_FILE = ".lock"


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Locks a folder for one writer, and makes it if need be.

    The lock ends with the process that holds it, however that ends. Raises BadInput, naming the
    owner, when another process holds it.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / LOCK_FILE
    with path.open("a+", errors="backslashreplace") as file:
        _take(file.fileno(), path)
        try:
            file.truncate(0)
            file.write(_this_process())
            file.flush()
            yield
        finally:
            with suppress(OSError):  # of a folder where nothing was written, nothing stays
                path.unlink()
                out.rmdir()


def _take(number: int, path: Path) -> None:
    out = path.parent
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.fstat(number).st_nlink > 0  # else its last holder has just removed it
    except BlockingIOError:
        held = False
    except OSError as error:
        raise BadInput(
            f"{out}: this file system has no locks ({error.strerror}); sweep into another folder"
        ) from None
    if not held:
        with suppress(OSError):
            owner = path.read_text(encoding="utf-8", errors="replace").split("\n")[0][:500]
            raise BadInput(
                f"{out}: another sweep is writing here ({owner or 'it just began'}); "
                "wait for its end, or name another folder"
            )
        raise BadInput(f"{out}: another sweep has just ended here; try again")


def _this_process() -> str:
    """Process, machine, start and command of this process, for readers of the lock file."""
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    command = shlex.join(sys.argv) if sys.argv[0] else "Python"
    return f"process {os.getpid()} on {socket.gethostname()}, since {since}: {command}"


@contextmanager
def putting(path: Path) -> Iterator[BinaryIO]:
    """Opens a draft that replaces `path` once it is whole and on the disk.

    Raises OSError, naming the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:  # a write knows its file by number only
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None


FOLDER_FORMAT = "replog-sweep-output/5"


class _RuleSetFile(Struct):
    label: str
    swept: dict[str, str | int | bool]
    rules: dict[str, Any]


class _PlanFile(Struct):
    package_version: str
    count: int
    seed: int
    runs: int
    environments: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    rule_sets: Annotated[list[_RuleSetFile], Meta(min_length=1)]
    plan: dict[str, Any]


def plan_document(name: str, content: bytes) -> dict[str, Any]:
    """Parses the content of `plan.json`, which messages call `name`.

    Raises:
        BadInput: It is no `plan.json` of this format, or contradicts itself.
    """
    try:
        document: dict[str, Any] = msgspec.json.decode(content, type=dict[str, Any])
        if document.get("format") != FOLDER_FORMAT:
            reads = f"this version of Replog reads {FOLDER_FORMAT!r}"
            raise BadInput(f"{name}: format {document.get('format')!r:.80}; {reads}")
        found = msgspec.convert(document, _PlanFile)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        place = where.strip("`.") or "the whole of it"
        raise BadInput(f"{name}: {place:.120}: {what[0].lower()}{what[1:]}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{name}: is not JSON: {error}") from None
    runs = found.count * len(found.rule_sets)
    if found.runs != runs:
        wrong = f"runs {found.runs}, but {found.count} cases under all rule sets are {runs}"
        raise BadInput(f"{name}: {wrong}")
    return document


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


def plan_content(out: Path) -> dict[str, Any]:
    """Reads `plan.json`. Raises BadInput when it is missing or no plan."""
    path = out / PLAN_FILE
    if not path.exists():
        raise BadInput(f"{out}: no {PLAN_FILE} there; give the folder of a sweep (--out)")
    return plan_document(str(path), read_bytes(path, limit=DOCUMENT_BYTES_MAX))


def check_folder(out: Path, sweep: Sweep, *, resume: bool) -> None:
    """Raises BadInput unless `sweep` may be written to a folder; changes nothing.

    It may be written to a folder that does not exist or is empty, or holds its plan alone, and,
    with `resume`, to one that holds the same sweep, or fewer cases of it, made by the same version.
    A case depends on its seed and its number alone, so that existing ones stay as they are.
    """
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: is a file; a sweep is written into a folder of its own")
    entries = [entry.name for entry in out.iterdir()] if out.exists() else []
    names = {name for name in entries if not name.endswith(".draft")}
    if PLAN_FILE not in names:
        foreign = sorted(names - _OURS)
        if foreign or (names - {LOCK_FILE} and not resume):
            raise BadInput(
                f"{out}: holds {(foreign or sorted(names))[0]!r} and no {PLAN_FILE}; "
                "a sweep is written into a new or empty folder"
            )
        return
    if resume and is_damaged(out):
        return
    found = differences(plan_content(out), describe(sweep), may_grow=resume)
    if found:
        raise BadInput(f"{out}: holds another sweep ({'; '.join(found)}); name another folder")
    if not resume and RUNS in names:
        raise BadInput(f"{out}: holds this sweep already; --resume continues it")


def drawn_there(
    out: Path, plan: Plan, *, count: int | None, seed: int | None
) -> tuple[int | None, int | None]:
    """Count and seed by which a sweep resumes: given ones, else those of the folder.

    None where those of the plan count: without a sweep in the folder, and where the plan has
    changed since.
    """
    if not (out / PLAN_FILE).exists() or is_damaged(out):
        return count, seed
    there = plan_content(out)
    if count is None and there["plan"].get("count") == plan.count:
        count = there["count"]
    if seed is None and there["plan"].get("seed") == plan.seed:
        seed = there["seed"]
    return count, seed


def is_damaged(out: Path) -> bool:
    """True when `plan.json` is not the JSON of a plan."""
    try:
        json.loads((out / PLAN_FILE).read_bytes())["rule_sets"]
    except (KeyError, TypeError, ValueError):
        return True
    return False


def differences(
    there: dict[str, Any], here: dict[str, Any], *, may_grow: bool = False
) -> list[str]:
    """Lists the differences of two `plan.json`, but for titles and file names.

    With `may_grow`, fewer cases there are no difference.
    """
    names = ["format", "seed"]
    names += [] if may_grow and there["count"] < here["count"] else ["count"]
    found = [_difference(name, there, here) for name in names]
    made = Made(there["package_version"], there.get("revision"))
    if not made.same_as(made_by()):
        found.append(f"made by {made} there, {made_by()} here")
    plan_there, plan_here = there["plan"], json.loads(json.dumps(here["plan"]))
    # Count and seed were compared as used.
    words = {"title", "source", "count", "seed"}
    fields = sorted((plan_there.keys() | plan_here.keys()) - words)
    found += [_difference(name, plan_there, plan_here) for name in fields]
    same_rules = there.get("rule_sets") == json.loads(json.dumps(here["rule_sets"]))
    if not any(found) and not same_rules:
        return ["the plan's rules mean something else there"]
    return [one for one in found if one is not None]


def _difference(name: str, there: dict[str, Any], here: dict[str, Any]) -> str | None:
    if there.get(name) == here.get(name):
        return None
    return f"{name} {_short(there.get(name))} there, {_short(here.get(name))} here"


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


def write_plan(
    out: Path,
    sweep: Sweep,
    *,
    plan_file: str | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> None:
    """Writes `plan.json` unless it has the same content, after `check_folder`.

    `tell` gets a line when it is damaged.
    """
    if (out / PLAN_FILE).exists():
        if is_damaged(out):
            tell(f"{out}/{PLAN_FILE}: is damaged; it is written again")
        else:
            before = plan_content(out)
            if before["count"] == sweep.count:
                return
            plan_file = plan_file or before.get("plan_file")
    with putting(out / PLAN_FILE) as file:
        file.write(as_json(describe(sweep, plan_file=plan_file)).encode())


def as_json(value: object) -> str:
    """Formats a value as indented JSON."""
    return json_text(value, indent=2) + "\n"


def write_json(path: Path, value: object) -> None:
    """Writes a value as indented JSON, atomically."""
    replace_text(path, as_json(value))


@contextmanager
def clear_errors(out: Path) -> Iterator[None]:
    """Turns a folder that cannot be read or written into one line of BadInput."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BadInput(
                f"{out}: no space left on the disk; what was finished is kept, --resume continues"
            ) from None
        raise BadInput(f"{error.filename or out}: {error.strerror or error}") from None


def read_sweep(out: Path) -> Sweep:
    """Reads the sweep of a folder. Raises BadInput without one, and for one of another version."""
    content = plan_content(out)
    try:
        require_plugins(content.get("plugins", ()))
    except BadInput as error:
        raise BadInput(f"{out}: made with a plugin: {error}") from None
    try:
        plan = Plan.model_validate_json(json.dumps(content["plan"]))
        return number_runs(plan, count=content["count"], seed=content["seed"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, first['loc'])):.120}: {' '.join(first['msg'].split()):.200}"
    except (BadInput, ValueError) as error:
        reason = str(error).splitlines()[0][:300]
    raise BadInput(f"{out}/{PLAN_FILE}: no longer a valid plan: {reason}")
