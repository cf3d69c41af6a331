"""Remembers which files failed, for `replog suite --lf`: `.replog_cache/last_failed.json`.

A cache that cannot be read is none: it never keeps a file from being run. Nothing is written
while nothing has failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.opening import read_text
from sim.study.suite.result import CaseResult
from sim.study.suite.scenario_files import from_here

FOLDER = Path(".replog_cache")
FILE = FOLDER / "last_failed.json"
FORMAT = "replog-last-failed/1"


def last_failed() -> frozenset[Path]:
    """The files that failed when they were last run from here, absolute."""
    try:
        content = json.loads(read_text(FILE))
        if content["format"] != FORMAT:
            return frozenset()
        return frozenset(Path(name).absolute() for name in content["failed"])
    except (BadInput, ValueError, TypeError, KeyError, RecursionError):
        return frozenset()


def remember(results: Iterable[CaseResult]) -> str:
    """Note which of these failed; what was not run keeps its mark. What went wrong, if anything."""
    known = last_failed()
    failed = set(known)
    for result in results:
        path = result.path.absolute()
        if result.expectation_met:
            failed.discard(path)
        else:
            failed.add(path)
    if failed == known:
        return ""
    names = sorted(str(from_here(path)) for path in failed if path.exists())
    # Escaped: the bytes of a name need not be UTF-8.
    text = json.dumps({"format": FORMAT, "failed": names}, indent=1)
    try:
        FOLDER.mkdir(exist_ok=True)
        replace_text(FOLDER / ".gitignore", "*\n")
        replace_text(FILE, text)
    except (BadInput, OSError) as error:
        return f"which files failed is not remembered for --lf: {error}"
    return ""
