"""Whoever reads what the command prints: in any encoding, on any terminal, or not to the end."""

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from sim.cli import main
from sim.files.foreign import one_line
from tests.commands import ROOT, STORY, replog
from tests.foreign.nasty import NASTY

LOG = ROOT / "scenarios/kip280/log_late_version_azure.json"
COMMANDS = {
    "version": ["--version"],
    "help": ["--help"],
    "help of a command": ["sweep", "--help"],
    "a story": ["run", STORY],
    "a story as JSON": ["run", STORY, "--json", "--explain"],
    "a drawing": ["draw", STORY],
    "a log file": ["clean", LOG],
    "a table": ["list", "rules"],
    "a table as JSON": ["list", "invariants", "--json"],
    "a file to begin with": ["new", "story"],
}


class Broken(io.StringIO):
    """A stream that takes nothing: it says so when its buffer is full, or flushed."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def write(self, text: str) -> int:
        super().write(text)
        if self.tell() > 1_000:
            self.flush()
        return len(text)

    def flush(self) -> None:
        if self.tell():
            raise OSError(self._number, os.strerror(self._number))


def ended(
    monkeypatch: pytest.MonkeyPatch, words: list[object], out: TextIO, err: TextIO
) -> int | str | None:
    """The exit status of the command with these streams."""
    monkeypatch.setattr(sys, "argv", ["replog", *map(str, words)])
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    for module in ("sim.cli", "sim.cli.output"):  # the numbers of these streams are pytest's own
        monkeypatch.setattr(f"{module}.write_no_more", lambda *_: None)
    with pytest.raises(SystemExit) as exit_:
        main()
    return exit_.value.code


@pytest.mark.parametrize("name", COMMANDS)
def test_a_result_that_could_not_be_written_is_no_success(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, status, told in (
        (errno.ENOSPC, 2, "replog: output: No space left on device\n"),
        (errno.EPIPE, 1, ""),
    ):
        err = io.StringIO()
        assert ended(monkeypatch, COMMANDS[name], Broken(number), err) == status
        assert err.getvalue() == told


def test_what_was_printed_before_a_file_failed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_words: object, **_more: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "events.ndjson")

    discarded: list[bool] = []
    monkeypatch.setattr("sim.cli.write_no_more", lambda: discarded.append(True))
    monkeypatch.setattr("sim.cli.runs.run_at", gone)

    answer = replog("run", STORY)

    assert (answer.status, answer.complaint) == (2, "events.ndjson: Permission denied")
    assert not discarded


@pytest.mark.parametrize("columns", ["0", "1", "1000000000", "wide", ""])
def test_any_width_will_do(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)

    for words in (["list", "rules"], ["sweep", "--help"], ["--help"], ["draw", STORY]):
        assert replog(*words, terminal=True).status == 0


def test_a_terminal_only_shows_what_a_file_says(here: Path) -> None:
    """A title, a key, a label; and an argument that nobody can use."""
    for name, text in NASTY.items():
        said = text.encode("utf-8", "replace").decode()
        append = {"op": "append", "leader": "r1", "label": said, "key": f"A{said}"}
        story = {
            "format": "replog-story/1",
            "id": said,
            "title": said,
            "source": said,
            "replicas": ["r1", "r2"],
            "steps": ["elect r1 1", append, "elect r2 1"],
        }
        Path("story.json").write_text(json.dumps(story), encoding="utf-8")
        answer = replog("run", "story.json", "--explain")
        assert (answer.status, answer.err) == (1, ""), name
        assert all(line == one_line(line) for line in answer.out.split("\n")), name
        assert replog("run", "story.json", "--json").document["id"] == said
        for words in (["run", f"x{text}"], ["run", STORY, "--rule", f"fix={text}"], [f"x{text}"]):
            if "\0" not in text:
                answer = replog(*words)
                assert answer.status == 2, words
                assert one_line(answer.complaint) == answer.complaint, words


def test_files_of_any_name_are_read_and_named(here: Path) -> None:
    """The bytes of a name need not be UTF-8."""
    for number, name in enumerate(("a\x1b[2Jb\nc", "name\udcff", "-rf", "$(id)", "日志")):
        Path(f"{name}.yaml").write_bytes(STORY.read_bytes())
        answer = replog("run", f"./{name}.yaml", "--failures", "failures", "--rule", "fix=none")
        assert (answer.status, answer.err) == (0, ""), number
    answer = replog("suite", ".", "-j", "1", "--junit", "junit.xml")
    assert answer.status == 0
    assert all(line == one_line(line) for line in answer.out.split("\n"))
    assert Path("junit.xml").read_text(encoding="utf-8")


C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("replog list rules >&-", 2, b"replog: output: Bad file descriptor\n"),
        ("replog run nowhere >&- 2>&- <&-", 2, b""),
        ("replog list rules >/dev/full", 2, b"replog: output: No space left on device\n"),
        ("set -o pipefail; replog list invariants --json | true", 1, b""),
        (
            'cd "$(mktemp -d)" && rmdir "$PWD" && replog run x.yaml',
            2,
            b"replog: x.yaml: cannot be read: No such file or directory\n",
        ),
        # PEP 538 and 540 switched off; the story says "–" and the picture has arrows.
        ('replog draw "$1" && replog run "$1" --json', 0, b""),
    ],
)
def test_a_process_ends_as_it_should_when_its_streams_are_broken_or_know_ascii_alone(
    command: str, status: int, told: bytes
) -> None:
    program = f"{sys.executable} -m sim"
    ended = subprocess.run(
        ["bash", "-c", command.replace("replog", program), "bash", STORY],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/nowhere", **C_LOCALE},
        timeout=60,
        check=False,
    )

    assert ended.stderr == told
    assert ended.returncode == status
