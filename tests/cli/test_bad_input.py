"""Bad input is one clear line on stderr and exit status 2, and nothing is half-written."""

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from tests.cli.conftest import PLAN, Replog

STORY = """\
format: replog-story/1
replicas: [r1, r2]
steps:
  - {step}
"""
TIMED = "format: replog-scenario/1\nduration_ms: 500\n"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("leap r1", ["step 1", "unknown op 'leap'", "append", "quiesce"]),
        ("elect r3 1", ["step 1", "leader", "r3", "r1, r2"]),
        ("{op: elect, leader: r1, epoch: 1, colour: red}", ["step 1", "colour", "epoch"]),
        ("elect r1", ["step 1", "epoch"]),
        ("elect r1 one", ["step 1", "epoch", '"one"']),
        ("crash r1 lose=-1", ["step 1", "lose", "-1"]),
        ("consume c r1 upto=-4", ["step 1", "upto", "-4"]),
        ("snapshot r1 -2", ["step 1", "end", "-2"]),
        ("delete_prefix r1 -1", ["step 1", "to", "-1"]),
        ("{op: compact, replica: r1, segments: [[5, 2, 0]]}", ["step 1", "segments"]),
        ("{op: compact, replica: r1, segments: [[3, 5, 0], [0, 3, 0]]}", ["step 1", "segments"]),
        ("advance -5", ["step 1", "ms", "-5"]),
    ],
)
def test_a_storys_step_is_named_with_the_field(
    replog: Replog, here: Path, step: str, words: list[str]
) -> None:
    (here / "x.yaml").write_text(STORY.replace("{step}", step))

    answer = replog("run", "x.yaml")

    assert answer.status == 2
    assert answer.complaint.startswith("x.yaml:4: ")
    assert [word for word in words if word not in answer.complaint] == []


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("rules: {fixx: none}", ["x.yaml:3: rules.fixx", "unknown", "'fix'", "strategy"]),
        ("rules: {fix: leo}", ["x.yaml:3: rules.fix", "'leo'", "none, leo_retention, empty_batch"]),
        ("rules: {preset: kafka-9}", ["x.yaml:3: rules.preset", "kafka-9", "kraft"]),
        ("colour: red", ["x.yaml:3: colour", "allowed", "workload"]),
        ("faults: [{at: 1, crash: r9, for_ms: 5}]", ["x.yaml:3: faults", "'r9'", "r1, r2, r3"]),
        ("faults: [{at: -1, crash: r1, for_ms: 5}]", ["x.yaml:3: faults", "at", "-1"]),
        ("expect: {violated: [no-reuse]}", ["x.yaml:3: expect.violated", "no-reuse"]),
        ("expect: {unreached: [tail-lost]}", ["x.yaml:3: expect.unreached", "tail-lost"]),
        ("workload: {trace: none.parquet}", ["x.yaml:3: workload.trace", "none.parquet"]),
        ("seed: -1", ["x.yaml:3: seed", "-1"]),
    ],
)
def test_a_scenarios_line_is_named_with_the_field(
    replog: Replog, here: Path, lines: str, words: list[str]
) -> None:
    (here / "x.yaml").write_text(TIMED + lines + "\n")

    answer = replog("run", "x.yaml")

    assert answer.status == 2
    assert [word for word in words if word not in answer.complaint] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "none.yaml"], ["none.yaml", "No such file"]),
        (["run", "."], [".", "Is a directory"]),
        (["run", "x.yaml", "--rule", "fix"], ["--rule fix", "name=value"]),
        (["run", "x.yaml", "--rule", "fixx=none"], ["--rule", "'fixx'", "strategy"]),
        (["run", "x.yaml", "--rule", "fix=leo"], ["--rule fix: ", "'leo'", "leo_retention"]),
        (["run", "x.yaml", "--rule", "fix=none", "--rule", "fix=empty_batch"], ["--rule", "none"]),
        (["run", "x.yaml", "--seed", "-1"], ["--seed", "equal to 0", "replog run --help"]),
        (["run", "x.yaml", "--trace", "none/t.ndjson"], ["--trace", "no such folder: none"]),
        (["run", "x.yaml", "--trace", "."], ["--trace .", "is a folder"]),
        (["replay", ".", "0", "--trace", "none/t"], ["--trace", "no such folder: none"]),
        (["run", "x.yaml", "--colour"], ["--colour", "replog run --help"]),
        (["run"], ["file", "replog run --help"]),
        (["fly"], ["fly", "replog --help"]),
        (["suite", "none"], ["none", "no such file or folder"]),
        (["suite", "empty"], ["empty", "no scenario files"]),
        (["suite", "x.yaml", "--junit", "none/j.xml"], ["--junit", "no such folder: none"]),
        (["replay", "none", "0"], ["none"]),
        (["replay", "empty", "0"], ["empty", "plan.json"]),
        (["report", "none"], ["none"]),
        (["report", "empty"], ["empty"]),
        (["list", "colours"], ["colours", "rules, presets, invariants"]),
        (["list", "scenarios", "--in", "none"], ["none", "no such folder"]),
        (["sweep", "none.yaml", "--out", "o"], ["none.yaml"]),
        (["sweep", "x.yaml", "--out", "o"], ["x.yaml", "replog-sweep/1"]),
        (["sweep", "plan.yaml"], ["--out", "replog sweep --help"]),
        (["sweep", "plan.yaml", "--out", "o", "--engine", "steam"], ["steam", "spark, process"]),
        (["sweep", "plan.yaml", "--out", "o", "--count", "0"], ["--count: 0: expected"]),
        (["sweep", "plan.yaml", "--out", "x.yaml"], ["x.yaml", "is a file"]),
        (["sweep", "plan.yaml", "--out", "full"], ["full", "'letter.txt'"]),
        (["run", "plan.yaml"], ["plan.yaml", "replog sweep plan.yaml"]),
        (["draw", "plan.yaml", "-o", "o.svg"], ["plan.yaml", "replog-story/1"]),
        (["draw", "s.yaml", "-o", "none/o.svg"], ["--output", "no such folder"]),
        (["draw", "s.yaml", "-o", "o.svg", "--step", "one=x"], ["--step one=x"]),
        (["draw", "s.yaml", "-o", "o.svg", "--step", "9=x"], ["step 9", "1 to 1"]),
        (["trace", "replay", "none.csv"], ["none.csv"]),
        (["trace", "replay", "x.yaml"], ["x.yaml", "Parquet", ".csv"]),
        (["trace", "replay", "short.csv"], ["short.csv", "value, timestamp_ms"]),
        (["trace", "replay", "torn.parquet"], ["torn.parquet"]),
        (["trace", "replay", "good.csv", "--rule", "fix=x"], ["--rule fix: ", "'x'"]),
        (["trace", "replay", "good.csv", "--limit", "0"], ["--limit", "equal to 1"]),
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_said_in_one_line(
    replog: Replog, here: Path, arguments: list[str], words: list[str]
) -> None:
    (here / "x.yaml").write_text(TIMED)
    (here / "s.yaml").write_text(STORY.replace("{step}", "elect r1 1"))
    (here / "plan.yaml").write_text(PLAN)
    (here / "short.csv").write_text("key,colour\nk,red\n")
    (here / "good.csv").write_text("key,value,timestamp_ms\nk,v,1\n")
    (here / "torn.parquet").write_bytes(b"PAR1 and no more")
    (here / "empty").mkdir()
    (here / "full").mkdir()
    (here / "full/letter.txt").touch()
    before = sorted(here.rglob("*"))

    answer = replog(*arguments)

    assert answer.status == 2
    assert [word for word in words if word not in answer.complaint] == []
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "s.yaml", "--trace", "link.yaml"],
        ["suite", ".", "--junit", "s.yaml"],
        ["suite", "s.yaml", "--markdown", "./s.yaml"],
        ["matrix", "s.yaml", "--vary", "fix", "-o", "s.yaml"],
        ["draw", "s.svg", "-o", "s.svg"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_written_over(replog: Replog, here: Path, arguments: list[str]) -> None:
    story = STORY.replace("{step}", "elect r1 1")
    (here / "s.yaml").write_text(story)
    (here / "s.svg").write_text(story)
    (here / "link.yaml").symlink_to("s.yaml")

    answer = replog(*arguments)

    assert answer.status == 2
    assert answer.complaint.endswith(": is a file that this command reads; give another one")
    assert (here / "s.yaml").read_text() == (here / "s.svg").read_text() == story


def test_a_file_that_is_no_text(replog: Replog, here: Path) -> None:
    (here / "x.yaml").write_bytes(b"format: \xff")

    assert replog("run", "x.yaml").complaint == "x.yaml:1: is not UTF-8 text (byte 8)"


def test_every_mistake_of_a_file_is_a_line(replog: Replog, here: Path) -> None:
    (here / "x.yaml").write_text(TIMED + "colour: red\nseed: -1\n")

    answer = replog("run", "x.yaml")

    assert answer.status == 2
    assert [line.split()[1] for line in answer.err.splitlines()] == ["x.yaml:3:", "x.yaml:4:"]


def test_a_folder_that_holds_another_sweep(replog: Replog, here: Path, swept: Path) -> None:
    (here / "plan.yaml").write_text(PLAN)
    before = {path: path.stat().st_mtime_ns for path in swept.rglob("*")}

    answer = replog("sweep", "plan.yaml", "--seed", 4, "--out", swept, "--engine", "process")

    assert answer.status == 2
    assert "holds another sweep (seed 3 there, 4 here)" in answer.complaint
    assert {path: path.stat().st_mtime_ns for path in swept.rglob("*")} == before


def test_a_folder_that_holds_this_sweep_already(replog: Replog, here: Path, swept: Path) -> None:
    (here / "plan.yaml").write_text(PLAN)

    answer = replog("sweep", "plan.yaml", "--out", swept, "--engine", "process")

    assert answer.status == 2
    assert "holds this sweep already" in answer.complaint


def test_a_run_that_a_sweep_does_not_have(replog: Replog, swept: Path) -> None:
    answer = replog("replay", swept, 12)

    assert answer.status == 2
    assert "run 12: no such run; this sweep has runs 0 to 11" in answer.complaint


@pytest.mark.parametrize(
    ("option", "arguments"),
    [("--trace", ["run", "x.yaml"]), ("--junit", ["suite", "x.yaml"])],
)
def test_a_folder_that_may_not_be_written(
    replog: Replog,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    arguments: list[str],
) -> None:
    (here / "x.yaml").write_text(TIMED)
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)

    answer = replog(*arguments, option, "o.out")

    assert answer.status == 2
    assert answer.complaint == f"{option} o.out: may not be written by this user"


