"""A sweep's folder that is damaged or somebody else's: one line for every command that takes it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
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
READERS = {
    "plan.json": READ,
    "the plan in plan.json": [*READ[:3], *READ[4:7]],
    "runs": [*READ[:4]],
}
"""Who looks at what."""

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


FORGED: dict[str, dict[str, Forge]] = {
    "plan.json": {
        "cut off": cut_off,
        "another format": edited("format", to="replog-sweep-output/9"),
        "a count in words": edited("count", to="many"),
        "no plan": edited("plan", to=[]),
    },
    "the plan in plan.json": {
        "a rule that there is not": edited("plan", "rules", to={"no_such_rule": 1}),
    },
    "runs": {
        "cut off": cut_off,
        "columns of others": lambda path: pq.write_table(pa.table({"a": [1]}), path),
        "every run twice": lambda path: pq.write_table(
            pa.concat_tables([pq.read_table(path)] * 2), path
        ),
    },
}


def listed(here: Path) -> dict[Path, int | None]:
    """All files with their sizes."""
    return {
        path: path.stat().st_size if path.is_file() else None
        for path in here.rglob("*")
        if path.name != ".lock"
    }


@pytest.mark.parametrize("part", FORGED)
def test_no_command_takes_a_folder_with_a_part_that_is_none(
    swept: Path, here: Path, part: str
) -> None:
    folder = Path(shutil.copytree(swept, here / "DIR"))
    pattern = part.rsplit(maxsplit=1)[-1]
    (file,) = folder.glob("runs/*.parquet" if pattern == "runs" else pattern)
    whole = file.read_bytes()
    for what, forge in FORGED[part].items():
        file.write_bytes(whole)
        forge(file)
        before = listed(here)
        for command in READERS[part]:
            answer = replog(*command)
            assert answer.status == 2, (what, command)
            assert len(answer.complaint) < 1_500
            assert f"DIR/{pattern}" in answer.complaint or answer.complaint.startswith("DIR:")
        assert listed(here) == before, what


def test_a_file_in_the_place_of_a_folder_is_one_line(here: Path) -> None:
    (here / "DIR").write_text("no folder")

    for command in READ:
        answer = replog(*command)
        assert (answer.status, "DIR" in answer.complaint) == (2, True), command
