"""What came of a suite as a page of Markdown, such as the summary of a job on GitHub."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sim.suite.failure import failure_lines
from sim.suite.result import CaseResult

SLOWEST = 5


def page(results: Sequence[CaseResult], notes: Sequence[str], summary: str) -> str:
    """The page.

    Args:
        results: In order of their files.
        notes: What the command prints behind the failures, such as which files were not run.
        summary: Its last line.
    """
    failed = [result for result in results if not result.expectation_met]
    lines = [f"### Replog: {summary}", ""]
    if failed:
        lines += ["| file | not as expected |", "|---|---|"]
        lines += [f"| {_cell(str(one.path))} | {_cell(one.complaints[0])} |" for one in failed]
        lines.append("")
    for one in failed:
        shown = failure_lines(one)
        fence = _fence(shown)
        lines += [f"<details><summary>{_html(_named(one))}</summary>", "", fence, *shown, fence, ""]
        lines += ["</details>", ""]
    slowest = sorted(results, key=lambda one: one.wall_ms, reverse=True)[:SLOWEST]
    told = ", ".join(f"{_cell(one.id)} {one.wall_ms:,} ms" for one in slowest)
    lines += [*(f"{note}  " for note in notes), f"slowest: {told}"]
    return "\n".join(lines) + "\n"


def _named(result: CaseResult) -> str:
    return f"{result.id}: {result.title}" if result.title else result.id


def _fence(lines: Sequence[str]) -> str:
    """A fence of a code block that nothing in it ends."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    return "`" * max(3, longest + 1)


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cell(text: str) -> str:
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", _html(" ".join(text.split())))
