"""Completion: what bash is given completes commands, options, names, rules and files."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.cli import COMMANDS, GROUPS
from sim.cli.completion import SHELLS
from sim.extras import install
from tests.commands import replog


@pytest.fixture
def completed(here: Path) -> Callable[..., list[str]]:
    """What bash offers for the last of these words."""
    (here / "completion.bash").write_text(replog("completion", "bash").out)

    def ask(*words: str) -> list[str]:
        asked = " ".join(f"'{word}'" for word in words)
        script = f"""
            source completion.bash
            COMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}
            COMP_LINE="{" ".join(words)}"; COMP_POINT=${{#COMP_LINE}}
            function=$(complete -p replog | sed 's/.*-F \\([^ ]*\\).*/\\1/')
            $function replog '{words[-1]}' '{words[-2]}'
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        ended = subprocess.run(
            ["bash", "--norc", "-c", script], capture_output=True, text=True, check=True
        )
        return [line.rstrip() for line in ended.stdout.splitlines() if line]

    return ask


def test_bash_completes_commands_options_names_rules_and_files(
    completed: Callable[..., list[str]], here: Path
) -> None:
    (here / "mine.yaml").touch()
    (here / "out").mkdir()

    assert completed("replog", "sw") == ["sweep"]
    assert set(completed("replog", "")) >= {name.partition(" ")[0] for name in COMMANDS}
    assert completed("replog", "trace", "") == ["replay"]
    assert completed("replog", "sweep", "--confi") == ["--confirm"]
    assert "-h" not in completed("replog", "sweep", "-")
    assert completed("replog", "list", "mi") == ["mixes"]
    assert completed("replog", "new", "") == ["story", "scenario", "log", "plan", "workflow"]
    assert completed("replog", "sweep", "--engine", "p") == ["process"]
    assert completed("replog", "run", "mine.yaml", "--rule", "fix=e") == [
        "fix=empty_batch",
        "fix=empty_batch_at_hw",
    ]
    assert completed("replog", "gate", "out", "--fail-on", "no-offset") == ["no-offset-reuse"]
    assert completed("replog", "run", "mi") == ["mine.yaml"]
    assert completed("replog", "report", "o") == ["out"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_is_told_every_command(shell: str) -> None:
    answer = replog("completion", shell)

    assert answer.status == 0
    told = [name for name in COMMANDS if name.rpartition(" ")[0] in {"", *GROUPS}]
    assert [name for name in told if name.rpartition(" ")[2] not in answer.out] == []
    assert answer.out.startswith("# ")


def test_an_unknown_shell_and_a_missing_package_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert replog("completion", "ksh").complaint == "completion ksh: allowed: bash, zsh, fish, tcsh"
    monkeypatch.setattr("sim.extras.find_spec", lambda _: None)
    told = f"completion needs shtab: {install('completion')}"
    assert replog("completion", "bash").complaint == told
