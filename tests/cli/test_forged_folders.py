"""A sweep's folder that somebody forged or damaged: one line for every command that takes one."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Answer, Replog

READ = [
    ("report", "DIR", "--no-shrink"),
    ("replay", "DIR", 1),
    ("causes", "DIR"),
    ("gate", "DIR", "--fail-on", "any"),
    ("gate", "GOOD", "--baseline", "DIR"),
    ("report", "GOOD", "--no-shrink", "--confirmed-by", "DIR"),
    ("draw", "DIR", 1),
    ("shrink", "DIR", 1, "-o", "small.yaml"),
    ("explain", "DIR", 1),
    ("sweep", "check", "DIR"),
]
"""Every command that takes a folder; GOOD is another one, to which nothing was done."""
OF_TALLIES = [READ[0], READ[3], READ[4], READ[5]]
OF_DRAWS = [READ[0], READ[1], READ[2], *READ[6:9]]
OF_RUNS = [READ[1], READ[2], READ[4]]

Forge = Callable[[Path], object]


def text(content: str | bytes) -> Forge:
    return lambda path: path.write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


KINDS: dict[str, Forge] = {
    "empty": text(""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "deeply nested": text('{"format": ' + "[" * 100_000),
    "no text": text(b"\xff\xfe\x00"),
    "a pipe": pipe,
}


def edited(**changes: Any) -> Forge:
    """A document with other values; a name with dots leads into it."""

    def forge(path: Path) -> None:
        document = json.loads(path.read_text())
        for name, value in changes.items():
            *steps, last = name.split("__")
            place = document
            for step in steps:
                place = place[int(step) if step.isdecimal() else step]
            place[int(last) if last.isdecimal() else last] = value
        path.write_text(json.dumps(document))

    return forge


PLANS: dict[str, Forge] = {
    "another format": edited(format="replog-sweep-output/9"),
    "a version to come": edited(schema_version=99),
    "count of 10^18": edited(count=10**18),
    "seed beyond 64 bit": edited(seed=2**70),
    "runs of others": edited(runs=13),
    "no rule sets": edited(rule_sets=[]),
    "a rule set without rules": edited(rule_sets__0={"index": 0}),
}
MIXES: dict[str, Forge] = {
    "a rule that there is not": edited(plan__rules={"no_such_rule": 1}),
    "a value that there is not": edited(plan__rule_sets=[{"fix": "miracle"}]),
    "an absurd mix": edited(plan__generate={"mix": "quiet", "sends": [1, 10**18]}),
}
TALLIES: dict[str, Forge] = {
    "another format": edited(format="replog-tallies/9"),
    "other cases": edited(cases=7),
    "no entries": edited(rule_sets=[]),
    "no environments": edited(environments=[]),
}


@pytest.fixture
def forged(swept: Path, here: Path) -> Path:
    """A copy of a sweep, beside another one."""
    shutil.copytree(swept, here / "GOOD")
    return Path(shutil.copytree(swept, here / "DIR"))


def listed(here: Path) -> dict[str, int | None]:
    """All files with their sizes."""
    return {
        str(path.relative_to(here)): path.stat().st_size if path.is_file() else None
        for path in here.rglob("*")
        if path.name != ".lock"
    }


def assert_refused(answer: Answer, *names: str) -> None:
    line = answer.complaint
    assert answer.status == 2, line
    assert len(line) < 600
    assert any(name in line for name in names), line


@pytest.mark.parametrize("what", [*KINDS, *PLANS])
def test_no_command_takes_a_plan_json_that_is_none(
    replog: Replog, here: Path, forged: Path, what: str
) -> None:
    {**KINDS, **PLANS}[what](forged / "plan.json")
    before = listed(here)

    for command in READ:
        assert_refused(replog(*command), "DIR/plan.json", "DIR:")

    assert listed(here) == before


@pytest.mark.parametrize("what", MIXES)
def test_nothing_is_drawn_from_a_plan_that_says_what_there_is_not(
    replog: Replog, here: Path, forged: Path, what: str
) -> None:
    MIXES[what](forged / "plan.json")
    before = listed(here)

    for command in OF_DRAWS:
        assert_refused(replog(*command), "DIR/plan.json")

    assert listed(here) == before


@pytest.mark.parametrize("what", [*KINDS, *TALLIES])
def test_no_report_and_no_gate_takes_tallies_that_are_none(
    replog: Replog, here: Path, forged: Path, what: str
) -> None:
    {**KINDS, **TALLIES}[what](forged / "tallies.json")
    before = listed(here)

    for command in OF_TALLIES:
        assert_refused(replog(*command), "DIR/tallies.json")

    assert listed(here) == before


def column(name: str, values: Callable[[pa.Table], Any]) -> Forge:
    """The table with other values in a column; None = without it."""

    def forge(path: Path) -> None:
        table = pq.read_table(path)
        found = values(table)
        place = table.column_names.index(name)
        table = table.remove_column(place)
        if found is not None:
            table = table.add_column(place, name, found)
        pq.write_table(table, path)

    return forge


def rows(change: Callable[[pa.Table], pa.Table]) -> Forge:
    return lambda path: pq.write_table(change(pq.read_table(path)), path)


def flipped(path: Path) -> None:
    """A byte in a hundred is another one."""
    content = bytearray(path.read_bytes())
    for place in range(100, len(content), 100):
        content[place] ^= 0x55
    path.write_bytes(content)


def first(value: Any) -> Callable[[pa.Table], Any]:
    """A column with another first value."""
    return lambda table: pa.array([value, *table.column("run_id").to_pylist()[1:]], pa.int64())


def verdict(value: str | None) -> Callable[[pa.Table], Any]:
    return lambda table: pa.array([value] * table.num_rows, pa.string())


PARQUET: dict[str, Forge] = {
    "empty": text(""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "a footer beyond the file": text(b"PAR1" + b"x" * 99 + b"\xff\xff\xff\x7fPAR1"),
    "flipped bytes": flipped,
    "columns of others": lambda path: pq.write_table(pa.table({"a": [1]}), path),
    "no run_id": column("run_id", lambda _: None),
    "run_id as text": column("run_id", lambda table: table.column("run_id").cast(pa.string())),
    "a run that is none": column("run_id", first(10**18)),
    "every run twice": rows(lambda table: pa.concat_tables([table, table])),
    "runs in another order": rows(lambda table: table.take(list(range(table.num_rows))[::-1])),
    "a column twice": rows(lambda table: table.append_column("verdict", table.column("verdict"))),
}
VERDICTS: dict[str, Forge] = {
    "a verdict that there is not": column("verdict", verdict("innocent")),
    "no verdict": column("verdict", verdict(None)),
    "a case of others": column("case_id", first(5)),
}


@pytest.mark.parametrize("what", [*PARQUET, *VERDICTS])
def test_no_command_takes_a_table_of_runs_that_is_none(
    replog: Replog, here: Path, forged: Path, what: str
) -> None:
    (part,) = forged.glob("runs/*.parquet")
    {**PARQUET, **VERDICTS}[what](part)
    before = listed(here)
    commands = OF_RUNS if what in PARQUET else [("causes", "DIR")]

    for command in commands:
        assert_refused(replog(*command), "DIR/runs")

    assert listed(here) == before


def test_a_file_in_the_place_of_a_folder_is_one_line(replog: Replog, here: Path) -> None:
    (here / "DIR").write_text("no folder")
    (here / "GOOD").mkdir()

    for command in READ:
        if "GOOD" not in command:
            assert_refused(replog(*command), "DIR")