@pytest.mark.parametrize(
    ("option", "arguments"),
    [("--trace", ["run", "x.yaml"]), ("--junit", ["suite", "x.yaml"])],
)
def test_a_full_disk_leaves_what_was_there(
    replog: Replog,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    arguments: list[str],
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (here / "x.yaml").write_text(TIMED)
    (here / "o.out").write_text("of yesterday")
    monkeypatch.setattr(Path, "replace", full)

    answer = replog(*arguments, option, "o.out")

    assert answer.status == 2
    assert answer.err == "replog: o.out: cannot be written: No space left on device\n"
    assert sorted(path.name for path in here.iterdir()) == ["o.out", "x.yaml"]
    assert (here / "o.out").read_text() == "of yesterday"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "x.yaml:1: expected fields, not 0"),
        ("", "x.yaml:1: expected fields, not null"),
        ("seed: 1", "x.yaml:1: format: missing; allowed: replog-story/1, replog-scenario/1"),
        ("format: 0", "x.yaml:1: format: unknown format 0; allowed: replog-story/1, replog-"),
        ("format: replog-story/2", 'x.yaml:1: format: unknown format "replog-story/2"'),
        ("format: [", "x.yaml:2: is not YAML: did not find expected node content"),
        ('{"format": 0}', "x.yaml:1: format: unknown format 0; allowed: replog-story/1, replog-"),
        ("format: &a replog-story/1", "x.yaml:1: format: write it as plain text: format: repl"),
        ("\0", "x.yaml:1: is not YAML: unacceptable character #x0000"),
    ],
)
def test_what_is_no_scenario_is_told_what_it_is(
    replog: Replog, here: Path, text: str, said: str
) -> None:
    (here / "x.yaml").write_text(text + "\n")

    answer = replog("run", "x.yaml")

    assert answer.status == 2
    assert answer.complaint.startswith(said)


def test_a_field_that_is_named_by_a_number_is_quoted(replog: Replog, here: Path) -> None:
    (here / "x.yaml").write_text(TIMED + "0: 1\n")

    assert replog("run", "x.yaml").complaint.startswith('x.yaml:3: "0": unknown field; allowed: ')


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("format: replog-log/1\nlogs: {}\n", "replog eligible x.yaml"),
        ("format: replog-log/1\nsteps: []\n", "replog clean x.yaml"),
        ("format: replog-sweep/1\n", "replog sweep x.yaml"),
    ],
)
def test_a_file_for_another_command_names_it(
    replog: Replog, here: Path, text: str, command: str
) -> None:
    (here / "x.yaml").write_text(text)

    assert replog("run", "x.yaml").complaint.endswith(f"; run it with: {command}")


def test_topics_of_a_folder_without_timed_scenarios(replog: Replog, here: Path) -> None:
    (here / "x.yaml").write_text("format: replog-story/1\n")

    answer = replog("list", "topics", "--in", ".")

    assert answer.status == 2
    assert answer.complaint.startswith(".: no timed scenario, format: replog-scenario/1")
