"""The tables of a report for the values of one rule, per set of the other rules."""

from __future__ import annotations

from sim.files.foreign import markdown
from sim.study.report.conditions import exposure_of, hunts_text
from sim.study.report.pairs import blocks_of
from sim.study.report.parts import Note, Table
from sim.study.report.sections import costs_parts, standings_of, violated_parts
from sim.study.report.sweep_folder import SweepFolder


def grid_as_markdown(folder: SweepFolder, rule: str) -> str:
    """A section for a page: per environment and block who violates what, and at what price.

    The same cases met every value.
    """
    plan = folder.plan
    revision = f" ({plan['revision']})" if plan.get("revision") else ""
    parts = [
        f"## In random runs: {markdown.text(plan['plan']['title'])}",
        markdown.text(f"{folder.drawn}. Made by Replog {plan['package_version']}{revision}."),
        markdown.block([f"$ {folder.sweep_command}"], language="console"),
    ]
    notes: dict[str, None] = {}
    for one in folder.environments:
        exposure = [f"{name} {value}" for name, value in exposure_of(one).items()]
        for block in blocks_of(folder, rule):
            columns = list(zip(block.places, block.values, strict=True))
            others = markdown.code(block.label) if block.label else "As the plan says"
            parts.append(f"### {others}, {markdown.text(one.environment)}")
            parts.append(markdown.text("; ".join([hunts_text(one), *exposure])))
            tables = [
                standings_of(one, columns),
                *violated_parts(one, columns),
                *costs_parts(one, columns),
            ]
            parts += [part.markdown for part in tables if isinstance(part, Table)]
            notes |= {markdown.text(part.text): None for part in tables if isinstance(part, Note)}
    return "\n\n".join([*parts, *notes]) + "\n"
