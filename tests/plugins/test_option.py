"""`--plugin` on every command, and in what a command prints to reproduce a failure."""

from pathlib import Path

import pytest

from tests.plugins.plugged import LOG, PAIR, folder, replog

__all__ = ["folder"]


def test_a_failing_suite_names_the_plugin_in_what_reproduces_it(folder: Path) -> None:
    wrong = "expect: {replicas: {r1: {log: [a@9]}}}\n"
    (folder / "suite").mkdir()
    (folder / "suite" / "longest.yaml").write_text(PAIR + wrong)
    (folder / "suite" / "log.json").write_text(LOG)
    ran = replog(folder, "suite", "suite", "--junit", "out.xml", "--plugin", "longest")

    told = [line.strip() for line in ran.out.splitlines() if "reproduce" in line]
    commands = [
        "replog clean suite/log.json --plugin=longest",
        "replog run suite/longest.yaml --plugin=longest",
    ]
    assert ran.status == 1
    assert told == [f"reproduce: {command}" for command in commands]
    assert "surviving_offsets is [0], expected [1]" in ran.out
    junit = (folder / "out.xml").read_text()
    assert all(f"reproduce: {command}" in junit for command in commands)
    for command in commands:
        again = replog(folder, *command.split()[1:])
        assert (again.status, again.err) == (1, "")
        assert again.out.endswith(f"reproduce: {command}\n")
        without = replog(folder, *command.split()[1:-1])
        assert (without.status, "unknown value 'longest'" in without.err) == (2, True)


def test_a_plugin_that_is_installed_comes_before_one_in_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = folder / "installed"
    installed.mkdir()
    (folder / "longest.py").rename(installed / "longest.py")
    (folder / "longest.py").write_text("open('imported', 'w').close()")
    monkeypatch.syspath_prepend(installed)
    ran = replog(folder, "list", "rules", "--plugin", "longest")

    assert (ran.status, "longest" in ran.out) == (0, True)
    assert not (folder / "imported").exists()
