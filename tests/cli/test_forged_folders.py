"""A sweep's folder that is damaged or somebody else's: one line for every command that takes it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import replog

READ = [
    ("report", "DIR"),
    ("run", "DIR", 1),
    ("causes", "DIR"),
    ("gate", "DIR", "--fail-on", "any"),
    ("draw", "DIR", 1),
    ("shrink", "DIR", 1, "-o", "small.yaml"),
    ("explain", "DIR", 1),
]
"""Every command that takes a folder."""
Forge = Callable[[Path], object]


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def edited(*steps: str | int, to: Any) -> Forge:
    """A document with another value at a place."""

    def forge(path: Path) -> None:
        document = place = json.loads(path.read_text())
        for step in steps[:-1]:
            place = place[step]
        place[steps[-1]] = to
        path.write_text(json.dumps(document))

    return forge


FORGED: dict[str, Forge] = {
    "cut off": cut_off,
    "another format": edited("format", to="replog-sweep-output/9"),
    "a count in words": edited("count", to="many"),
    "no plan": edited("plan", to=[]),
    "a rule that there is not": edited("plan", "rules", to={"no_such_rule": 1}),
}
"""Ways to damage plan.json; damaged tables of runs are in tests/sweeps/test_table.py."""


def listed(here: Path) -> dict[Path, int | None]:
    """All files with their sizes."""
    return {
        path: path.stat().st_size if path.is_file() else None
        for path in here.rglob("*")
        if path.name != ".lock"
    }


@pytest.mark.parametrize("what", FORGED)
def test_no_command_takes_a_folder_with_a_plan_that_is_none(
    swept: Path, here: Path, what: str
) -> None:
    folder = Path(shutil.copytree(swept, here / "DIR"))
    FORGED[what](folder / "plan.json")
    before = listed(here)
    for command in READ:
        answer = replog(*command)
        assert answer.status == 2, command
        assert len(answer.complaint) < 1_500
        assert "DIR/plan.json" in answer.complaint or answer.complaint.startswith("DIR:")
    assert listed(here) == before


def test_a_file_in_the_place_of_a_folder_is_one_line(here: Path) -> None:
    (here / "DIR").write_text("no folder")

    for command in READ:
        answer = replog(*command)
        assert (answer.status, "DIR" in answer.complaint) == (2, True), command
