"""The folder of a sweep: who may write into it, and what says that a wave is there.

`plan.json` (what the table is), `runs/` and `violations/` (Parquet, a folder per wave),
`summary.csv` and `tallies.json` (see `sim.sweeps.tally`). A wave is there when its folder under
`runs/` is: it comes into place by a rename, so a killed sweep leaves whole waves and nothing else.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.plugins import in_use
from sim.sweeps.layout import Wave, waves_of
from sim.sweeps.plan import Plan, Sweep, number_parts
from sim.sweeps.revision import revision
from sim.sweeps.segments import parts_in

FOLDER_FORMAT = "replog-sweep-output/1"
SCHEMA_VERSION = 3
"""Of the columns of the tables (see `sim.sweeps.row`)."""
SCHEMA_VERSIONS_READ = (2, SCHEMA_VERSION)
"""2 has no column `cause`; all else is the same."""
PLAN_FILE = "plan.json"
RUNS = "runs"
VIOLATIONS = "violations"
STAGING = ".staging"
_OURS = {PLAN_FILE, RUNS, VIOLATIONS, STAGING, f".{PLAN_FILE}"}


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
        "plan_file": plan_file,
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


def check_folder(out: Path, sweep: Sweep, *, resume: bool) -> None:
    """Raises BadInput unless `sweep` may be written into `out`; touches nothing.

    It may be written into a folder that does not exist or is empty, and, with `resume`, into one
    that holds the very same sweep (plan, count, seed, package and schema version).
    """
    with clear_errors(out):
        if not out.exists():
            return
        if not out.is_dir():
            raise BadInput(f"{out}: is a file; a sweep is written into a folder of its own")
        names = {entry.name for entry in out.iterdir()}
    if PLAN_FILE not in names:
        foreign = sorted(names - _OURS)
        if foreign:
            raise BadInput(
                f"{out}: holds {foreign[0]!r} and no {PLAN_FILE}; "
                "a sweep is written into a new or empty folder"
            )
        return
    differences = _differences(_read_plan_file(out), describe(sweep))
    if differences:
        raise BadInput(
            f"{out}: holds another sweep ({'; '.join(differences)}); name another folder"
        )
    if not resume:
        missing = len(missing_waves(out, sweep))
        state = f"{missing} of {len(waves_of(sweep))} waves missing" if missing else "complete"
        raise BadInput(f"{out}: holds this sweep already, {state}; --resume continues it")


def _differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
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


def prepare_folder(out: Path, sweep: Sweep, *, plan_file: str | None = None) -> None:
    """Makes the folder and its `plan.json`, and clears what a killed sweep left half-written."""
    with clear_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        for name in (RUNS, VIOLATIONS):
            (out / name).mkdir(exist_ok=True)
        shutil.rmtree(out / STAGING, ignore_errors=True)
        for name in (RUNS, VIOLATIONS):
            (out / STAGING / name).mkdir(parents=True)
        if not (out / PLAN_FILE).exists():
            write_json(out / PLAN_FILE, describe(sweep, plan_file=plan_file))


def missing_waves(out: Path, sweep: Sweep) -> tuple[Wave, ...]:
    """The waves that are not there yet."""
    return tuple(wave for wave in waves_of(sweep) if not (out / RUNS / wave.folder_name).exists())


def commit_wave(out: Path, wave: Wave, *, runs: Path, violations: Path) -> None:
    """Moves the finished folders of a wave into place; from then on the wave is there."""
    violations.rename(out / VIOLATIONS / wave.folder_name)
    runs.rename(out / RUNS / wave.folder_name)


def drop_stray_violations(out: Path, sweep: Sweep) -> None:
    """Removes violations whose wave never came into place (a kill between the two renames)."""
    for wave in missing_waves(out, sweep):
        shutil.rmtree(out / VIOLATIONS / wave.folder_name, ignore_errors=True)


def files_of(out: Path, table: str, sweep: Sweep) -> list[Path]:
    """The files of a table, those of finished waves, in order of `run_id`."""
    missing = set(missing_waves(out, sweep))
    folders = [out / table / wave.folder_name for wave in waves_of(sweep) if wave not in missing]
    return [path for folder in folders for path in sorted(folder.glob("*.parquet"))]


def close_folder(out: Path) -> None:
    """Removes what only a running sweep needs."""
    shutil.rmtree(out / STAGING, ignore_errors=True)


def write_json(path: Path, value: object) -> None:
    """JSON, indented, put in place by a rename."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """A whole file or none."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


@contextmanager
def clear_errors(out: Path) -> Iterator[None]:
    """Turns a folder that cannot be read or written into one line of BadInput."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BadInput(disk_full(out)) from None
        raise BadInput(f"{error.filename or out}: {error.strerror or error}") from None


def disk_full(out: Path) -> str:
    """The line for a disk without space; finished waves are still there."""
    return f"{out}: no space left on the disk; finished waves are kept, --resume continues"


def worker_died(out: Path) -> str:
    """The line for a worker that did not live to report what went wrong."""
    return (
        f"{out}: a worker process died (out of memory?); "
        "finished waves are kept, --resume continues"
    )


def _read_plan_file(out: Path) -> dict[str, Any]:
    path = out / PLAN_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BadInput(f"{path}: not readable as JSON; is {out} the folder of a sweep?") from None
    if not isinstance(content, dict) or content.get("format") != FOLDER_FORMAT:
        raise BadInput(f"{path}: not a plan of a sweep ({FOLDER_FORMAT})")
    return content


def _named_in(plan: object) -> list[str]:
    """The plugins that a plan names itself; reading it loads them."""
    named = plan.get("plugins", []) if isinstance(plan, dict) else []
    return named if isinstance(named, list) else []


def read_sweep(out: Path) -> Sweep:
    """The sweep a folder holds. Raises BadInput when it holds none, or one of another version."""
    if not (out / PLAN_FILE).is_file():
        raise BadInput(f"{out}: no {PLAN_FILE} there; give the folder of a sweep (--out)")
    content = _read_plan_file(out)
    if content.get("schema_version") not in SCHEMA_VERSIONS_READ:
        raise BadInput(
            f"{out}: written with schema version {content.get('schema_version')}; "
            f"this version of Replog reads {' and '.join(map(str, SCHEMA_VERSIONS_READ))}"
        )
    known = (*in_use().modules, *_named_in(content.get("plan")))
    missing = [name for name in content.get("plugins", ()) if name not in known]
    if missing:
        raise BadInput(
            f"{out}: made with the plugin {missing[0]}; give it, too: --plugin {missing[0]}"
        )
    try:
        plan = Plan.model_validate_json(json.dumps(content["plan"]))
        return number_parts(plan, parts_in(content))
    except (BadInput, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{out / PLAN_FILE}: no longer a valid plan: {reason}") from None
