"""One replica's cleaning, against a model that was written from the story format's text alone.

The model keeps a list of slots and looks at all of them each time; it shares no code with the
cleaner. Random stories of appends, passes and time have to end with the same log and state.
"""

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from tests.story.running import run_steps

STORIES = 60
LOWEST = -(2**63)


@dataclass(frozen=True)
class Slot:
    """A record, or with an empty label what is left of one."""

    offset: int
    label: str
    key: str = ""
    ts: int = 0
    hdr: int | None = None
    deletes: bool = False
    horizon: int | None = None


class Model:
    """A log and the time."""

    def __init__(self, rules: dict[str, Any]) -> None:
        self.rules = rules
        self.slots: list[Slot] = []
        self.end = self.clean_point = self.now = 0

    def version(self, slot: Slot) -> tuple[int, ...]:
        """Higher is newer."""
        by = {
            "offset": (),
            "timestamp": (slot.ts,),
            "header": (0, 0) if slot.hdr is None else (1, slot.hdr),
        }
        return (*by[self.rules["strategy"]], slot.offset)

    def append(self, label: str, key: str, **more: Any) -> None:
        """One slot at the end."""
        self.slots.append(Slot(self.end, label, key, **{"ts": self.now, **more}))
        self.end += 1

    def compact(self, upto: int) -> None:
        """One pass over what is below `upto`."""
        start = 0 if self.rules["map_range"] == "full" else self.clean_point
        mapped = [slot for slot in self.slots if slot.label and start <= slot.offset < upto]
        winners: dict[str, Slot] = {}
        for slot in mapped:
            known = winners.setdefault(slot.key, slot)
            winners[slot.key] = max(known, slot, key=self.version)
        last = self.slots[-1].offset if self.slots else None
        kept = []
        for slot in self.slots:
            after = slot if slot.offset >= upto else self._after(slot, winners.get(slot.key))
            if slot.offset == last and self.rules["fix"] == "leo_retention":
                kept.append(after or self._retained(slot))
            elif after is not None and (after.label or slot.offset >= upto):
                kept.append(after)
            elif slot.offset == upto - 1 and self.rules["fix"] == "empty_batch":
                kept.append(Slot(slot.offset, ""))
        self.slots = kept
        self.clean_point = max(self.clean_point, upto)

    def _after(self, slot: Slot, winner: Slot | None) -> Slot | None:
        """What a pass makes of a slot; None = it goes."""
        if winner is not None and self.version(winner) > self.version(slot):
            return None
        if not slot.deletes or self.rules["tombstone_removal"] == "never":
            return slot
        if self.rules["tombstone_removal"] == "immediate":
            return None
        if slot.horizon is None:
            return self._retained(slot)
        return slot if self.now < slot.horizon else None

    def _retained(self, slot: Slot) -> Slot:
        """The first pass that retains a tombstone, for whatever reason, gives it a horizon."""
        timed = slot.deletes and self.rules["tombstone_removal"] == "horizon"
        if not timed or slot.horizon is not None:
            return slot
        return replace(slot, horizon=self.now + self.rules["delete_retention_ms"])

    def state(self) -> dict[str, str]:
        """The label that wins each key; deleted keys are not there."""
        found: dict[str, Slot] = {}
        for slot in self.slots:
            if slot.label:
                found[slot.key] = max(found.get(slot.key, slot), slot, key=self.version)
        return {key: found[key].label for key in sorted(found) if not found[key].deletes}


def random_rules(random: Random) -> dict[str, Any]:
    return {
        "strategy": random.choice(["offset", "timestamp", "header"]),
        "fix": random.choice(["none", "leo_retention", "empty_batch", "gap_fetch"]),
        "map_range": random.choice(["full", "dirty"]),
        "tombstone_removal": random.choice(["horizon", "horizon", "immediate", "never"]),
        "delete_retention_ms": random.choice([0, 100]),
    }


def play(random: Random, model: Model) -> str:
    """Do random things to the model; returns the same as a story's steps."""
    steps = ["elect 1 1"]
    for number in range(random.randint(6, 18)):
        choice = random.random()
        if choice < 0.6:
            more: dict[str, Any] = {}
            if random.random() < 0.7:
                more["hdr"] = random.choice([LOWEST, -1, 0, 1, 1, 2])
            if random.random() < 0.6:
                more["ts"] = random.choice([-1, 0, 1, 1, 2, 50])
            deletes = random.random() < 0.35
            key = random.choice("AB")
            model.append(f"l{number}", key, **more, deletes=deletes)
            given = "".join(f" {name}={value}" for name, value in more.items())
            steps.append(f"append 1 l{number} {key}{given}{' tombstone=true' * deletes}")
        elif choice < 0.85:
            upto = random.choice([model.end, model.end, random.randint(0, model.end + 1)])
            model.compact(min(upto, model.end))
            steps.append(f"compact 1 upto={upto}")
        else:
            waited = random.choice([1, 50, 100])
            model.now += waited
            steps.append(f"advance {waited}")
    return "\n".join(steps)


@pytest.mark.parametrize("first", range(0, 10 * STORIES, STORIES))
def test_a_log_ends_as_the_text_says(first: int) -> None:
    for seed in range(first, first + STORIES):
        random = Random(seed)
        model = Model(random_rules(random))
        steps = play(random, model)
        view = run_steps(steps, replicas=["1"], rules=model.rules).replicas["1"]

        expected = [f"{slot.label or '-'}@{slot.offset}" for slot in model.slots]
        assert (view.log, view.log_end_offset, view.state) == (
            expected,
            model.end,
            model.state(),
        ), f"seed {seed}, {model.rules}:\n{steps}"
