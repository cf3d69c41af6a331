"""scenarios/README.md: each clause's command ends as its row says, and prints those words."""

import re
import shlex
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands import replog
from tests.sweeps.fakes import simulating_here

PAGE = Path(__file__).parents[2] / "scenarios" / "README.md"
CLAUSES_OF = PAGE.read_text().partition("## Track record")[0]
KIPS = ("KIP-280", "KIP-534", "KIP-354", "KIP-87", "KIP-630")
BAR = "\0"
"""Stands for a bar that belongs to a cell, which Markdown spells with a backslash."""


class Clause(NamedTuple):
    """One row: where a KIP says what, and what shows it."""

    kip: str
    section: str
    claim: str
    command: str
    words: tuple[str, ...]
    status: int


def _clause(kip: str, row: str) -> Clause:
    """One row of a table; the last cell has words in backticks, and `exit N` where it is not 0."""
    cells = [cell.strip().replace(BAR, "|") for cell in row.replace(r"\|", BAR).split("|")[1:-1]]
    section, claim, command, says = cells
    words = tuple(re.findall(r"`([^`]+)`", says))
    status = re.search(r"exit (\d)", re.sub(r"`[^`]+`", "", says))
    return Clause(kip, section, claim, command.strip("`"), words, int(status[1]) if status else 0)


def _clauses() -> list[Clause]:
    """All rows, under the KIP of their heading."""
    found, kip = [], ""
    for line in CLAUSES_OF.splitlines():
        if line.startswith("## "):
            kip = line.removeprefix("## ").partition(":")[0]
        elif line.startswith("|") and "`replog " in line:
            found.append(_clause(kip, line))
    return found


CLAUSES = _clauses()


@cache
def _finished(command: str) -> list[tuple[int, str]]:
    """Where the answer of a command is kept, since several clauses may share one."""
    return []


@pytest.mark.parametrize("row", CLAUSES, ids=[f"{row.kip}-{row.claim}"[:90] for row in CLAUSES])
def test_the_command_of_a_clause_says_so(
    row: Clause, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = _finished(row.command)
    if not answers:
        (tmp_path / "scenarios").symlink_to(PAGE.parent)  # what a command writes stays in tmp_path
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "200")
        with simulating_here():
            ended = replog(*shlex.split(row.command)[1:])
        answers.append((ended.status, ended.out + ended.err))
    status, printed = answers[0]

    assert status == row.status
    told = " ".join(printed.split())  # a table breaks its lines where the terminal ends
    assert [words for words in row.words if " ".join(words.split()) not in told] == []


def test_every_row_says_where_what_and_with_which_words() -> None:
    assert [row for row in CLAUSES if not (row.section and row.claim and row.words)] == []
    assert len({(row.kip, row.claim) for row in CLAUSES}) == len(CLAUSES)


@pytest.mark.parametrize("kip", KIPS)
def test_every_kip_has_its_clauses(kip: str) -> None:
    assert [row for row in CLAUSES if row.kip == kip]


def test_a_row_without_a_command_that_can_be_run_says_none() -> None:
    rows = [line for line in CLAUSES_OF.splitlines() if re.match(r"\| (?!section )", line)]

    assert len(rows) == len(CLAUSES) + sum("| none |" in line for line in rows)
