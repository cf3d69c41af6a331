"""`replog shrink` of a run in simulated time: a scenario file, or a row of a sweep.

A story is made of the run where there is one, and shrunk like any other. Otherwise the scenario is
made small, a story is looked for in what is left, and when there is none the scenario is the
result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sim.errors import BadInput
from sim.explain.signature import signature_of
from sim.files.opening import read_bytes
from sim.files.yaml_text import parse_yaml
from sim.rules import Rules
from sim.scenario.file.load import load_scenario, scenario_in
from sim.scenario.file.write import scenario_text
from sim.scenario.model import Expect, Scenario
from sim.shrink.cases import NearMissFile, Outcome, Told
from sim.shrink.ddmin import Place
from sim.shrink.from_events import FoundStory, why_untellable
from sim.shrink.story_case import StoryCase, digest_of, id_of
from sim.shrink.timed import ShrunkTimed, TimedProgress, shrink_timed, sought_in_run
from sim.shrink.witness import NO_STORY, SMALL, story_of
from sim.shrink.writing import rules_text
from sim.timed_run import run_scenario
from sim.what_if.changes import rule_changes

_HEAD = "# unfinished shrink of {digest}: pass {number}, at {position}, {changed}\n"
_READ = re.compile(r"# unfinished shrink of (\w+): pass (\d+), at ([\d ]*), (changed|unchanged)\n")


class RunCase:
    """A run to shrink; see `sim.shrink.cases.Case`.

    Attributes:
        unit: `steps` once there is a story, until then `events`.
    """

    def __init__(
        self, scenario: Scenario, *, invariant: str | None, command: str, digest: str
    ) -> None:
        """Run it, and look for a story.

        Raises:
            BadInput: It breaks no law, or not this one.
        """
        self._scenario = scenario
        self._command = command
        self._digest = digest
        self._found, self._invariant, self._signature, self.size = story_of(scenario, invariant)
        self.id = id_of(scenario.id, self._invariant)
        self.unit = "events" if self._found is None else "steps"
        self.whole = f"{self.size:,} events"

    @classmethod
    def read(cls, path: Path, *, invariant: str | None, command: str) -> RunCase:
        """The scenario in a file. Raises BadInput as `RunCase`, or since it is no scenario."""
        digest = digest_of(read_bytes(path), invariant)
        return cls(load_scenario(path), invariant=invariant, command=command, digest=digest)

    @classmethod
    def of_row(cls, out: Path, run_id: int, *, invariant: str | None, command: str) -> RunCase:
        """A run of the sweep in a folder. Raises BadInput as `RunCase`, or there is no such run."""
        from sim.sweeps import scenario_of_run

        scenario = scenario_of_run(out, run_id)
        digest = digest_of(scenario_text(scenario).encode(), invariant)
        return cls(scenario, invariant=invariant, command=command, digest=digest)

    def shrink(
        self, *, within_s: float | None, told: Callable[[Told], None], unfinished: str | None
    ) -> Outcome:
        """Make it smaller; an interrupt ends it with the best found."""
        if self._found is not None:
            return self._as_story(self._found, 0, within_s, told, unfinished)
        latest: TimedProgress | None = None

        def progress(now: TimedProgress) -> None:
            nonlocal latest
            latest = now
            write = (lambda: self._text(now.scenario, now.place)) if now.improved else None
            told(Told(now.events, now.tries, write))

        try:
            small = shrink_timed(
                self._scenario,
                self._invariant,
                within_s=within_s,
                progress=progress,
                start=None if unfinished is None else self._resumed(unfinished),
            )
        except KeyboardInterrupt:
            if latest is None:
                raise
            return self._interrupted(latest)
        if small.complete and small.events <= SMALL:
            found = story_of(small.scenario, self._invariant)[0]
            if found is not None:
                self.unit = "steps"
                return self._as_story(found, small.tries, within_s, told, None)
        return self._as_scenario(small)

    def _as_story(
        self,
        found: FoundStory,
        tries: int,
        within_s: float | None,
        told: Callable[[Told], None],
        unfinished: str | None,
    ) -> Outcome:
        case = StoryCase(
            replace(found.story, id=self._scenario.id),
            found.violation,
            digest=self._digest,
            command=self._command,
            whole=self.whole,
            cause_of=found.cause_of,
        )
        outcome = case.shrink(within_s=within_s, told=told, unfinished=unfinished)
        remark = f"as a story, made of {found.choice}"
        return outcome._replace(tries=outcome.tries + tries, remark=remark)

    def _as_scenario(self, small: ShrunkTimed) -> Outcome:
        place = None if small.complete else small.place
        return Outcome(
            self.id,
            self._invariant,
            small.violation.sentence,
            small.events,
            small.tries,
            complete=small.complete,
            interrupted=False,
            text=self._text(small.scenario, place),
            near_miss=self._near_miss(small.scenario) if small.complete else None,
            remark=f"as a scenario: {why_untellable(self._signature) or NO_STORY}",
        )

    def _interrupted(self, latest: TimedProgress) -> Outcome:
        _, violation, _ = sought_in_run(latest.scenario, self._invariant)
        return Outcome(
            self.id,
            self._invariant,
            violation.sentence,
            latest.events,
            latest.tries,
            complete=False,
            interrupted=True,
            text=self._text(latest.scenario, latest.place),
            near_miss=None,
        )

    def _text(self, scenario: Scenario, place: Place | None) -> str:
        """The file; `place` is where the work stands, None = at its end."""
        run = run_scenario(scenario, also_check=(self._invariant,))
        named = replace(
            scenario,
            id=self.id,
            title=f"{self._signature}, shrunk from {self.whole} of {self._scenario.id}",
            source=self._command,
            expect=Expect(tuple(dict.fromkeys(found.invariant for found in run.seen))),
        )
        head = "" if place is None else self._head(place)
        return head + scenario_text(named)

    def _head(self, place: Place) -> str:
        return _HEAD.format(
            digest=self._digest,
            number=place.number,
            position=" ".join(map(str, place.position)),
            changed="changed" if place.changed else "unchanged",
        )

    def _resumed(self, text: str) -> tuple[Scenario, Place] | None:
        """The scenario in the file of an earlier shrink of this one, and where its work stood.

        None = it is the file of something else, or somebody has edited it since.
        """
        found = _READ.match(text)
        if found is None or found[1] != self._digest:
            return None
        try:
            said = scenario_in(parse_yaml(text, "unfinished"), path=Path("unfinished.yaml"))
            _, violation, _ = sought_in_run(said, self._invariant, cause_of=signature_of)
        except BadInput:
            return None
        if violation.invariant != self._invariant:
            return None
        position = tuple(map(int, found[3].split()))
        own = replace(
            said,
            id=self._scenario.id,
            title=self._scenario.title,
            source=self._scenario.source,
            expect=Expect(),
        )
        return own, Place(int(found[2]), position, found[4] == "changed")

    def _near_miss(self, scenario: Scenario) -> NearMissFile | None:
        """The first single change of a rule under which nothing is broken."""
        for rule, value in rule_changes(scenario.rules, Rules()):
            rules = scenario.rules.with_values({rule: value})
            changed = replace(scenario.with_rules(rules), preset=None)
            if run_scenario(changed, also_check=(self._invariant,)).verdict != "holds":
                continue
            change = rules_text({rule: value})
            named = replace(
                changed,
                id=f"{self.id}_near_miss",
                title=f"{change}: {self._invariant} holds in the same scenario",
                source=self._command,
                expect=Expect(),
            )
            return NearMissFile(scenario_text(named), change)
        return None
