"""The oracle of the fuzzing says what is wrong with an answer, and nothing of a good one."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz.case import Case, Content, Special, from_json, to_json
from tests.fuzz.oracle import Answer, faults

CASE = Case(("run", "x.yaml", "--json"), {"x.yaml": b"x"}, ("out",))
SAME = {"x.yaml": b"x"}
GOOD = Answer(2, b"", b"replog: x.yaml:1: wrong\n", 0.1, True, False, SAME, SAME)
MADE = replace(GOOD, status=1, err=b"", out=b'{"a": null}\n', after=SAME | {"out/a.md": b"2"})
TRACEBACK = (
    b'Traceback (most recent call last):\n  File "/x/sim/story/driver.py", line 7, in step\n'
)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"in_time": False}, "hang"),
        ({"err": TRACEBACK, "status": 1}, "traceback"),
        ({"err": b"replog: sim/story/driver.py: no\n"}, "traceback"),
        ({"err": b"replog: x.yaml: KeyError: 'r9'\n"}, "traceback"),
        ({"status": -11}, "signal"),
        ({"status": 120}, "status"),
        ({"err": b"0 of 7 runs\n"}, "form"),
        ({"err": b"replog: x\n" * 102}, "form"),
        ({"err": b"replog: " + b"x" * 10**5}, "form"),
        ({"err": b""}, "form"),
        ({"err": b"replog: \xc2\x9b\n"}, "text"),
        ({"out": b"\xff"}, "text"),
        ({"out": b'{"a": NaN}'}, "json"),
        ({"out": b"{} {}"}, "json"),
        ({"left": True}, "orphan"),
        ({"after": {"x.yaml": b"2"}}, "half-written"),
        ({"after": SAME | {"new": b"3"}}, "half-written"),
        ({"after": SAME | {".draft": b"3"}, "status": 1}, "half-written"),
        ({"after": SAME | {"out/x.tmp": b"3"}, "status": 1}, "half-written"),
        ({"after": SAME | {"out/x.xml": b"<a>"}, "status": 0}, "output"),
    ],
)
def test_every_class_of_fault_is_seen(change: dict[str, object], kind: str, tmp_path: Path) -> None:
    answer = replace(GOOD, **change)  # type: ignore[arg-type]
    (tmp_path / "out").mkdir()
    for name, content in answer.after.items():
        (tmp_path / name).write_bytes(content)

    assert faults(CASE, GOOD, tmp_path) == faults(CASE, MADE, tmp_path) == []
    assert [fault.partition(":")[0] for fault in faults(CASE, answer, tmp_path)][:1] == [kind]


def test_a_case_is_the_same_when_read_back() -> None:
    files: dict[str, Content] = {
        "x": b"\xff\0",
        "y": b"text\n",
        "p": Special("fifo"),
        "l": Special("link", "."),
    }
    case = Case(("run", "\udcff"), files, ("o",))

    assert from_json(to_json(case, status=2)) == case
