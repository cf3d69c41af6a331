"""The report's three files: one HTML page that needs nothing else, Markdown, and JSON."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from sim.check.reached import REACHED
from sim.errors import BadInput
from sim.report import figures, wording
from sim.report.comparison import Comparison, compare
from sim.report.reading import SweepFolder, read_folder

REPORT_FORMAT = "replog-report/1"
SIGNIFICANT_DIGITS = 12
"""Of floats in the JSON: what a last-bit difference between two machines cannot reach."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How often something was seen, per rule set."""

    name: str
    runs: tuple[int, ...]
    first_runs: tuple[int | None, ...]
    """The lowest run in which it was, per rule set; None when it never was."""


def write_report(out: Path) -> Path:
    """Writes `report.html`, `report.md` and `report.json` into the folder of a finished sweep.

    Returns the path of the page. The same sweep under the same folder name gives the same bytes.

    Raises BadInput when the folder holds no finished sweep or cannot be written.
    """
    folder = read_folder(out)
    content = report_content(folder)
    texts = {
        "report.json": json.dumps(_rounded(content), indent=2, ensure_ascii=False) + "\n",
        "report.md": _render("report.md.j2", content, folder),
        "report.html": _render("report.html.j2", content, folder),
    }
    try:
        for name, text in texts.items():
            draft = out / f".{name}"
            draft.write_text(text, encoding="utf-8")
            draft.replace(out / name)
    except OSError as error:
        raise BadInput(f"{error.filename or out}: {error.strerror or error}") from None
    return out / "report.html"


def report_content(folder: SweepFolder) -> dict[str, Any]:
    """The content of `report.json`, which is all that the page shows, without the pictures."""
    comparison = compare(folder)
    plan = folder.plan
    return {
        "format": REPORT_FORMAT,
        "title": plan["plan"]["title"],
        "source": plan["plan"]["source"],
        "headline": list(comparison.headline),
        "cases": plan["count"],
        "runs": plan["runs"],
        "seed": plan["seed"],
        "package_version": plan["package_version"],
        "command": _command(folder),
        "rates": [{**asdict(rate), "text": rate.text} for rate in comparison.rates],
        "pairs": [{**asdict(pair), "text": pair.text} for pair in comparison.pairs],
        "other_weather": sum(pair.other_weather for pair in comparison.pairs),
        "costs": [asdict(cost) for cost in comparison.costs],
        "invariants": _seen(folder, "invariant"),
        "first_invariants": _seen(folder, "first_invariant"),
        "reached": [
            {**one, "meaning": REACHED.get(one["name"], ""), "occurred": any(one["runs"])}
            for one in _seen(folder, "reached", known=REACHED)
        ],
        "inconclusive": _seen(folder, "reason"),
        "errors": _seen(folder, "error"),
        "shortest": _shortest(folder),
        "rule_sets": plan["rule_sets"],
        "plan": plan["plan"],
    }


def _command(folder: SweepFolder) -> str:
    plan = folder.plan
    file = plan["plan_file"] or "PLAN"
    return (
        f"replog sweep {shlex.quote(file)} --count {plan['count']} --seed {plan['seed']} "
        f"--out {shlex.quote(folder.name)}"
    )


def _seen(folder: SweepFolder, measure: str, known: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Names of a measure over all rule sets, most runs first; `known` ones even if never seen."""
    counts = [entry["counts"][measure] for entry in folder.tallies["rule_sets"]]
    never = {"runs": 0, "first_run": None}
    found = [
        Seen(
            name,
            tuple(count.get(name, never)["runs"] for count in counts),
            tuple(count.get(name, never)["first_run"] for count in counts),
        )
        for name in sorted({*known, *(name for count in counts for name in count)})
    ]
    return [asdict(one) for one in sorted(found, key=lambda one: (-sum(one.runs), one.name))]


def _shortest(folder: SweepFolder) -> list[dict[str, Any]]:
    return [
        {
            "label": entry["label"],
            "runs": [
                {**run, "command": f"replog replay {shlex.quote(folder.name)} {run['run_id']}"}
                for run in entry["shortest"]
            ],
        }
        for entry in folder.tallies["rule_sets"]
    ]


def _rounded(value: Any) -> Any:
    """Floats with as many digits as are the same on every machine; JSON has no infinity."""
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return value


def _render(template: str, content: dict[str, Any], folder: SweepFolder) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.report", "templates"),
        autoescape=template.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "count": wording.count,
        "share": wording.share,
        "number": wording.number,
        "unbroken": _unbroken,
        "cell": lambda text: str(text).replace("|", "\\|"),
    }
    environment.globals |= {
        "wording": wording,
        "comparison": compare(folder),
        "labels": [entry["label"] for entry in folder.tallies["rule_sets"]],
        "colour": figures.colour,
        "folder_name": shlex.quote(folder.name),
        "plan_text": json.dumps(folder.plan["plan"], indent=2, ensure_ascii=False),
    }
    if template.endswith(".html.j2"):
        environment.globals |= _figures(compare(folder), content)
    return environment.get_template(template).render(**content)


def _unbroken(text: str) -> str:
    """Keeps a number and what belongs to it on one line."""
    for joint in (" %", " points", "p = ", "p < "):
        text = text.replace(joint, joint.replace(" ", "\u00a0"))
    return text


def _figures(comparison: Comparison, content: dict[str, Any]) -> dict[str, Any]:
    labels = [rate.label for rate in comparison.rates]
    invariants = content["invariants"]
    names = [one["name"] for one in invariants]
    drawn = {
        "rates_figure": figures.rates_figure(comparison.rates),
        "costs_figure": figures.costs_figure(comparison.costs),
        "invariants_figure": figures.invariants_figure(
            names, labels, [one["runs"] for one in invariants]
        )
        if names
        else "",
    }
    return {
        name: Markup(  # noqa: S704 - drawn here, nothing of it was given
            figures.own_ids(svg, name.split("_")[0])
        )
        for name, svg in drawn.items()
    }
