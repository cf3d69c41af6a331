"""The world of a search: its start, its budgets and its moves.

A move is one step of a story. Replicas are numbered from 0 here and are called r1, r2, ... in
stories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any, Final, NamedTuple

from sim.protocol.rules import Rules
from sim.protocol.rules.replication import Truncation
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.op import OPS, Step

NOBODY = -1
"""In place of a replica's number: none."""
_CUTS_FIRST: Final[tuple[Truncation, ...]] = ("high_watermark", "epoch_kip101", "epoch_kip279")
"""With these a new follower truncates before it fetches, which is a move of its own."""


class Budgets(NamedTuple):
    """Bounds of how often each thing happens in a schedule; None for no bound.

    Attributes:
        appends: Records that leaders write.
        epochs: Elections.
        cleanings: Cleaning passes.
        crashes: Replicas that go down; each may come back.
        shrinks: Replicas that are taken out of the in-sync set.
        grows: Replicas that are admitted to it.
        passes: Times that the retention of tombstones runs out.
        snapshots: Snapshots that are taken.
    """

    appends: int | None = 0
    epochs: int | None = 1
    cleanings: int | None = None
    crashes: int | None = 0
    shrinks: int | None = 0
    grows: int | None = None
    passes: int | None = 0
    snapshots: int | None = 0


USES: Final = {
    "append": "appends",
    "elect": "epochs",
    "elect_from_isr": "epochs",
    "compact": "cleanings",
    "crash": "crashes",
    "isr": "shrinks",
    "expand_isr": "grows",
    "advance": "passes",
    "snapshot": "snapshots",
}
"""Step -> the budget that it is counted against."""


