"""Results of a suite as JUnit XML, for the machines that show them."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from sim.files.atomic import replacing
from sim.foreign.lines import one_line
from sim.suite.failure import failure_lines
from sim.suite.result import BAD_INPUT, ERROR, CaseResult


def write_junit(path: Path, results: Sequence[CaseResult], *, started: datetime) -> None:
    """Write results as JUnit XML; a failure holds what the command prints of it.

    `started` is when the suite began, with its time zone.

    Raises BadInput when `path` cannot be written; then nothing is.
    """
    kinds = [_junit_kind(result) for result in results]
    suite = ET.Element(
        "testsuite",
        name="replog",
        tests=str(len(results)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped="0",
        time=f"{sum(result.wall_ms for result in results) / 1000:.3f}",
        timestamp=started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        hostname=one_line(socket.gethostname()),
    )
    for result, kind in zip(results, kinds, strict=True):
        parts = result.path.with_suffix("").parts
        case = ET.SubElement(
            suite,
            "testcase",
            classname=one_line(".".join(part for part in parts if part != "/")),
            name=one_line(result.id),
            file=one_line(str(result.path)),
            time=f"{result.wall_ms / 1000:.3f}",
        )
        if kind is not None:
            problem = ET.SubElement(
                case, kind, message=one_line(result.complaints[0]), type=_type(result)
            )
            lines = [*filter(None, [result.title]), *failure_lines(result, whole=True)]
            problem.text = "\n".join(map(one_line, lines))
        elif result.notes:
            ET.SubElement(case, "system-out").text = "\n".join(map(one_line, result.notes))
    with replacing(path) as file:
        ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _type(result: CaseResult) -> str:
    """What kind of problem it is: `violated`, `inconclusive`, `bad input`, `error`, or another."""
    return "not as expected" if result.verdict == "holds" else result.verdict


def _junit_kind(result: CaseResult) -> str | None:
    if result.expectation_met:
        return None
    return "error" if result.verdict in (BAD_INPUT, ERROR) else "failure"
