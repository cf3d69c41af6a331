"""Folders of other people are written into without following what they put in the way."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Replog

RED = """\
format: replog-story/1
id: red
replicas: [r1]
steps: [elect r1 1, append r1 a K]
expect: {replicas: {r1: {leo: 7}}}
"""


def test_a_report_replaces_links_and_overwrites_nothing_else(
    replog: Replog, swept: Path, here: Path
) -> None:
    shutil.copytree(swept, here / "out")
    names = ("report.html", ".report.html", "report.md", ".report.md")
    for name in names:
        (here / f"kept{name}").write_text("kept")
        (here / "out" / name).symlink_to(here / f"kept{name}")
    os.mkfifo(here / "out/.report.json")

    assert replog("report", "out", "--no-shrink").status == 0

    assert [(here / f"kept{name}").read_text() for name in names] == ["kept"] * 4
    assert not (here / "out/report.html").is_symlink()


@pytest.mark.parametrize("trap", ["folder", "ignored", "cache", "pipe"])
def test_a_suite_remembers_nothing_where_somebody_else_says(
    replog: Replog, here: Path, trap: str
) -> None:
    (here / "red.yaml").write_text(RED)
    elsewhere, cache = here / "elsewhere", here / ".replog_cache"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("kept")
    if trap == "folder":
        cache.symlink_to(elsewhere)
    else:
        cache.mkdir()
    if trap in ("ignored", "cache"):
        name = ".gitignore" if trap == "ignored" else "last_failed.json"
        (cache / name).symlink_to(elsewhere / "file")
    elif trap == "pipe":
        os.mkfifo(cache / "last_failed.json")

    assert replog("suite", "red.yaml").status == 1

    assert [path.name for path in elsewhere.iterdir()] == ["file"]
    assert (elsewhere / "file").read_text() == "kept"
