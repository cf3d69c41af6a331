"""What searches found, as a page of Markdown: how far they looked, one table, the schedules."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.files.opening import read_text

BEGIN = "<!-- what follows is written by `make explore` -->"
Row = Mapping[str, Any]


def as_markdown(plan: Row, answers: Sequence[Row]) -> str:
    """A section for a plan, given as its document has it, and its answers (`as_document`)."""
    return "\n".join(
        [f"## {plan['title']}", "", _world(plan), "", *_table(answers), "", *_schedules(answers)]
    )


def _world(plan: Row) -> str:
    world, budgets = plan["world"], plan["budgets"]
    often = [
        f"{name} {'without a bound' if most is None else f'at most {most}'}"
        for name, most in budgets.items()
        if most != 0
    ]
    never = [name for name, most in budgets.items() if most == 0]
    in_sync = ", ".join(world["isr"]) if world["isr"] else "all"
    writes = f"keys {', '.join(world['keys'])}, versions {', '.join(map(str, world['versions']))}"
    marks = ", tombstones too" if world["tombstones"] else ""
    return (
        f"{world['replicas']} replicas, in sync at the start: {in_sync}; {writes}{marks}; "
        f"{world['elections']} elections. {'; '.join(often).capitalize()}. "
        f"Not covered: {', '.join(never)}, and whatever the plan does not name, such as lost or "
        f"late answers. From: {plan['source']}."
    )


def _table(answers: Sequence[Row]) -> Iterator[str]:
    yield "| rules | states | transitions | moves | every schedule | breaks (after so many moves) |"
    yield "|---|--:|--:|--:|---|---|"
    for one in answers:
        name = one["label"] + (f", and not {one['against']}" if one.get("against") else "")
        broken = ", ".join(
            f"{each['invariant']} ({each['steps']}{'; disputed' if 'disputed' in each else ''})"
            for each in one["witnesses"]
        )
        yield (
            f"| {name} | {one['states']:,} | {one['transitions']:,} | {one['depth']} "
            f"| {'yes' if one['exhausted'] else 'no'} | {broken or 'nothing'} |"
        )


def _schedules(answers: Sequence[Row]) -> Iterator[str]:
    """The shortest schedule for each invariant, of the first rules that break it."""
    told: set[str] = set()
    for one in answers:
        for each in one["witnesses"]:
            if each["invariant"] in told:
                continue
            told.add(each["invariant"])
            healed = f"; it holds under {each['healed_by']}" if each.get("healed_by") else ""
            yield f"<details><summary>{each['invariant']} under {one['label']}{healed}</summary>"
            yield from ("", "```", *each["schedule"], "```", "", each["sentence"], "", "</details>")
            yield ""


def main() -> None:
    """`python -m sim.schedules.page FOLDER PAGE`: one page of all searches below a folder."""
    folder, page = Path(sys.argv[1]), Path(sys.argv[2])
    before = read_text(page).partition(BEGIN)[0]
    sections = []
    for path in sorted(folder.glob("*/explored.json")):
        document = json.loads(read_text(path))
        sections.append(as_markdown(document["plan"], document["answers"]))
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(sections) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
