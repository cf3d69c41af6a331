"""Results of a suite as JUnit XML, for the machines that show them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from sim.files.atomic import replacing
from sim.suite.failure import failure_lines
from sim.suite.result import BAD_INPUT, ERROR, CaseResult

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may have; keys and values of records may."""


def write_junit(path: Path, results: Sequence[CaseResult]) -> None:
    """Write results as JUnit XML; a failure holds what the command prints of it.

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
    )
    for result, kind in zip(results, kinds, strict=True):
        parts = result.path.with_suffix("").parts
        case = ET.SubElement(
            suite,
            "testcase",
            classname=_text(".".join(part for part in parts if part != "/")),
            name=_text(result.id),
            file=_text(str(result.path)),
            time=f"{result.wall_ms / 1000:.3f}",
        )
        if kind is not None:
            problem = ET.SubElement(case, kind, message=_text(result.complaints[0]))
            lines = [*filter(None, [result.title]), *failure_lines(result, whole=True)]
            problem.text = _text("\n".join(lines))
    with replacing(path) as file:
        ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _text(text: str) -> str:
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _junit_kind(result: CaseResult) -> str | None:
    if result.expectation_met:
        return None
    return "error" if result.verdict in (BAD_INPUT, ERROR) else "failure"
