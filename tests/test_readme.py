"""What the README and other pages name is there; its commands are in `tests/guide`."""

import re

import pytest

from sim.check.checker import known_invariants
from tests.commands import ROOT

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "reports/README.md",
    "reports/findings.md",
    "scenarios/README.md",
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
