"""Hides a story in noise: hundreds of random steps around its own, and it breaks the same law.

What a random run looks like in which a bug shows: other keys, other readers, transactions,
elections that lead nowhere, replicas that come and go, passes, snapshots, rules that do not matter.
The noise is drawn in bursts at random places. A burst with which another step would break the law,
or with which the cause would be another one, is drawn anew, so what hides a story is only what the
story can bear: a story about one election gets few others, one about a delete horizon little time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from sim.check import Violation
from sim.diagnose.shrink.stories import (
    names_of,
    offsets_written,
    renamed,
    speaks_of_offsets,
    with_offsets,
    with_steps,
)
from sim.diagnose.shrink.target import judged, target_of
from sim.protocol.rules import RULES
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import STORY_DEFAULTS, Story, story_from
from sim.simulate.story.op import Step

NOISE = Path(__file__).with_name("noise.txt").read_text("utf-8").splitlines()
"""Steps that may be anywhere, or behind a leader, as often as a line is there."""
EPOCHS_APART = 1000
"""So far apart the epochs of a story are set, so that others fit in between."""
BURSTS = (32, 16, 8, 4, 2, 1)
"""Steps of a burst; a smaller one is tried where a larger one did not fit."""
AFTER = 0.1
"""Part of the noise that comes after the story."""
ATTEMPTS = 1500
RULES_ADDED = 3
MORE_REPLICAS = ("x1", "x2")


def hide(story: Story, invariant: str | None, *, seed: int, noise: int) -> Story:
    """A story among at least so many other steps, if it can bear them.

    Args:
        story: A story that breaks the law.
        invariant: The law; None = as in `target_of`.
        seed: Of the noise.
        noise: How many steps to add.
    """
    return _Hiding(story, invariant, Random(f"{seed} {story.id}")).run(noise)


class _Hiding:
    """A story in which noise is put, burst by burst.

    `own` says of each step whether it is one of the story's, and `culprit` which of those, counted
    from 0, breaks the law.
    """

    def __init__(self, story: Story, invariant: str | None, rng: Random) -> None:
        quiet = with_steps(story, [step for step in story.steps if step.op != "moment"])
        quiet = replace(quiet, expect=story.expect)
        self.target, shown, _ = target_of(quiet, invariant)
        self.rng = rng
        self.story = with_steps(quiet, quiet.steps)
        self.own = [True] * len(quiet.steps)
        self.culprit = shown.violation.at - 1
        self.drawn = 0

    def run(self, noise: int) -> Story:
        count = len(self.story.steps)
        self._spread_epochs()
        self._add_replicas()
        self._add_rules()
        before, size = round(noise * (1 - AFTER)), 0
        for _ in range(ATTEMPTS):
            if len(self.story.steps) - count >= before:
                break
            fits = self._insert(BURSTS[size])
            size = max(0, size - 1) if fits else min(size + 1, len(BURSTS) - 1)
        end = len(self.story.steps)
        behind = self._burst(end, max(1, noise - end + count))
        return with_steps(self.story, [*self.story.steps, *behind])

    def _accept(self, story: Story, own: Sequence[bool]) -> bool:
        """Take the story if the same step breaks the law for the same cause."""
        found = self.target.found_in(story)
        if found is None or found.violation != self._first_in(story):
            return False
        at = found.violation.at
        if not own[at - 1] or sum(own[:at]) - 1 != self.culprit:
            return False
        self.story, self.own = story, list(own)
        return True

    def _first_in(self, story: Story) -> Violation:
        """The first violation of the law, whatever its cause."""
        name = self.target.invariant
        seen = (each for together, _ in judged(story, (name,)) for each in together)
        return next(each for each in seen if each.invariant == name)

    def _spread_epochs(self) -> None:
        epochs = names_of(self.story)["epoch"]
        spread = {epoch: epoch * EPOCHS_APART for epoch in epochs}
        self._accept(renamed(self.story, "epoch", spread), self.own)

    def _add_replicas(self) -> None:
        for name in MORE_REPLICAS:
            more = with_steps(self.story, self.story.steps, replicas=(*self.story.replicas, name))
            self._accept(more, self.own)

    def _add_rules(self) -> None:
        names = [name for name in STORY_DEFAULTS.as_dict() if RULES[name].values]
        for name in self.rng.sample(names, RULES_ADDED):
            if name not in self.story.rules.differing_from(STORY_DEFAULTS):
                value = self.rng.choice(RULES[name].values)
                rules = self.story.rules.with_values({name: value})
                self._accept(replace(self.story, rules=rules, preset=None), self.own)

    def _insert(self, length: int) -> bool:
        """Put a burst somewhere before the step that breaks the law."""
        last = [index for index, own in enumerate(self.own) if own][self.culprit]
        index = self.rng.randint(0, last)
        steps = self.story.steps
        burst = self._burst(index, length)
        own = [*self.own[:index], *[False] * len(burst), *self.own[index:]]
        plain = with_steps(self.story, [*steps[:index], *burst, *steps[index:]])
        if len(plain.steps) != len(own):
            return False
        if any(map(speaks_of_offsets, steps[index:])):
            behind = index + len(burst)
            written = offsets_written(run_story(plain).events, len(plain.steps))
            came = sorted({at for ats in written[index:behind] for at in ats})
            moved = [
                with_offsets(step, lambda offset: _moved_up(offset, came)) if mine else step
                for step, mine in zip(plain.steps[behind:], own[behind:], strict=True)
            ]
            if self._accept(with_steps(self.story, [*plain.steps[:behind], *moved]), own):
                return True
        return self._accept(plain, own)

    def _burst(self, index: int, length: int) -> Sequence[Step]:
        """Draws at least `length` steps for the place before the step at `index`."""
        steps = self.story.steps
        known = [*self.story.replicas]
        known += [step["replica"] for step in steps[:index] if step.op == "add_replica"]
        leaders = [step["leader"] for step in steps[:index] if step.op.startswith("elect")]
        epoch = max((step.get("epoch") or 0 for step in steps[:index]), default=0)
        limit = min((step.get("epoch") or 1 << 30 for step in steps[index:]), default=1 << 30)
        burst: list[str] = []
        while len(burst) < length:
            kind = self.rng.choice(NOISE)
            elects = "{epoch}" in kind
            if ("{leader}" in kind and not leaders) or (elects and epoch + 2 >= limit):
                continue
            self.drawn += 1
            names = {
                "any": self.rng.choice(known),
                "leader": leaders[-1] if leaders else "",
                "follower": self.rng.choice([one for one in known if one not in leaders[-1:]]),
                "new": f"y{self.drawn}",
                "key": self.rng.choice(["N1", "N2", "N3", *names_of(self.story)["key"]]),
                "label": f"n{self.drawn}",
                "number": self.rng.randint(1, 8),
                "epoch": epoch + 1,
                "back": epoch + 2,
            }
            epoch += 2 * elects
            burst += kind.format(**names).split("; ")
        data = {"format": "replog-story/1", "replicas": known, "steps": burst}
        return story_from(data, where="noise").steps


def _moved_up(offset: int, came: Sequence[int]) -> int:
    """An offset higher by as many as came, if the first of those is below it."""
    return offset + len(came) if came and came[0] < offset else offset
