"""`replog new`: a small file to start from, which runs as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from sim.cli.arguments import Argument, Output
from sim.cli.output import tell
from sim.errors import BadInput, did_you_mean
from sim.files.foreign import quoted
from sim.files.shipped import origin

TEMPLATES = Path(__file__).with_name("templates")


KINDS = {
    "story": "replog run FILE",
    "scenario": "replog run FILE",
    "log": "replog clean FILE",
    "plan": "replog sweep FILE --out DIR",
    "explore": "replog explore FILE",
    "workflow": "git add FILE (GitHub reads .github/workflows)",
}
"""Kinds of files by name, each with the command that uses such a file."""


def new(kind: Annotated[str, Argument(metavar="KIND")], *, output: Output = None) -> int:
    """Make a small story, scenario, log, plan, search or CI workflow with comments, ready to run.

    The first line of all but a workflow names the schema of this installation, by which editors
    check and complete it.

    Args:
        kind: story, scenario, log, plan (of a sweep), explore (a search) or workflow.
        output: The file to write (default: print it).
    """
    if kind not in KINDS:
        allowed = ", ".join(KINDS)
        raise BadInput(f"new {kind}: no such kind{did_you_mean(kind, KINDS)}; allowed: {allowed}")
    (template,) = TEMPLATES.glob(f"{kind}.*")
    text = template.read_text(encoding="utf-8")
    if kind == "workflow":
        text = _with_address(text)
    else:
        text = f"{_modeline(output or Path(template.name))}\n{text}"
    if output is None:
        print(text, end="")
        return 0
    if output.exists():
        raise BadInput(f"{output}: is there already; give another name")
    from sim.files.atomic import replace_text

    output.parent.mkdir(parents=True, exist_ok=True)
    replace_text(output, text)
    tell(f"{output}; next: {KINDS[kind].replace('FILE', quoted(output))}")
    return 0


def _with_address(workflow: str) -> str:
    """The workflow with pip's requirement for this installation, if that has an address."""
    address = origin("report")
    if "://" not in address or "file://" in address:
        return workflow  # a folder of this machine is not on GitHub
    return workflow.replace("{ vars.REPLOG }", f"{{ vars.REPLOG || '{address}' }}")


def _modeline(output: Path) -> str:
    """The comment that names the schema: a relative path within a project, else an absolute one.

    A project is the current folder, which may contain an environment, or this repository.
    """
    from sim.files.shipped import shipped_folder

    schema = shipped_folder() / "schema.json"
    place = Path(os.path.realpath(output))
    projects = (Path(os.path.realpath(Path.cwd())), schema.parents[1])
    beside = any(place.is_relative_to(it) and schema.is_relative_to(it) for it in projects)
    named = os.path.relpath(schema, place.parent) if beside else str(schema)
    return f"# yaml-language-server: $schema={named}"
