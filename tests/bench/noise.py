"""Random steps that fit into a story, as a cluster takes them beside what the story is about."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from sim.diagnose.shrink.stories import step_of
from sim.simulate.story.format import Story
from sim.simulate.story.op import Step

KEYS = tuple(f"N{number}" for number in range(6))
"""Keys of the noise; now and then it writes one of the story's."""
PRODUCERS = (901, 902, 903)
CONSUMERS = ("noise_1", "noise_2")
STORY_KEY = 0.05
"""Share of the records of the noise that have a key of the story."""


class Setting(NamedTuple):
    """State of a story at a place between its steps.

    Attributes:
        leader: Replica elected last; None without one.
        others: Names of the other replicas that exist there.
        epochs: Epoch of the latest election before, and of the next one after (exclusive).
        keys: Keys of the story.
        isr: In-sync set that was set last.
    """

    leader: str | None
    others: tuple[str, ...]
    epochs: tuple[int, int]
    keys: tuple[str, ...]
    isr: tuple[str, ...]


def setting_at(story: Story, index: int) -> Setting:
    """State of a story before the step at `index` (from 0)."""
    known, isr, leader = list(story.replicas), story.isr, None
    before, after = 0, 1 << 30
    keys: dict[str, None] = {}
    for at, step in enumerate(story.steps):
        if step.get("key") is not None and step["key"] not in KEYS:
            keys[step["key"]] = None
        epoch = step.get("epoch")
        if at >= index:
            after = min(after, after if epoch is None else epoch)
            continue
        before = before if epoch is None else max(before, epoch)
        if step.op.startswith("elect"):
            leader = step["leader"]
        elif step.op == "add_replica":
            known.append(step["replica"])
        elif step.op == "remove_replica":
            known.remove(step["replica"])
        elif step.op == "isr":
            isr = step["isr"]
    others = tuple(name for name in known if name != leader)
    return Setting(leader if leader in known else None, others, (before, after), (*keys,), isr)


KINDS = {
    "append": 30, "transaction": 5, "fetch": 18, "sync": 8, "follow": 2, "fetch_snapshot": 2,
    "consume": 8, "read_to_end": 2, "compact": 8, "advance": 5, "bounce": 5, "detour": 4,
    "shrink and expand": 3, "snapshot": 2, "delete_prefix": 1, "coordinate": 2, "flush": 1,
    "late answer": 2, "stranger": 2, "quiesce": 1, "check": 1,
}  # fmt: skip
"""Kinds of noise, each with its weight: a step of that name, or a few that belong together."""


