"""Rule sets that differ in one rule alone: what a table or a sentence compares."""

from __future__ import annotations

from typing import NamedTuple

from sim.errors import BadInput
from sim.study.report.sweep_folder import SweepFolder

LISTED_MAX = 8
"""Values of a rule that one table or sentence shows beside each other."""


class Block(NamedTuple):
    """The rule sets that agree in all but the varied rule.

    Attributes:
        label: The other swept rules, where they differ from the first block; empty for that one.
        values: Values of the varied rule, in the order of the plan.
        places: The numbers of their rule sets.
    """

    label: str
    values: tuple[str, ...]
    places: tuple[int, ...]


def blocks_of(folder: SweepFolder, rule: str) -> tuple[Block, ...]:
    """Groups of rule sets that agree in all rules but `rule`.

    Raises:
        BadInput: The sweep does not vary the rule.
    """
    swept = [entry["swept"] for entry in folder.plan["rule_sets"]]
    if rule not in swept[0]:
        varied = ", ".join(swept[0])
        raise BadInput(f"{folder.name}: this sweep does not vary {rule}; it varies {varied}")
    rest = [{name: value for name, value in one.items() if name != rule} for one in swept]
    groups: dict[str, list[int]] = {}
    for place, others in enumerate(rest):
        changed = [f"{name}={value}" for name, value in others.items() if value != rest[0][name]]
        groups.setdefault(", ".join(changed), []).append(place)
    return tuple(
        Block(label, tuple(str(swept[place][rule]) for place in places), tuple(places))
        for label, places in groups.items()
    )


def blocks_by_first_rule(folder: SweepFolder) -> tuple[Block, ...]:
    """Blocks in which the first swept rule has the same values, or one of all rule sets."""
    entries = folder.plan["rule_sets"]
    swept = tuple(entries[0]["swept"])
    blocks = blocks_of(folder, swept[0]) if swept else ()
    if blocks and len(blocks[0].values) > 1 and len({block.values for block in blocks}) == 1:
        return blocks
    labels = tuple(entry["label"] for entry in entries)
    return (Block("", labels, tuple(range(len(labels)))),)


def title_of(folder: SweepFolder, block: Block) -> str:
    """The other rules of a block, as a title; empty for one of all rule sets."""
    rule_sets = folder.plan["rule_sets"]
    if len(block.places) == len(rule_sets):
        return ""
    others = [*rule_sets[block.places[0]]["swept"].values()][1:]
    return str(others[0]) if len(others) == 1 else block.label or "as planned"
