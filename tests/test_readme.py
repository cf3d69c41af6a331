"""The README shows what is true: its files exist, its commands print what it says."""

import os
import re
import sys
from pathlib import Path

import pytest

from sim.check.checker import known_invariants
from tests.guide.run_page import run_page

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "reports/README.md",
    "reports/findings.md",
    "sim/protocol/events/FORMAT.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_a_page_links_to_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    linked = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    folder = (ROOT / page).parent

    assert [target for target in linked if not (folder / target).exists()] == []


@pytest.mark.parametrize("page", ["README.md", "notebooks/guide/pages/index.md"])
def test_as_many_invariants_as_a_page_says_are_known(page: str) -> None:
    counted = re.findall(r"(\S+) invariants", (ROOT / page).read_text(encoding="utf-8"))

    assert str(len(known_invariants())) in counted


def test_what_the_readme_says_is_printed_is_printed(tmp_path: Path) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}

    assert run_page(ROOT / "README.md", tmp_path, environment) == []
