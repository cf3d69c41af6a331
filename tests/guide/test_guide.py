"""README and guide do what they say: each command on each page is typed, in order, and compared.

The tutorial is `make tutorial`'s, in an environment of its own, which `.ci/run` calls.
"""

import os
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from sim.simulate.scenario.model import Expect
from sim.simulate.story.format import CLAIMS
from tests.commands import ROOT, SCENARIOS
from tests.guide.run_page import agrees, run_page, steps_of
from tests.schemas.making import schema_of_files

PAGES = ROOT / "notebooks/guide/pages"


def pages() -> list[Path]:
    typed = [page for page in sorted(PAGES.rglob("*.md")) if any(steps_of(page.read_text("utf-8")))]
    return [ROOT / "README.md", *(page for page in typed if page.name != "tutorial.md")]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_says_is_printed_is_printed(page: Path, tmp_path: Path) -> None:
    if page.name == "README.md":
        (tmp_path / "scenarios").symlink_to(SCENARIOS)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}

    assert run_page(page, tmp_path, environment) == []


def test_every_field_that_a_file_may_expect_is_in_a_table() -> None:
    page = (PAGES / "howto/suites.md").read_text("utf-8")
    part = page.partition("## What a file expects")[2].partition("\n## ")[0]
    cells = re.findall(r"^\|(.*?)\|", part, re.MULTILINE)

    of_a_log = {"surviving_keys", "surviving_keys_must_not_include", "first_batch_last_offset"}
    own = {field.name for field in fields(Expect)}
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == (
        {*schema_of_files()["$defs"]["expect"]["properties"], *CLAIMS, "note"} | own | of_a_log
    )


def test_a_page_that_is_wrong_is_told(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo two\none\n$ false\n$ echo a b c\na ... c\n```\n")

    problems = run_page(page, tmp_path, os.environ)

    assert [problem.split("\n")[0] for problem in problems] == ["$ echo two", "$ false"]


def test_times_and_dots_are_no_difference() -> None:
    assert agrees("a; 12 ms\n...\nz", "a; 700 ms\nb\nc\nz\n")
    assert agrees("a\n...\nz", "a\nz\n")
    assert agrees("a b ... d", "a b c d")
    assert not agrees("a ... d", "a b\nc d")
    assert not agrees("a; 12 ms\nz", "a; 12 ms\nb\nz\n")
