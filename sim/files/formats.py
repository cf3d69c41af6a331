"""The names of the file formats, as the `format` field of a file has them."""

from __future__ import annotations

STORY_FORMAT = "replog-story/1"
SCENARIO_FORMAT = "replog-scenario/1"
LOG_FORMAT = "replog-log/1"
PLAN_FORMAT = "replog-sweep/1"
TRACE_FORMAT = "replog-trace/1"
