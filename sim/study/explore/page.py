"""What searches found, as a page of Markdown: how far they looked, one table, the schedules."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.files.foreign.documents import json_text
from sim.files.opening import read_text
from sim.study.explore.proven import as_proven
from sim.study.explore.wording import budgets_text, world_text

BEGIN = "<!-- what follows is written by `make explore` -->"
Row = Mapping[str, Any]


def as_markdown(plan: Row, answers: Sequence[Row]) -> str:
    """A section for a plan, given as its document has it, and its answers (`as_document`)."""
    return "\n".join(
        [f"## {plan['title']}", "", _world(plan), "", *_table(answers), "", *_schedules(answers)]
    )


def _world(plan: Row) -> str:
    never = [name for name, most in plan["budgets"].items() if most == 0]
    return (
        f"{world_text(plan)}. {budgets_text(plan).capitalize()}. "
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
    """`python -m sim.study.explore.page FOLDER PAGE DATA`: all searches below a folder.

    They are one page, and what reports quote of them (`sim.study.explore.proven`).
    """
    folder, page, data = map(Path, sys.argv[1:4])
    before = read_text(page).partition(BEGIN)[0]
    found = {
        path.parent.name: json.loads(read_text(path))
        for path in sorted(folder.glob("*/explored.json"))
    }
    sections = [as_markdown(one["plan"], one["answers"]) for one in found.values()]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(sections) + "\n", encoding="utf-8")
    data.write_text(json_text(as_proven(found), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
