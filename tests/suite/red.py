"""One red scenario of each kind, and why it is red."""

STORY = """\
format: replog-story/1
id: shorter
title: A leader with a shorter log
replicas: [r1, r2]
steps:
  - elect r1 1
  - isr r1
  - append r1 a A
  - elect r2 2
"""
TIMED = "format: replog-scenario/1\nduration_ms: 300\nexpect: {reached: [marker-removed]}\n"
LOG = """\
{"format": "replog-log/1", "segments": [[]], "steps": [{"op": "roll"}],
 "expect": [{"log_end_offset": 7}]}
"""
RED = {"story.yaml": STORY, "timed.yaml": TIMED, "log.json": LOG}
"""Files by name."""
