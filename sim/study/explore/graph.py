"""The states of a small world as a graph of networkx, with what breaks as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sim.errors import BadInput
from sim.files.shipped import check_extra
from sim.protocol.rules import Rules
from sim.study.explore.judging import names_of
from sim.study.explore.search import Search
from sim.study.explore.space import Space
from sim.study.explore.world import Move, World

if TYPE_CHECKING:
    import networkx as nx

STATES_MAX: Final = 50_000
"""Number of states of a graph: with its transitions some 200 MB."""


def graph_of(world: World, rules: Rules, most: int = STATES_MAX) -> nx.MultiDiGraph:
    """Every state of a world, with every move between two states.

    Nodes are numbered as they are found, 0 is the start. They have `depth`, the number of moves
    that lead there, and `breaks`, the names of the invariants that the state breaks, joined by
    commas. Edges have `move`, as in `fetch r2 r1`, and `breaks` of the move. Replicas keep their
    names, so that there are more states than a search counts, which merges renamed ones.

    Args:
        world: The world.
        rules: The rules.
        most: Number of states at most.

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
