"""Why runs fail, for a report: the causes of a sweep with their witnesses and pictures."""

from __future__ import annotations

from typing import Any

from sim.diagnose.draw import Case, figure_html
from sim.errors import BadInput
from sim.files.foreign import command_line
from sim.plugins import as_options
from sim.study.causes import Cause, Causes, played
from sim.study.causes.grouping import Witness
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording


def causes_content(folder: SweepFolder, found: Causes) -> dict[str, Any]:
    """The causes as `report.json` has them."""
    return {"text": found.text, "causes": [_cause(folder, each) for each in found.causes]}


def _cause(folder: SweepFolder, cause: Cause) -> dict[str, Any]:
    content = cause.as_json()
    content["example"]["command"] = folder.replay_command(cause.example.run_id)
    for share in content["shares"]:
        interval = share["interval"]
        share["text"] = "-" if interval is None else wording.shares(interval)
    if cause.witness is not None:
        content["witness"] |= _witness(folder, cause.witness)
    return content


def _witness(folder: SweepFolder, witness: Witness) -> dict[str, Any]:
    """A witness: its file, its size in words, its text, and the command that runs it."""
    file = witness.file.relative_to(folder.path)
    words = [f"{folder.name}/{file.as_posix()}", *as_options(folder.plan.get("plugins", ()))]
    return {
        "file": file.as_posix(),
        "size": witness.size,
        "text": witness.text,
        "command": f"replog run {command_line(words)}",
    }


def pictures(found: Causes) -> dict[str, str]:
    """Cause -> the picture of its witness, as a piece of a page; empty where there is none."""
    return {
        each.text: "" if each.witness is None else _drawn(each.witness) for each in found.causes
    }


def _drawn(witness: Witness) -> str:
    """The picture of a witness; empty if its file does not show any more what it should."""
    try:
        run = played(witness)
    except BadInput:
        return ""
    return figure_html(Case.of(run, run.violations[0]), unit=run.unit)
