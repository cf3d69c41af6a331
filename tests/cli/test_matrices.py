"""`replog matrix`: what one rule decides."""

from pathlib import Path

from tests.commands import STORY, replog


def test_the_page_has_the_command_that_makes_it_again(here: Path) -> None:
    given = [
        *("matrix", STORY, "--vary", "fix=none,empty_batch", "--under", "leo_source"),
        *("--rule", "delete_retention_ms=5", "--skip", "x*", "-o", "page.md"),
    ]
    answer = replog(*given)

    first = Path("page.md").read_text(encoding="utf-8")
    [command] = [line for line in first.splitlines() if line.startswith("$ replog ")]
    assert answer.out.splitlines()[-1] == "page.md"
    Path("page.md").unlink()
    replog(*[word.strip("'") for word in command.split()[2:]])
    assert Path("page.md").read_text(encoding="utf-8") == first
