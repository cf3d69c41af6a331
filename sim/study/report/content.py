"""The content of a report: what the page, the Markdown and the JSON share."""

from __future__ import annotations

import math
from typing import Any

from sim.study.causes import Causes
from sim.study.report.causes import causes_content
from sim.study.report.comparison import headline
from sim.study.report.parts import as_data
from sim.study.report.proven import proven_of
from sim.study.report.sections import sections_of, summary_of
from sim.study.report.sweep_folder import SweepFolder

REPORT_FORMAT = "replog-report/2"
SIGNIFICANT_DIGITS = 12
"""Of floats: what a last-bit difference between two machines does not reach."""


def report_content(folder: SweepFolder, causes: Causes) -> dict[str, Any]:
    """All that a report shows; `as_document` makes `report.json` of it."""
    plan = folder.plan
    told = causes_content(folder, causes)
    return {
        "format": REPORT_FORMAT,
        "title": plan["plan"]["title"],
        "source": plan["plan"]["source"],
        "proven": proven_of(folder),
        "headline": headline(folder, causes),
        "drawn": folder.drawn,
        "summary": summary_of(folder),
        "sections": [*sections_of(folder, causes, told)],
        "causes": told,
        "statistics": folder.statistics,
        **{
            name: plan.get(name)
            for name in ("count", "seed", "runs", "plan_file", "package_version", "revision")
        },
        "command": folder.sweep_command,
        "report_command": folder.report_command,
        "rule_sets": plan["rule_sets"],
        "plan": plan["plan"],
    }


def as_document(content: dict[str, Any]) -> Any:
    """For JSON, which has no infinity: floats with as many digits as all machines agree on."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
        if isinstance(value, dict):
            return {name: rounded(one) for name, one in value.items() if name != "busy_ms"}
        return [rounded(one) for one in value] if isinstance(value, (list, tuple)) else value

    parts = {name: as_data(content[name]) for name in ("summary", "sections")}
    return rounded(content | parts)
