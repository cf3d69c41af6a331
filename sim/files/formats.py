"""The names of the file formats, as the `format` field of a file has them."""

from __future__ import annotations

STORY_FORMAT = "replog-story/1"
SCENARIO_FORMAT = "replog-scenario/1"
LOG_FORMAT = "replog-log/1"
PLAN_FORMAT = "replog-sweep/1"
EXPLORE_FORMAT = "replog-explore/1"
TRACE_FORMAT = "replog-trace/1"
PROVEN_FORMAT = "replog-proven/1"

WRITTEN = (
    "replog-explored/1",
    "replog-failure/1",
    "replog-last-failed/1",
    "replog-matrix/1",
    "replog-phases/1",
    PROVEN_FORMAT,
    "replog-report/1",
    "replog-sweep-finished/1",
    "replog-sweep-output/1",
    "replog-sweep-output/2",
    "replog-sweep-output/3",
    "replog-sweep-wave/1",
    "replog-tallies/2",
)
"""Of files that commands write for other commands and programs; nobody runs these."""
