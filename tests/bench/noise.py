"""Random steps that fit into a story: what goes on in a cluster beside what the story is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from sim.diagnose.shrink.stories import step_of
from sim.simulate.story.format import Story
from sim.simulate.story.op import Step

KEYS = tuple(f"N{number}" for number in range(6))
"""Keys of the noise; now and then it writes one of the story's."""
PRODUCERS = (901, 902, 903)
CONSUMERS = ("noise_1", "noise_2")
STORY_KEY = 0.05
"""How often the noise writes a key of the story."""


class Setting(NamedTuple):
    """What a place in a story is like.

    Attributes:
        leader: Elected last; None = nobody was.
        others: The other replicas that exist there.
        epochs: Of the latest election before, and of the next one after (exclusive).
        keys: Those of the story.
        isr: The in-sync set that was set last.
    """

    leader: str | None
    others: tuple[str, ...]
    epochs: tuple[int, int]
    keys: tuple[str, ...]
    isr: tuple[str, ...]


def setting_at(story: Story, index: int) -> Setting:
    """What it is like before the step at `index` (from 0)."""
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


class Noise:
    """Draws bursts of steps."""

    def __init__(self, rng: Random) -> None:
        """All chance comes from `rng`."""
        self._rng = rng
        self._labels = 0
        self._strangers = 0
        self._kinds: dict[Callable[[Setting], list[Step]], int] = {
            self._append: 30,
            self._transaction: 5,
            self._fetch: 18,
            self._sync: 8,
            self._consume: 10,
            self._compact: 8,
            self._advance: 5,
            self._bounce: 5,
            self._detour: 4,
            self._shrink_and_expand: 3,
            self._snapshot: 3,
            self._coordinate: 2,
            self._follow: 2,
            self._late_answer: 2,
            self._copy_of_a_snapshot: 2,
            self._stranger: 2,
            self._flush: 1,
            self._at_rest: 1,
        }

    def burst(self, setting: Setting, length: int) -> list[Step]:
        """At least so many steps."""
        steps: list[Step] = []
        while len(steps) < length:
            (kind,) = self._rng.choices(list(self._kinds), list(self._kinds.values()))
            drawn = kind(setting)
            epochs = [step["epoch"] for step in drawn if step.op == "elect"]
            if epochs:
                setting = setting._replace(epochs=(max(epochs), setting.epochs[1]))
            steps += drawn
        return steps

    def _anybody(self, setting: Setting) -> str:
        names = setting.others if setting.leader is None else (setting.leader, *setting.others)
        return self._rng.choice(names)

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

    def _append(self, setting: Setting) -> list[Step]:
        if setting.leader is None:
            return []
        return [self._record(setting.leader, setting) for _ in range(self._rng.randint(1, 3))]

    def _transaction(self, setting: Setting) -> list[Step]:
        if setting.leader is None:
            return []
        pid = self._rng.choice(PRODUCERS)
        count = self._rng.randint(1, 2)
        records = [self._record(setting.leader, setting, pid=pid) for _ in range(count)]
        end = self._rng.choice(("commit", "abort"))
        marker = {"leader": setting.leader, "pid": pid, "marker": end}
        return [*records, step_of("append", marker)]

    def _pair(self, setting: Setting) -> dict[str, object] | None:
        if setting.leader is None or not setting.others:
            return None
        return {"follower": self._rng.choice(setting.others), "leader": setting.leader}

    def _fetch(self, setting: Setting) -> list[Step]:
        pair = self._pair(setting)
        if pair is None:
            return []
        if self._rng.random() < 0.5:
            pair["max"] = self._rng.randint(1, 5)
        if self._rng.random() < 0.1:
            pair["drop_response"] = True
        return [step_of("fetch", pair)]

    def _sync(self, setting: Setting) -> list[Step]:
        pair = self._pair(setting)
        return [] if pair is None else [step_of("sync", pair)]

    def _consume(self, setting: Setting) -> list[Step]:
        op = "consume" if self._rng.random() < 0.8 else "read_to_end"
        consumer = self._rng.choice(CONSUMERS)
        return [step_of(op, {"consumer": consumer, "replica": self._anybody(setting)})]

    def _compact(self, setting: Setting) -> list[Step]:
        return [step_of("compact", {"replica": self._anybody(setting)})]

    def _advance(self, setting: Setting) -> list[Step]:
        del setting
        return [step_of("advance", {"ms": self._rng.choice((1, 3, 20))})]

    def _bounce(self, setting: Setting) -> list[Step]:
        """A replica goes down and comes back, with something in between."""
        name = {"replica": self._anybody(setting)}
        return [step_of("crash", name), *self._append(setting), step_of("restart", name)]

    def _detour(self, setting: Setting) -> list[Step]:
        """Another replica leads for a while."""
        before, after = setting.epochs
        if setting.leader is None or not setting.others or before + 2 >= after:
            return []
        other = self._rng.choice(setting.others)
        there = setting._replace(leader=other, others=(setting.leader,))
        back = {"follower": other, "leader": setting.leader}
        return [
            step_of("sync", back),
            step_of("elect", {"leader": other, "epoch": before + 1}),
            *self._append(there),
            step_of("sync", {"follower": setting.leader, "leader": other}),
            step_of("elect", {"leader": setting.leader, "epoch": before + 2}),
            step_of("sync", back),
        ]

    def _shrink_and_expand(self, setting: Setting) -> list[Step]:
        """Somebody leaves the in-sync set and joins it again."""
        away = [name for name in setting.isr if name != setting.leader]
        if setting.leader is None or not away:
            return []
        name = self._rng.choice(away)
        rest = tuple(other for other in setting.isr if other != name)
        pair = {"follower": name, "leader": setting.leader}
        return [
            step_of("isr", {"isr": rest}),
            *self._append(setting),
            step_of("sync", pair),
            step_of("expand_isr", {"replica": name}),
        ]

    def _snapshot(self, setting: Setting) -> list[Step]:
        replica, end = self._anybody(setting), self._rng.randrange(8)
        taken = step_of("snapshot", {"replica": replica, "end": end})
        if self._rng.random() < 0.7:
            return [taken]
        return [taken, step_of("delete_prefix", {"replica": replica, "to": end})]

    def _coordinate(self, setting: Setting) -> list[Step]:
        del setting
        return [step_of("coordinate", {})]

    def _follow(self, setting: Setting) -> list[Step]:
        pair = self._pair(setting)
        return [] if pair is None else [step_of("follow", pair)]

    def _late_answer(self, setting: Setting) -> list[Step]:
        """An answer is on its way while something else happens."""
        pair = self._pair(setting)
        if pair is None:
            return []
        late = step_of("fetch", {**pair, "delay_response": True})
        return [late, *self._append(setting), step_of("deliver", pair)]

    def _copy_of_a_snapshot(self, setting: Setting) -> list[Step]:
        pair = self._pair(setting)
        return [] if pair is None else [step_of("fetch_snapshot", {**pair, "chunk": 2})]

    def _stranger(self, setting: Setting) -> list[Step]:
        """A replica comes, fetches for a while, loses its disk, and leaves for good."""
        if setting.leader is None:
            return []
        self._strangers += 1
        name = {"replica": f"y{self._strangers}"}
        pair = {"follower": name["replica"], "leader": setting.leader}
        return [
            step_of("add_replica", name),
            step_of("sync", pair),
            *self._append(setting),
            step_of(self._rng.choice(("wipe", "compact", "crash")), name),
            step_of("fetch", pair),
            step_of("remove_replica", name),
        ]

    def _flush(self, setting: Setting) -> list[Step]:
        return [step_of("flush", {"replica": self._anybody(setting)})]

    def _at_rest(self, setting: Setting) -> list[Step]:
        del setting
        return [step_of(self._rng.choice(("quiesce", "check")), {})]
