"""What is proven of the rule sets that a sweep compares: every schedule of small worlds.

`make explore` writes it down beside the plans of its searches (`sim.study.explore.page`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sim.errors import BadInput
from sim.files.formats import PROVEN_FORMAT
from sim.files.opening import read_text
from sim.files.shipped import shipped_folder
from sim.protocol.rules import Rules
from sim.study.report.pairs import Block, blocks_by_first_rule, title_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording

FILE: Final = "explore/proven.json"
"""Below the shipped scenarios."""
SAID_MAX: Final = 3
"""So many worlds are quoted, the largest ones."""
DECIDING: Final = (
    "fix",
    "strategy",
    "tombstone_removal",
    "commit",
    "follower_position",
    "truncation",
    "leo_source",
)
"""Rules that have to be the same in the sweep, beside all that a plan names: others matter less in
a world without clients, and how many of them differ is said."""
RANDOM_RUNS_ADD: Final = (
    "Random runs add what no search holds: clients, transactions, lost and late messages, crashes "
    "in the middle of a pass; and how often something happens."
)


class _Proven(NamedTuple):
    """What a plan says of a block of rule sets, in the order of its places."""

    plan: Mapping[str, Any]
    title: str
    values: Sequence[str]
    answers: Sequence[Mapping[str, Any]]
    differing: int
    """How many rules of the sweep are not as in the search, at most."""

    @property
    def states(self) -> int:
        """Of the largest world."""
        most: int = max(answer["states"] for answer in self.answers)
        return most


def proven_of(folder: SweepFolder) -> tuple[str, ...]:
    """At most three sentences, each with its world, its bounds and its count, and what they lack.

    None where no search compared what the sweep compares, under the rules of the sweep.
    """
    blocks = [one for one in blocks_by_first_rule(folder) if len(one.values) > 1]
    found = [
        next(filter(None, (_answered(folder, block, plan) for block in blocks)), None)
        for plan in _plans()
    ]
    told = sorted(filter(None, found), key=lambda one: one.states, reverse=True)[:SAID_MAX]
    if not told:
        return ()
    differing = max(one.differing for one in told)
    unnamed = f"Of the rules that these plans do not name {differing} are not as in the runs below."
    return (*(_sentence(one, folder.about) for one in told), f"{unnamed} {RANDOM_RUNS_ADD}")


def _plans() -> list[dict[str, Any]]:
    """What is shipped; none where an installation has no scenarios."""
    try:
        document = json.loads(read_text(shipped_folder() / FILE))
    except BadInput:
        return []
    known: list[dict[str, Any]] = document["plans"]
    return known if document["format"] == PROVEN_FORMAT else []


def _answered(folder: SweepFolder, block: Block, plan: Mapping[str, Any]) -> _Proven | None:
    """What a plan says of a block; None = it did not search each of its rule sets."""
    alone = {one["label"]: one for one in plan["answers"] if "against" not in one}
    found, differing = {}, 0
    for place in block.places:
        rules = folder.plan["rule_sets"][place]["rules"]
        for label, own in plan["own_rules"].items():
            searched = Rules().with_values({**plan["rules"], **own}).as_dict()
            if all(rules.get(name) == searched[name] for name in {*DECIDING, *plan["named"]}):
                found[place] = alone[label]
                unlike = sum(rules.get(name) != value for name, value in searched.items())
                differing = max(differing, unlike)
                break
        else:
            return None
    title = title_of(folder, block)
    return _Proven(plan, title, block.values, [*found.values()], differing)


def _sentence(one: _Proven, about: Sequence[str]) -> str:
    groups: dict[str, list[str]] = {}
    for value, answer in zip(one.values, one.answers, strict=True):
        groups.setdefault(_broken(answer["breaks"], about), []).append(value)
    said = "; ".join(f"under {', '.join(values)} {broken}" for broken, values in groups.items())
    under = f"{one.title}; " if one.title else ""
    return (
        f"Every schedule of {one.plan['world']} ({under}plan {one.plan['plan']}: "
        f"{_counted(one.answers)}): {said}."
    )


def _broken(breaks: Mapping[str, int], about: Sequence[str]) -> str:
    """What breaks: of what a sweep is about, or else the soonest, and how many more."""

    def matters(pair: tuple[str, int]) -> tuple[bool, int]:
        return pair[0] not in about, pair[1]

    if not breaks:
        return "nothing breaks"
    name, moves = min(breaks.items(), key=matters)
    more = f", and {len(breaks) - 1} more" if len(breaks) > 1 else ""
    return f"{name} breaks in {moves} moves{more}"


def _counted(answers: Sequence[Mapping[str, Any]]) -> str:
    """How many states there are under each, and how far they were followed."""
    states = sorted({one["states"] for one in answers})
    counts = " to ".join(map(wording.count, dict.fromkeys((states[0], states[-1]))))
    reached = [one["depth"] for one in answers if not one["exhausted"]]
    return f"{counts} states, {f'followed for {min(reached)} moves' if reached else 'exhausted'}"