class Noise:
    """Draws bursts of steps.

    Args:
        rng: Source of all chance.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._labels = 0
        self._strangers = 0

    def burst(self, setting: Setting, length: int) -> list[Step]:
        """Draws at least `length` steps for a place in a story."""
        steps: list[Step] = []
        while len(steps) < length:
            (kind,) = self._rng.choices(list(KINDS), list(KINDS.values()))
            drawn = self._drawn(kind, setting)
            epochs = [step["epoch"] for step in drawn if step.op == "elect"]
            if epochs:
                setting = setting._replace(epochs=(max(epochs), setting.epochs[1]))
            steps += drawn
        return steps

    def _drawn(self, kind: str, setting: Setting) -> list[Step]:
        """Steps of a kind that may be anywhere; of another one if there is a leader for it."""
        rng = self._rng
        everybody = (*setting.others, *([setting.leader] if setting.leader else []))
        replica = {"replica": rng.choice(everybody)}
        steps: list[Step] = []
        match kind:
            case "compact" | "flush":
                steps = [step_of(kind, replica)]
            case "coordinate" | "quiesce" | "check":
                steps = [step_of(kind, {})]
            case "consume" | "read_to_end":
                steps = [step_of(kind, {"consumer": rng.choice(CONSUMERS), **replica})]
            case "advance":
                steps = [step_of(kind, {"ms": rng.choice((1, 3, 20))})]
            case "bounce":
                between = self._appends(setting)
                steps = [step_of("crash", replica), *between, step_of("restart", replica)]
            case "snapshot" | "delete_prefix":
                end = rng.randrange(8)
                deleted = [step_of("delete_prefix", {**replica, "to": end})]
                steps = [step_of("snapshot", {**replica, "end": end})]
                steps += deleted if kind == "delete_prefix" else []
            case "append":
                steps = self._appends(setting)
            case "transaction" if setting.leader is not None:
                steps = self._transaction(setting.leader, setting)
            case "stranger" if setting.leader is not None:
                steps = self._stranger(setting.leader, setting)
            case _ if setting.leader is not None and setting.others:
                pair = {"follower": rng.choice(setting.others), "leader": setting.leader}
                steps = self._between(kind, pair, setting)
        return steps

    def _between(self, kind: str, pair: dict[str, Any], setting: Setting) -> list[Step]:
        """Steps of a kind between the leader and a follower."""
        rng, leader, follower = self._rng, pair["leader"], pair["follower"]
        match kind:
            case "fetch":
                most = {"max": rng.randint(1, 5)} if rng.random() < 0.5 else {}
                lost = {"drop_response": True} if rng.random() < 0.1 else {}
                return [step_of("fetch", {**pair, **most, **lost})]
            case "sync" | "follow":
                return [step_of(kind, pair)]
            case "fetch_snapshot":
                return [step_of(kind, {**pair, "chunk": 2})]
            case "late answer":
                late = step_of("fetch", {**pair, "delay_response": True})
                return [late, *self._appends(setting), step_of("deliver", pair)]
            case "shrink and expand" if follower in setting.isr:
                rest = tuple(name for name in setting.isr if name != follower)
                return [
                    step_of("isr", {"isr": rest}),
                    *self._appends(setting),
                    step_of("sync", pair),
                    step_of("expand_isr", {"replica": follower}),
                ]
            case "detour" if setting.epochs[0] + 2 < setting.epochs[1]:
                epoch = setting.epochs[0]
                there = setting._replace(leader=follower, others=(leader,))
                return [
                    step_of("sync", pair),
                    step_of("elect", {"leader": follower, "epoch": epoch + 1}),
                    *self._appends(there),
                    step_of("sync", {"follower": leader, "leader": follower}),
                    step_of("elect", {"leader": leader, "epoch": epoch + 2}),
                    step_of("sync", pair),
                ]
        return []

    def _record(self, leader: str, setting: Setting, **fields: object) -> Step:
        self._labels += 1
        rng = self._rng
        keys: Sequence[str] = KEYS
        if setting.keys and rng.random() < STORY_KEY:
            keys = setting.keys
        given = {"leader": leader, "label": f"n{self._labels}", "key": rng.choice(keys), **fields}
        if rng.random() < 0.5:
            given["hdr"] = rng.randrange(20)
        if rng.random() < 0.1:
            given["tombstone"] = True
        if rng.random() < 0.1:
            given["ts"] = rng.randrange(50)
        return step_of("append", given)

    def _appends(self, setting: Setting) -> list[Step]:
        if setting.leader is None:
            return []
        return [self._record(setting.leader, setting) for _ in range(self._rng.randint(1, 3))]

    def _transaction(self, leader: str, setting: Setting) -> list[Step]:
        pid = self._rng.choice(PRODUCERS)
        count = self._rng.randint(1, 2)
        records = [self._record(leader, setting, pid=pid) for _ in range(count)]
        end = self._rng.choice(("commit", "abort"))
        return [*records, step_of("append", {"leader": leader, "pid": pid, "marker": end})]

    def _stranger(self, leader: str, setting: Setting) -> list[Step]:
        """Steps of a replica that comes, fetches, loses its disk, and leaves for good."""
        self._strangers += 1
        name = {"replica": f"y{self._strangers}"}
        pair = {"follower": name["replica"], "leader": leader}
        return [
            step_of("add_replica", name),
            step_of("sync", pair),
            *self._appends(setting),
            step_of(self._rng.choice(("wipe", "compact", "crash")), name),
            step_of("fetch", pair),
            step_of("remove_replica", name),
        ]
