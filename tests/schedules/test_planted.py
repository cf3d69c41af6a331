"""Defects planted in the core that a small world can express are found by its search."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace as struct_replace

from sim.protocol.compaction.copying import Copier, Fate
from sim.protocol.events import HighWatermarkMoved
from sim.protocol.replication import follower, leader, replica, truncation
from sim.study.explore.parts import PLACE, Notes
from sim.study.explore.search import Search
from sim.study.explore.space import Space
from sim.study.explore.world import Budgets, World
from tests.schedules.agreement import rules_of

PAIR = World(
    2,
    (0, 1),
    ("k",),
    (0,),
    tombstones=False,
    clean=True,
    budgets=Budgets(appends=2, epochs=2, cleanings=1),
)
ALONE = replace(
    PAIR, isr=(0,), tombstones=True, budgets=Budgets(appends=2, epochs=1, cleanings=1, passes=1)
)


Plant = Callable[[pytest.MonkeyPatch], None]


def nobody_is_waited_for(patch: pytest.MonkeyPatch) -> None:
    def wrong(led: Any, rules: Any, events: list[Any]) -> None:
        log = led.log
        if led.leadership is not None and log.high_watermark < log.log_end_offset:
            log.high_watermark = log.log_end_offset
            events.append(HighWatermarkMoved(led.name, log.high_watermark, leading=True))

    patch.setattr(leader, "_advance", wrong)


def position_recorded_too_far(patch: pytest.MonkeyPatch) -> None:
    right = leader.record_position

    def wrong(led: Any, name: str, position: int, rules: Any) -> Any:
        return right(led, name, position + 1, rules)

    patch.setattr(leader, "record_position", wrong)


def copy_leaves_a_batch_out(patch: pytest.MonkeyPatch) -> None:
    right = follower._copy

    def wrong(copying: Any, response: Any, *rest: Any) -> Any:
        kept = response.batches[1:] or response.batches
        return right(copying, struct_replace(response, batches=kept), *rest)

    patch.setattr(follower, "_copy", wrong)


def cut_goes_one_too_far(patch: pytest.MonkeyPatch) -> None:
    right = replica.truncate
    for module in (follower, truncation):
        patch.setattr(module, "truncate", lambda cut, target: right(cut, max(0, target - 1)))


def _drops(wanted: Fate, reason: str) -> Plant:
    """A cleaner that takes what should stay, and gives a reason."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right, begin = Copier._fate, Copier.__init__

        def asked(self: Copier, *args: Any) -> None:
            begin(self, *args)
            self.values_stay = False

        def wrong(self: Copier, record: Any, batch: Any, *, mapped: bool) -> Fate:
            fate = right(self, record, batch, mapped=mapped)
            if fate is wanted and record.offset != self.protected:
                self.result.removed[reason].append(record)
                return Fate.GOES
            return fate

        patch.setattr(Copier, "__init__", asked)
        patch.setattr(Copier, "_fate", wrong)

    return plant


class Case(NamedTuple):
    """A defect, what the search finds, and at which depth."""

    plant: Plant
    invariant: str
    depth: int
    world: World = PAIR
    fix: str = "none"


CASES = {
    "a leader that waits for nobody": Case(nobody_is_waited_for, "committed-replicated", 2),
    "a position recorded too far": Case(position_recorded_too_far, "follower-position-sound", 2),
    "a follower that leaves a batch out": Case(
        copy_leaves_a_batch_out, "hole-justified", 5, replace(PAIR, keys=("a", "b"))
    ),
    "a cut that goes one too far": Case(cut_goes_one_too_far, "no-truncation-below-hw", 7),
    "a cleaner that drops a live record": Case(_drops(Fate.STAYS, "no key"), "winner-retained", 5),
    "a cleaner that drops a tombstone too early": Case(
        _drops(Fate.STAYS_AS_TOMBSTONE, "tombstone"), "no-resurrection", 6, ALONE, "empty_batch"
    ),
}


def found(world: World, fix: str, depth: int) -> dict[str, int]:
    """What breaks in a world after so many moves, and at which depth."""
    rules = rules_of({"strategy": "offset", "fix": fix})
    result = Search(Space(world, rules)).run(depth=depth)
    return {name: one.depth for (_, name), one in result.found.items()}


@cache
def without_defects(world: World, fix: str) -> dict[str, int]:
    """The same of the core as it is, as deep as any case of the world goes."""
    return found(world, fix, max(one.depth for one in CASES.values() if one.world == world))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_planted_defect_is_found(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = without_defects(case.world, case.fix)
    assert case.invariant not in {name for name, depth in sound.items() if depth <= case.depth}
    case.plant(monkeypatch)
    assert found(case.world, case.fix, case.depth).get(case.invariant) == case.depth


def test_what_an_act_reads_and_nobody_notes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    get, hidden = Notes.get, PLACE["log.epochs"]

    def forgetful(self: Notes, place: int) -> Any:
        value = get(self, place)
        self.read.discard(hidden)
        return value

    monkeypatch.setattr(Notes, "get", forgetful)
    world = replace(PAIR, versions=(0, 9))
    with pytest.raises(AssertionError, match="has read what nobody noted"):
        Search(Space(world, rules_of({"strategy": "header"}))).run()
