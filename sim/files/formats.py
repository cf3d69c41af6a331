"""The names of the file formats, as the `format` field of a file has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

STORY_FORMAT = "replog-story/1"
SCENARIO_FORMAT = "replog-scenario/1"
LOG_FORMAT = "replog-log/1"
PLAN_FORMAT = "replog-sweep/1"
EXPLORE_FORMAT = "replog-explore/1"
TRACE_FORMAT = "replog-trace/1"
PROVEN_FORMAT = "replog-proven/2"


class FormatKind(NamedTuple):
    """A kind of file.

    Attributes:
        name: Name in messages.
        command: The command that reads it.
    """

    name: str
    command: str


NOT_RUN = {
    PLAN_FORMAT: FormatKind("sweep plan", "sweep"),
    EXPLORE_FORMAT: FormatKind("search plan", "explore"),
    TRACE_FORMAT: FormatKind("trace", "certify"),
}
"""Format -> kind of the files that a suite passes over in a folder of scenarios."""
_SCENARIOS = {
    STORY_FORMAT: FormatKind("story", "run"),
    SCENARIO_FORMAT: FormatKind("timed scenario", "run"),
}


def kind_of(top: Mapping[str, Any]) -> FormatKind | None:
    """The kind of a file with these fields; None for a file that Replog does not know."""
    found = str(top.get("format"))
    if found == LOG_FORMAT:
        return FormatKind("log file", "eligible" if "logs" in top else "clean")
    return NOT_RUN.get(found, _SCENARIOS.get(found))


WRITTEN = (
    *("replog-explored", "replog-failure", "replog-matrix", "replog-proven", "replog-report"),
    "replog-sweep-output",
)
"""Formats, without versions, of files that commands write for other commands; none is run."""

FOLDERS = {
    "failure.json": "replog-failure/",
    "plan.json": "replog-sweep-output/",
    "explored.json": "replog-explored/",
}
"""Name of the document in a folder that a command wrote -> the beginning of its format.

Scenarios in such a folder are records of runs, and no tests."""
