"""What searches found, as a page of Markdown: how far they looked, one table, the schedules."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sim.files.foreign.documents import json_text
from sim.files.formats import PROVEN_FORMAT
from sim.files.opening import read_text
from sim.protocol.rules import Rules
from sim.study.explore.plan import Plan


def world_text(plan: Row) -> str:
    """Where every schedule of a plan starts, and what is written and elected in it."""
    world = plan["world"]
    in_sync = ", ".join(world["isr"]) if world["isr"] else "all"
    writes = f"keys {', '.join(world['keys'])}, versions {', '.join(map(str, world['versions']))}"
    marks = ", tombstones too" if world["tombstones"] else ""
    return (
        f"{world['replicas']} replicas, in sync at the start: {in_sync}; {writes}{marks}; "
        f"{world['elections']} elections"
    )


def budgets_text(plan: Row) -> str:
    """How often each thing happens in a schedule of a plan, of what may happen at all."""
    return "; ".join(
        f"{name} {'without a bound' if most is None else f'at most {most}'}"
        for name, most in plan["budgets"].items()
        if most != 0
    )


def short_text(plan: Row) -> str:
    """The world and what is bounded in it, in one breath."""
    world = plan["world"]
    in_sync = f", {' and '.join(world['isr'])} in sync" if world["isr"] else ""
    bounded = ", ".join(f"{name} {most}" for name, most in plan["budgets"].items() if most)
    marks = ", tombstones" if world["tombstones"] else ""
    return (
        f"{world['replicas']} replicas{in_sync}{marks}, {world['elections']} elections, "
        f"at most: {bounded}"
    )


_QUOTED: Final = ("label", "against", "states", "depth", "exhausted")


def as_proven(documents: Mapping[str, Row]) -> dict[str, Any]:
    """All that a report needs of some searches, `format: replog-proven/1`.

    A plan about a schedule of which two oracles do not say the same is left out.

    Args:
        documents: By the names of their plans, what was explored, as `explored.json` has it.
    """
    plans = [
        _plan(name, one["plan"], one["answers"])
        for name, one in documents.items()
        if not any("disputed" in each for answer in one["answers"] for each in answer["witnesses"])
    ]
    return {"format": PROVEN_FORMAT, "plans": plans}


def _plan(name: str, told: Row, answers: list[Row]) -> dict[str, Any]:
    """Rules are told where they are not the default ones; `named` are those the plan names."""
    named = {*told["rules"], *[rule for one in told["rule_sets"] for rule in one]}
    searched = Plan.model_validate(told).searched()
    rules = {label: rules.differing_from(Rules()) for label, rules in searched}
    first, *others = rules.values()
    common = {rule: first[rule] for rule in first if all(_same(rule, first, one) for one in others)}
    return {
        "plan": name,
        "world": short_text(told),
        "named": sorted(named - {"preset"}),
        "rules": common,
        "own_rules": {
            label: {rule: value for rule, value in own.items() if rule not in common}
            for label, own in rules.items()
        },
        "answers": [_answer(one) for one in answers],
    }


def _same(rule: str, one: Row, other: Row) -> bool:
    return rule in other and other[rule] == one[rule]


def _answer(answer: Row) -> dict[str, Any]:
    quoted = {name: answer[name] for name in _QUOTED if name in answer}
    return {**quoted, "breaks": {one["invariant"]: one["steps"] for one in answer["witnesses"]}}


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

    They are one page, and what reports quote of them (`sim.study.explore.page`).
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
