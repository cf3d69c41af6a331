"""`replog run`: one story or one timed scenario."""

import errno
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sim import __version__
from sim.simulate.run import Run
from sim.simulate.run.trace_file import trace_lines
from tests.commands import python, replog

TIMED = "format: replog-scenario/1\nduration_ms: 500\nworkload: [{at: 100, key: k, value: v}]\n"


@pytest.fixture
def timed(here: Path) -> Path:
    """A timed scenario in which all is well."""
    (here / "timed.yaml").write_text(TIMED)
    return Path("timed.yaml")


def test_a_trace_says_first_which_run_it_is_of_and_last_what_the_run_found(timed: Path) -> None:
    rules = ("--rule", "preset=kip-280", "--rule", "fix=empty_batch", "--seed", 7)
    told = replog("run", timed, *rules, "--json", "--trace", "events.ndjson").document

    header, *rows, verdict = [
        json.loads(line) for line in Path("events.ndjson").read_text().splitlines()
    ]
    assert (header["format"], header["version"]) == ("replog-trace/1", __version__)
    assert (header["id"], header["seed"], header["kind"]) == (told["id"], 7, "scenario")
    assert (header["preset"], header["rules"]) == ("kip-280", told["rules"])
    assert (header["rules"]["fix"], header["commit"]) == ("empty_batch", "isr")
    assert header["strategy"] == {"name": "header", "header": "version", "header_form": "last_long"}
    assert header["topic"]["segment.bytes"] == 2048
    assert header["topic"]["compaction.strategy"] == "header"
    assert (verdict["event"], verdict["events"]) == ("Verdict", len(rows))
    assert (verdict["verdict"], verdict["digest"]) == (told["verdict"], told["digest"])


@pytest.mark.parametrize(
    ("problem", "status"), [(KeyboardInterrupt, 130), (OSError(errno.ENOSPC, "full"), 2)]
)
def test_a_trace_that_was_interrupted_leaves_nothing_behind(
    timed: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException, status: int
) -> None:
    def broken(run: Run, **more: Any) -> Iterator[bytes]:
        yield from islice(trace_lines(run, **more), 5)
        raise problem

    monkeypatch.setattr("sim.simulate.run.trace_file.trace_lines", broken)

    assert replog("run", timed, "--trace", "events.ndjson").status == status
    assert [path.name for path in Path().iterdir()] == ["timed.yaml"]


def test_a_trace_may_go_to_standard_output(timed: Path) -> None:
    printed = python("-m", "sim", "run", timed, "--trace", "/dev/stdout", cwd=Path.cwd()).out

    first, *_ = printed.splitlines()
    assert json.loads(first)["format"] == "replog-trace/1"
    assert '"event":"Verdict"' in printed
