"""The folder of a sweep: what it holds, who may write into it, and how it is read.

`plan.json` (what the tables are), `runs/` and `violations/` (Parquet, a folder per wave), `waves/`
(a manifest per wave), `summary.csv` and `tallies.json` (see `sim.sweeps.tally`), and at the end
`finished.json` (see `sim.sweeps.manifest`). A wave is there when its manifest is.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sim.errors import BadInput
from sim.files.atomic import write_whole
from sim.foreign.documents import json_text, readable
from sim.plugins import in_use, require_plugins
from sim.sweeps.layout import (
    LOCK_FILE,
    PLAN_FILE,
    RUNS,
    STAGING,
    VIOLATIONS,
    WAVES,
    set_aside_now,
)
from sim.sweeps.parts import (
    FOLDER_FORMAT,
    missing_cases,
    plan_content,
    waves_and_problems,
)
from sim.sweeps.plan import Plan, Sweep, number_parts
from sim.sweeps.revision import revision
from sim.sweeps.segments import parts_in
from sim.sweeps.shapes import SCHEMA_VERSION
from sim.sweeps.storage import LocalStorage, Storage

SCHEMA_VERSIONS_READ = (2, 3, SCHEMA_VERSION)
"""Before 4 violations had a sentence for their evidence and no `since_ms`, before 3 no `cause`."""
_OURS = {PLAN_FILE, RUNS, VIOLATIONS, WAVES, STAGING, LOCK_FILE}


def describe(sweep: Sweep, *, plan_file: str | None = None) -> dict[str, Any]:
    """The content of `plan.json`: enough to make every run again, and to see what made it.

    `plan_file` is the plan's path as the user gave it, for the command in the report.
    """
    from importlib.metadata import version  # 30 ms, which a replay need not spend

    return {
        "format": FOLDER_FORMAT,
        "schema_version": SCHEMA_VERSION,
        "package_version": version("replog"),
        "revision": revision(),
        "plan_file": None if plan_file is None else readable(plan_file),
        "plugins": list(in_use().modules),
        "count": sweep.count,
        "seed": sweep.seed,
        "segments": [part._asdict() for part in sweep.parts],
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
                "rules": rule_set.settings.as_dict(),
            }
            for rule_set in sweep.rule_sets
        ],
        "plan": sweep.plan.model_dump(mode="json"),
    }


def check_folder(storage: Storage, sweep: Sweep, *, resume: bool) -> None:
    """Raises BadInput unless `sweep` may be written there; touches nothing.

    It may be written into a folder that does not exist or is empty, and, with `resume`, into one
    that holds the very same sweep (plan, count, seed, package and schema version); its waves say so
    where `plan.json` is gone or damaged.
    """
    with clear_errors(storage.label):
        try:
            names = set(storage.entries())
        except NotADirectoryError:
            raise BadInput(
                f"{storage.label}: is a file; a sweep is written into a folder of its own"
            ) from None
        if resume and _has_lost_its_plan(storage, sweep):
            return
        if PLAN_FILE not in names:
            foreign = sorted(names - _OURS)
            if foreign:
                raise BadInput(
                    f"{storage.label}: holds {foreign[0]!r} and no {PLAN_FILE}; "
                    "a sweep is written into a new or empty folder"
                )
            return
        content = plan_content(storage)
        found = differences(content, describe(sweep))
        if found:
            raise BadInput(
                f"{storage.label}: holds another sweep ({'; '.join(found)}); name another folder"
            )
        if not resume:
            waves, _ = waves_and_problems(storage, content)
            missing = sum(map(len, missing_cases(sweep, waves))) * len(sweep.rule_sets)
            state = f"{missing:,} of {sweep.runs:,} runs missing" if missing else "complete"
            raise BadInput(
                f"{storage.label}: holds this sweep already, {state}; --resume continues it"
            )


def _has_lost_its_plan(storage: Storage, sweep: Sweep) -> bool:
    """Whether all but `plan.json` is there of this very sweep."""
    try:
        plan_content(storage)
    except BadInput:
        waves, problems = waves_and_problems(storage, json.loads(as_json(describe(sweep))))
        return bool(waves) and not problems
    return False


def differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """In what two `plan.json` differ, in a few words each; titles and file names do not count."""
    names = ("format", "schema_version", "package_version", "count", "seed")
    found = [_difference(name, there, here) for name in names]
    if not any(found):  # one of these says it better
        found.append(_difference("segments", {"segments": here["segments"], **there}, here))
    plan_there, plan_here = there.get("plan"), json.loads(json.dumps(here["plan"]))
    if not isinstance(plan_there, dict):
        return ["no plan there"]
    words = {
        "title",
        "source",
        "count",
        "seed",
        "confirmation_seed",
    }  # count and seed were compared as used
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


def prepare_folder(
    storage: Storage,
    sweep: Sweep,
    *,
    plan_file: str | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> None:
    """Writes `plan.json` unless it is there, after `check_folder` found that it may.

    `tell` gets a line when it is damaged, and set aside.
    """
    if PLAN_FILE in storage.entries():
        try:
            plan_content(storage)
        except BadInput as error:
            aside = set_aside_now()
            storage.rename(PLAN_FILE, f"{aside}/{PLAN_FILE}")
            tell(f"{error}; written anew, it is kept in {aside}")
        else:
            return
    storage.write(PLAN_FILE, as_json(describe(sweep, plan_file=plan_file)).encode())


def as_json(value: object) -> str:
    """JSON, indented."""
    return json_text(value, indent=2) + "\n"


def write_json(path: Path, value: object) -> None:
    """JSON, indented, put in place by a rename."""
    write_whole(path, as_json(value))


@contextmanager
def clear_errors(out: Path | str) -> Iterator[None]:
    """Turns a folder that cannot be read or written into one line of BadInput."""
    try:
        yield
    except ConnectionError:  # nothing here has a connection but Spark, to its Java machine
        raise BadInput(
            f"{out}: Spark's Java machine is gone; what was finished is kept, --resume continues"
        ) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BadInput(disk_full(out)) from None
        raise BadInput(f"{error.filename or out}: {error.strerror or error}") from None


def disk_full(out: Path | str) -> str:
    """The line for a disk without space; finished waves are still there."""
    return f"{out}: no space left on the disk; what was finished is kept, --resume continues"


def worker_died() -> str:
    """The line for a worker that did not live to report what went wrong."""
    return "a worker process died (out of memory?); what was finished is kept, --resume continues"


def read_sweep(out: Path) -> Sweep:
    """The sweep a folder holds. Raises BadInput when it holds none, or one of another version."""
    return sweep_in(str(out), plan_content(LocalStorage(out)))


def sweep_in(label: str, content: dict[str, Any]) -> Sweep:
    """The sweep that the `plan.json` of a folder describes. Raises as `read_sweep` does."""
    if content.get("schema_version") not in SCHEMA_VERSIONS_READ:
        raise BadInput(
            f"{label}: written with schema version {content.get('schema_version')}; "
            f"this version of Replog reads {' and '.join(map(str, SCHEMA_VERSIONS_READ))}"
        )
    try:
        require_plugins(content.get("plugins", ()))
    except BadInput as error:
        raise BadInput(f"{label}: made with a plugin: {error}") from None
    try:
        plan = Plan.model_validate_json(json.dumps(content["plan"]))
        return number_parts(plan, parts_in(content))
    except (BadInput, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{label}/{PLAN_FILE}: no longer a valid plan: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """What is wrong with a plan, in a line."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        return f"{where:.120}: {' '.join(first['msg'].split()):.200}"
    return str(error).splitlines()[0][:300]