@dataclass(frozen=True, slots=True)
class World:
    """Where a search starts, and what may happen there.

    Attributes:
        replicas: Number of replicas.
        isr: Numbers of the replicas in sync at the start.
        keys: Keys of records.
        versions: Versions of records, if the strategy reads them; None for a record without one.
        tombstones: True if records may be tombstones.
        clean: True if only members of the in-sync set are elected.
        budgets: How often each thing may happen.
    """

    replicas: int
    isr: tuple[int, ...]
    keys: tuple[str, ...]
    versions: tuple[int | None, ...]
    tombstones: bool
    clean: bool
    budgets: Budgets

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the replicas in stories."""
        return replica_names(self.replicas)


def replica_names(count: int) -> tuple[str, ...]:
    """The names of so many replicas: r1, r2, …."""
    return tuple(f"r{number + 1}" for number in range(count))


class History(NamedTuple):
    """The committed history.

    Attributes:
        committed: Uid at each offset when it was first committed.
        twice: Offsets that were committed a second time with another record.
    """

    committed: tuple[int, ...] = ()
    twice: tuple[int, ...] = ()


class Effect(NamedTuple):
    """The effects of an act, a part of a move, beyond the replicas themselves.

    Attributes:
        uses: Name of the budget that it uses; empty for none.
        facts: Facts for the committed history, in order: ("appended", offset, uid),
            ("elected", replica, high watermark) and ("committed", replica, high watermark before,
            high watermark after).
        joined: True if a replica was admitted to the in-sync set by its position.
    """

    uses: str = ""
    facts: tuple[tuple[Any, ...], ...] = ()
    joined: bool = False


class Move(NamedTuple):
    """A step that may be possible: its op, its replicas and its other fields.

    Attributes:
        op: The op of the step.
        who: The replicas, by number, in the order of the op's fields; that of `expand_isr` comes
            after the leader, which the step does not name.
        what: The other fields, by name.
    """

    op: str
    who: tuple[int, ...]
    what: tuple[tuple[str, Any], ...] = ()

    @property
    def uses(self) -> str:
        """Name of the budget that it uses; empty for none."""
        return USES.get(self.op, "")


def moves_of(world: World, rules: Rules) -> list[Move]:
    """All possible moves, in the order that decides between several shortest schedules."""
    everyone = range(world.replicas)
    majority = rules.replication.commit == "majority"
    found = [
        Move("elect", (one, *votes))
        for one in everyone
        for votes in (_votes(one, everyone) if majority else [()])
    ]
    found += [Move("append", (one,), what) for one in everyone for what in _records(world, rules)]
    pairs = list(permutations(everyone, 2))
    if rules.replication.truncation in _CUTS_FIRST:
        found += [Move("follow", pair) for pair in pairs]
    found += [Move("fetch", pair) for pair in pairs]
    if rules.cleaner.cleanup != "snapshot":
        found += [Move("compact", (one,)) for one in everyone]
    if rules.cleaner.cleanup != "compact" and world.budgets.snapshots != 0:
        found += [Move("snapshot", (one,)) for one in everyone]
        found += [Move("delete_prefix", (one,)) for one in everyone]
        found += [Move("fetch_snapshot", pair) for pair in pairs]
    if not majority:
        found += [Move("isr", (one,)) for one in everyone]
        found += [Move("expand_isr", pair) for pair in pairs]
    found += [Move("crash", (one,)) for one in everyone]
    if world.budgets.crashes != 0:
        found += [Move("restart", (one,)) for one in everyone]
    if rules.cleaner.removal.gates_markers:
        found.append(Move("coordinate", ()))
    retention_ms = rules.topic.delete_retention_ms
    found.append(Move("advance", (), (("ms", retention_ms + 1),)))
    return [move for move in found if not move.uses or getattr(world.budgets, move.uses) != 0]


def _votes(candidate: int, everyone: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The groups of voters that make a majority with a candidate."""
    others = [one for one in everyone if one != candidate]
    for size in range(len(everyone) // 2, len(everyone)):
        yield from combinations(others, size)


def _records(world: World, rules: Rules) -> Iterator[tuple[tuple[str, Any], ...]]:
    """The fields of each record that may be written."""
    field = {"header": "hdr", "timestamp": "ts"}.get(rules.cleaner.strategy)
    versions = world.versions if field else (0,)
    marks = (False, True) if world.tombstones else (False,)
    mark = {"explicit": "tombstone", "null_value": "null_value"}.get(
        rules.cleaner.tombstone_mark, "flag"
    )
    for key, version, deletes in product(world.keys, versions, marks):
        version_of = ((field, version),) if field and version is not None else ()
        yield (("key", key), *version_of, *(((mark, True),) if deletes else ()))


def step_of(
    move: Move, world: World, driver: StoryDriver, epoch: Callable[[], int], label: str = "v"
) -> Step | None:
    """The step that a move is in the present state of a story; None if there is none.

    Args:
        move: The move.
        world: Its world.
        driver: The story.
        epoch: Returns the epoch of the next election.
        label: Label of the record.
    """
    names = [world.names[one] for one in move.who]
    fields: dict[str, Any] = dict(move.what)
    op = move.op
    if op == "elect":
        fields |= {"leader": names[0], "epoch": epoch()}
        if names[1:]:
            fields["votes"] = tuple(names[1:])
        elif world.clean:
            op = "elect_from_isr"
    elif op == "append":
        fields |= {"leader": names[0], "label": label}
    elif op in ("fetch", "follow", "fetch_snapshot"):
        fields |= {"follower": names[0], "leader": names[1]}
    elif op == "isr":
        fields["isr"] = tuple(name for name in driver.isr if name != names[0])
    elif op == "snapshot":
        fields |= {"replica": names[0], "end": driver.replicas[names[0]].log.high_watermark}
    elif op == "delete_prefix":
        latest = driver.replicas[names[0]].latest_snapshot()
        if latest is None:
            return None
        fields |= {"replica": names[0], "to": latest.id.end_offset}
    elif names:
        fields["replica"] = names[-1]
    return Step(0, op, {name: fields[name] for name in OPS[op].fields if name in fields})
