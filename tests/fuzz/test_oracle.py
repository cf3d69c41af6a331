"""The oracle of the fuzzing says what is wrong with an answer, and nothing of a good one."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz.case import Case, Content, Special, from_json, to_json
from tests.fuzz.oracle import Answer, faults, kind_of

CASE = Case("story", ("run", "x.yaml"), {"x.yaml": b"x"}, ("out",))
GOOD = Answer(2, b"", b"replog: x.yaml:1: wrong\n", True, 0.1, 10**6, (), {"x.yaml": "1"},
              {"x.yaml": "1"})  # fmt: skip
TRACEBACK = b"""\
Traceback (most recent call last):
  File "/somewhere/sim/story/driver.py", line 7, in step
    raise KeyError(name)
KeyError: 'r9'
"""


def kinds(case: Case, answer: Answer) -> set[str]:
    return {kind_of(fault) for fault in faults(case, answer, Path("/nonexistent"))}


def test_a_refusal_in_a_line_has_no_fault() -> None:
    assert kinds(CASE, GOOD) == set()


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"in_time": False}, "hang"),
        ({"err": TRACEBACK, "status": 1}, "traceback"),
        ({"err": b"replog: sim/story/driver.py: no\n"}, "traceback"),
        ({"err": b"replog: x.yaml: KeyError: 'r9'\n"}, "exception"),
        ({"err": b"MemoryError\n", "status": 1}, "memory"),
        ({"peak_bytes": 2**31}, "memory"),
        ({"status": -11}, "signal"),
        ({"status": 120}, "status"),
        ({"err": b"wrong\n"}, "form"),
        ({"err": b"0 of 7 runs\n"}, "form"),
        ({"err": b"replog: x\n" * 102}, "form"),
        ({"err": b"replog: " + b"x" * 10**5}, "form"),
        ({"err": b""}, "silent"),
        ({"err": b"replog: \x1b[2J\n"}, "text"),
        ({"err": b"replog: \xc2\x9b\n"}, "text"),
        ({"out": b"\xff"}, "text"),
        ({"left": ("sleep 100",)}, "orphan"),
        ({"after": {"x.yaml": "2"}}, "half-written"),
        ({"after": {"x.yaml": "1", "out": "3"}}, "half-written"),
        ({"after": {"x.yaml": "1", ".draft": "3"}, "status": 1}, "half-written"),
        ({"after": {"x.yaml": "1", "out/x.tmp": "3"}, "status": 1}, "half-written"),
    ],
)
def test_every_class_of_fault_is_seen(change: dict[str, object], kind: str) -> None:
    assert kind in kinds(CASE, replace(GOOD, **change))  # type: ignore[arg-type]


def test_what_was_asked_for_may_be_new() -> None:
    written = replace(GOOD, status=1, after={"x.yaml": "1", "out": "folder", "out/a.md": "2"})

    assert kinds(CASE, written) == set()


@pytest.mark.parametrize("out", [b"{", b"{} {}", b'{"a": NaN}', b"text"])
def test_json_that_is_none_is_a_fault(out: bytes) -> None:
    asked = replace(CASE, argv=("run", "x.yaml", "--json"))

    assert kinds(asked, replace(GOOD, out=out)) == {"json"}
    assert kinds(asked, replace(GOOD, out=b'{"a": null}\n')) == set()


def test_a_broken_output_of_a_success_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/junit.xml").write_text("<a>")
    made = replace(GOOD, status=0, err=b"", after={"x.yaml": "1", "out/junit.xml": "2"})

    (fault,) = faults(CASE, made, tmp_path)

    assert fault.startswith("output: .xml is broken")


def test_a_case_is_the_same_when_read_back() -> None:
    files: dict[str, Content] = {
        "x": b"\xff\0",
        "y": b"text\n",
        "p": Special("fifo"),
        "l": Special("link", "."),
    }
    case = Case("CSV", ("run", "\udcff"), files, ("o",), "swept", {"A": None}, b"in", "closed")

    assert from_json(to_json(case, status=2)) == case
