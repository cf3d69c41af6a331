"""Results of searches as Markdown and as data, and the states as a graph of networkx."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sim.errors import BadInput
from sim.files.shipped import check_extra
from sim.protocol.rules import Rules
from sim.protocol.rules import shown as rule_shown
from sim.study.explore.judging import names_of
from sim.study.explore.plan import SearchPlan
from sim.study.explore.search import Search
from sim.study.explore.space import Space
from sim.study.explore.world import Move, World

if TYPE_CHECKING:
    import networkx as nx


def world_text(plan: Row) -> str:
    """The start of every schedule of a plan, with the records and the elections in it."""
    world = plan["world"]
    names = ", ".join(world["isr"] or ["all"])
    marks = " or tombstone" if world["tombstones"] else ""
    return (
        f"{world['replicas']} replicas, in sync {names}; key {' or '.join(world['keys'])}, "
        f"version {' or '.join(map(str, world['versions']))}{marks}; {world['elections']} elections"
    )


def budgets_text(plan: Row) -> str:
    """The bounds of a plan: how often each thing may happen in a schedule."""
    budgets = plan["budgets"].items()
    most = ", ".join(f"{name} {most}" for name, most in budgets if most)
    free = ", ".join(name for name, most in budgets if most is None)
    return f"at most {most}" + (f"; unbounded {free}" if free else "")


def as_answer(answer: Row) -> dict[str, Any]:
    """The answer of one search: its states, and the shortest schedule of each invariant."""
    return {
        **{name: answer[name] for name in ("label", "states", "depth", "exhausted")},
        "breaks": {
            one["invariant"]: {"moves": one["steps"], "schedule": one["schedule"]}
            for one in answer["witnesses"]
        },
    }


CURES_MAX: Final = 3
"""Number of rule sets under which an invariant holds that are named beside its schedule."""
Row = Mapping[str, Any]


def as_markdown(plan: Row, answers: Sequence[Row]) -> str:
    """A section on a plan with the shortest schedule for each invariant.

    Args:
        plan: The plan as its document has it.
        answers: Its answers (`as_document`).
    """
    return "\n".join([table_of(plan, answers), "", *_schedules(answers)])


def table_of(plan: Row, answers: Sequence[Row]) -> str:
    """A section on a plan: its world, and a row for all rule sets under which the same breaks."""
    common = ", ".join(f"{name} {rule_shown(value)}" for name, value in plan["rules"].items())
    never = ", ".join(name for name, most in plan["budgets"].items() if most == 0)
    world = (
        f"{world_text(plan)}; {budgets_text(plan)}. Rules: {common or 'those of stories'}. Not "
        f"covered: {never}, and whatever the plan does not name, such as lost or late answers. "
        f"From: {plan['source']}."
    )
    alike: dict[str, list[Row]] = {}
    for one in answers:
        broken = ", ".join(
            f"{each['invariant']} {each['steps']}{' (disputed)' if 'disputed' in each else ''}"
            for each in one["witnesses"]
        )
        alike.setdefault(broken or "nothing", []).append(one)
    rows = [
        f"| {'; '.join(map(_name, of))} | {_range(of, 'states')} | {_range(of, 'depth')} "
        f"| {broken} |"
        for broken, of in alike.items()
    ]
    notes = [f"{note_on(one)}\n" for one in untouched(SearchPlan.model_validate(plan), answers)]
    head = ["| rules | states | longest schedule | breaks, after moves |", "|---|--:|--:|---|"]
    return "\n".join([f"## {plan['title']}", "", world, "", *notes, *head, *rows])


def untouched(plan: SearchPlan, answers: Sequence[Row]) -> list[str]:
    """The rules of a plan under whose values all searches are the same, such as `flush`."""
    found = {one["label"]: one for one in answers if not one.get("against")}
    rules = {label: own.as_dict() for label, own in plan.searched() if label in found}
    varied = [name for name in Rules().as_dict() if len({own[name] for own in rules.values()}) > 1]
    same = []
    for name in varied:
        groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for label, own in rules.items():
            beside = tuple(own[other] for other in varied if other != name)
            groups.setdefault(beside, []).append(_result(found[label]))
        compared = [one for one in groups.values() if len(one) > 1]
        if compared and all(each == one[0] for one in compared for each in one):
            same.append(name)
    return same


def note_on(rule: str) -> str:
    """A sentence on a rule that no move of a plan touches."""
    return f"No move of this plan touches {rule}: searches under its values have the same states."


def _result(answer: Row) -> tuple[Any, ...]:
    broken = [(one["invariant"], one["steps"]) for one in answer["witnesses"]]
    return answer["states"], answer["transitions"], answer["depth"], broken


def _name(answer: Row) -> str:
    against = f", and not {answer['against']}" if answer.get("against") else ""
    stopped = "" if answer["exhausted"] else " (not every schedule)"
    return f"{answer['label']}{against}{stopped}"


def _range(answers: Sequence[Row], name: str) -> str:
    """The range of a number over several answers, such as 16,573 to 409,352."""
    numbers = sorted({one[name] for one in answers})
    return " to ".join(f"{one:,}" for one in dict.fromkeys((numbers[0], numbers[-1])))


def _schedules(answers: Sequence[Row]) -> Iterator[str]:
    """The shortest schedule for each invariant, of the first rules that break it.

    With it come the rules of the same table under which no schedule breaks the invariant.
    """
    shown: set[str] = set()
    alone = [one for one in answers if not one.get("against")]
    for one in answers:
        for each in one["witnesses"]:
            name = each["invariant"]
            if name in shown:
                continue
            shown.add(name)
            holding = [
                other["label"]
                for other in alone
                if other["exhausted"] and name not in {w["invariant"] for w in other["witnesses"]}
            ]
            more = f"; and {len(holding) - CURES_MAX} more" if len(holding) > CURES_MAX else ""
            cured = f"; no schedule breaks it under {'; '.join(holding[:CURES_MAX])}{more}"
            summary = f"{name} under {_name(one)}{cured if holding else ''}"
            yield f"<details><summary>{summary}</summary>"
            yield from ("", "```", *each["schedule"], "```", "", each["sentence"], "", "</details>")
            yield ""


STATES_MAX: Final = 50_000
"""Largest number of states of a graph, which takes some 200 MB with its transitions."""


def graph_of(world: World, rules: Rules, most: int = STATES_MAX) -> nx.MultiDiGraph:
    """Every state of a world, with every move between two states.

    Nodes are numbered as they are found, 0 is the start. They have `depth`, the number of moves
    that lead there, and `breaks`, the names of the invariants that the state breaks, joined by
    commas. Edges have `move`, as in `fetch r2 r1`, and `breaks` of the move. Replicas keep their
    names, so that there are more states than a search counts, which merges renamed ones.

    Args:
        world: The world.
        rules: The rules.
        most: Largest number of states (inclusive).

    Raises:
        BadInput: The world has more states, or networkx is not installed.
    """
    check_extra("a graph needs", "report", "networkx")
    import networkx as nx

    search = Search(Space(world, rules, symmetry=False))
    graph, numbers = nx.MultiDiGraph(), dict[bytes, int]()
    for depth, (hashes, broken, edges) in enumerate(search.walk()):
        if len(numbers) > most:
            raise BadInput(f"graph: the world has more than {most:,} states; give a smaller one")
        for hash_, mask in zip(hashes, broken.tolist(), strict=True):
            graph.add_node(numbers.setdefault(hash_, len(numbers)), depth=depth, breaks=_text(mask))
        for number, origin, hash_, mask in edges:
            after = numbers.setdefault(hash_, len(numbers))
            move = _move(world, search.moves[number])
            graph.add_edge(numbers[hashes[origin]], after, move=move, breaks=_text(mask))
    return graph


def _text(mask: int) -> str:
    return ", ".join(names_of(mask))


def _move(world: World, move: Move) -> str:
    fields = [f"{name}={value}" for name, value in move.what]
    return " ".join([move.op, *(world.names[one] for one in move.who), *fields])
