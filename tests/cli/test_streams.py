"""Whoever reads what the command prints: in any encoding, on any terminal, or not to the end."""

import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TextIO

import pytest

from sim.cli import main, streams
from sim.foreign.lines import one_line
from sim.scenario.file.yaml_lines import yaml_lines
from tests.cli.conftest import Replog
from tests.foreign.nasty import NASTY, PLAIN

ROOT = Path(__file__).resolve().parents[2]
STORY = ROOT / "scenarios/kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml"
LOG = ROOT / "scenarios/kip280/log_late_version_azure.json"
COMMANDS = {
    "version": ["--version"],
    "help": ["--help"],
    "help of a command": ["sweep", "--help"],
    "a story": ["run", STORY],
    "a story as JSON": ["run", STORY, "--json", "--explain"],
    "a suite": ["suite", STORY, "-j", "1"],
    "a drawing": ["draw", STORY],
    "an explanation": ["explain", STORY],
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
    for module in ("sim.cli", "sim.cli.streams"):  # the numbers of these streams are pytest's own
        monkeypatch.setattr(f"{module}.write_no_more", lambda *_: None)
    with pytest.raises(SystemExit) as exit_:
        main()
    return exit_.value.code


FULL = (errno.ENOSPC, 2, "replog: output: No space left on device\n")
CLOSED = (errno.EBADF, 2, "replog: output: is closed\n")
READER_GONE = (errno.EPIPE, 1, "")


@pytest.mark.parametrize(
    ("name", "how"),
    [*product(COMMANDS, [FULL]), *product(["version", "help of a command"], [CLOSED, READER_GONE])],
)
def test_a_result_that_could_not_be_written_is_no_success(
    name: str, how: tuple[int, int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    number, status, told = how
    err = io.StringIO()

    assert ended(monkeypatch, COMMANDS[name], Broken(number), err) == status
    assert err.getvalue() == told


def test_what_cannot_be_said_on_stderr_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (errno.ENOSPC, errno.EBADF, errno.EPIPE):
        out = io.StringIO()
        assert ended(monkeypatch, ["suite", STORY, "-j", "1"], out, Broken(number)) == 0
        assert "1 as expected" in out.getvalue()
        assert ended(monkeypatch, ["run", "nowhere.yaml"], out, Broken(number)) == 2


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        *product(COMMANDS, ["ascii"]),
        *product(["a drawing", "a table as JSON"], ["latin-1", "cp437"]),
    ],
)
def test_any_encoding_will_do(name: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = COMMANDS[name]
    out, err = io.TextIOWrapper(io.BytesIO(), encoding), io.StringIO()

    assert ended(monkeypatch, words, out, err) == 0
    assert err.getvalue() == ""
    out.seek(0)
    told = out.read()
    assert told.strip()
    if "--json" in words:
        assert told.isascii()
        json.loads(told)


@pytest.mark.parametrize("columns", ["0", "-1", "1", "1000000000", "²", "wide", "9" * 5000, ""])
def test_any_width_will_do(columns: str, replog: Replog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    for words in (["list", "rules"], ["sweep", "--help"], ["--help"], ["draw", STORY]):
        assert replog(*words).status == 0
    from sim.cli.output import progress_console

    assert 0 < progress_console().width <= 1_000


def story_with(text: str) -> str:
    """A story that violates something, with a text wherever a story may have one."""
    steps: list[object] = [
        "elect r1 1",
        {"op": "append", "leader": "r1", "label": f"a{text}", "key": f"A{text}", "hdr": 9},
        {"op": "append", "leader": "r1", "label": f"{text}b", "key": text, "hdr": 1},
        {"op": "append", "leader": "r1", "label": "c", "key": "C", "hdr": 1},
        *("sync r2 r1", "sync r3 r1", "isr r1,r2"),
        {"op": "append", "leader": "r1", "label": "d", "key": f"A{text}", "hdr": 1},
        *("sync r2 r1", "consume reader r1", "compact r1", "fetch r3 r1", "fetch r3 r1"),
        *("expand_isr r3", "elect_from_isr r3 2", "append r3 e E hdr=1", "follow r1 r3"),
    ]
    rules = {"strategy": "header", "follower_position": "read_end", "fix": "none"}
    story = {
        "format": "replog-story/1",
        "id": text,
        "title": text,
        "source": text,
        "rules": rules,
        "replicas": ["r1", "r2", "r3"],
        "steps": steps,
        "expect": {"violated": []},
    }
    return "\n".join(yaml_lines(story)) + "\n"


SURROGATE = re.compile("[\ud800-\udfff]")
SAID = {name: text for name, text in (NASTY | PLAIN).items() if not SURROGATE.search(text)}
"""What a file of UTF-8 can say."""


@pytest.mark.parametrize("text", SAID.values(), ids=SAID)
def test_a_terminal_only_shows_what_a_file_says(text: str, replog: Replog, here: Path) -> None:
    Path("story.yaml").write_text(story_with(text), encoding="utf-8")

    answer = replog("run", "story.yaml", "--explain")

    assert answer.err == ""
    lines = answer.out.split("\n")
    assert all(line == one_line(line) for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)
    told = replog("run", "story.yaml", "--json").document
    assert told["id"] == text
    assert told["violated"]


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "a\nreplog: b", "\u202e", "name\udcff", "::error::x", "[b]"]
)
def test_a_terminal_only_shows_what_an_argument_says(text: str, replog: Replog, here: Path) -> None:
    (here / "story.yaml").write_text("format: replog-story/1\n")
    for words in (
        ["run", text],
        ["run", STORY, "--rule", text],
        ["run", STORY, "--rule", f"fix={text}"],
        ["run", STORY, f"--{text}"],
        ["run", STORY, f"--explain={text}"],
        ["suite", text],
        ["list", text],
        ["draw", STORY, "-o", text],
        ["replay", text, "1"],
        [f"x{text}"],
    ):
        answer = replog(*words)
        assert answer.status == 2, words
        assert one_line(answer.complaint) == answer.complaint, words


def test_a_table_only_shows_what_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Rule sets are called as a plan says."""
    from sim.cli.output import print_table

    with streams.shown_streams():
        print_table([{"rule set": text, "runs": 1} for text in (NASTY | PLAIN).values()])
        print_table([{text: text, "b": text} for text in ["::error::x"]], texts=True)

    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == len(NASTY | PLAIN) + 4
    assert all(line == one_line(line) for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)
    assert {line.rindex("1") for line in lines[1:3]} == {lines[0].index("runs") + 3}


def test_files_of_any_name_are_read_and_named(replog: Replog, here: Path) -> None:
    """The bytes of a name need not be UTF-8."""
    for number, name in enumerate(("a\x1b[2Jb\nc", "name\udcff", "-rf", "$(id)", "日志")):
        shutil.copy(STORY, f"./{name}.yaml")
        answer = replog("run", f"./{name}.yaml", "--failures", "failures", "--rule", "fix=none")
        assert (answer.status, answer.err) == (0, ""), number
    answer = replog("suite", ".", "-j", "1", "--junit", "junit.xml", "--markdown", "page.md")
    assert answer.status == 0
    assert all(line == one_line(line) for line in answer.out.split("\n"))
    assert Path("page.md").read_text(encoding="utf-8")


C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


def python(command: str, *words: object, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """A shell that runs `command`, in which `replog` stands for the program."""
    program = f"{sys.executable} -m sim"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **changes}
    return subprocess.run(
        ["bash", "-c", command.replace("replog", program), "bash", *map(str, words)],
        capture_output=True,
        env=environment,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("replog sweep --help >&-", 2, b"replog: output: is closed\n"),
        ("replog list rules >/dev/full", 2, b"replog: output: No space left on device\n"),
        ("replog run nowhere >&- 2>&- <&-", 2, b""),
        ('replog run "$1" 2>/dev/full', 0, b""),
        (
            'cd "$(mktemp -d)" && rmdir "$PWD" && replog run x.yaml',
            2,
            b"replog: x.yaml: cannot be read: No such file or directory\n",
        ),
    ],
)
def test_a_process_ends_quietly_when_its_streams_are_broken(
    command: str, status: int, told: bytes
) -> None:
    ended = python(command, STORY)

    assert ended.stderr == told
    assert ended.returncode == status


def test_a_locale_without_unicode_is_enough(tmp_path: Path) -> None:
    """The names of files, what is printed and what is written; PEP 538 and 540 switched off."""
    (tmp_path / "größe.yaml").write_text(story_with("Größe – 日志"), encoding="utf-8")

    ended = python(
        f"cd {tmp_path} && replog run *.yaml --failures f --json; cat f/*/README.md",
        **C_LOCALE,
        HOME="/nowhere",
        TERM="dumb",
    )

    assert ended.stderr == b""
    document, rest = json.JSONDecoder().raw_decode(ended.stdout.decode())
    assert document["id"] == "Größe – 日志"
    assert "# Größe-–-日志" in ended.stdout.decode()[rest:]
