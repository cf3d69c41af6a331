"""Each clause's command ends as its row in clauses.yaml says, and prints those words."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.commands import replog
from tests.sweeps.fakes import simulating_here

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "scenarios" / "README.md"
KIPS = {"KIP-280", "KIP-534", "KIP-354", "KIP-87", "KIP-630"}


class Clause(NamedTuple):
    """Where a KIP says what, a command that shows it, words of its answer and its exit status."""

    kip: str
    section: str
    claim: str
    command: str
    words: list[str]
    status: int = 0


CLAUSES = [
    Clause(**one) for one in yaml.safe_load((HERE / "clauses.yaml").read_text(encoding="utf-8"))
]


ANSWERS: dict[str, tuple[int, str]] = {}
"""Status and words of the commands so far, since several clauses may share one."""


@pytest.mark.parametrize("row", CLAUSES, ids=[f"{row.kip}-{row.claim}"[:90] for row in CLAUSES])
def test_the_command_of_a_clause_says_so(
    row: Clause, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if row.command not in ANSWERS:
        (tmp_path / "scenarios").symlink_to(PAGE.parent)  # what a command writes stays in tmp_path
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "200")
        with simulating_here():
            ended = replog(*shlex.split(row.command)[1:])
        ANSWERS[row.command] = ended.status, ended.out + ended.err
    status, printed = ANSWERS[row.command]

    assert status == row.status
    told = " ".join(printed.split())  # a table breaks its lines where the terminal ends
    assert [words for words in row.words if " ".join(words.split()) not in told] == []


def test_every_row_says_where_what_and_with_which_words() -> None:
    assert [row for row in CLAUSES if not (row.section and row.claim and row.words)] == []
    assert len({(row.kip, row.claim) for row in CLAUSES}) == len(CLAUSES)
    assert {row.kip for row in CLAUSES} == KIPS


def test_the_page_links_the_scenario_of_each_clause_in_the_row_of_its_section() -> None:
    rows: dict[tuple[str, str], str] = {}
    kip = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            kip = line.removeprefix("### ").partition(":")[0]
        elif line.startswith("| "):
            rows[kip, line.split("|")[1].strip()] = line

    for row in CLAUSES:
        for path in re.findall(r"scenarios/(\S+\.(?:yaml|json))", row.command):
            assert f"]({path})" in rows[row.kip, row.section], row
