"""What a report is made from: `plan.json` and `tallies.json` of a sweep's folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.errors import BadInput

PLAN_FILE = "plan.json"
TALLIES_FILE = "tallies.json"
OUTPUT_FORMAT = "replog-sweep-output/1"
TALLIES_FORMAT = "replog-tallies/1"


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """The two documents, and the folder as the user named it (for commands)."""

    name: str
    plan: dict[str, Any]
    tallies: dict[str, Any]


def read_folder(out: Path) -> SweepFolder:
    """Reads a finished sweep. Raises BadInput when there is none, or it was not finished."""
    plan = _read(
        out / PLAN_FILE,
        OUTPUT_FORMAT,
        f"{out}: no {PLAN_FILE} there; give the folder of a sweep (--out of `replog sweep`)",
    )
    tallies = _read(
        out / TALLIES_FILE,
        TALLIES_FORMAT,
        f"{out}: this sweep was not finished; `replog sweep ... --resume` finishes it",
    )
    return SweepFolder(name=out.as_posix(), plan=plan, tallies=tallies)


def _read(path: Path, expected: str, absent: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(absent) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    found = content.get("format") if isinstance(content, dict) else None
    if found != expected:
        raise BadInput(f"{path}: format {found!r}; this version of Replog reads {expected!r}")
    return dict(content)
