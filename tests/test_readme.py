"""The README shows what is true: its files exist, its runs print what it says, its story holds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sim.story import run_story
from sim.story.format import story_from
from tests.guide.run_page import agrees

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "reports/README.md",
    "reports/findings.md",
    "sim/trace/FORMAT.md",
)


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_a_page_links_to_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    linked = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    folder = (ROOT / page).parent

    assert [target for target in linked if not (folder / target).exists()] == []


RUNS = [
    block
    for block in blocks("console")
    if block.startswith(("$ replog run", "$ replog clean", "$ replog shrink"))
]


@pytest.mark.parametrize("shown", RUNS, ids=lambda block: block.split("\n")[0])
def test_a_command_in_the_readme_prints_what_the_readme_says(shown: str) -> None:
    command, expected = shown.split("\n", 1)
    arguments = command.removeprefix("$ replog ").split()
    printed = subprocess.run(
        [sys.executable, "-m", "sim", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    assert agrees(expected, printed)


def test_the_story_in_the_readme_meets_its_expectation() -> None:
    story = next(block for block in blocks("yaml") if "replog-story/1" in block)
    run = run_story(story_from(yaml.safe_load(story), where="README.md"))

    assert run.differences() == []
