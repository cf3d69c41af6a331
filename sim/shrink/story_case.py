"""`replog shrink` of a story file: what is written while it goes on, and in the end."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sim.check import Violation
from sim.check.checker import story_invariants
from sim.check.registry import INVARIANTS, Kind
from sim.errors import BadInput
from sim.explain.signature import signature_of
from sim.files.opening import read_bytes
from sim.files.yaml_text import parse_yaml
from sim.foreign.names import file_name
from sim.shrink.cases import NearMissFile, Outcome, Told
from sim.shrink.ddmin import Place
from sim.shrink.near_miss import near_miss_of
from sim.shrink.story import Progress, shrink_story, sought_in
from sim.shrink.story_edit import with_steps
from sim.shrink.story_shows import Cause
from sim.shrink.writing import rules_text, story_text
from sim.story import Story, load_story, run_story
from sim.story.expect import StoryExpect
from sim.story.format import story_from

_HEAD = "unfinished shrink of {digest}: pass {number}, at {position}, {changed}"
_READ = re.compile(r"# unfinished shrink of (\w+): pass (\d+), at ([\d ]*), (changed|unchanged)\n")


def digest_of(content: bytes, invariant: str | None) -> str:
    """What tells one thing to shrink from another: what is in it, and the law."""
    law = (invariant or "").encode(errors="surrogatepass")
    return hashlib.sha256(content + law).hexdigest()[:16]


def id_of(name: str, invariant: str) -> str:
    """What the result is called: also a name for a file."""
    plain = re.sub(r"[^\w.-]", "_", f"{name}_{invariant.replace('-', '_')}")
    return file_name(plain, instead="shrunk")


class StoryCase:
    """A story to shrink; see `sim.shrink.cases.Case`."""

    unit = "steps"

    def __init__(
        self,
        story: Story,
        sought: Violation | str | None,
        *,
        digest: str,
        command: str,
        whole: str | None = None,
        cause_of: Cause = signature_of,
        where: str | None = None,
    ) -> None:
        """A story.

        Args:
            story: It breaks a law.
            sought: Which one, as in `shrink_story`.
            digest: Tells what is shrunk from everything else, so that a shrink can go on.
            command: What was typed, for the source of the result.
            whole: What the story comes from, and how large that is; None = it is that itself.
            cause_of: What tells causes apart.
            where: What messages call the story.

        Raises:
            BadInput: It breaks no law, or not this one.
        """
        self._story = story
        self._command = command
        self._cause_of = cause_of
        self._sought, self._violation = sought_in(story, sought, cause_of=cause_of, where=where)
        self._invariant = self._sought.invariant
        self._digest = digest
        self.id = id_of(story.id, self._invariant)
        self.size = len(story.steps)
        self.whole = str(self.size) if whole is None else whole

    @classmethod
    def read(cls, path: Path, *, invariant: str | None, command: str) -> StoryCase:
        """The story in a file.

        Raises:
            BadInput: It is no story, breaks no law, or not this one.
        """
        digest = digest_of(read_bytes(path), invariant)
        return cls(load_story(path), invariant, digest=digest, command=command, where=str(path))

    def shrink(
        self, *, within_s: float | None, told: Callable[[Told], None], unfinished: str | None
    ) -> Outcome:
        """Make it smaller; an interrupt ends it with the best found."""
        start = None if unfinished is None else self._resumed(unfinished)
        latest: Progress | None = None

        def progress(now: Progress) -> None:
            nonlocal latest
            latest = now
            write = (lambda: self._unfinished(now)) if now.improved else None
            told(Told(len(now.story.steps), now.tries, write))

        try:
            shrunk = shrink_story(
                self._story,
                self._violation,
                within_s=within_s,
                progress=progress,
                cause_of=self._cause_of,
                start=start,
            )
        except KeyboardInterrupt:
            if latest is None:
                raise
            return self._outcome(latest.story, latest.tries, latest.place, interrupted=True)
        place = None if shrunk.complete else shrunk.place
        return self._outcome(shrunk.story, shrunk.tries, place)

    def _resumed(self, text: str) -> tuple[Story, Place] | None:
        """The story in the file of an earlier shrink of this case, and where its work stood.

        None = it is the file of something else, or somebody has edited it since.
        """
        found = _READ.match(text)
        if found is None or found[1] != self._digest:
            return None
        try:
            said = story_from(parse_yaml(text, "unfinished").data, where="unfinished")
        except BadInput:
            return None
        own = replace(said, id=self._story.id, title=self._story.title, source=self._story.source)
        best = with_steps(own, own.steps)
        if self._sought.shown_by(best) is None:
            return None
        position = tuple(map(int, found[3].split()))
        return best, Place(int(found[2]), position, found[4] == "changed")

    def _unfinished(self, now: Progress) -> str:
        """The file of the best so far: it can be run, and it says where the work stands."""
        broken = [self._invariant]
        story = self._named(now.story)
        return story_text(story, violated=broken, checked=broken, head=self._head(now.place))

    def _head(self, place: Place) -> str:
        return _HEAD.format(
            digest=self._digest,
            number=place.number,
            position=" ".join(map(str, place.position)),
            changed="changed" if place.changed else "unchanged",
        )

    def _named(self, story: Story, *, near_miss: str | None = None) -> Story:
        """The story under the name of the result, with where it comes from."""
        count = len(story.steps)
        title = f"{self._invariant} broken in {count} steps, shrunk from {self.whole} of"
        if near_miss is not None:
            title = f"{near_miss}: {self._invariant} holds in {count} steps, shrunk from those of"
        return replace(
            story,
            id=self.id if near_miss is None else f"{self.id}_near_miss",
            title=f"{title} {self._story.id}",
            source=self._command,
        )

    def _outcome(
        self, story: Story, tries: int, place: Place | None, *, interrupted: bool = False
    ) -> Outcome:
        """The files of what was found; `place` is where the work stands, None = at its end."""
        named = self._named(story)
        judged = replace(named, expect=StoryExpect((self._invariant,)))
        run = run_story(judged)
        violation = next(v for v in run.violations if v.invariant == self._invariant)
        broken = [
            name
            for name in run.violated
            if name == self._invariant or INVARIANTS[name].kind is not Kind.LIVENESS
        ]
        text = story_text(
            named,
            violated=broken,
            remark=violation.sentence,
            head="" if place is None else self._head(place),
        )
        return Outcome(
            self.id,
            self._invariant,
            violation.sentence,
            len(story.steps),
            tries,
            complete=place is None,
            interrupted=interrupted,
            text=text,
            near_miss=None if place is not None else self._near_miss(story),
        )

    def _near_miss(self, story: Story) -> NearMissFile | None:
        found = near_miss_of(story, self._invariant)
        if found is None:
            return None
        change = rules_text({found.rule: found.value})
        by_default = self._invariant in story_invariants(liveness=False)
        checked = None if by_default else [self._invariant]
        named = self._named(found.story, near_miss=change)
        return NearMissFile(story_text(named, violated=[], checked=checked), change)
